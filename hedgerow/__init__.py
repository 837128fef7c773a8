"""Hedgerow: language models' answers, worded as confidently as they deserve.

    hedgerow.confidence(question, samples)      how sure a model is, from several of its answers
    hedgerow.Calibrator().fit(p, y)             corrects confidences by labelled answers; a scikit-learn estimator
    hedgerow.word(answer, p)                    the answer, worded as confidently as p
    hedgerow.reliability_diagram(p, y)          are 70 % sure answers right in 70 % of cases?
    hedgerow.evaluate(data)                     what would a map do? of a file, a frame or rows of labelled answers
    hedgerow.compare(data)                      which map and which signal do it best?
    hedgerow.metrics                            calibration errors, scores, rankings, each named by its estimator

    hedgerow.calibration   the mathematics of confidence
    hedgerow.lexicon       hedging phrases, and how confident a text sounds
    hedgerow.proxy         the OpenAI-compatible proxy

In a checkout the last three are the top-level folders of the same names; `pyproject.toml` maps them into this package. Every name is
imported when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import metrics
    from .answers import Confidence, Wording, confidence, word
    from .calibrator import Calibrator
    from .diagram import reliability_diagram
    from .reports import Report, compare, evaluate

_HOMES = {
    "Calibrator": "hedgerow.calibrator",
    "Confidence": "hedgerow.answers",
    "Report": "hedgerow.reports",
    "Wording": "hedgerow.answers",
    "compare": "hedgerow.reports",
    "confidence": "hedgerow.answers",
    "evaluate": "hedgerow.reports",
    "reliability_diagram": "hedgerow.diagram",
    "word": "hedgerow.answers",
}

_SCIENCE = ("matplotlib", "sklearn")
"""What the extra `science` installs."""

__all__ = [
    "Calibrator", "Confidence", "Report", "Wording", "compare", "confidence", "evaluate", "metrics", "reliability_diagram", "word",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "metrics":
        return import_module("hedgerow.metrics")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        lacking = (error.name or "").partition(".")[0]
        if lacking not in _SCIENCE:
            raise
        raise ImportError(f"hedgerow.{name} needs {lacking}: pip install 'hedgerow[science]'") from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*(name for name in globals() if name.startswith("__")), *__all__])
