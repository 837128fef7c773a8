"""What a stream needs of the rewriting, without the stream: natural pieces of a text, and the closing sentence of `append`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import anyio.to_thread

from hedgerow.lexicon import Frame, Hedge, Match
from hedgerow.lexicon.text.language import known_language_of
from hedgerow.lexicon.text.sentences import sentences
from hedgerow.lexicon.text.shape import Shape
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.rewriting.frames import Surroundings, apply, capitalise, lexicon_of
from hedgerow.proxy.rewriting.guard import perceived_confidence
from hedgerow.proxy.rewriting.template import asserts
from hedgerow.proxy.types import Rewording, RewriteRequest

_WORD = re.compile(r"\s*\S+\s*?(?=\s|$)|\s+")
WORDS_A_PIECE = 4
"""About what a model's server sends at once when it is quick."""
_LONGEST = 48
"""Characters after which even a text without spaces is cut."""

_CONCESSIONS = (" but", " aber", " mais", " pero")
_THIS_IS_RIGHT = {
    "en": Shape("clause", "", "this is right", ".", True, len("this is ")),
    "de": Shape("clause", "", "das stimmt", ".", True, len("das stimmt")),
    "fr": Shape("clause", "", "c'est exact", ".", True, len("c'est ")),
    "es": Shape("clause", "", "esto es correcto", ".", True, len("esto es ")),
}


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


async def append_confidence_sentence(request: RewriteRequest) -> Rewording:
    """The draft with a closing sentence that says how sure it is ("This is probably right."), where one is due."""
    return await anyio.to_thread.run_sync(append_confidence_sentence_sync, request)


def append_confidence_sentence_sync(request: RewriteRequest) -> Rewording:
    """Synchronous version of `append_confidence_sentence`."""
    language = request.language or known_language_of(request.draft, request.question)
    plain = Rewording(request.draft, "plain", Reason.NO_HEDGE_NEEDED, None, None)
    if language is None:
        return replace(plain, status="unhedged", reason=Reason.UNKNOWN_LANGUAGE)
    if request.hedges[0].hedge.is_plain:
        return replace(plain, hedge=request.hedges[0].hedge.id)
    if not any(asserts(sentence, language) for sentence in sentences(request.draft)):
        return replace(plain, reason=Reason.NO_ASSERTION)
    if (closing := _closing(request.draft, request.hedges, language)) is None:
        return replace(plain, status="unhedged", reason=Reason.NO_FRAME)
    hedge, sentence = closing
    perceived = perceived_confidence(sentence, language)
    return Rewording(request.draft + sentence, "hedged", None, hedge.id, "closing", perceived=perceived)


def _closing(answer: str, matches: Sequence[Match], language: str) -> tuple[Hedge, str] | None:
    hedges = [match.hedge for match in matches] if language == "en" else _like(matches[0].hedge, language)
    wordings = ((hedge, worded) for hedge in hedges for worded in _wordings(hedge, language))
    hedge, worded = next(wordings, (None, ""))
    return (hedge, _break(answer) + capitalise(worded)) if hedge else None


def _wordings(hedge: Hedge, language: str) -> Iterator[str]:
    """Sentences that say how sure the answer before them is. They may doubt it outright: the answer itself is not taken back."""
    shape, around = _THIS_IS_RIGHT[language], Surroundings(language=language)
    for kind in ("clause", "adverb"):
        for frame in hedge.frames:
            if frame.kind == kind and not _concedes(frame) and (worded := apply(frame, shape, around)) is not None:
                yield worded
    for frame in hedge.frames:
        if frame.kind == "lead" or _concedes(frame):
            yield re.split(r",? (?:but|aber|mais|pero)\b| ?[:{]|, würde", frame.text)[0] + "."


def _concedes(frame: Frame) -> bool:
    """True for "I am not sure, but {clause}"."""
    return frame.kind == "clause" and frame.text.partition("{")[0].rstrip().endswith(_CONCESSIONS)


def _like(hedge: Hedge, language: str) -> list[Hedge]:
    """The hedges of another language, the one nearest in mean first."""
    sayable = (other for other in lexicon_of(language).hedges if other.frames)
    return sorted(sayable, key=lambda other: abs(other.beta.mean - hedge.beta.mean))


def _break(answer: str) -> str:
    """A blank line after a longer answer or one with lines of its own, else a space; a full stop first where there is none."""
    if "\n" in answer.strip() or len(answer) > 280:
        return "\n\n"
    return " " if re.search(r"[.!?…][\"”»')\]*_]*\s*$", answer) else ". "
