"""How far two confidences are apart."""

from __future__ import annotations

from functools import lru_cache

from ...calibration import Beta, quantile_nodes
from ...calibration.arrays import FloatArray


def distance(a: Beta, b: Beta) -> float:
    """1-Wasserstein distance of two Betas, in [0, 1], within 2e-4; ten times as fast as the exact one."""
    return float(abs(_nodes(a) - _nodes(b)).sum())


@lru_cache(maxsize=1024)
def _nodes(of: Beta) -> FloatArray:
    """The quantile nodes of a Beta; do not change the array. Cached: most Betas are the lexicon's."""
    return quantile_nodes(of.alpha, of.beta)
