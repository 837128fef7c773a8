"""Many phrases as one pattern: a trie over words, so that a thousand phrases cost about as much to look for as a dozen."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CONTRACTIONS = (
    (r"\bI am\b", "I'm"), (r"\bI would\b", "I'd"), (r"\bI have\b", "I've"), (r"\bdo not\b", "don't"), (r"\bcannot\b", "can't"),
    (r"\b(it|this|that|there) is\b", r"\1's"), (r"\bcould not\b", "couldn't"), (r"\bis not\b", "isn't"), (r"\bwould not\b", "wouldn't"),
)  # fmt: skip
_APOSTROPHES = str.maketrans("’‘ʼ", "'''")


class _Node(dict[str, "_Node"]):
    """Words that may follow; `ends` where a phrase is complete."""

    ends = False


def straight(text: str) -> str:
    """The text with straight apostrophes; offsets stay."""
    return text.translate(_APOSTROPHES)


def contracted(text: str) -> str:
    """The phrase as one says it: "I am not sure" -> "I'm not sure"."""
    for long, short in _CONTRACTIONS:
        text = re.sub(long, short, text, flags=re.IGNORECASE)
    return text


def variants(phrase: str) -> set[str]:
    """A phrase with and without its contractions: all at once, and each on its own."""
    found = {phrase, contracted(phrase)}
    return found | {re.sub(long, short, phrase, flags=re.IGNORECASE) for long, short in _CONTRACTIONS}


def any_of(phrases: Iterable[str]) -> str:
    """A pattern that matches the longest of the phrases, any case, any run of spaces; matches nothing where there are none."""
    root = _Node()
    for phrase in phrases:
        node = root
        for word in straight(phrase).lower().split():
            node = node.setdefault(word, _Node())
        node.ends = node is not root
    return _pattern(root) if root else r"(?!)"


def _pattern(node: _Node) -> str:
    branches = [
        re.escape(word) + (_tail(child) if child else "")
        for word, child in sorted(node.items(), key=lambda item: -len(item[0]))
    ]
    return f"(?:{'|'.join(branches)})"


def _tail(node: _Node) -> str:
    following = rf"\s+{_pattern(node)}"
    return f"(?:{following})?" if node.ends else following
