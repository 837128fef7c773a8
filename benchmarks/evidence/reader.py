"""How sure texts sound to a reader that has no part in the proxy: the reader of the evidence in linguistic space.

The mean is `benchmarks.rewriting.Listener`'s, fitted on people's scores of other phrases than the one it reads. How much people agree follows from
the mean, by the survey phrases of the same half. Neither knows an entry of the lexicon or a weight of the guard's reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.data.answers import Columns
from benchmarks.evidence.rewriting import Listener, _half, signature
from benchmarks.fits.lexicon import people, seen, spread_of
from hedgerow.calibration import Beta
from hedgerow.lexicon.perception.model import Model
from hedgerow.proxy.rewriting import sentences


class Reader:
    """Reads Betas of confidence in texts."""

    def __init__(self, data: Path) -> None:
        halves = Listener(data).halves
        _, betas, _ = people(data)
        self.halves: list[Model] = []
        for half, model in enumerate(halves):
            spread = spread_of([beta for phrase, beta in betas.items() if _half(phrase) == half])
            self.halves.append(Model(model.intercept, model.weights, spread))

    def perceive(self, texts: Sequence[str]) -> Columns:
        """Alphas and betas, one a text: that of the sentence that sounds least sure."""
        perceived = [self._least_sure(text) for text in texts]
        return np.array([beta.alpha for beta in perceived]), np.array([beta.beta for beta in perceived])

    def _least_sure(self, text: str) -> Beta:
        parts = sentences(text) or (text,)
        return min((self._sentence(part) for part in parts), key=lambda beta: beta.mean)

    def _sentence(self, sentence: str) -> Beta:
        return self.halves[1 - _half(signature(sentence))].beta(seen(sentence))
