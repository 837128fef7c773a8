"""Capital letters at the seams: what may be written small inside a sentence, and what is a name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hedgerow.lexicon.text.english import CLOSED_CLASS, PLAIN_OPENERS
from hedgerow.lexicon.text.language import grammar

_FIRST_WORD = re.compile(r"^([*_\"“”'‘«„(\[]*)([^\W\d_]+)(['’][^\W\d_]+)?")
_TITLE = re.compile(r"^[*_]*An?\s+(?:[A-Z][\w'’-]*\s+(?:(?:of|the|and|in|to|for|on)\s+)*)+[A-Z][\w'’-]*[*_]*[.!]?$")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands around a sentence and tells names from common words.

    Attributes:
        question: the user's; "Do humans ...?" shows that "Humans" is no name.
        rest: the other sentences of the answer.
        language: "en", "de", "fr" or "es".
    """

    question: str = ""
    rest: str = ""
    language: str = "en"


def capitalise(text: str) -> str:
    """The text with its first letter large; markup and brackets before it are passed over."""
    match = re.match(r"^[*_(\[¿¡]*", text)
    start = match.end() if match else 0
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]


def lowers(text: str, around: Surroundings) -> bool | None:
    """May the first letter be written small? None where nothing tells a common word from a name."""
    match = _FIRST_WORD.match(text)
    if match is None or not match.group(2)[0].isupper():
        return True
    mark, word, tail = match.groups()
    if any(quote in mark for quote in "\"“”'‘«„") or (len(word) > 1 and not word[1:].islower()):
        return False
    if around.language != "en":
        return word.lower() in grammar(around.language).small or (bool(tail) and len(word) <= 2) or None
    if word == "I" or _TITLE.match(text):
        return False
    if word.lower() in PLAIN_OPENERS:
        return word.lower() in CLOSED_CLASS or not re.match(r"\s+[A-Z]", text[match.end() :])  # "Red" in "Red Sea"
    return _witness(word, "\n".join(text for text in (around.question, around.rest) if _minds_case(text)))


def decapitalise(text: str, around: Surroundings) -> str:
    """The text as it stands inside a sentence: its first letter small where that is safe."""
    match = _FIRST_WORD.match(text)
    if match is None or lowers(text, around) is not True:
        return text
    start = match.start(2)
    return text[:start] + text[start].lower() + text[start + 1 :]


def _minds_case(text: str) -> bool:
    """Whether the text has capitals; one typed all small says nothing about names."""
    return bool(re.search(r"[A-Z]", text))


def _witness(word: str, text: str) -> bool | None:
    if re.search(rf"(?<![\w.]){re.escape(word.lower())}(?!\w)", text):
        return True
    if re.search(rf"(?<=[\w,] ){re.escape(word)}(?!\w)", text):
        return False
    return None
