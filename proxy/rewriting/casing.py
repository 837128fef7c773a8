"""Capital letters at the seams: what may be written small inside a sentence, and what is a name."""

from __future__ import annotations

import re

from proxy.rewriting.words import PLAIN_OPENERS

_FIRST_WORD = re.compile(r"^([*_\"“”'‘«„(\[]*)([^\W\d_]+)(['’][^\W\d_]+)?")
_ARTICLE_AND_TITLE = re.compile(
    r"^[*_]*An?\s+(?:[A-Z][\w'’-]*\s+(?:(?:of|the|and|in|to|for|on)\s+)*)+[A-Z][\w'’-]*[*_]*[.!]?$"
)


def capitalise(text: str) -> str:
    """The text with its first letter large; markup and quotation marks before it are passed over."""
    match = re.match(r"^[*_(\[]*", text)
    start = match.end() if match else 0
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]


def lowers(text: str, question: str = "", context: str = "") -> bool | None:
    """May the first letter be written small? None where nothing tells a common word from a name.

    The question is the best witness: "Do humans ...?" shows that "Humans" is no name.
    """
    match = _FIRST_WORD.match(text)
    if match is None or not match.group(2)[0].isupper():
        return True
    mark, word, tail = match.groups()
    if any(quote in mark for quote in "\"“”'‘«„") or (len(word) > 1 and not word[1:].islower()):
        return False
    if word == "I" or (tail and word == "I"):
        return False
    if _ARTICLE_AND_TITLE.match(text):
        return False
    if word.lower() in PLAIN_OPENERS:
        return True
    return _witness(word, "\n".join(text for text in (question, context) if _minds_case(text)))


def _minds_case(text: str) -> bool:
    """Whether the text has capitals beyond its first letter; one typed all small says nothing about names."""
    return bool(re.search(r"(?<=.)[A-Z]", text))


def _witness(word: str, text: str) -> bool | None:
    if re.search(rf"(?<![\w.]){re.escape(word.lower())}(?!\w)", text):
        return True
    if re.search(rf"(?<=[\w,] ){re.escape(word)}(?!\w)", text):
        return False
    return None


def decapitalise(text: str, question: str = "", context: str = "") -> str:
    """The text as it stands inside a sentence: its first letter small where that is safe."""
    if lowers(text, question, context) is not True:
        return text
    match = _FIRST_WORD.match(text)
    if match is None:
        return text
    start = match.start(2)
    return text[:start] + text[start].lower() + text[start + 1 :]
