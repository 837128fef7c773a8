"""The confidence that people perceive in a marker given by its standardised name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ...calibration import Beta
from ...calibration.metrics.markers import NO_MARKER
from ..hedges.entries import NO_HEDGE, Hedge
from ..hedges.loading import load
from ..text.words import tokenize
from .decisive import decisiveness
from .local_reader import perceive


@dataclass(frozen=True, slots=True)
class Reading:
    """The confidence that people perceive in a marker.

    Attributes
    ----------
    beta : Beta or None
        None where no reader knows the marker.
    hedge : Hedge or None
        The lexicon entry that it is; None where the fitted reader tells.
    """

    beta: Beta | None
    hedge: Hedge | None

    @property
    def mean(self) -> float | None:
        """In [0, 1], higher = more confident; None where no reader knows the marker."""
        return None if self.beta is None else self.beta.mean

    @property
    def decisiveness(self) -> float | None:
        """Decisiveness in [0, 1] of a sentence with it; None if `mean` is None.

        1 if it sounds at least as sure as a plain assertion.
        """
        return None if self.beta is None else float(decisiveness(self.beta.mean))


@lru_cache(maxsize=4096)
def people_read(marker: str) -> Reading:
    """The reading of a standardised marker: by its lexicon entry, else by the fitted reader.

    The fitted reader does not know all words.

    Raises
    ------
    LexiconError
        If there is nothing to read.

    Examples
    --------
    >>> people_read("probably").hedge.id, people_read("<no_hedge>").hedge.id
    ('probably', 'no-hedge')
    """
    if marker == NO_MARKER:
        plain = load()[NO_HEDGE]
        return Reading(plain.beta, plain)
    if (entry := _entries().get(_words(marker))) is not None:
        return Reading(entry.beta, entry)
    readings = (perceive(text) for text in (marker, f"It is {marker} that it was so."))
    return Reading(next((reading.beta for reading in readings if reading.spans), None), None)


@lru_cache(maxsize=1)
def _entries() -> dict[str, Hedge]:
    """Entries by their words, with and without introductory ones: "I am fairly sure" is found by "fairly sure"."""
    entries: dict[str, Hedge] = {}
    for hedge in load():
        for wording in [hedge.phrase, *hedge.variants] if hedge.phrase else []:
            words = _words(wording)
            entries.setdefault(words, hedge)
            for lead in ("i am ", "it is ", "there is a ", "it ", "i "):
                if words.startswith(lead):
                    entries.setdefault(words.removeprefix(lead), hedge)
                    break
    return entries


def _words(text: str) -> str:
    return " ".join(token.word for token in tokenize(text))
