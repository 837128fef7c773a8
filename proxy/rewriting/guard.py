"""The guard: checks that a rewrite changed nothing but the confidence, and that its confidence is the requested one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial

from ...calibration import Beta
from ...lexicon import NO_HEDGE, Hedge, Lexicon, LexiconError, Own, load, perceive
from ...lexicon.text.language import known, known_language_of, negations
from ...lexicon.text.opaque import first_difference
from ...lexicon.text.sentences import sentences
from ...lexicon.text.words import word_set
from ..computing import compute
from ..outcomes import Reason
from ..types import Rewrite, RewriteRequest, Verdict
from .comparing import compare
from .distances import distance
from .doubt import Doubts, doubts_of
from .frames import lexicon_of, nearest_foreign
from .matching import Fault
from .strip import Strippers
from .words import spoken

_LEADING = word_set("dass que qu")
"""Words between a hedge and the clause that it hedges, in languages other than English."""

CAVEAT_UP_TO = 0.75
"""Target mean up to which a caveat that the reader does not recognise is accepted as sufficient doubt."""
UNREAD = 0.02
"""Distance to the plain assertion up to which a text counts as having no words that the reader recognises."""

Reader = Callable[[str, str | None], Beta | None]
"""(text, language or None if unknown) -> perceived confidence of the text; None where it cannot be read."""
Entailment = Callable[[Sequence[tuple[str, str]]], list[float]]
"""(premise, hypothesis) pairs -> p(entailed) + 0.5 p(neutral) of each, in [0, 1] (RALC 5.3.1).

Runs a model, so it blocks.
"""

LONG = 1000
"""Length in characters from which an answer is processed in a worker thread: it would block the event loop."""
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

    @cached_property
    def strippers(self) -> Strippers:
        """Removes words of confidence, by language."""
        return Strippers(self.hedges)

    @cached_property
    def _doubts(self) -> Doubts:
        return doubts_of(self.hedges)

    async def check(self, request: RewriteRequest, rewrite: Rewrite) -> Verdict:
        """Compare the rewrite with the draft. Bad text is refused and never raises."""
        if self.entailment is None and len(request.draft) + len(rewrite.text) < 2 * LONG:
            return self.check_sync(request, rewrite)
        return await compute(self.check_sync, request, rewrite)

    def check_sync(self, request: RewriteRequest, rewrite: Rewrite) -> Verdict:
        """Synchronous version of `check`."""
        if not rewrite.text.strip():
            return Verdict(False, Reason.EMPTY, "the rewrite is empty")
        limit = LENGTH_FACTOR * len(request.draft) + LENGTH_ALLOWANCE
        if len(rewrite.text) > limit:
            detail = f"the rewrite has {len(rewrite.text)} characters; {limit:.0f} are allowed"
            return Verdict(False, Reason.TOO_LONG, detail)
        language = request.language or known_language_of(request.draft, request.question)
        if language is None:
            return Verdict(False, Reason.UNKNOWN_LANGUAGE, "the answer is not in a language that can be checked")
        fault = self._changed(request.draft, rewrite.text, language)
        if fault is not None:
            return Verdict(False, fault.reason, fault.reason.sentence, _named(fault))
        bare = self.strippers.of(language).strip(request.draft)
        return (
            self._confidence(request, rewrite, bare, language)
            or self._meaning(request.draft, rewrite.text)
            or Verdict(True)
        )

    def _changed(self, draft: str, rewrite: str, language: str) -> Fault | None:
        """The first change besides the confidence, or None."""
        if language == "en":
            return compare(draft, rewrite, self._doubts)
        strip = self.strippers.of(language).strip
        if _dropped_own(draft, rewrite, strip):
            return Fault(Reason.DOUBT_DROPPED)
        return _foreign(strip(draft), strip(rewrite))

    def _confidence(self, request: RewriteRequest, rewrite: Rewrite, bare: str, language: str) -> Verdict | None:
        if self.reader is None:
            return None
        perceived = self.reader(reworded_part(bare, rewrite.text), language)
        if perceived is None:
            return None
        excess = distance(perceived, request.target) - self._nearest(request, language)
        if excess <= self.tolerance or self._is_unread_caveat(request, rewrite, perceived, language):
            return None
        if rewrite.hedge is not None and self._sounds_hedged(reworded_part(rewrite.text, bare), language):
            return None
        detail = f"it sounds {perceived.mean:.0%} sure where {request.target.mean:.0%} is right"
        return Verdict(False, Reason.CONFIDENCE_OFF, detail)

    def _is_unread_caveat(self, request: RewriteRequest, rewrite: Rewrite, perceived: Beta, language: str) -> bool:
        """Whether only caveats were added that the reader sees as plain statements, where doubt is due.

        Example: "Please verify the dates."
        """
        if language != "en" or request.target.mean > CAVEAT_UP_TO:
            return False
        draft_words = frozenset(spoken(request.draft))
        new = sentences(reworded_part(request.draft, rewrite.text))
        sounds_plain = distance(perceived, self._plain(language)) <= UNREAD
        return sounds_plain and all(self._doubts.is_caveat(sentence, draft_words) for sentence in new)

    def entails(self, draft: str, rewrite: str) -> bool:
        """Whether draft and rewrite entail each other, as the model of `entailment` finds; True without one."""
        return self.entailment is None or min(self.entailment([(draft, rewrite), (rewrite, draft)])) >= self.entailed

    def _meaning(self, draft: str, rewrite: str) -> Verdict | None:
        if self.entails(draft, rewrite):
            return None
        return Verdict(False, Reason.NOT_ENTAILED, "the rewrite and the draft do not entail each other")

    def _nearest(self, request: RewriteRequest, language: str) -> float:
        """Distance of the best hedge to the target, in the language of the answer."""
        return (request.hedges if language == "en" else nearest_foreign(language, request.target, 1))[0].distance

    def _plain(self, language: str) -> Beta:
        """The perceived confidence of a plain assertion."""
        own = next((hedge.beta for hedge in self.hedges if hedge.is_plain and hedge.language == language), None)
        return own or lexicon_of(language)[NO_HEDGE].beta

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


def _foreign(before: str, after: str) -> Fault | None:
    """The first difference between two texts without their words of confidence, for languages with a lexicon only."""
    if (kind := first_difference(before, after)) is not None:
        return Fault(Reason(f"{kind}_changed"))
    left, right = (word_list(text) for text in (before, after))
    if left == right:
        return None
    dropped, added = Counter(left) - Counter(right), Counter(right) - Counter(left)
    if any(word in _negations() for word in (*dropped, *added)):
        reason = Reason.CONTENT_NEGATION
    else:
        reason = Reason.CONTENT_ADDED if added else Reason.CONTENT_DROPPED
    return Fault(reason, " ".join(dropped), " ".join(added))


def word_list(text: str) -> list[str]:
    """The words and signs of a text in lower case, without the words that connect a hedge to its clause."""
    return [word for word in spoken(text) if word not in _LEADING]


def _dropped_own(draft: str, rewrite: str, strip: Callable[[str], str]) -> bool:
    """Whether fewer sentences of the rewrite than of the draft contain words of confidence."""
    kept = set(sentences(draft)) & set(sentences(rewrite))

    def hedged(text: str) -> int:
        return sum(strip(sentence) != sentence for sentence in sentences(text) if sentence not in kept)

    return hedged(rewrite) < hedged(draft)


def reworded_part(bare: str, rewrite: str) -> str:
    """The sentences of a rewrite that are not in the draft without its hedges; the whole rewrite if there are none.

    Unchanged sentences may mention chances that are not the speaker's. With the arguments swapped: the sentences of the
    draft that were reworded.
    """
    kept = set(sentences(bare))
    return " ".join(sentence for sentence in sentences(rewrite) if sentence not in kept) or rewrite


@cache
def _negations() -> frozenset[str]:
    """The negating words of all known languages together: a rewrite may quote another language."""
    return frozenset().union(*map(negations, known()))
