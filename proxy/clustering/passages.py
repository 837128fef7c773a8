"""The passage of an answer that is about a claim, shown to a person beside the verdict on it."""

from __future__ import annotations

from collections.abc import Sequence

from ...lexicon.text.sentences import sentence_spans
from ...lexicon.text.words import tokenize
from .stems import fold, stem
from .words import word_lists

LONGEST = 300
"""Maximum length of a passage in characters; the rest is cut off."""
LOOKED_AT = 20_000
"""Number of characters of an answer that are read."""


class Passages:
    """Several answers, split into sentences once for all claims."""

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = [
            [(text[start:end], _words(text[start:end])) for start, end in sentence_spans(text)]
            for text in (answer[:LOOKED_AT] for answer in answers)
        ]

    def of(self, claim: str) -> list[str]:
        """From each answer the sentence with most words of the claim, the first on ties; "" where none has any.

        >>> Passages(["He was tall. Born in Rome, he moved.", "Yes."]).of("He was born in Rome.")
        ['Born in Rome, he moved.', '']
        """
        wanted = _words(claim)
        passages = []
        for sentences in self._answers:
            shared = [len(wanted & words) for _, words in sentences]
            best = max(range(len(shared)), key=shared.__getitem__, default=None)
            text = sentences[best][0] if best is not None and shared[best] else ""
            passages.append(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")
        return passages


def _words(text: str) -> frozenset[str]:
    words = (fold(token.word) for token in tokenize(text) if token.word[0].isalnum())
    return frozenset(stem(word) for word in words if word not in word_lists().fillers)
