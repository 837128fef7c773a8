"""The method inside a program: used by the callbacks for LiteLLM and LangChain on the samples that they have drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .answers import Judge, confidence, word
from .calibration import FittedMap


@dataclass(frozen=True, slots=True)
class Hedging:
    """How answers are worded.

    Attributes
    ----------
    samples : int
        Answers of the model to each question, the one that is worded among them; at least 2.
    temperature : float
        At which they are drawn.
    map : FittedMap or None
        Corrects their confidence: `Calibrator.fitted_`, or `MapRegistry.load`. Without one it is the share of answers that agree.
    judge : {"none", "local"}
        Who settles what rules leave open about a short answer and a long one.
    rewriting : mapping
        Settings of a route's `rewriting` (docs/config.md).
    """

    samples: int = 10
    temperature: float = 1.0
    map: FittedMap | None = None
    judge: Judge = "none"
    rewriting: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.samples < 2:
            raise ValueError(f"samples must be at least 2, got {self.samples}: one answer agrees with itself")

    def word(self, question: str, answers: Sequence[str]) -> tuple[str, dict[str, Any]]:
        """The answer of the largest group of samples, worded by its confidence, and details under the names of the proxy's field `hedgerow`
        (docs/api.md).
        """
        sure = confidence(question, answers, judge=self.judge)
        if self.map is not None:
            sure = sure.through(self.map)
        worded = word(sure.draft, sure, **self.rewriting)
        return worded.text, {
            "status": worded.status,
            "reason": worded.reason,
            "confidence": {"mean": sure.mean, "alpha": sure.alpha, "beta": sure.beta, "calibrated": sure.calibrated},
            "agreeing": len(sure.groups[0]),
            "samples": len(answers),
            "hedges": list(worded.hedges),
            "perceived": worded.perceived,
        }
