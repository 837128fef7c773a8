"""Helpers for streaming: splits a text into natural pieces, and makes the closing sentence of mode `append`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from zlib import crc32

from ...calibration import Beta
from ...lexicon import NO_HEDGE, Match
from ...lexicon.hedges.written import Closing, written
from ...lexicon.text.language import known_language_of
from ...lexicon.text.sentences import sentences
from ..computing import compute
from ..outcomes import Reason
from ..types import Rewording, RewriteRequest
from .asserting import asserts, is_no_statement
from .frames import LOW, breaks_off, distance, is_plain
from .guard import Reader, perceived_confidence

_WORD = re.compile(r"\s*\S+\s*?(?=\s|$)|\s+")
WORDS_A_PIECE = 4
"""About as many words as a fast model server sends at once."""
ABOUT_AS_NEAR = 0.012
"""Closing sentences count as equally good if their distances from the target differ by less than this."""
NOTED_BELOW = 0.45
"""Mean below which an answer without a place for a hedge gets a note."""
_LIKE_A_MARKER = re.compile(r"\d{1,9}|[A-Za-z]")
"""An answer that would begin a list if a full stop followed it."""
_LONGEST = 48
"""Number of characters after which a text without spaces is split too."""


def natural_pieces(text: str) -> Iterator[str]:
    """The text in pieces of a few words, as a model would send it; joined, they are the text."""
    piece, count = "", 0
    for match in _WORD.finditer(text):
        piece += match.group()
        count += 1
        if count >= WORDS_A_PIECE or len(piece) >= _LONGEST or piece[-1:] in ".!?\n":
            yield from _cut(piece)
            piece, count = "", 0
    if piece:
        yield from _cut(piece)


def _cut(piece: str) -> Iterator[str]:
    for start in range(0, len(piece), _LONGEST):
        yield piece[start : start + _LONGEST]


async def append_confidence_sentence(
    request: RewriteRequest, reader: Reader | None = perceived_confidence
) -> Rewording:
    """The draft with a closing sentence about its confidence ("This is probably right."), where one is due."""
    return await compute(append_confidence_sentence_sync, request, reader)


def append_confidence_sentence_sync(request: RewriteRequest, reader: Reader | None = perceived_confidence) -> Rewording:
    """Synchronous version of `append_confidence_sentence`."""
    language = request.language or known_language_of(request.draft, request.question)
    plain = Rewording(request.draft, "plain", Reason.NO_HEDGE_NEEDED, None, None)
    if language is None:
        return replace(plain, status="unhedged", reason=Reason.UNKNOWN_LANGUAGE)
    if not request.must_hedge and is_plain(request.target, request.hedges):
        return replace(plain, hedge=NO_HEDGE)
    texts = sentences(request.draft)
    if not any(asserts(text, language) for text in texts) or (
        language == "en" and is_no_statement(request.draft, texts, request.question)
    ):
        return replace(plain, reason=Reason.NO_ASSERTION)
    if (closing := closing_sentence(request.target, request.hedges, language, request.said, request.draft)) is None:
        return replace(plain, status="unhedged", reason=Reason.NO_FRAME)
    if any(each.text in request.draft for each in (*written(language).closings, *written(language).notes)):
        return replace(plain, reason=Reason.ALREADY_HEDGED)
    perceived = reader(closing.text, language) if reader and language == "en" else closing.beta
    text = _joined(request.draft, closing.text)
    return Rewording(text, "hedged", None, closing.hedge, "closing", perceived=perceived)


def closing_sentence(
    target: Beta, matches: Sequence[Match], language: str, said: str = "", answer: str = ""
) -> Closing | None:
    """The closing sentence for a target confidence; None where the language has none.

    At low confidence a note, else the sentence of the best hedge that has one. A sentence in `said`, the end of the
    last answer, is not repeated if there is another.
    """
    known = written(language)
    by_hedge = {closing.hedge: closing for closing in unsaid(known.closings, said)}
    retrieved = (by_hedge[match.hedge.id] for match in matches if match.hedge.id in by_hedge)
    if target.mean > LOW and language == "en" and (closing := next(retrieved, None)) is not None:
        return closing
    return nearest_of(unsaid(known.notes if target.mean <= LOW else known.closings, said), target, answer)


def nearest_of(sentences: Sequence[Closing], target: Beta, answer: str) -> Closing | None:
    """The sentence whose Beta is nearest to the target.

    Among about equally near ones the answer decides, so that not all answers end alike.
    """
    by_distance = [(distance(each.beta, target), each) for each in sentences]
    best = min((far for far, _ in by_distance), default=0.0)
    near = (each for far, each in by_distance if far <= best + ABOUT_AS_NEAR)
    return min(near, key=lambda each: crc32(f"{answer}|{each.text}".encode()), default=None)


def note_of_doubt(request: RewriteRequest) -> Closing | None:
    """The note for an uncertain English answer that has no place for a hedge ("This answer is uncertain.").

    None from a mean of `NOTED_BELOW` on, and where the answer breaks off.
    """
    stopped = request.draft.rstrip()[-1:] in '.!)"”'
    if request.language != "en" or request.must_hedge or request.target.mean >= NOTED_BELOW or not stopped:
        return None
    own = [closing for closing in written("en").closings if closing.hedge is None]
    return nearest_of(unsaid(own, request.said), request.target, request.draft)


def unsaid(sentences: Sequence[Closing], said: str) -> Sequence[Closing]:
    """The sentences that do not occur in `said`; all of them if each does."""
    return tuple(each for each in sentences if each.text not in said) or sentences


def _joined(answer: str, sentence: str) -> str:
    """The answer with a sentence after it.

    After a bare number or letter it stands in brackets: "75. This answer is ..." would be read, and shown by Markdown,
    as item 75 of a list.
    """
    if _LIKE_A_MARKER.fullmatch(answer.strip()):
        return answer + ("" if answer[-1:].isspace() else " ") + f"({sentence})"
    return answer + _break(answer) + sentence


def _break(answer: str) -> str:
    """The separator before a closing sentence.

    A blank line after an answer that is long, has several lines or breaks off, else a space; with a full stop first
    where there is none.
    """
    stopped = re.search(r"[.!?…][\"”»')\]*_]*\s*$", answer) is not None
    marker = _LIKE_A_MARKER.fullmatch(answer.strip().rstrip(".)"))
    if marker or "\n" in answer.strip() or len(answer) > 280 or (not stopped and breaks_off(answer)):
        return "\n\n"[len(answer) - len(answer.rstrip("\n")) :]
    return " " if stopped else ". "
