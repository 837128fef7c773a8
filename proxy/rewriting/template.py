"""The rewriter that calls no model: the best-ranked hedge goes into the answer's own grammar."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from zlib import crc32

from lexicon import Frame, Hedge, Match
from proxy.errors import StepFailed
from proxy.rewriting import frames
from proxy.rewriting.sentences import Piece, pieces
from proxy.rewriting.shape import Shape, shape
from proxy.rewriting.strip import Stripper
from proxy.values import Rewrite, RewriteRequest

NEAR_TIE = 0.015
"""Hedges whose distances differ by less than this say the same to a reader; among them the wording varies."""
AWKWARD = 0.03
"""Cost, in distance, of opening with words before a first word that may or may not be a name."""

_NO_ASSERTION = re.compile(
    r"^(?:(?:I['’]m |I am )?(?:sorry|afraid)\b|I (?:do not|don['’]t|cannot|can['’]t|could not|couldn['’]t|am unable|have no) |"
    r"I['’]m (?:unable|not able)|Unfortunately|There is no (?:reliable|verified|record)|As an AI|(?:Could|Can|Would|Which|What|Do|Did) .*\?$)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class TemplateRewriter:
    """Puts a hedge into the answer by its grammatical frames.

    Attributes:
        hedges: every hedge that may have been put into a text before and has to come out first.
    """

    hedges: tuple[Hedge, ...] = ()
    name: str = field(default="template", init=False)

    @cached_property
    def _stripper(self) -> Stripper:
        return Stripper(self.hedges)

    async def rewrite(self, request: RewriteRequest) -> Rewrite:
        """Word the draft at the best hedge that fits its grammar.

        Raises:
            StepFailed: where the draft asserts nothing, or no frame of any hedge fits.
        """
        return self.word(request)

    def word(self, request: RewriteRequest) -> Rewrite:
        """The same without the ceremony of a coroutine."""
        missing = tuple(m.hedge for m in request.hedges if m.hedge not in self.hedges)
        stripper = Stripper(self.hedges + missing) if missing else self._stripper
        parts = list(pieces(stripper.strip(request.draft)))
        where = _main_sentence(parts)
        if where is None:
            raise StepFailed("rewrite", "no_assertion", "the draft asserts nothing that could be hedged")
        sentence = shape(parts[where].text)
        chosen = choose(sentence, request.hedges, request.question, _rest(parts, where))
        if chosen is None:
            raise StepFailed("rewrite", "no_frame", "no frame of the retrieved hedges fits the draft")
        parts[where] = Piece(chosen[1], True)
        return Rewrite("".join(piece.text for piece in parts), chosen[0].id)


def choose(sentence: Shape, matches: Iterable[Match], question: str, context: str) -> tuple[Hedge, str] | None:
    """The hedge to use and the sentence with it; near ties are told apart by the sentence, so that wording varies."""
    options = [
        (match.distance + cost, match.hedge, text)
        for match in matches
        for frame in match.hedge.frames
        if (cost := _cost(frame, match.hedge, sentence, question, context)) is not None
        and (text := frames.apply(frame, sentence, question, context)) is not None
    ]
    if not options:
        return None
    best = min(option[0] for option in options)
    tied = [option for option in options if option[0] <= best + NEAR_TIE]
    _, hedge, text = tied[crc32(_key(sentence.body)) % len(tied)]
    return hedge, text


def _cost(frame: Frame, hedge: Hedge, sentence: Shape, question: str, context: str) -> float | None:
    """How much worse than its distance this frame reads here; None where it would say something else."""
    if sentence.head and hedge.beta.mean < 0.5 and frame.kind in ("clause", "adverb"):
        return None  # "Yes, it is unlikely that ..." takes the answer back instead of doubting it
    awkward = frames.disturbs_start(frame, sentence) and not frames.case_is_known(sentence, question, context)
    return AWKWARD if awkward and sentence.kind == "clause" else 0.0


def _key(body: str) -> bytes:
    return re.sub(r"\W+", "", body).casefold().encode()


def _main_sentence(parts: list[Piece]) -> int | None:
    """The first sentence that asserts something."""
    for index, piece in enumerate(parts):
        if (
            piece.is_sentence
            and not _NO_ASSERTION.match(piece.text)
            and shape(piece.text).kind not in ("none", "question")
        ):
            return index
    return None


def _rest(parts: list[Piece], where: int) -> str:
    return "".join(piece.text for index, piece in enumerate(parts) if index != where)
