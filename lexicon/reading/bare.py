"""A sentence without its words of confidence: what is compared with other answers."""

from __future__ import annotations

import re

from .local import may_state
from .reading import Reading, Sentence

_GAPS = re.compile(r"\s{2,}|\s+(?=[,.;:!?])|(?:^|(?<=,))\s*,")
_LEFT_OVER = re.compile(
    r"^(?:[\s,;:–—-]|(?:but|that|though|although)\b)+|(?:[\s,;:–—-]|\b(?:but|though|although))+(?=[.!?]*$)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")


def without_own(reading: Reading, sentence: Sentence) -> str:
    """The text of a sentence less its own hedges and boosters; "" where nothing else is in it.

    >>> from hedgerow.lexicon.reading.local import read
    >>> answer = read("I'm not sure, but I think it was Harold Pinter.")
    >>> without_own(answer, answer.sentences[0])
    'It was Harold Pinter.'
    """
    text = reading.words_of(sentence)
    for own in reversed(sentence.own):
        start, end = max(0, own.start - sentence.start), min(len(text), own.end - sentence.start)
        text = text[:start] + text[end:]
    if not sentence.own:
        return text
    left = _LEFT_OVER.sub("", _GAPS.sub(lambda gap: " " if gap[0].isspace() and len(gap[0]) > 1 else "", text)).strip()
    if not _WORD.search(left):
        return ""
    return left[:1].upper() + left[1:] if reading.words_of(sentence)[:1].isupper() else left


def asserted(reading: Reading) -> list[tuple[Sentence, str]]:
    """The sentences of an answer that can hold an assertion, each without its own words of confidence; "" for one that asserts nothing.

    A hedged statement is judged by what is left of it: "I'm not sure, but it was Pinter." does not decline to answer.
    """
    found = []
    for sentence in reading.sentences:
        if sentence.block in ("row", "heading"):
            continue
        bare = without_own(reading, sentence)
        is_alone = len(reading.sentences) == 1 and sentence.act != "declines"
        says = sentence.states >= LIKELY or ((is_alone or sentence.own) and may_state(bare))
        found.append((sentence, bare if bare and says and not bare.endswith(("?", ":")) else ""))
    return found


LIKELY = 0.5
"""Probability of stating something from which a sentence counts as an assertion."""
