"""Records that depend on each other, such as verdicts of one user or on one question: one of each cluster counts, and no finding rests on one sender."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Names = Sequence[str | None] | NDArray[np.object_]
"""The cluster of each record by one key, shape (n,); None: not known, of its own."""


def first_of_each(*keys: Names) -> NDArray[np.intp]:
    """Indices of the records that share no name, by any of the keys, with an earlier record that is kept.

    Notes
    -----
    **Source**: subsampling one record of each group (Dunn, Wasserman & Ramdas 2023, "Distribution-free prediction sets for two-layer
    hierarchical models", section 3.3): where clusters are independent, the kept records are, and every test for independent records is exact on them,
    however much those of a cluster depend on each other. Whether a record is kept is known before its outcome, so a
    martingale of bets on them stays one (Doob 1936). A cluster counts once, whatever its size: shares are those of clusters.

    Examples
    --------
    >>> first_of_each(["ada", "ada", "eve", None, None, "bob"], ["q1", "q2", "q1", "q2", None, "q3"]).tolist()
    [0, 3, 4, 5]
    """
    seen: list[set[str]] = [set() for _ in keys]
    kept = []
    for index, names in enumerate(zip(*keys, strict=True)):
        if not any(name in known for name, known in zip(names, seen, strict=True)):
            kept.append(index)
            for name, known in zip(names, seen, strict=True):
                known.update(() if name is None else (name,))
    return np.array(kept, dtype=np.intp)


def together(names: Names) -> NDArray[np.intp]:
    """The number of each record's cluster, for resampling; records without a name are clusters of their own.

    >>> together(["ada", None, "ada", None]).tolist()
    [0, 1, 0, 2]
    """
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(i if n is None else n, len(numbers)) for i, n in enumerate(names)], np.intp)


def rests_on(senders: Names, stands: Callable[[NDArray[np.intp]], bool]) -> str | None:
    """The sender without whose records a finding does not stand; None if it stands without those of any one.

    Parameters
    ----------
    senders : sequence, length n
        Who sent each record; None for those whose senders are trusted.
    stands : callable
        Whether the finding stands on some of the records, given by their indices.

    Examples
    --------
    >>> rests_on(["ada", None, "eve", "eve"], lambda kept: kept.size > 2)
    'eve'
    """
    sent = np.asarray(senders, dtype=object)
    by_number = Counter(name for name in sent if name is not None).most_common()
    return next((name for name, _ in by_number if not stands(np.flatnonzero(sent != name))), None)
