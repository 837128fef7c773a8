"""One-sided upper bounds of a share, valid for every finite number of labels: exact binomial, and by betting.

The binomial ones are for labels 0 or 1, the betting ones for grades in [0, 1]. No normal approximation, because it
fails for few labels and small shares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ..arrays import FloatArray, probabilities, sample
from ..errors import RangeError

_HALVINGS = 50


def binomial_p_value(wrong: ArrayLike, n: ArrayLike, limit: float) -> FloatArray:
    """Probability of at most `wrong` of `n` if the share equals the limit; small = the share is below the limit.

    Parameters
    ----------
    wrong, n : array_like, of one shape
        Whole numbers, 0 <= wrong <= n. Where n = 0 the result is 1.
    limit : float
        In (0, 1).

    Returns
    -------
    ndarray
        p-values of "the share is more than the limit", valid for every n: P(p <= x) <= x.

    Notes
    -----
    **Source**: the binomial tail, as in Bates, Angelopoulos, Lei, Malik & Jordan 2021 ("Distribution-free, risk-controlling prediction sets")
    for losses of 0 and 1.

    Examples
    --------
    >>> binomial_p_value([0, 0, 13], [20, 59, 412], 0.05).round(4).tolist()
    [0.3585, 0.0485, 0.0473]
    """
    k, size = np.broadcast_arrays(np.asarray(wrong, dtype=np.float64), np.asarray(n, dtype=np.float64))
    return np.where(size > 0, special.bdtr(np.floor(k), np.maximum(size, 1).astype(np.int64), limit), 1.0)


def clopper_pearson_upper(wrong: float, n: int, level: float) -> float:
    """Upper bound of a share after `wrong` of `n`; too small with probability at most `level`.

    Parameters
    ----------
    wrong : float
        Whole number, 0 <= wrong <= n.
    n : int
        >= 0; 0 gives 1.
    level : float
        Probability of error, in (0, 1).

    Notes
    -----
    **Source**: Clopper & Pearson 1934, one-sided.

    Examples
    --------
    >>> round(clopper_pearson_upper(0, 20, 0.05), 4), round(clopper_pearson_upper(9, 412, 0.05), 4)
    (0.1391, 0.0378)
    """
    _require_level(level)
    if not 0 <= wrong <= n:
        raise RangeError(f"wrong must be in [0, {n}], got {wrong!r}")
    return 1.0 if wrong >= n else float(special.betaincinv(wrong + 1.0, n - wrong, 1.0 - level))


def betting_p_value(values: ArrayLike, limit: float, level: float) -> float:
    """p-value of "the mean is above the limit" for values in [0, 1]; small = the mean is at most the limit.

    It is 1 / (the largest capital that a gambler against that hypothesis ever had).

    Parameters
    ----------
    values : array_like, shape (n,)
        In [0, 1], in the order in which they came; they may be of any distribution. Empty: 1.
    limit : float
        In (0, 1).
    level : float
        Probability of error that the bets are sized for, in (0, 1). The p-value is valid whatever it is.

    Notes
    -----
    **Source**: the one-sided Waudby-Smith-Ramdas bound of Bates, Angelopoulos, Lei, Malik & Jordan 2021 (section 3.1): predictable plug-in bets
    of Waudby-Smith & Ramdas 2024 ("Estimating means of bounded random variables by betting") for n values, at most 1, so that the bound is
    monotone in the limit; valid by Ville's inequality. **Deviates**: none.

    Examples
    --------
    >>> round(betting_p_value([0.0] * 70, 0.05, 0.05), 3), betting_p_value([0.5] * 70, 0.05, 0.05)
    (0.034, 1.0)
    """
    observed = _values(values)
    return 1.0 if observed.size == 0 else float(np.exp(-_most_owned(observed, _bets(observed, level), limit)))


def betting_upper(values: ArrayLike, level: float) -> float:
    """Upper bound of the mean of values in [0, 1]; too small with probability at most `level`.

    Parameters as for `betting_p_value`.

    Examples
    --------
    >>> round(betting_upper([0.0, 0.1] * 200, 0.05), 3)
    0.059
    """
    _require_level(level)
    observed = _values(values)
    if observed.size == 0:
        return 1.0
    bets = _bets(observed, level)
    if _most_owned(observed, bets, 1.0) < -np.log(level):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if _most_owned(observed, bets, middle) >= -np.log(level) else (middle, high)
    return high


def _bets(values: FloatArray, level: float) -> FloatArray:
    """The stake on each value, computed from the earlier values."""
    n = values.size
    counts = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(values)) / (counts + 1)
    variances = (0.25 + np.cumsum((values - means) ** 2)) / (counts + 1)
    before = np.concatenate([[0.25], variances[:-1]])
    bets: FloatArray = np.minimum(1.0, np.sqrt(2.0 * np.log(1.0 / level) / (n * before)))
    return bets


def _most_owned(values: FloatArray, bets: FloatArray, limit: float) -> float:
    """Logarithm of the largest capital that the gambler ever had; the capital starts at 1."""
    factors = 1.0 + bets * (limit - values)
    with np.errstate(divide="ignore"):
        return max(0.0, float(np.cumsum(np.log(np.maximum(factors, 0.0))).max()))


def _values(values: ArrayLike) -> FloatArray:
    array = probabilities("values", values)
    return array if array.size == 0 else sample(values=array)[0]


def _require_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise RangeError(f"level must be in (0, 1), got {level!r}")
