"""Folds words to plain letters and reduces them to stems."""

from __future__ import annotations

import re
import unicodedata

from ...lexicon.text.numbers import is_number

_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "’": "'", "‘": "'", "–": "-", "—": "-", "−": "-"}
)
_VOWEL = re.compile("[aeiouy]")
_SUPERSCRIPTS = re.compile(r"(?<=[^\W\d_])[⁰¹²³⁴-⁹]+|(?<=[.\s\"”])[⁰¹²³⁴-⁹]+|\[\d+\]|<br\s*/?>")


def fold(text: str) -> str:
    """Compatibility form, lower case, no accents, plain quotes and dashes.

    >>> fold("Röntgen’s ＦＯＯ")
    "rontgen's foo"
    """
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", _SUPERSCRIPTS.sub("", text).translate(_LETTERS)).casefold()
    return "".join(c for c in decomposed.translate(_LETTERS) if not unicodedata.combining(c))


def stem(word: str) -> str:
    """A word without plural and common derivational endings; numbers stay.

    >>> stem("chromosomes"), stem("rusting"), stem("zoroastrianism"), stem("regulation"), stem("regulates"), stem("bus")
    ('chromosom', 'rust', 'zoroastrian', 'regulat', 'regulat', 'bus')
    """
    if len(word) < 5 or is_number(word) or _VOWEL.search(word) is None:
        return word[:-1] if len(word) == 4 and word.endswith("s") and word[2] not in "su" else word
    for ending, remaining in _ENDINGS.get(word[-1], ()):
        if word.endswith(ending) and len(word) - len(ending) >= remaining:
            return word[: -len(ending)] if ending != "s" or word[-2] not in "su" else word
    return word


_IN_ORDER = (
    *((ending, 5) for ending in ["ement", "ment", "ance", "ence", "ion"]),
    *(
        (ending, 4)
        for ending in [
            "ically",
            "isms",
            "ists",
            "ers",
            "ing",
            "ism",
            "ist",
            "ies",
            "ed",
            "er",
            "es",
            "ly",
            "al",
            "on",
            "a",
            "e",
            "s",
            "y",
        ]
    ),
)
"""Endings, with the number of letters that must remain.

More for nouns made from verbs: "station" is not "state".
"""
_ENDINGS = {
    last: tuple(pair for pair in _IN_ORDER if pair[0][-1] == last) for last in {ending[-1] for ending, _ in _IN_ORDER}
}
"""The same endings, grouped by their last letter."""
