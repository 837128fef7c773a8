"""The guard: checks that a rewrite changed nothing but the confidence, and that its confidence is the requested one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ...calibration import Beta
from ...lexicon import NO_HEDGE, Hedge, Lexicon, LexiconError, Match, Own, load, offered, perceive, spot
from ...lexicon.reading.reading import Reading
from ...lexicon.text.language import known, language_of
from ...lexicon.text.sentences import sentences
from ..computing import compute
from ..outcomes import Reason
from ..types import Rewrite, RewriteRequest, Verdict
from .changes import Fault, fault
from .distances import distance

CAVEAT_UP_TO = 0.75
"""Target mean up to which a remark that the reader does not recognise is accepted as sufficient doubt."""
UNREAD = 0.02
"""Distance to the plain assertion up to which a text counts as having no words that the reader recognises."""

Reader = Callable[[str, str | None], Beta | None]
"""(text, language or None if unknown) -> perceived confidence of the text; None where it cannot be read."""
Entailment = Callable[[Sequence[tuple[str, str]]], list[float]]
"""(premise, hypothesis) pairs -> p(entailed) + 0.5 p(neutral) of each, in [0, 1] (RALC 5.3.1).

Runs a model, so it blocks.
"""

LENGTH_FACTOR = 1.5
LENGTH_ALLOWANCE = 300
"""Characters that a rewrite may add beyond the factor."""


def perceived_confidence(text: str, language: str | None = "en", own: Own | None = None) -> Beta | None:
    """How confident a text sounds, by the lexicon's reader; None where it finds nothing to read.

    `own`: a route's own entries, read at their own Betas.
    """
    if language is None:
        return None
    try:
        return perceive(text, language, own).beta
    except LexiconError:
        return None


def reader_of(lexicon: Lexicon) -> Reader:
    """The reader for a route with this lexicon: its own entries are read at their own Betas.

    Raises:
        LexiconError: there is no reader for its language.
    """
    own = Own.of(lexicon)
    return perceived_confidence if own is None else partial(perceived_confidence, own=own)


@dataclass(frozen=True)
class FactGuard:
    """Compares the content of draft and rewrite apart from words of confidence, then reads the rewrite's confidence.

    Attributes:
        hedges: the lexicon's entries, whose frames count as words of confidence.
        tolerance: how much farther from the target than the best hedge the perceived confidence may be, as a
            1-Wasserstein distance in [0, 1]. Relative to the best hedge, since no words come close to a flat Beta.
        reader: reads the perceived confidence of a text; None skips that check.
        entailment: an NLI score, applied in both directions; None skips that check.
        entailed: the lowest score that passes, in [0, 1].
    """

    hedges: tuple[Hedge, ...] = field(default_factory=lambda: load().hedges)
    tolerance: float = 0.25
    reader: Reader | None = perceived_confidence
    entailment: Entailment | None = None
    entailed: float = 0.5

    async def check(self, request: RewriteRequest, rewrite: Rewrite, reading: Reading | None = None) -> Verdict:
        """Compare the rewrite with the draft. Bad text is refused and never raises. `reading`: of the draft."""
        return await compute(self.check_sync, request, rewrite, reading)

    def check_sync(self, request: RewriteRequest, rewrite: Rewrite, reading: Reading | None = None) -> Verdict:
        """Synchronous version of `check`."""
        if not rewrite.text.strip():
            return Verdict(False, Reason.EMPTY, "the rewrite is empty")
        limit = LENGTH_FACTOR * len(request.draft) + LENGTH_ALLOWANCE
        if len(rewrite.text) > limit:
            detail = f"the rewrite has {len(rewrite.text)} characters; {limit:.0f} are allowed"
            return Verdict(False, Reason.TOO_LONG, detail)
        language = request.language or language_of(request.draft, request.question)
        changed = fault(request.draft, rewrite.text, request.question, language, reading)
        if changed is not None:
            return Verdict(False, changed.reason, changed.reason.sentence, _named(changed))
        return (
            self._confidence(request, rewrite, language) or self._meaning(request.draft, rewrite.text) or Verdict(True)
        )

    def _confidence(self, request: RewriteRequest, rewrite: Rewrite, language: str | None) -> Verdict | None:
        if self.reader is None or language not in known():
            return None
        perceived = self.reader(reworded_part(request.draft, rewrite.text), language)
        if perceived is None:
            return None
        excess = distance(perceived, request.target) - self._nearest(request, language)
        if excess <= self.tolerance or self._is_unread(request, rewrite.text, perceived, language):
            return None
        if self._sounds_hedged(reworded_part(rewrite.text, request.draft), language):
            return None
        detail = f"it sounds {perceived.mean:.0%} sure where {request.target.mean:.0%} is right"
        return Verdict(False, Reason.CONFIDENCE_OFF, detail)

    def _is_unread(self, request: RewriteRequest, text: str, perceived: Beta, language: str) -> bool:
        """Whether the reader takes what was added for a plain statement, where doubt is due ("Please verify the dates."), and no booster is in it."""
        if request.target.mean > CAVEAT_UP_TO or distance(perceived, self._plain(language)) > UNREAD:
            return False
        return not any(span.kind == "booster" and span.text not in request.draft for span in spot(text, language))

    def entails(self, draft: str, rewrite: str) -> bool:
        """Whether draft and rewrite entail each other, as the model of `entailment` finds; True without one."""
        return self.entailment is None or min(self.entailment([(draft, rewrite), (rewrite, draft)])) >= self.entailed

    def _meaning(self, draft: str, rewrite: str) -> Verdict | None:
        if self.entails(draft, rewrite):
            return None
        return Verdict(False, Reason.NOT_ENTAILED, "the rewrite and the draft do not entail each other")

    def _nearest(self, request: RewriteRequest, language: str) -> float:
        """Distance of the best hedge to the target, in the language of the answer."""
        return (request.hedges if language == "en" else _nearest(language, request.target))[0].distance

    def _plain(self, language: str) -> Beta:
        """The perceived confidence of a plain assertion."""
        own = next((hedge.beta for hedge in self.hedges if hedge.is_plain and hedge.language == language), None)
        return own or load(language=language)[NO_HEDGE].beta

    def _sounds_hedged(self, claim: str, language: str) -> bool:
        """Whether the claim itself has words that the reader takes for doubt ("it is possible to").

        Then the lexicon's measured value for the hedge is more reliable than reading the whole sentence.
        """
        perceived = self.reader(claim, language) if self.reader else None
        return perceived is not None and distance(perceived, self._plain(language)) > self.tolerance


def _named(fault: Fault) -> str | None:
    """The lost and added words, for the message to the editor; None if there are none."""
    parts = [f'{what} "{words}"' for what, words in (("lost", fault.dropped), ("added", fault.added)) if words]
    return " and ".join(parts) or None


def reworded_part(bare: str, rewrite: str) -> str:
    """The sentences of a rewrite that are not in the draft without its hedges; the whole rewrite if there are none.

    Unchanged sentences may mention chances that are not the speaker's. With the arguments swapped: the sentences of the
    draft that were reworded.
    """
    kept = set(sentences(bare))
    return " ".join(sentence for sentence in sentences(rewrite) if sentence not in kept) or rewrite


def _nearest(language: str, target: Beta) -> tuple[Match, ...]:
    """The hedges of a language other than English, nearest first; each has only about a dozen, so all are compared."""
    hedges = offered(load(language=language)).hedges
    return tuple(sorted((Match(h, distance(h.beta, target)) for h in hedges), key=lambda match: match.distance))
