"""The entries of a custom lexicon as the reader uses them: their wordings, at their own Betas, before the shipped ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...calibration import Beta
from ..hedges.entries import NO_HEDGE, Lexicon
from ..hedges.loading import load
from ..hedges.offered import own_entries
from ..text.language import function_words, negations
from ..text.words import Token
from .cues import Cue, find_cues
from .translated import Book, Wording, check_language, find_wordings

_EDGES = frozenset({"and", "although", "but", "though"})
"""Conjunctions that may be missing at the ends of an English wording."""
_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True)
class Own:
    """The differences of a custom lexicon from the shipped one of its language.

    Attributes
    ----------
    language : str
    book : Book
        Wordings of its own entries.
    plain : Beta
        The confidence perceived in a plain assertion: by its own `no-hedge` entry, else by the shipped one.
    """

    language: str
    book: Book
    plain: Beta

    @classmethod
    def of(cls, lexicon: Lexicon) -> Own | None:
        """The own entries of a lexicon; None if it has none.

        Raises
        ------
        LexiconError
            If its language cannot be read.
        """
        check_language(lexicon.language)
        mine = own_entries(lexicon)
        if not mine:
            return None
        denying = lexicon.negations or negations(lexicon.language)
        common = function_words(lexicon.language)
        plain = lexicon.get(NO_HEDGE) or load(language=lexicon.language)[NO_HEDGE]
        book = Book.of(mine.values(), denying, lexicon.edges or _EDGES, common)
        return cls(lexicon.language, book, plain.beta)

    def find(self, tokens: Sequence[Token], cues: Sequence[Cue]) -> tuple[list[Wording], list[Cue]]:
        """The own wordings in an English sentence, and the cues beside them.

        A cue that modifies a wording replaces it ("very likely" is not the own "likely"). A wording whose words the
        grammar of cues knows counts only where the grammar finds a cue ("may" is not the month).
        """
        words = [token.word for token in tokens]
        kept = [
            wording
            for wording in find_wordings(tokens, self.book)
            if _stands(wording, words, [cue for cue in cues if _meet(wording, cue)], tokens)
        ]
        return kept, [cue for cue in cues if not any(_meet(wording, cue) for wording in kept)]


def _meet(wording: Wording, cue: Cue) -> bool:
    return wording.first <= cue.last and cue.first <= wording.last


def _stands(wording: Wording, words: Sequence[str], met: Sequence[Cue], tokens: Sequence[Token]) -> bool:
    if met and wording.hedge is None:
        return False  # the grammar of cues handles negation better
    if not met:
        return not find_cues(tokens[wording.first : wording.last + 1])
    return _ARTICLES.issuperset(words[min(cue.first for cue in met) : wording.first])
