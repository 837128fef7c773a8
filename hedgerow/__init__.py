"""Hedgerow: language models' answers, worded as confidently as they deserve.

    hedgerow.confidence(question, samples)      how sure a model is, from several of its answers
    hedgerow.Calibrator().fit(p, y)             corrects confidences by labelled answers; a scikit-learn estimator
    hedgerow.word(answer, p)                    the answer, worded as confidently as p
    hedgerow.reliability_diagram(p, y)          are 70 % sure answers right in 70 % of cases?
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
    from hedgerow.answers import Confidence, Wording, confidence, word
    from hedgerow.calibration import metrics
    from hedgerow.calibrator import Calibrator
    from hedgerow.diagram import reliability_diagram

_HOMES = {
    "Calibrator": "hedgerow.calibrator",
    "Confidence": "hedgerow.answers",
    "Wording": "hedgerow.answers",
    "confidence": "hedgerow.answers",
    "reliability_diagram": "hedgerow.diagram",
    "word": "hedgerow.answers",
}

__all__ = ["Calibrator", "Confidence", "Wording", "confidence", "metrics", "reliability_diagram", "word"]


def __getattr__(name: str) -> Any:
    if name == "metrics":
        return import_module("hedgerow.calibration.metrics")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
