"""The faithfulness of served answers, from the figures of the audit; texts and verdicts are not needed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...audit.spoken import SERVED, SpokenAnswers
from ...monitoring.faithful import VOICES, columns
from ...types import Json
from .figures import Columns, figures, worst_of


def document(spoken: SpokenAnswers) -> Json:
    """Figures of served answers in the form of `hedgerow faithfulness --data`. `groups` are, for each route, the plain answer, the model's own
    words and the served words; `worst` is the lowest value of the served words.
    """

    def measured(
        voice: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]], name: str, punts: int = 0
    ) -> Json:
        return figures(_columns(*voice[name], punts))

    whole = measured(columns(spoken), SERVED, spoken.abstained) | {"unread": 0}
    groups: list[Json] = []
    for route in sorted({str(name) for name in spoken.route}):
        voices = columns(spoken.where(spoken.route == route))
        groups += [{"route": route, "words": name} | measured(voices, name) for name in VOICES if voices[name][0].size]
    return whole | {"groups": groups, "worst": worst_of([group for group in groups if group["words"] == SERVED])}


def _columns(decisive: NDArray[np.float64], confidence: NDArray[np.float64], punts: int) -> Columns:
    faithful = 1.0 - np.abs(decisive - confidence)
    held = Columns(assertions=int(decisive.size), punts=punts)
    for name, column in (("decisiveness", decisive), ("confidence", confidence), ("faithfulness", faithful)):
        getattr(held, name).frombytes(np.ascontiguousarray(column).tobytes())
    return held
