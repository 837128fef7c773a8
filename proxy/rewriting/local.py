"""The local way to word an answer: plan, then edits by offset, from its reading. Small and cautious, without a model: where no place is sure, a sentence of its own says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ...calibration import Beta
from ...lexicon import NO_HEDGE, Hedge, LexiconError, Span, load, offered, spot
from ...lexicon.hedges.entries import Voice as Speaker
from ...lexicon.hedges.offered import written
from ...lexicon.reading.reading import Reading
from ...lexicon.text.sentences import spans
from ..outcomes import Reason
from ..types import Rewording, RewriteRequest, SentenceStatus, WordedSentence
from .edits import Edit, Note, applied, with_note
from .phrases import Voice, sentence_for
from .policy import Claimed, Mark, Plan, plan
from .realise import Realised, realise

LOCAL, CLOSING = "local", "closing"
"""The names of the local way in field, audit and attempts: with edits, and with nothing but a sentence beside the answer."""
_PLAIN = frozenset({Reason.NO_ASSERTION, Reason.NO_HEDGE_NEEDED})
"""Reasons to leave an answer as it is that are no failure."""

Reader = Callable[[str, str | None], Beta | None]
"""(text, language) -> perceived confidence; None where there is nothing to read."""


def word_locally(
    reading: Reading,
    target: Beta,
    claims: Sequence[Claimed],
    voice: Voice,
    reader: Reader | None,
    *,
    must_mark: bool = False,
    may_replace: bool = True,
) -> Rewording:
    """The answer as the local way words it.

    Args:
        reading: the answer.
        target: calibrated confidence in the whole answer.
        claims: calibrated confidences of its claims, where they were measured.
        voice: the words that may be used.
        reader: measures perceived confidence; None leaves it out.
        must_mark: whether an answer that states something is marked at any confidence.
        may_replace: False where the client has read the answer already: then only a sentence after it can be added.
    """
    wanted = plan(reading, target, claims, voice.bands, must_mark=must_mark)
    if not wanted:
        return _as_it_is(reading, wanted.reason or Reason.NO_ASSERTION, claims, reader)
    made = realise(reading, wanted, voice) if may_replace else _closing(reading, wanted, voice)
    if made:
        return _worded(reading, made, claims, reader)
    marked = bool(made.placed) and not made.missed
    return _as_it_is(reading, Reason.ALREADY_HEDGED if marked else Reason.NO_FRAME, claims, reader)


def _as_it_is(reading: Reading, reason: str, claims: Sequence[Claimed], reader: Reader | None) -> Rewording:
    status: Literal["plain", "unhedged"] = "plain" if reason in _PLAIN else "unhedged"
    hedge = NO_HEDGE if reason == Reason.NO_HEDGE_NEEDED else None
    perceived = reader(reading.text, reading.language) if reader else None
    sentences = worded_sentences(reading, (), 0, claims)
    return Rewording(reading.text, status, reason, hedge, None, perceived=perceived, sentences=sentences)


def _worded(reading: Reading, made: Realised, claims: Sequence[Claimed], reader: Reader | None) -> Rewording:
    text, shift = with_note(reading, applied(reading.text, made.edits), made.note)
    sentences = worded_sentences(reading, made.edits, shift, claims)
    everywhere = [Claimed(0, len(reading.text), mark.target) for mark, _ in made.placed[:1]]
    marked = [
        text[s.start : s.end] for s in worded_sentences(reading, made.edits, shift, everywhere) if s.status == "hedged"
    ]
    heard = " ".join(marked) or (made.note.text if made.note else text)
    perceived = reader(heard, reading.language) if reader else None
    hedges = [hedge for _, hedge in sorted(made.placed, key=lambda each: each[0].target.mean) if hedge]
    hedge = next(iter(hedges), made.note.hedge if made.note else None)
    name = LOCAL if made.edits else CLOSING
    return Rewording(text, "hedged", None, hedge, name, (), perceived, sentences=sentences)


def _closing(reading: Reading, wanted: Plan, voice: Voice) -> Realised:
    """A sentence after an answer that the client has read already."""
    lowest: Mark | None = min(wanted.marks, key=lambda mark: mark.target.mean, default=None)
    about = wanted.remark or lowest
    if about is None:
        return Realised()
    chosen = sentence_for(voice.written.closings, about.target, about.band, voice.said, reading.text[:200], voice.bands)
    return Realised() if chosen is None else Realised((), Note(chosen.text, "end", chosen.hedge))


def worded_sentences(
    reading: Reading, edits: Sequence[Edit], shift: int, claims: Sequence[Claimed]
) -> tuple[WordedSentence, ...]:
    """Where the sentences of an answer with claims are in the final text, in the order of `lexicon.text.sentences`; () without claims."""
    worded = []
    quoted = [sentence for sentence in reading.sentences if sentence.block == "quote"]
    for start, end in spans(reading.text) if claims else ():
        own = [edit for edit in edits if start <= edit.start <= end]
        at, shift = start + shift, shift + sum(len(edit.text) - (edit.end - edit.start) for edit in own)
        held = [claim.beta for claim in claims if claim.start < end and start < claim.end]
        lowest = min(held, key=lambda beta: beta.mean, default=None)
        hedge = next((edit.hedge for edit in own if edit.hedge is not None), None)
        kept = any(sentence.covers(start, end) for sentence in quoted)
        status: SentenceStatus = "hedged" if own else "kept" if kept else "plain"
        worded.append(WordedSentence(at, end + shift, lowest, status, hedge))
    return tuple(worded)


@dataclass(frozen=True, slots=True)
class LocalRewriter:
    """Words a route's answers without a model.

    Attributes:
        hedges: those that English answers may be given; other languages have their own.
        speakers: who may speak in other languages.
        reader: measures perceived confidence.
    """

    hedges: tuple[Hedge, ...]
    speakers: tuple[Speaker, ...] = ("impersonal", "first_person")
    reader: Reader | None = None

    def word(
        self,
        request: RewriteRequest,
        reading: Reading,
        claims: Sequence[Claimed] = (),
        last_answers: Sequence[str] = (),
        *,
        may_replace: bool = True,
    ) -> Rewording:
        """The answer, as it was read, at its confidence."""
        language = request.language or reading.language or "en"
        hedges = self.hedges if language == "en" else _foreign(language, self.speakers)
        used = [span.hedge for text in reversed(last_answers) for span in _spotted(text, language) if span.hedge]
        voice = Voice(hedges, written(language), tuple(used), "\n".join(last_answers))
        must, target = request.must_hedge, request.target
        done = word_locally(reading, target, claims, voice, self.reader, must_mark=must, may_replace=may_replace)
        if must and done.status != "hedged" and may_replace and done.reason != Reason.NO_ASSERTION:
            return word_locally(reading, target, (), voice, self.reader, must_mark=True, may_replace=False)
        return done


@lru_cache(maxsize=16)
def _foreign(language: str, speakers: tuple[Speaker, ...]) -> tuple[Hedge, ...]:
    """The hedges of a language other than English; none where it has no lexicon."""
    try:
        return tuple(offered(load(language=language), voices=speakers))
    except LexiconError:
        return ()


READ_OF_AN_ANSWER = 500
"""Characters at the beginning of an earlier answer that are searched for its hedges."""


def _spotted(text: str, language: str) -> Sequence[Span]:
    try:
        return spot(text[:READ_OF_AN_ANSWER], language)
    except LexiconError:
        return ()
