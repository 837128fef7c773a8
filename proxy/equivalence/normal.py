"""The normal form of a short answer: what is left when spelling, wrapping and word order that carry no meaning are gone.

Two answers with the same normal form are certainly the same. Everything finer works on the tokens of the normal form.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from proxy.equivalence.numerals import is_number, read_numbers

ARTICLES = frozenset({"a", "an", "the"})
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "’": "'", "‘": "'", "–": "-", "—": "-"}
)
_TOKEN = re.compile(r"\.?\d[\d,]*(?:\.\d+)?[a-z]{0,2}\b|[^\W\d_]+(?:'[^\W\d_]+)*|\d+|[%$€£¥°+\-/=<>]", re.UNICODE)
_WRAPPERS = re.compile(
    r"^(?:(?:sure|ok|okay|well|so)[,.!:]\s+)?"
    r"(?:(?:the |my )?(?:final |correct |short |best )?(?:answer|guess|response)(?: is|\s*[:=]|'s)|a\s*:)\s*(?:that\s+)?",
)
_OPENERS = re.compile(
    r"^(?:it|this|that|he|she|they)(?:'s| is| was| are| were)\s+(?:called\s+|known as\s+)?(?!not\b|n't)"
)


@dataclass(frozen=True, slots=True)
class Normal:
    """An answer in normal form.

    Attributes:
        tokens: folded words and numbers in order, articles and punctuation gone.
        key: the tokens as one string; equal keys mean the same.
    """

    tokens: tuple[str, ...]
    key: str

    @property
    def numbers(self) -> frozenset[str]:
        """The distinct numbers in the answer."""
        return frozenset(token for token in self.tokens if is_number(token))


def fold(text: str) -> str:
    """Compatibility form, no case, no accents, plain quotes and dashes.

    >>> fold("Röntgen’s ＦＯＯ")
    "rontgen's foo"
    """
    decomposed = unicodedata.normalize("NFKD", text.translate(_LETTERS)).casefold().translate(_LETTERS)
    return "".join(c for c in decomposed if not unicodedata.combining(c))


@lru_cache(maxsize=4096)
def normalise(answer: str) -> Normal:
    """Bring an answer into normal form.

    >>> normalise("The answer is: **Twenty-one** apples.").key
    '21 apples'
    """
    text = fold(answer).strip(" \t\n\r*_`\"'#>")
    text = _OPENERS.sub("", _WRAPPERS.sub("", text).strip(" *_`\"'"))
    tokens = [t for t in read_numbers(_TOKEN.findall(text)) if t not in ARTICLES]
    words = tuple(t for t in tokens if t not in "-/=" or t == "")
    words = tuple(w for w in words if w) or tuple(text.split())
    return Normal(words, " ".join(words))
