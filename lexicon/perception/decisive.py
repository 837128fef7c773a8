"""Decisiveness of a wording from the confidence that people perceive in it (Yona, Aharoni & Geva 2024, equation 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.lexicon.hedges.entries import NO_HEDGE
from hedgerow.lexicon.hedges.loading import load


def decisiveness(perceived: ArrayLike, language: str = "en") -> NDArray[np.float64]:
    """1 where nothing lowers the perceived confidence of a plain assertion, else that confidence.

    Parameters
    ----------
    perceived : array_like, shape (...)
        Mean perceived confidence, in [0, 1]; NaN stays NaN.
    language : str
        Whose plain assertion it is compared with.

    Notes
    -----
    People rate plain assertions at .93: they know that these may be false. Their decisiveness is 1 all the same, as it is for the judge
    of Yona et al.: the words hold nothing back.

    Examples
    --------
    >>> decisiveness([0.5, 0.99]).tolist()
    [0.5, 1.0]
    """
    mean = np.asarray(perceived, dtype=np.float64)
    return np.where(mean >= load(language=language)[NO_HEDGE].beta.mean - 1e-9, 1.0, mean)
