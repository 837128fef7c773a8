"""The guard: nothing but the confidence may have changed, and the confidence must be the one that was asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

import anyio.to_thread

from hedgerow.calibration import Beta
from hedgerow.lexicon import NO_HEDGE, Hedge, LexiconError, load, perceive
from hedgerow.lexicon.text.language import known, known_language_of, negations
from hedgerow.lexicon.text.opaque import first_difference
from hedgerow.lexicon.text.sentences import sentences
from hedgerow.lexicon.text.words import open_contraction, straight, word_set
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.rewriting.frames import distance, lexicon_of, nearest_foreign
from hedgerow.proxy.rewriting.strip import Strippers
from hedgerow.proxy.types import Rewrite, RewriteRequest, Verdict

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")
GRAMMAR = word_set(
    "a an the is are was were be been being am do does did has have had having will would shall it that there to which as so "
    "und dass ist war sind waren que qu est c es fue"
)
"""Words that carry no fact of their own; tense may shift with a modal verb."""
DOUBT = word_set(
    "likely unlikely probably possibly perhaps maybe presumably apparently seemingly certainly definitely surely undoubtedly "
    "may might could possible probable plausible conceivably supposedly potentially"
)
"""Words of confidence that may also go: a draft's own hedges."""
CORE = DOUBT | word_set(
    "think believe guess guessing suspect suppose assume imagine reckon sure certain confident confidence positive certainty know "
    "knowledge recall remember mistaken wrong right doubt doubts doubtful uncertain unsure seems seem appears appear chance chances "
    "hazard convinced inclined opinion estimate odds bet doute peut croire sicher glaube vermute denke seguro creo"
)
"""Words that are about confidence by themselves."""
COMPANIONS = word_set(
    "i my me we our say correct answer best rough educated wild tentative no far from entirely completely fully quite fairly pretty "
    "rather reasonably very really almost nearly absolutely but though although however if can could tell good fair well take grain "
    "salt of about this just only with on in case would serves memory correctly understanding idea lean toward towards honestly at "
    "all too highly somewhat more less than even for and strong high low small slim own 100 percent ich mir je me yo mi no lo"
)
"""Words that come along with them, and only with them."""
_NEGATION_REACH = 4
_SKIPPED = 40
"""Words of grammar and doubt in a row that a rewrite may leave out."""

Reader = Callable[[str, str | None], Beta | None]
"""Perceived confidence of a text in a language (None: an unknown one); None where it cannot be read."""
Entailment = Callable[[Sequence[tuple[str, str]]], list[float]]
"""(premise, hypothesis) pairs -> p(entailed) + 0.5 p(neutral) of each, in [0, 1] (RALC 5.3.1); an NLI model behind it, so it blocks."""

LONG = 1000
"""Characters from which an answer is worked on beside the event loop: there it would be held up for milliseconds."""
LENGTH_FACTOR = 1.5
LENGTH_ALLOWANCE = 300
"""Characters that a hedge may add on top of the factor."""


def perceived_confidence(text: str, language: str | None = "en") -> Beta | None:
    """How confident a text sounds, by the lexicon's reader; None where that has nothing to read."""
    if language is None:
        return None
    try:
        return perceive(text, language).beta
    except LexiconError:
        return None


@dataclass(frozen=True)
class FactGuard:
    """Compares what draft and rewrite say once the words of confidence are taken out of both, then reads how confident the rewrite sounds.

    Attributes:
        hedges: the lexicon's entries; their frames are words of confidence.
        tolerance: how much farther than the best hedge the perceived confidence may lie from the target, as a 1-Wasserstein
            distance. Words can only come so near to a flat Beta, so the best hedge's own distance is not held against a rewrite.
        reader: reads the perceived confidence of a text; None leaves that check out.
        entailment: an NLI score asked both ways; None leaves that check out.
        entailed: the least score that passes.
    """

    hedges: tuple[Hedge, ...] = field(default_factory=lambda: load().hedges)
    tolerance: float = 0.25
    reader: Reader | None = perceived_confidence
    entailment: Entailment | None = None
    entailed: float = 0.5

    @cached_property
    def strippers(self) -> Strippers:
        """What takes the words of confidence out, by language."""
        return Strippers(self.hedges)

    async def check(self, request: RewriteRequest, rewrite: Rewrite) -> Verdict:
        """Compare the rewrite with the draft. Never raises for bad text: bad text is a refusal."""
        if self.entailment is None and len(request.draft) + len(rewrite.text) < 2 * LONG:
            return self.check_sync(request, rewrite)
        return await anyio.to_thread.run_sync(self.check_sync, request, rewrite)

    def check_sync(self, request: RewriteRequest, rewrite: Rewrite) -> Verdict:
        """Synchronous version of `check`."""
        if not rewrite.text.strip():
            return Verdict(False, Reason.EMPTY, "the rewrite is empty")
        limit = LENGTH_FACTOR * len(request.draft) + LENGTH_ALLOWANCE
        if len(rewrite.text) > limit:
            return Verdict(
                False, "too_long", f"the rewrite has {len(rewrite.text)} characters; {limit:.0f} are allowed"
            )
        language = request.language or known_language_of(request.draft, request.question)
        if language is None:
            return Verdict(False, Reason.UNKNOWN_LANGUAGE, "the answer is not in a language that can be checked")
        stripper = self.strippers.of(language)
        before, after = stripper.strip(request.draft), stripper.strip(rewrite.text)
        return (
            _facts(before, after)
            or self._confidence(request, rewrite, before, language)
            or self._meaning(request.draft, rewrite.text)
            or Verdict(True)
        )

    def _confidence(self, request: RewriteRequest, rewrite: Rewrite, bare: str, language: str) -> Verdict | None:
        if self.reader is None:
            return None
        perceived = self.reader(reworded_part(bare, rewrite.text), language)
        claim = reworded_part(rewrite.text, bare)
        if perceived is None or (rewrite.hedge is not None and self._sounds_hedged(claim, language)):
            return None
        excess = distance(perceived, request.target) - self._nearest(request, language)
        if excess <= self.tolerance:
            return None
        detail = f"it sounds {perceived.mean:.0%} sure where {request.target.mean:.0%} is right"
        return Verdict(False, Reason.CONFIDENCE_OFF, detail)

    def _meaning(self, draft: str, rewrite: str) -> Verdict | None:
        if self.entailment is None or min(self.entailment([(draft, rewrite), (rewrite, draft)])) >= self.entailed:
            return None
        return Verdict(False, Reason.NOT_ENTAILED, "the rewrite and the draft do not entail each other")

    def _nearest(self, request: RewriteRequest, language: str) -> float:
        """How near the best hedge comes to the target, in the language of the answer."""
        return (request.hedges if language == "en" else nearest_foreign(language, request.target, 1))[0].distance

    def _sounds_hedged(self, claim: str, language: str) -> bool:
        """Whether the claim itself has words that the reader takes for doubt ("it is possible to"): a hedge that the lexicon measured is
        then better trusted than the reading of both together.
        """
        perceived = self.reader(claim, language) if self.reader else None
        return perceived is not None and distance(perceived, lexicon_of(language)[NO_HEDGE].beta) > self.tolerance


def _facts(before: str, after: str) -> Verdict | None:
    """What differs between two texts whose words of confidence are out."""
    if (kind := first_difference(before, after)) is not None:
        return Verdict(False, Reason(f"{kind}_changed"), f"a {kind} of the answer was changed, added or dropped")
    if (kind := difference(before, after)) is not None:
        return Verdict(False, Reason(f"content_{kind}"), _CONTENT[kind])
    return None


def reworded_part(bare: str, rewrite: str) -> str:
    """The sentences of a rewrite that the draft without its hedges has not: the others may speak of chances that are not the speaker's.
    Read the other way round, those of the draft that were reworded.
    """
    kept = set(sentences(bare))
    return " ".join(sentence for sentence in sentences(rewrite) if sentence not in kept) or rewrite


_CONTENT = {
    "added": "words were added that are neither in the answer nor words of confidence",
    "dropped": "words of the answer were dropped or moved",
    "negation": "a negation was added or dropped",
}


@cache
def _negations() -> frozenset[str]:
    """The words that negate in any known language: a rewrite may quote another."""
    return frozenset().union(*map(negations, known()))


def words(text: str) -> list[str]:
    """The words of a text as they are written, contractions opened ("isn't" -> "is", "not")."""
    opened: list[str] = []
    for token in _TOKEN.findall(straight(text)):
        lower = token.lower()
        parts = open_contraction(lower) if "'" in token or lower == "cannot" else (lower,)
        as_written = token[: len(parts[0])] if lower.startswith(parts[0]) else parts[0]
        opened += [as_written, *parts[1:]]
    return opened


def difference(draft: str, rewrite: str) -> str | None:
    """Say "added", "dropped" or "negation" where the texts say different things, None where they say the same.

    The rewrite's words are read along the draft's. Words of grammar may come and go, words of confidence may come; every other word must
    stand there in the same order. Strict on purpose: a rewrite that says it differently is asked for again, or the template is used.
    """
    left, right = words(draft), words(rewrite)
    position, inserted = 0, list[str]()
    for word in right:
        ahead = position
        while ahead < min(len(left), position + _SKIPPED) and _may_go(left[ahead]) and not _same(left[ahead], word):
            ahead += 1
        if ahead < len(left) and _same(left[ahead], word):
            if fault := _fault(inserted, left, position):
                return fault
            position, inserted = ahead + 1, []
        else:
            inserted.append(word.lower())
    return _fault(inserted, left, position) or _lost(left[position:])


def _fault(inserted: Sequence[str], left: Sequence[str], position: int) -> str | None:
    """What is wrong with words that the rewrite has and the draft, from a position on, has not."""
    if all(word in GRAMMAR for word in inserted):
        return None
    for index, word in enumerate(inserted):
        if word in _negations() and not CORE & set(inserted[index + 1 : index + 1 + _NEGATION_REACH]):
            return "negation"
    if CORE & set(inserted) and set(inserted) <= GRAMMAR | CORE | COMPANIONS | _negations():
        return None
    if next((word for word in left[position:] if not _may_go(word)), "").lower() in _negations():
        return "negation"
    return "dropped" if set(inserted) <= {word.lower() for word in left[position:]} else "added"


def _lost(rest: Sequence[str]) -> str | None:
    """What is wrong with words of the draft that the rewrite does not reach."""
    lost = [word.lower() for word in rest if not _may_go(word)]
    if not lost:
        return None
    return "negation" if all(word in _negations() for word in lost) else "dropped"


def _may_go(word: str) -> bool:
    """Grammar and doubt may go; a capital makes grammar a part of a name ("The Caretaker") and May a month."""
    return (word in GRAMMAR and word.islower()) or (word.lower() in DOUBT and word != "May")


def _same(left: str, right: str) -> bool:
    """Equal, but for a capital at a seam; "US" and "us" are two words."""
    if left.casefold() != right.casefold():
        return False
    return left == right or (left[1:] == right[1:] and len(left) > 1) or len(left) == 1
