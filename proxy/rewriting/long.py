"""Rewording of long answers: hedges only the claims that are clearly less certain than the others.

At most two sentences get a hedge; a list item or table cell gets a short mark in brackets. Where most claims are in
doubt, one note at the end says so. In a worked solution only the result is hedged. A sentence that cannot be reworded
safely stays unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from statistics import fmean

from ...calibration import Beta
from ...lexicon import Match
from ...lexicon.hedges.written import Closing, written
from ...lexicon.text.language import known_language_of
from ...lexicon.text.sentences import Piece, pieces
from ...lexicon.text.shape import shape
from ..outcomes import Reason
from ..types import Rewording, Rewrite, RewriteRequest, SentenceStatus, WordedSentence
from .asserting import (
    after_label,
    asserts,
    defines,
    hedges_itself,
    is_background,
    is_list,
    is_no_statement,
    is_worked_solution,
)
from .claims import is_claim, is_problem
from .frames import LOW, Surroundings, capitalise, distance, is_plain, nearest_foreign
from .guard import FactGuard
from .stream import nearest_of, unsaid
from .strip import Stripper
from .template import WITHIN, TemplateRewriter, choose

Nearest = Callable[[Beta, Collection[str]], tuple[Match, ...]]
"""(target, ids to avoid where others are about as near) -> hedges, nearest first: `Retriever.nearest` with k bound."""

MOST_HEDGES = 2
"""Largest number of sentences of an answer that get a hedge."""
MOST_MARKS = 3
"""Largest number of items and cells of an answer that get a mark."""
CLEARLY = 1.2816
"""Standard deviations above its mean of a claim's 90% bound; it must be below the mean of the other claims."""
DOUBTFUL = 0.65
"""Mean of the claims below which an answer gets a note if no claim stands out."""
HALF = 0.5
NEIGHBOURS = 24
"""Number of pieces before and after a sentence that are searched to tell names from common words."""
_QUOTED = re.compile(r"[*_]*[\"“«„].*[\"”»“][.!?*_]*", re.DOTALL)
_LONGEST_MARKED = 120
"""Length in characters of the longest item that gets a mark at its end."""
_STEPS = re.compile(r"[^\n]*\b(?:steps?|instructions|guide)\b[^\n]*:[*_ ]*\n", re.IGNORECASE)
"""Lists of instructions, as the line before them says."""
_NAMED_FIRST = re.compile(r"[^.:\n]{1,60} [-–—] (?:He|She|It|They|This|These|The|An?)\b")
"""An item that begins with a name: "John Legend - He covered the song"."""
_GLOSS = re.compile(r"[^.:\n]{1,60} [-–—] [a-z]")
"""An item that is a term with a short explanation: "Force of contraction - the force produced by the muscle"."""
_SOME = re.compile(r"(?:Some|Certain) (?!of the\b)[a-z]")
"""Start of a sentence that only says that some exist, which is hardly ever wrong."""
_PRAISES = re.compile(
    r"[^,]{1,80}? (?:is|are|was|were) (?:also |still |now |perhaps )?(?:(?:best |well |widely |also )?known for\b|remembered\b|(?:an?|the) (?:\w{1,20} )?(?:prolific|talented|gifted|versatile|beloved|celebrated|renowned|respected|"
    r"influential|visionary|dedicated|passionate|accomplished|iconic|legendary|skilled|key|vital|powerful|true|testament|reflection|reminder|symbol of|challenge)\b)"
)
"""Praises or judges somebody or something; a hedge is more useful on another claim."""
_WORDS_OF_A_NAME = 8
"""Number of words up to which an item is a name; a longer one has a place for a hedge, or is not a claim."""


def assertions(draft: str, question: str = "") -> int:
    """Number of sentences in running text that make a claim and can be hedged."""
    language = known_language_of(draft, question)
    asked = "" if is_problem(question) else question  # the steps of a worked solution count
    return 0 if language is None else sum(p.is_sentence and _is_claim(p, language, asked) for p in pieces(draft))


def _is_claim(piece: Piece, language: str, question: str = "") -> bool:
    """Whether a sentence can be hedged: no list item, no quotation, no exclamation without a verb, not broken off."""
    if (
        not _is_prose(piece)
        or not asserts(piece.text, language)
        or (language == "en" and not is_claim(piece.text, question))
    ):
        return False
    form = shape(piece.text, language=language)
    return (form.kind != "fragment" or form.unsure) and form.stopped


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
    cells: Sequence[tuple[int, Beta]] = (),
    said: str = "",
) -> Rewording:
    """Hedge the claims that stand out as less certain, or add a note if the whole answer is in doubt.

    `confidences` has one entry per sentence of `sentences(draft)`; None leaves that sentence unchanged. `cells` are
    table cells, each given by the offset of its end in the draft. `said` is the end of the conversation's last answer: its
    note is not repeated if there is another. The hedge named in the result is that of the least certain sentence; refused
    wordings are listed as "template:<reason>".

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
    if language == "en" and is_no_statement(draft, [parts[i].text for i in indices], question):
        return Rewording(draft, "plain", Reason.NO_ASSERTION, None, None)
    targets = dict(zip(indices, confidences, strict=True))
    known = [target for target in (*targets.values(), *(beta for _, beta in cells)) if target is not None]
    wording = _Wording(question, language, nearest, guard, template.strippers.of(language), parts, targets)
    if known and (note := note_of(known, language, said, draft)) is not None:
        return wording.outcome(draft, note)
    if is_worked_solution(draft, question):
        last = max((i for i, target in targets.items() if target is not None), default=None)
        wording.result = last
        wording.word([] if last is None or last != indices[-1] else [last])
        return wording.outcome(draft)
    stands_out = standing_out(known)
    low = [i for i, target in targets.items() if target is not None and stands_out(target)]
    wording.word(sorted(low, key=lambda i: targets[i].mean))  # type: ignore[union-attr] # those without a target are left out
    wording.mark([(end, beta) for end, beta in cells if stands_out(beta)], draft)
    nothing_worded = not any(hedge for _, hedge in wording.done.values()) and not wording.marked
    if nothing_worded and known and fmean(beta.mean for beta in known) < DOUBTFUL:
        return wording.outcome(draft, _nearest_note(_about(known), language, said, draft))
    return wording.outcome(draft)


def standing_out(known: Sequence[Beta]) -> Callable[[Beta], bool]:
    """A test of whether one of these claims is clearly less certain than the others; a single claim always is."""
    total = sum(beta.mean for beta in known)

    def stands_out(target: Beta) -> bool:
        others = (total - target.mean) / max(1, len(known) - 1)
        return len(known) == 1 or target.mean + CLEARLY * sqrt(target.variance) < others

    return stands_out


def note_of(known: Sequence[Beta], language: str, said: str = "", draft: str = "") -> Closing | None:
    """The note for an answer with these claims.

    None where few of them are in doubt, or where some stand out and can be hedged instead.
    """
    mean = fmean(beta.mean for beta in known)
    in_doubt = sum(beta.mean < HALF for beta in known) / len(known)
    if (len(known) < 2 and mean > LOW) or (
        in_doubt <= HALF and (mean >= DOUBTFUL or any(map(standing_out(known), known)))
    ):
        return None
    return _nearest_note(_about(known), language, said, draft)


def _about(known: Sequence[Beta]) -> Beta:
    """One Beta for all of these claims together: their average mean, the concentration of the first."""
    return Beta.from_mean(fmean(beta.mean for beta in known), known[0].concentration)


def note_on_list(request: RewriteRequest) -> Closing | None:
    """The note for a list whose confidence is below `DOUBTFUL`; None for any other answer."""
    language = request.language or "en"
    if request.target.mean >= DOUBTFUL or not is_list(request.draft) or _STEPS.match(request.draft):
        return None
    texts = [piece.text for piece in pieces(request.draft) if piece.is_sentence]
    no_claim = language == "en" and is_no_statement(request.draft, texts, request.question)
    if no_claim or not any(asserts(text, language) for text in texts):
        return None
    return _nearest_note(request.target, language, request.said, request.draft)


def _nearest_note(about: Beta, language: str, said: str, draft: str) -> Closing | None:
    notes = written(language).notes if about.mean <= LOW else written(language).parts
    return nearest_of(unsaid(notes, said), about, draft)


def with_note(draft: str, note: str, language: str = "en") -> str:
    """The answer with a note at its end, before any farewell; unchanged if it already ends with a note."""
    if draft.rstrip().endswith(tuple(each.text for each in (*written(language).notes, *written(language).parts))):
        return draft
    body, farewell = without_farewell(draft)
    return f"{body.rstrip()}\n\n{note}" + (f"\n\n{farewell.strip()}" if farewell.strip() else "")


def without_farewell(draft: str) -> tuple[str, str]:
    """An answer split into (text, farewell with the space before it); joined, they are the answer.

    >>> without_farewell("It is Mars. Let me know if you need more!")
    ('It is Mars.', ' Let me know if you need more!')
    """
    farewell = _FAREWELL.search(draft, max(0, len(draft) - _LONGEST_FAREWELL))
    ends = len(draft) if farewell is None else len(draft[: farewell.start()].rstrip())
    return draft[:ends], draft[ends:]


_FAREWELL = re.compile(
    r"(?:(?<=[.!?] )|(?<=[.!?]  )|(?<=\n))(?:(?:please )?(?:feel free|let me know)|(?:I )?hope (?:this|that|these)|I['’]d be happy to|Is there anything else|Would you like|If you have (?:any )?(?:other |more |further )?questions)\b"
    r"[^\n]*\s*\Z",
    re.IGNORECASE,
)
_LONGEST_FAREWELL = 300


@dataclass
class _Wording:
    """The state while one answer is reworded sentence by sentence. `parts` is changed in place."""

    question: str
    language: str
    nearest: Nearest
    guard: FactGuard
    stripper: Stripper
    parts: list[Piece]
    targets: dict[int, Beta | None]
    done: dict[int, tuple[SentenceStatus, str | None]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    marked: int = 0
    result: int | None = None  # the last sentence of a worked solution

    def word(self, indices: Sequence[int]) -> None:
        """Reword these sentences and items in the given order, until the limits are reached."""
        hedged = 0
        for index in indices:
            piece, target = self.parts[index], self.targets[index]
            if target is None or is_plain(target, self._nearest(target)):
                continue
            if piece.place == "list" and not self._reads_as_sentence(piece):
                self._mark_item(index, target)
            elif hedged < MOST_HEDGES and (piece.place == "list" or self._takes_hedge(index)):
                rewrite = self._hedged(index, target)
                self.done[index] = ("unhedged", None) if rewrite is None else ("hedged", rewrite.hedge)
                if rewrite is not None:
                    self.parts[index] = replace(piece, text=rewrite.text)
                    self.used |= {rewrite.hedge} if rewrite.hedge else set()
                    hedged += 1

    def _takes_hedge(self, index: int) -> bool:
        """Whether a sentence can be hedged: a claim in prose, or a fragment that is the answer ("Severe decline.")."""
        piece = self.parts[index]
        undisputed = self.language == "en" and (
            _SOME.match(piece.text)
            or _PRAISES.match(piece.text)
            or is_background(piece.text, self.question)
            or defines(piece.text)
        )
        if undisputed:
            return False
        asserted = _is_prose(piece) and asserts(piece.text, self.language)
        if index == self.result and asserted:
            return True
        is_answer = index == min(self.targets) and asserted
        return _is_claim(piece, self.language, self.question) or (is_answer and shape(piece.text).kind == "fragment")

    def _reads_as_sentence(self, piece: Piece) -> bool:
        as_prose = replace(piece, place="prose")
        return (
            not _GLOSS.match(piece.text)
            and shape(piece.text).kind == "clause"
            and _is_claim(as_prose, self.language, self.question)
        )

    def _mark_item(self, index: int, target: Beta) -> None:
        """Put a short mark at the end of a list item: "Passy (probably)"."""
        text = self.parts[index].text
        is_name = shape(text).kind == "fragment" and len(text.split()) <= _WORDS_OF_A_NAME
        if (
            not (self._may_mark and is_name and self._is_whole_item(index))
            or len(text) > _LONGEST_MARKED
            or text.rstrip("*_ .;,").endswith((":", ")"))
        ):
            return
        mark = self._mark(target)
        self.parts[index] = replace(self.parts[index], text=f"{_unstopped(text)} ({mark.text}){_stop_of(text)}")
        self.done[index] = ("hedged", mark.hedge)

    def _is_whole_item(self, index: int) -> bool:
        """Whether an item is alone on its line, so that a mark at its end is clearly about all of it."""
        before, after = self.parts[:index], self.parts[index + 1 :]
        line = "".join(p.text for p in before).rpartition("\n")[2] + "".join(p.text for p in after).partition("\n")[0]
        return not any(c.isalpha() for c in line)

    @property
    def _may_mark(self) -> bool:
        return self.marked < MOST_MARKS and bool(written(self.language).marks)

    def _mark(self, target: Beta) -> Closing:
        self.marked += 1
        return min(written(self.language).marks, key=lambda mark: distance(mark.beta, target))

    def mark(self, cells: Sequence[tuple[int, Beta]], draft: str) -> None:
        """Put a mark after each of these table cells."""
        starts, start = [], 0
        for piece in pieces(draft):
            starts.append(start)
            start += len(piece.text)
        for end, target in sorted(cells, reverse=True):
            if self._may_mark and not is_plain(target, self._nearest(target)):
                index = max(i for i, each in enumerate(starts) if each < end)
                text, at = self.parts[index].text, end - starts[index]
                self.parts[index] = replace(
                    self.parts[index], text=f"{text[:at]} ({self._mark(target).text}){text[at:]}"
                )

    def _nearest(self, target: Beta) -> tuple[Match, ...]:
        matches = (
            self.nearest(target, self.used) if self.language == "en" else nearest_foreign(self.language, target, 5)
        )
        fresh = tuple(match for match in matches if match.hedge.id not in self.used or match.hedge.is_plain)
        return matches if matches[0].hedge.is_plain or not fresh else fresh

    def _hedged(self, index: int, target: Beta) -> Rewrite | None:
        """The sentence with the nearest hedge that fits a frame and passes the guard; None if there is none."""
        text, matches = self.parts[index].text, self._nearest(target)
        if self.language == "en" and hedges_itself(text):
            self.refused.append(f"template:{Reason.ALREADY_HEDGED}")
            return None
        bare = self.stripper.bare(text)
        around = Surroundings(self.question, self._others(index), self.language)
        remaining = tuple(match for match in matches if not match.hedge.is_plain)
        while remaining:
            within = WITHIN if after_label(self.parts, index) or _NAMED_FIRST.match(text) else None
            chosen = choose(bare, remaining, around, text, within)
            if chosen is None:
                self.refused.append(f"template:{Reason.NO_FRAME}")
                return None
            hedge, worded = chosen
            rewrite = Rewrite(capitalise(worded) if text[:1].isupper() else worded, hedge.id)
            verdict = self.guard.check_sync(
                RewriteRequest(self.question, text, target, matches, language=self.language), rewrite
            )
            if verdict.accepted:
                return rewrite
            self.refused.append(f"template:{verdict.reason}")
            remaining = tuple(match for match in remaining if match.hedge.id != hedge.id)
        return None

    def _others(self, index: int) -> str:
        """The text around this sentence, without it."""
        around = range(max(0, index - NEIGHBOURS), min(len(self.parts), index + NEIGHBOURS))
        return "".join(self.parts[i].text for i in around if i != index)

    def outcome(self, draft: str, note: Closing | None = None) -> Rewording:
        """The result for the whole answer; with `note`, the answer with that note."""
        text = "".join(piece.text for piece in self.parts)
        worded = tuple(self._placed())
        plain = Rewording(
            text, "plain", Reason.NO_HEDGE_NEEDED, None, None, tuple(self.refused), None, sentences=worded
        )
        if note is not None:
            noted = with_note(draft, note.text, self.language)
            shift = len(noted) - len(draft.rstrip())
            body_end = len(without_farewell(draft)[0])
            after = tuple(
                replace(s, start=s.start + shift, end=s.end + shift) if s.start >= body_end else s for s in worded
            )
            return replace(
                plain,
                text=noted,
                sentences=after,
                status="hedged",
                reason=None,
                rewriter="closing",
                perceived=note.beta,
            )
        plain = replace(plain, perceived=self.guard.reader(text, self.language) if self.guard.reader else None)
        if text != draft:
            named = [(s.target.mean, s.hedge) for s in worded if s.hedge is not None and s.target is not None]
            return replace(
                plain, status="hedged", reason=None, hedge=min(named)[1] if named else None, rewriter="template"
            )
        if self.refused:
            return replace(plain, status="unhedged", reason=self.refused[-1].partition(":")[2])
        return plain

    def _placed(self) -> Iterator[WordedSentence]:
        """The sentences with their offsets in the final text."""
        end = 0
        for index, piece in enumerate(self.parts):
            start, end = end, end + len(piece.text)
            if index in self.targets:
                status, hedge = self.done.get(index, ("plain" if _is_prose(piece) else "kept", None))
                yield WordedSentence(start, end, self.targets[index], status, hedge)


def _unstopped(text: str) -> str:
    """An item without the punctuation at its end."""
    return text.rstrip().removesuffix(_stop_of(text)) if _stop_of(text) else text.rstrip()


def _stop_of(text: str) -> str:
    last = text.rstrip()[-1:]
    return last if last in (".", ";", ",") else ""
