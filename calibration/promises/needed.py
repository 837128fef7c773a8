"""Estimates how many labels are needed: the power of the tests if more labels look like the present ones."""

from __future__ import annotations

from math import ceil, log10

import numpy as np
from scipy import special

from ..arrays import FloatArray
from .testing import THRESHOLDS, Tails, start_levels
from .wishes import Wish

POWER = 0.8
"""Probability that the estimated number of labels is enough, if the estimated shares are right."""
PRIOR = 20.0
"""Weight of the confidences, in labels: a few hundred labels alone make the best of many thresholds look too good."""
CAUTION = 0.6
"""Quantile of the posterior (Jeffreys) of a share that is used as a cautious estimate."""
NEARER = 0.2
"""Largest part of the distance to the limit that caution may use up.

The number of labels grows with the inverse square of the rest.
"""
TRIED = 5
"""Number of thresholds for which the number of labels is computed exactly."""
MOST = 10_000_000
"""A need of more labels than this counts as impossible."""


def labels_needed(tails: Tails, wish: Wish, level: float, *, at_least: float = 0.0) -> int | None:
    """Total number of labels, including the present ones, with which a wish will probably be granted at some threshold.

    Parameters
    ----------
    tails : Tails
    wish : Wish
        Of the share wrong.
    level : float
        Probability of error of the wish, in (0, 1).
    at_least : float
        Thresholds below it do not help.

    Returns
    -------
    int or None
        Rounded up to two digits. None: at every threshold the answers above are too often wrong, as far as these labels go.

    Notes
    -----
    **Source**: ours. For each threshold the smallest number of labels with which an exact binomial test, at about its
    level, succeeds with `POWER` if the share wrong is as the labels and the confidences suggest; the smallest of all
    thresholds. It is an estimate: the share is unknown, and near the limit twice the distance needs a quarter of the
    labels. Simulated in `benchmarks.evidence.promises`.
    """
    limit = wish.limit or 0.0
    if wish.subject == "plain_and_wrong":
        return _joint(tails, limit, level, wish.on_average)
    levels = np.cumsum(start_levels(wish, level)) / 2.0 + start_levels(wish, level) / 2.0
    n, thresholds = tails.n, np.array(THRESHOLDS)
    wrong, of = tails.wrong + PRIOR * _expected(tails), n + PRIOR
    (usable,) = np.nonzero((n > 0) & (thresholds >= at_least) & (levels > 0.0) & (wrong / of < limit))
    shares = _cautious(wrong, of, limit)
    rough = _rough_size(limit, shares[usable], levels[usable]) * tails.total / n[usable]
    best = usable[np.argsort(rough)[:TRIED]]
    sizes = [smallest_size(limit, shares[i], levels[i]) * tails.total / n[i] for i in best]
    return _rounded(min(sizes, default=float("inf")))


def _expected(tails: Tails) -> FloatArray:
    """The share wrong above each threshold by the confidences, scaled to the overall share; 1 where none are above."""
    confidence = -np.sort(-tails.confidence)
    above = np.concatenate([[0.0], np.cumsum(1.0 - confidence)])[tails.n.astype(np.int64)]
    share = np.divide(above, tails.n, out=np.ones_like(above), where=tails.n > 0)
    return np.asarray(np.minimum(share * (tails.wrong[-1] + 1.0) / (above[-1] + 1.0), 1.0))


def _cautious(wrong: FloatArray, n: FloatArray, limit: float) -> FloatArray:
    """The share wrong, raised a little, since the best of many thresholds looks better than it is.

    It stays below the limit if the observed share does.
    """
    nearer = (1.0 - NEARER) * wrong / n + NEARER * limit
    return np.asarray(np.minimum(special.betaincinv(wrong + 0.5, n - wrong + 0.5, CAUTION), nearer))


def _rough_size(limit: float, share: FloatArray, level: FloatArray) -> FloatArray:
    """An approximation of `smallest_size` by the normal distribution, to select thresholds for the exact one."""
    reach = special.ndtri(1.0 - level) * np.sqrt(limit * (1.0 - limit)) + special.ndtri(POWER) * np.sqrt(
        share * (1.0 - share)
    )
    return np.asarray((reach / (limit - share)) ** 2)


def _joint(tails: Tails, limit: float, level: float, on_average: bool) -> int | None:
    if tails.wrong[0] / tails.total >= limit:
        return None
    share = float(_cautious(tails.wrong[:1], np.array([float(tails.total)]), limit)[0])
    return _rounded(1.0 / (limit - share) if on_average else smallest_size(limit, share, level))


def smallest_size(limit: float, share: float, level: float) -> float:
    """Smallest number of labels for which a binomial test shows a limit with `POWER` at a true share below it.

    Examples
    --------
    >>> smallest_size(0.05, 0.0, 0.05), smallest_size(0.05, 0.02, 0.05)
    (59.0, 260.0)
    """
    low, high = 1, 2
    while not _enough(high, limit, share, level):
        low, high = high, high * 2
        if high > MOST:
            return float("inf")
    while high - low > max(1, low // 200):
        middle = (low + high) // 2
        low, high = (low, middle) if _enough(middle, limit, share, level) else (middle, high)
    return float(high)


def _enough(n: int, limit: float, share: float, level: float) -> bool:
    most = np.floor(special.bdtrik(level, n, limit) + 1e-9) if special.bdtr(0, n, limit) <= level else -1.0
    while most >= 0 and special.bdtr(most, n, limit) > level:
        most -= 1
    return bool(most >= 0 and special.bdtr(most, n, share) >= POWER)


def _rounded(size: float) -> int | None:
    return two_digits(size) if size <= MOST else None


def two_digits(size: float) -> int:
    """A number rounded up to two digits, since it is only an estimate.

    Examples
    --------
    >>> two_digits(56_774), two_digits(101), two_digits(7)
    (57000, 110, 7)
    """
    unit = int(10 ** max(0, int(log10(max(size, 1.0))) - 1))
    return ceil(size / unit) * unit
