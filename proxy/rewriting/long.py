"""Long answers: each sentence at its own confidence.

Only sentences that deserve a hedge get one, at most one each. Neighbours of like confidence share the first one's, and no phrase is
said twice while another is about as near. What cannot be worded safely stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from calibration import Beta
from lexicon import Match
from proxy.rewriting.casing import Surroundings, capitalise
from proxy.rewriting.guard import FactGuard, distance
from proxy.rewriting.languages import language_of
from proxy.rewriting.sentences import Piece, pieces
from proxy.rewriting.template import TemplateRewriter, asserts, choose, nearest_foreign
from proxy.values import Rewording, Rewrite, RewriteRequest

Nearest = Callable[[Beta, Collection[str]], tuple[Match, ...]]
"""(target, ids to avoid where others are about as near) -> hedges, best first: `Retriever.nearest` with k bound."""

LIKE = 0.1
"""1-Wasserstein distance under which neighbouring sentences are of like confidence and share a hedge."""


@dataclass(frozen=True, slots=True)
class _Hedged:
    """A sentence with a hedge of its own."""

    target: Beta
    hedge: str


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
    language = language_of(draft, question)
    stripper = template.strippers.of(language)
    done: list[_Hedged] = []
    refused: list[str] = []
    shared: Beta | None = None
    for index, target in zip(indices, confidences, strict=True):
        text = parts[index].text
        if target is None or not asserts(text, language):
            shared = None if target is not None else shared
            continue
        avoid = {hedged.hedge for hedged in done}
        matches = nearest(target, avoid) if language == "en" else _foreign(language, target, avoid)
        if matches[0].hedge.is_plain:
            shared = None
            continue
        if shared is not None and distance(shared, target) <= LIKE:
            parts[index] = Piece(stripper.sentence(text), True)
            continue
        rest = "".join(piece.text for i, piece in enumerate(parts) if i != index)
        rewrite = _word(stripper.bare(text), text, matches, Surroundings(question, rest, language))
        if rewrite is None:
            refused.append("template:no_frame")
            continue
        verdict = guard.judge(RewriteRequest(question, text, target, matches), rewrite)
        if not verdict.accepted or rewrite.hedge is None:
            refused.append(f"template:{verdict.reason}")
            continue
        parts[index] = Piece(rewrite.text, True)
        done.append(_Hedged(target, rewrite.hedge))
        shared = target
    return _outcome("".join(piece.text for piece in parts), draft, done, refused)


def _word(bare: str, original: str, matches: tuple[Match, ...], around: Surroundings) -> Rewrite | None:
    chosen = choose(bare, matches, around, original)
    if chosen is None:
        return None
    hedge, worded = chosen
    return Rewrite(capitalise(worded) if original[:1].isupper() else worded, hedge.id)


def _foreign(language: str, target: Beta, avoid: Collection[str]) -> tuple[Match, ...]:
    matches = nearest_foreign(language, target, 5)
    fresh = tuple(match for match in matches if match.hedge.id not in avoid or match.hedge.is_plain)
    return matches if matches[0].hedge.is_plain or not fresh else fresh


def _outcome(text: str, draft: str, done: Sequence[_Hedged], refused: Sequence[str]) -> Rewording:
    plain = Rewording(text, "plain", "no_hedge_needed", None, None, tuple(refused))
    if done:
        least = min(done, key=lambda hedged: hedged.target.mean)
        return replace(plain, status="hedged", reason=None, hedge=least.hedge, rewriter="template")
    if refused:
        return replace(plain, text=draft, status="unhedged", reason=refused[-1].partition(":")[2])
    return plain
