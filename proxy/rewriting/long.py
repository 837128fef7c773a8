"""Long answers: each sentence at its own confidence.

Only sentences of running text that deserve a hedge get one, at most one each. Neighbours of like confidence share the first one's, and no
phrase is used twice while another is about as near. A sentence that introduces a list speaks for its items. What cannot be worded safely
stays as it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from hedgerow.calibration import Beta
from hedgerow.lexicon import Match
from hedgerow.lexicon.text.language import known_language_of
from hedgerow.lexicon.text.sentences import Piece, pieces
from hedgerow.lexicon.text.shape import shape
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.rewriting.claims import is_claim
from hedgerow.proxy.rewriting.frames import Surroundings, capitalise, distance, nearest_foreign
from hedgerow.proxy.rewriting.guard import FactGuard
from hedgerow.proxy.rewriting.strip import Stripper
from hedgerow.proxy.rewriting.template import TemplateRewriter, asserts, choose
from hedgerow.proxy.types import Rewording, Rewrite, RewriteRequest, SentenceStatus, WordedSentence

Nearest = Callable[[Beta, Collection[str]], tuple[Match, ...]]
"""(target, ids to avoid where others are about as near) -> hedges, best first: `Retriever.nearest` with k bound."""

LIKE = 0.15
"""1-Wasserstein distance under which neighbouring sentences are of like confidence and share a hedge."""
NEIGHBOURS = 24
"""Stretches before and after a sentence that are looked at to tell its names from common words."""
_QUOTED = re.compile(r"[*_]*[\"“«„].*[\"”»“][.!?*_]*", re.DOTALL)


def assertions(draft: str, question: str = "") -> int:
    """How many sentences make a claim in running text, where a hedge may go."""
    language = known_language_of(draft, question)
    return 0 if language is None else sum(p.is_sentence and _is_claim(p, language) for p in pieces(draft))


def _is_claim(piece: Piece, language: str) -> bool:
    """Whether a hedge may go into a sentence: no item of a list, no quotation, no exclamation without a verb ("Ah, Einstein!"), and not
    broken off.
    """
    if not _is_prose(piece) or not asserts(piece.text, language) or (language == "en" and not is_claim(piece.text)):
        return False
    form = shape(piece.text, language=language)
    return (form.kind != "fragment" or form.unsure) and (form.stopped or form.body.rstrip("*_ ").endswith(":"))


def _is_prose(piece: Piece) -> bool:
    return piece.place == "prose" and not _QUOTED.fullmatch(piece.text)


def reword_sentences(
    question: str,
    draft: str,
    confidences: Sequence[Beta | None],
    *,
    nearest: Nearest,
    template: TemplateRewriter,
    guard: FactGuard,
) -> Rewording:
    """Word each sentence at its confidence.

    `confidences` goes with `sentences(draft)`, one each; None leaves a sentence alone. The hedge named in the result is that of the
    least confident sentence; refused wordings are listed as "template:<reason>".

    Raises:
        ValueError: where there are not as many confidences as sentences.
    """
    parts = list(pieces(draft))
    indices = [i for i, piece in enumerate(parts) if piece.is_sentence]
    if len(indices) != len(confidences):
        raise ValueError(f"the answer has {len(indices)} sentences and {len(confidences)} confidences were given")
    language = known_language_of(draft, question)
    if language is None:
        return Rewording(draft, "unhedged", Reason.UNKNOWN_LANGUAGE, None, None)
    targets = _for_their_lists(parts, dict(zip(indices, confidences, strict=True)))
    wording = _Wording(question, language, nearest, guard, template.strippers.of(language), parts)
    for index in indices:
        wording.word(index, targets[index])
    return wording.outcome(draft)


def _for_their_lists(parts: Sequence[Piece], targets: dict[int, Beta | None]) -> dict[int, Beta | None]:
    """The targets, where a sentence that introduces a list has the mean of its own and its items'."""
    lists: dict[int, list[Beta]] = {}
    introduction: int | None = None
    for index, piece in enumerate(parts):
        if not piece.is_sentence:
            continue
        if piece.place == "prose":
            introduction = index if piece.text.rstrip("*_ ").endswith(":") else None
        if introduction is not None and (target := targets[index]) is not None and piece.place != "quotation":
            lists.setdefault(introduction, []).append(target)
    means = {at: Beta.from_mean(fmean(b.mean for b in items), items[0].concentration) for at, items in lists.items()}
    return targets | means


@dataclass
class _Wording:
    """An answer on its way from sentence to sentence. `parts` is written in place."""

    question: str
    language: str
    nearest: Nearest
    guard: FactGuard
    stripper: Stripper
    parts: list[Piece]
    done: dict[int, WordedSentence] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    shared: Beta | None = None

    def word(self, index: int, target: Beta | None) -> None:
        """Word one sentence, the earlier ones being done."""
        piece = self.parts[index]
        if not _is_prose(piece):
            self._record(index, target, "kept")
            self.shared = None
        elif target is None or not _is_claim(piece, self.language):
            self._record(index, target, "plain")
        elif (matches := self._nearest(target))[0].hedge.is_plain:
            self._record(index, target, "plain")
            self.shared = None
        elif self.shared is not None and distance(self.shared, target) <= LIKE:
            self._record(index, target, "shared")
        elif (rewrite := self._hedged(index, target, matches)) is None:
            self._record(index, target, "unhedged")
        else:
            self.parts[index] = Piece(rewrite.text, True)
            self._record(index, target, "hedged", rewrite.hedge)
            self.shared = target

    def _record(self, index: int, target: Beta | None, status: SentenceStatus, hedge: str | None = None) -> None:
        self.done[index] = WordedSentence(0, 0, target, status, hedge)
        self.used |= {hedge} if hedge else set()

    def _nearest(self, target: Beta) -> tuple[Match, ...]:
        matches = (
            self.nearest(target, self.used) if self.language == "en" else nearest_foreign(self.language, target, 5)
        )
        fresh = tuple(match for match in matches if match.hedge.id not in self.used or match.hedge.is_plain)
        return matches if matches[0].hedge.is_plain or not fresh else fresh

    def _hedged(self, index: int, target: Beta, matches: tuple[Match, ...]) -> Rewrite | None:
        """The sentence at the nearest hedge that frame and guard let pass."""
        text = self.parts[index].text
        bare = self.stripper.bare(text)
        around = Surroundings(self.question, self._others(index), self.language)
        left = tuple(match for match in matches if not match.hedge.is_plain)
        while left:
            chosen = choose(bare, left, around, text)
            if chosen is None:
                self.refused.append("template:no_frame")
                return None
            hedge, worded = chosen
            rewrite = Rewrite(capitalise(worded) if text[:1].isupper() else worded, hedge.id)
            verdict = self.guard.check_sync(
                RewriteRequest(self.question, text, target, matches, language=self.language), rewrite
            )
            if verdict.accepted:
                return rewrite
            self.refused.append(f"template:{verdict.reason}")
            left = tuple(match for match in left if match.hedge.id != hedge.id)
        return None

    def _others(self, index: int) -> str:
        """The sentences around this one."""
        around = range(max(0, index - NEIGHBOURS), min(len(self.parts), index + NEIGHBOURS))
        return "".join(self.parts[i].text for i in around if i != index)

    def outcome(self, draft: str) -> Rewording:
        """What became of the answer."""
        text = "".join(piece.text for piece in self.parts)
        perceived = self.guard.reader(text, self.language) if self.guard.reader else None
        worded = tuple(self._placed())
        plain = Rewording(
            text, "plain", "no_hedge_needed", None, None, tuple(self.refused), perceived, sentences=worded
        )
        hedged = [(s.target.mean, s.hedge) for s in worded if s.hedge is not None and s.target is not None]
        if hedged:
            return replace(plain, status="hedged", reason=None, hedge=min(hedged)[1], rewriter="template")
        if self.refused:
            return replace(plain, text=draft, status="unhedged", reason=self.refused[-1].partition(":")[2])
        return plain

    def _placed(self) -> Iterator[WordedSentence]:
        """The sentences with their places in the final text."""
        end = 0
        for index, piece in enumerate(self.parts):
            start, end = end, end + len(piece.text)
            if (sentence := self.done.get(index)) is not None:
                yield replace(sentence, start=start, end=end)
