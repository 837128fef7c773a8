"""One answer to be written to the audit: its figures, and the texts and names that privacy settings apply to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..config import StoreText

Row = dict[str, Any]
"""A row of `answers`, by column name."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one answer; None if there is no such text.

    Attributes:
        draft: the plain answer.
        answer: the final words; in shadow, what would have been served.
        served: in shadow, the text that the client got.
        samples: the answers drawn, in order.
        claims: of a long answer, the words of each claim, with its context.
    """

    question: str | None = None
    draft: str | None = None
    answer: str | None = None
    served: str | None = None
    samples: tuple[str, ...] | None = None
    claims: tuple[str, ...] | None = None


class Entry(NamedTuple):
    """One answer before privacy settings are applied.

    Attributes:
        row: figures and codes; omitted columns are null.
        texts: the unchanged texts.
        user: the client's own name for its user.
        conversation: what tells its conversation from others.
        store_text: how the texts may be stored.
    """

    row: Row
    texts: Texts | None = None
    user: str | None = None
    store_text: StoreText = "none"
    conversation: str | None = None


class Prepared(NamedTuple):
    """An entry to be stored: columns of `answers` except its place in a chain, and columns of `texts`."""

    row: Row
    texts: Row | None = None

    @property
    def id(self) -> str:
        """The audit id."""
        return str(self.row["id"])
