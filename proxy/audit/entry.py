"""One answer on its way into the audit: its figures, and the texts and names that privacy decides about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from hedgerow.proxy.config import StoreText

Row = dict[str, Any]
"""A row of `answers`, by column name."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one answer; None where there is no such text.

    Attributes:
        draft: the plain answer.
        answer: the final words; in shadow, what would have been served.
        served: shadow: what the client got.
        samples: the answers drawn, in order.
        claims: of a long answer, the words of each claim, with those that say of whom.
    """

    question: str | None = None
    draft: str | None = None
    answer: str | None = None
    served: str | None = None
    samples: tuple[str, ...] | None = None
    claims: tuple[str, ...] | None = None


class Entry(NamedTuple):
    """One answer as it is handed in.

    Attributes:
        row: figures and codes; columns that are left out are null.
        texts: as they were.
        user: the client's own name for its user, as it was.
        store_text: what of the texts may be kept.
    """

    row: Row
    texts: Texts | None = None
    user: str | None = None
    store_text: StoreText = "none"


class Prepared(NamedTuple):
    """An entry as it will be stored: columns of `answers` but for its place in a chain, and columns of `texts`."""

    row: Row
    texts: Row | None = None

    @property
    def id(self) -> str:
        """The audit id."""
        return str(self.row["id"])
