"""Decisiveness of a wording from its perceived confidence (Yona, Aharoni & Geva 2024, equation 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..hedges.entries import NO_HEDGE
from ..hedges.loading import load


def decisiveness(perceived: ArrayLike, language: str = "en") -> NDArray[np.float64]:
    """Decisiveness: 1 if nothing lowers the confidence below that of a plain assertion, else the confidence.

    Parameters
    ----------
    perceived : array_like, shape (...)
        Mean perceived confidence, in [0, 1]; NaN stays NaN.
    language : str
        Language of the plain assertion that it is compared with.

    Notes
    -----
    People rate plain assertions at .93, since these may be false. Their decisiveness is still 1, as for the judge
    of Yona et al., because the wording expresses no doubt.

    Examples
    --------
    >>> decisiveness([0.5, 0.99]).tolist()
    [0.5, 1.0]
    """
    mean = np.asarray(perceived, dtype=np.float64)
    return np.where(mean >= load(language=language)[NO_HEDGE].beta.mean - 1e-9, 1.0, mean)
