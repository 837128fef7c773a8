"""What the small model of perceived confidence sees of a sentence: its cues, the words in and around them, nothing else.

The names and numbers of a sentence are no features, so a claim about Paris sounds as sure as the same claim about Oslo.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hedgerow.lexicon.perception.cues import Cue
from hedgerow.lexicon.perception.vocabulary import Vocabulary, vocabulary
from hedgerow.lexicon.text.words import Token

LONGEST = 4
"""Words in the longest word feature."""

PLAIN_VALUE = 3.0
"""Logits at which a plain assertion stands in the hand-set vocabulary: cue values are taken from there."""

NUMERIC_SCALE = 2.0
"""Weight of a numeric feature against an indicator under the same L2 penalty."""

_MARKS = {",": ",", ";": ",", ":": ",", "—": ",", "–": ",", "?": "?", "!": "!"}
_BARRIER = "_"


def features(tokens: Sequence[Token], cues: Sequence[Cue], book: Vocabulary | None = None) -> dict[str, float]:
    """Features of a sentence by name; empty where it holds no cue.

    Parameters
    ----------
    tokens : sequence of Token
        The sentence.
    cues : sequence of Cue
        What `find_cues` found in it.
    book : Vocabulary, optional
        The words that may stand inside a feature; the shipped ones where none is given.

    Returns
    -------
    dict of str to float
        "w:" words that overlap a cue (n-grams to length 4 that do not cross an unknown word), "s:" and "b:" the cues by symbol
        and by class, "ss:" and "bb:" neighbouring pairs of them, "#" numbers and marks.
    """
    if not cues:
        return {}
    found = _words(tokens, cues, book or vocabulary())
    bases = [_base(cue) for cue in cues]
    symbols = [cue.symbol for cue in cues]
    found.update((f"s:{symbol}", 1.0) for symbol in symbols)
    found.update((f"b:{base}", 1.0) for base in bases)
    found.update((f"ss:{a} {b}", 1.0) for a, b in itertools.pairwise(symbols))
    found.update((f"bb:{a} {b}", 1.0) for a, b in itertools.pairwise(bases))
    return found | _numbers(tokens, cues)


def _base(cue: Cue) -> str:
    return f"neg.{cue.base}" if cue.symbol.startswith("neg") else cue.base


def _words(tokens: Sequence[Token], cues: Sequence[Cue], book: Vocabulary) -> dict[str, float]:
    words = [token.word if book.knows(token.word) else _MARKS.get(token.word, _BARRIER) for token in tokens]
    telling = [book.cues(word) for word in words]
    covered = [False] * len(words)
    exact = {(cue.first, cue.last + 1) for cue in cues}
    for cue in cues:
        covered[cue.first : cue.last + 1] = [True] * (cue.last + 1 - cue.first)
    found: dict[str, float] = {}
    for start in range(len(words)):
        for stop in range(start + 1, min(start + LONGEST, len(words)) + 1):
            if words[stop - 1] == _BARRIER:
                break
            if (any(covered[start:stop]) and any(telling[start:stop])) or (start, stop) in exact:
                found["w:" + " ".join(words[start:stop])] = 1.0
    return found


def _numbers(tokens: Sequence[Token], cues: Sequence[Cue]) -> dict[str, float]:
    values = [cue.value - PLAIN_VALUE for cue in cues]
    words = {token.word for token in tokens}
    marks = {
        "#cue": True, "#two": len(cues) > 1, "#three": len(cues) > 2, "#question": "?" in words,
        "#but": not words.isdisjoint({"but", "though"}),
    }  # fmt: skip
    found = {"#min": min(values), "#mean": sum(values) / len(values), "#max": max(values)}
    return {name: NUMERIC_SCALE * value for name, value in (found | marks).items() if value}
