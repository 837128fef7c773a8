"""A reader of whole texts by sentence embeddings and style, fitted on how assertive people found 645 texts.

The encoder is passed in as a callable. The weights (`data/perception/assertiveness.json`, made by `python -m
benchmarks.fits.assertiveness`) are for all-MiniLM-L6-v2 in int8.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log, log1p

import numpy as np
from numpy.typing import NDArray

from ...calibration import Beta
from ..errors import LexiconError
from ..hedges.loading import DATA
from ..text.language import language_of
from .local_reader import perceive
from .model import model

Encode = Callable[[Sequence[str]], NDArray[np.float32]]

FORCE = re.compile(r"\b(should|must|need|clear|clearly|never|always)\b", re.IGNORECASE)
DOUBT = re.compile(r"\b(may|might|could|perhaps|suggest|seem|think|probably|maybe)\w*\b", re.IGNORECASE)
FIRST_PERSON = re.compile(r"\b(I|my)\b")


@dataclass(frozen=True, slots=True)
class EmbeddingReader:
    """Reads hedges by `perceive` and everything else by embeddings and style. English.

    Attributes
    ----------
    encode : callable, texts -> ndarray, shape (n, 384)
        Unit vectors of all-MiniLM-L6-v2; called in a thread. Its exceptions are passed on.

    Notes
    -----
    A single sentence with a hedge is read by `perceive`, which was fitted on such wordings. In a longer text with
    hedges, the mean over its sentences and the reading of the whole text count half each; without hedges only the
    latter.
    """

    encode: Encode

    async def read(self, text: str) -> Beta:
        """The Beta of the whole text; computed in a thread.

        Raises
        ------
        LexiconError
            Also if the text is clearly in another language than English.
        """
        if (language := language_of(text)) not in ("en", None):
            raise LexiconError(f"the embedding reader supports English only, and the text is in {language!r}")
        return await asyncio.to_thread(perceived_by, _weights(), text, lambda: self.encode([text])[0])


@dataclass(frozen=True, slots=True)
class Weights:
    """Fitted weights: a linear rating of assertiveness, and the confidence perceived at each rating.

    Attributes
    ----------
    intercept : float
        Points of the scale of the ratings, about -2 to 8.
    embedding : ndarray, shape (384,)
    style : ndarray, shape (9,)
        Points per unit of `style`.
    link : tuple of 2 floats
        Log-odds of the confidence at rating 0, and per point.
    """

    intercept: float
    embedding: NDArray[np.float64]
    style: NDArray[np.float64]
    link: tuple[float, float]

    def confidence(self, vector: NDArray[np.float32], text: str) -> float:
        """Perceived confidence of a text with this embedding, in (0, 1).

        Raises
        ------
        LexiconError
            If the vector does not have the length of those in the fit.
        """
        if vector.shape != self.embedding.shape:
            raise LexiconError(
                f"the reader needs embeddings of {self.embedding.size} numbers, got shape {vector.shape}"
            )
        rating = self.intercept + float(vector @ self.embedding) + float(np.array(style(text)) @ self.style)
        return 1.0 / (1.0 + exp(-self.link[0] - self.link[1] * rating))


def perceived_by(weights: Weights, text: str, vector: Callable[[], NDArray[np.float32]]) -> Beta:
    """The confidence of a text to a reader with these weights; `encode` is only called if needed."""
    local = perceive(text)
    if local.spans and len(local.sentences) == 1:
        return local.beta
    mean = weights.confidence(vector(), text)
    if local.spans:
        mean = (mean + sum(sentence.beta.mean for sentence in local.sentences) / len(local.sentences)) / 2.0
    return Beta.from_mean(mean, model().concentration(mean))


def style(text: str) -> list[float]:
    """Nine features of style: counts per word of marks and three kinds of words, length, word length, sentences.

    The marks are question marks, exclamation marks and commas.
    """
    words = text.split()
    n = max(len(words), 1)
    counts = [text.count(mark) for mark in "?!,"] + [
        len(pattern.findall(text)) for pattern in (FORCE, DOUBT, FIRST_PERSON)
    ]
    sentences = len(re.findall(r"[.!?]", text))
    return [*(count / n for count in counts), log(n), sum(map(len, words)) / n, log1p(sentences)]


@cache
def _weights() -> Weights:
    raw = json.loads((DATA / "perception" / "assertiveness.json").read_text(encoding="utf-8"))
    at_zero, per_point = raw["link"]
    return Weights(raw["intercept"], np.array(raw["embedding"]), np.array(raw["style"]), (at_zero, per_point))
