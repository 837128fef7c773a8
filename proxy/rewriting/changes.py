"""What a rewrite changed besides the confidence: its words are aligned with the draft's, and each difference must be a word of confidence or what such a word needs.

No grammar: words of confidence are those that the lexicon's detector finds or its wordings hold, forms of a verb are told by the parser's lemmas, and the few closed
lists are data (`lexicon/data/text`). Of a language without a lexicon only the shape of a difference is checked: no number, name, negation or yes in it, and short.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import chain, pairwise, takewhile
from unicodedata import category

from ...lexicon.perception.spotting import mark
from ...lexicon.reading.parsing import NoParser, parser
from ...lexicon.reading.reading import Act, Reading, Span, Token
from ...lexicon.text.language import Closed, closed, known, negations_everywhere
from ...lexicon.text.opaque import protected, structure
from ...lexicon.text.sentences import Piece, pieces
from ..outcomes import Reason
from .policy import is_unmarked
from .words import Word, spoken, words_of

LONGEST_UNREAD = 14
"""Words that a single difference may hold in a language without a lexicon."""
CLAIMING: frozenset[Act] = frozenset({"states", "presents", "computes"})
"""Acts of which one at least must stand in an answer for a remark of doubt to make sense: a list of names presents."""
UNCLAIMED: frozenset[Act] = frozenset({"advises", "instructs", "asks", "declines", "speaks"})
"""Acts that no hedge may stand in."""
MOST_COMPARED = 300_000
"""Pairs of equal words up to which two texts are aligned: an answer of 20,000 characters has half of them, a hostile one of one word many times more."""
SHORT = 4
"""Letters of a word that may go with a hedge in a language without closed lists: forms of be and have, pronouns."""
FREQUENCIES = frozenset({"often", "always", "never", "rarely", "sometimes", "either", "should", "must"})
"""Cues of the detector that are part of what is said: how often, and what ought to be."""
BESIDE = 6
"""Words between a hedge and others that go with it ("just a wild guess, but")."""
NOT_KNOWING = frozenset({"sure", "unsure", "know", "idea", "tell", "able", "unable", "recall", "check"})
"""Cues whose "not" is the speaker's ("I'm not sure"), and denies nothing."""
_UNSPACED = "\u2e80"
"""Scripts from here on put no space between words: each character is compared."""
_PAST, _PRESENT = (
    frozenset({"was", "were", "had", "did"}),
    frozenset({"is", "are", "am", "has", "have", "does", "do", "'s"}),
)
_BECOMES = {"VBZ": ("VB", "VBP"), "VBP": ("VB", "VBZ"), "VBD": ("VBN",), "VB": ("VBZ", "VBP"), "VBN": ("VBD",)}
"""Tags that a verb may take beside a hedge ("wrote", "may have written")."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A forbidden change in a rewrite, with the words of the answer that are gone and the words that are new."""

    reason: Reason
    dropped: str = ""
    added: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """Places of words of the draft that are gone and of words of the rewrite that are new, besides words of confidence.

    `region`: the stretch of the rewrite that the new words stand in, with the words of confidence beside them.
    """

    gone: tuple[int, ...]
    new: tuple[int, ...]
    region: range


@dataclass(frozen=True)
class Side:
    """One of the two texts, as far as they differ: its pieces, words and words of confidence."""

    parts: tuple[Piece, ...]
    words: list[Word]
    language: str | None
    closed: Closed

    @cached_property
    def text(self) -> str:
        """What is compared of this text."""
        return "".join(part.text for part in self.parts)

    @cached_property
    def confident(self) -> dict[int, str]:
        """The words of confidence, by their place, with the kind: "hedge" or "booster". What says how often, and a "not" that denies a claim, are content."""
        if self.language is None:
            return {}
        found: dict[int, str] = {}
        light = self.closed.light | self.closed.pronouns
        denying = light | self.closed.negations
        starts = [word.start for word in self.words]
        for marked in mark(self.text, self.language):
            kept = {marked.tokens[cue.first].start for cue in marked.cues if cue.base in FREQUENCIES}
            unknowing = [marked.tokens[cue.first].start for cue in marked.cues if cue.base in NOT_KNOWING]
            for span in marked.spans:
                if any(span.start <= at < span.end for at in kept):
                    continue
                speaks = not self.closed.first_person.isdisjoint(re.split(r"\W+", span.text.lower()))
                own = self.language != "en" or speaks or any(span.start <= at < span.end for at in unknowing)
                inside = range(bisect_left(starts, span.start), bisect_left(starts, span.end))
                found |= {i: span.kind for i in inside if self.words[i].lower not in (light if own else denying)}
        return found

    @cached_property
    def parsed(self) -> dict[int, tuple[Token, str, tuple[Token, ...]]]:
        """By the place of a word: its token, its tag and its sentence's tokens; {} without a parser of the language."""
        if self.language != "en":
            return {}
        try:
            english = parser()
        except NoParser:
            return {}
        spans, start = [], 0
        for part in self.parts:
            if part.is_sentence:
                spans.append(Span(start, start + len(part.text)))
            start += len(part.text)
        at = {word.start: i for i, word in reversed([*enumerate(self.words)])}
        read = english.parse(self.text, spans, ())
        return {
            at[token.start]: (token, tag, parse.tokens)
            for parse in read
            for token, tag in zip(parse.tokens, parse.tags, strict=True)
            if token.start in at
        }

    @cached_property
    def runs(self) -> list[tuple[int, ...]]:
        """The places of words of confidence that stand together."""
        runs: list[list[int]] = []
        for i in sorted(self.confident):
            if runs and runs[-1][-1] == i - 1 and self.words[i].piece == self.words[i - 1].piece:
                runs[-1].append(i)
            else:
                runs.append([i])
        return list(map(tuple, runs))

    def said(self, places: Sequence[int]) -> str:
        """Words as one string."""
        return " ".join(self.words[i].lower for i in places)

    def verb(self, i: int) -> tuple[str, str] | None:
        """The lemma and the tag of a verb."""
        read = self.parsed.get(i)
        if read is None or read[0].pos not in ("VERB", "AUX") or read[0].end - read[0].start != len(self.words[i].text):
            return None
        return read[0].lemma, read[1]

    def lower(self, start: int, end: int) -> list[str]:
        """Words in lower case."""
        return [word.lower for word in self.words[start:end]]

    def between(self, i: int, j: int) -> str:
        """The text between two words, from the beginning or to the end where one of them is missing."""
        start = self.words[i].end if i >= 0 else 0
        return self.text[start : self.words[j].start if j < len(self.words) else len(self.text)]

    def is_apart(self, places: range) -> bool:
        """Whether these words are parted from the others by punctuation or the ends of their sentence, on both sides."""
        return all(self._parts_sentences(at) or _stops(self.between(at - 1, at)) for at in (places.start, places.stop))

    def opens(self, places: range) -> bool:
        """Whether they begin a sentence or stand behind punctuation."""
        return self._parts_sentences(places.start) or _stops(self.between(places.start - 1, places.start))

    def breaks(self, places: range) -> bool:
        """Whether a sentence begins in them."""
        inside = range(max(0, places.start - 1), min(places.stop + 1, len(self.words)))
        return len({self.words[i].piece for i in inside}) > 1

    def at_edge(self, places: range) -> bool:
        """Whether they begin or end their sentence; "I do" before "not know" counts as part of them."""
        start, little = places.start, self.closed.light | self.closed.first_person
        while not self._parts_sentences(start) and self.words[start - 1].lower in little:
            start -= 1
        return self._parts_sentences(start) or self._parts_sentences(places.stop)

    def _parts_sentences(self, at: int) -> bool:
        """Whether a sentence ends before this place."""
        return at == 0 or at >= len(self.words) or self.words[at - 1].piece != self.words[at].piece


def _stops(text: str) -> bool:
    return any(not (character.isalnum() or character.isspace()) for character in text)


def fault(
    draft: str, rewrite: str, question: str = "", language: str | None = "en", reading: Reading | None = None
) -> Fault | None:
    """The first change of a rewrite besides its confidence, or None.

    Args:
        language: of the draft; None if it is unknown.
        reading: of the draft; without one, it is not asked whether what is hedged claims anything.
    """
    before, after = pieces(draft), pieces(rewrite)
    head = _shared(before, after)
    tail = _shared(before[head:][::-1], after[head:][::-1])
    read = language if language in known() else None
    lists = closed(read or "other")
    left, right = (_side(parts, head, tail, read, lists) for parts in (before, after))
    given = frozenset(word.lower for word in words_of(pieces(f"{draft}\n\n{question}")))
    comparison = Comparison(left, right, lists, given)
    return comparison.fault() or (
        comparison.unclaimed(reading, sum(len(p.text) for p in before[:head])) if reading else None
    )


def _shared(first: Sequence[Piece], second: Sequence[Piece]) -> int:
    """Number of equal pieces at the start of both texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0].text == pair[1].text, zip(first, second, strict=False)))


def _side(parts: Sequence[Piece], head: int, tail: int, language: str | None, lists: Closed) -> Side:
    inside = tuple(parts[head : len(parts) - tail])
    return Side(inside, list(chain.from_iterable(_characters(word) for word in words_of(inside))), language, lists)


def _characters(word: Word) -> Iterator[Word]:
    """A word of a script without spaces as its characters; punctuation and accents of other scripts are left out."""
    if not word.text.isascii() and len(word.text) == 1 and category(word.text)[0] in "PM":
        return
    if word.text < _UNSPACED or word.end - word.start != len(word.text):
        yield word
        return
    for at, character in enumerate(word.text):
        yield replace(word, text=character, lower=character, start=word.start + at, end=word.start + at + 1)


@dataclass(frozen=True)
class Comparison:
    """A draft and its rewrite. `closed`: the closed lists of their language; `given`: the words of draft and question."""

    left: Side
    right: Side
    closed: Closed
    given: frozenset[str]

    @cached_property
    def differences(self) -> list[Difference]:
        """Where the two texts differ in words that must be kept, in order."""
        old, now = self._content
        before, after = [self.left.words[i].lower for i in old], [self.right.words[j].lower for j in now]
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        found = [code for code in matcher.get_opcodes() if code[0] != "equal"]
        return [Difference(tuple(old[a:b]), tuple(now[c:d]), self._region(c, d)) for _, a, b, c, d in found]

    @cached_property
    def _lost_and_new(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """The words of confidence that only one of the texts has."""
        lost, new = list[tuple[int, ...]](), list(self.right.runs)
        for run in self.left.runs:
            same = next((other for other in new if self.right.said(other) == self.left.said(run)), None)
            if same is None:
                lost.append(run)
            else:
                new.remove(same)
        return lost, new

    def _carried(self) -> Fault | None:
        """A hedge of the answer's own that stands in another clause."""
        new = list(self.right.runs)
        for run in self.left.runs:
            same = [other for other in new if self.right.said(other) == self.left.said(run)]
            if (
                same
                and self.left.confident[run[0]] == "hedge"
                and self._clause(run[0]) not in map(self._beside, (o[0] for o in same))
            ):
                return Fault(Reason.DOUBT_DROPPED, self.left.said(run))
        return None

    @cached_property
    def _content(self) -> tuple[list[int], list[int]]:
        """The places of the words that must be kept; what is lost of modal verbs, amounts and negations is among them."""
        lost = frozenset(chain.from_iterable(self._lost_and_new[0]))
        weighty = self.closed.modals | self.closed.amounts | self.closed.negations
        hidden = {i for i in self.left.confident if i not in lost or self.left.words[i].lower not in weighty}
        kept = [i for i in range(len(self.left.words)) if i not in hidden]
        return kept, [j for j in range(len(self.right.words)) if j not in self.right.confident]

    def _region(self, c: int, d: int) -> range:
        now = self._content[1]
        first = now[c - 1] + 1 if c else 0
        return range(first, now[d] if d < len(now) else len(self.right.words))

    def fault(self) -> Fault | None:
        """The first forbidden difference."""
        if self._repetitions() > MOST_COMPARED:
            return Fault(Reason.STRUCTURE_CHANGED)
        checks = (
            self._protected,
            self._form,
            self._differing,
            self._capitals,
            self._denial,
            self._carried,
            self._lost,
            self._reported,
        )
        return next((found for check in checks if (found := check()) is not None), None)

    def _repetitions(self) -> int:
        """Pairs of equal words: what an alignment takes time for."""
        old, now = (Counter(word.lower for word in side.words) for side in (self.left, self.right))
        return sum(count * now[word] for word, count in old.items())

    def _differing(self) -> Fault | None:
        """The first difference that is no word of confidence; of a number or date it is told that it is one."""
        found = next((found for one in self.differences if (found := self._of(one)) is not None), None)
        if found is None or found.reason not in (Reason.CONTENT_ADDED, Reason.CONTENT_DROPPED, Reason.NUMBER_CHANGED):
            return found
        old, now = protected(self.left.text), protected(self.right.text)
        return next(
            (
                Fault(Reason(f"{kind}_changed"), found.dropped, found.added)
                for kind in ("date", "number")
                if old[kind] != now[kind]
            ),
            found,
        )

    def _of(self, one: Difference) -> Fault | None:
        """What is wrong with one difference."""
        gone, new = list(one.gone), list(one.new)
        words = " ".join(self.left.words[i].text for i in gone), " ".join(self.right.words[j].text for j in new)
        if self.right.language != "en":
            return self._by_shape(one, gone, new, words)
        reason = self._by_words(one, gone, new)
        if reason in (Reason.CONTENT_ADDED, Reason.CONTENT_DROPPED):
            reason = (
                Reason.CONTENT_DROPPED
                if all(self.right.words[j].lower in self._told | self.closed.light for j in new)
                else Reason.CONTENT_ADDED
            )
        return None if reason is None else Fault(reason, *words)

    def _protected(self) -> Fault | None:
        """A quotation, link, formula and the like that is gone or new; one that the draft holds may be named again."""
        old, now = (_by_words(protected(side.text)) for side in (self.left, self.right))
        for kind in old:
            if kind in ("number", "date"):
                continue
            lost, new = old[kind] - now[kind], now[kind] - old[kind]
            if lost or any(not self.given.issuperset(span.split()) for span in new):
                return Fault(Reason(f"{kind}_changed"), " ".join(lost), " ".join(new))
        return None

    def _by_shape(
        self, one: Difference, gone: Sequence[int], new: Sequence[int], words: tuple[str, str]
    ) -> Fault | None:
        old, now = [self.left.words[i] for i in gone], [self.right.words[j] for j in new]
        if any(any(map(str.isdigit, word.text)) for word in (*old, *now)):
            return Fault(Reason.NUMBER_CHANGED, *words)
        if any(not word.text[0].isalnum() for word in (*old, *now)):
            return Fault(Reason.SYMBOL_CHANGED, *words)
        apart = self.right.is_apart(one.region) or self.right.at_edge(one.region)
        answered = len(old) == 1 and old[0].initial and _denies(old, self.closed) and _denies(now, self.closed)
        if not answered and (_denies(old, self.closed) or any(word.lower in self.closed.polar for word in old)):
            return Fault(Reason.CONTENT_NEGATION, *words)
        if (
            not answered
            and _denies(now, self.closed)
            and not ((apart or self.right.opens(one.region)) and len(one.region) > 2)
        ):
            return Fault(Reason.CONTENT_NEGATION, *words)
        named = [word for word in now if word.text[0].isupper() and not word.initial and word.lower not in self.given]
        if named and self.left.language != "de":
            return Fault(Reason.CONTENT_ADDED, *words)
        longest = LONGEST_UNREAD * (2 if now and now[0].text >= _UNSPACED else 1)
        if len(now) > longest:
            return Fault(Reason.CONTENT_ADDED, *words)
        replaced = [
            word
            for word in old
            if len(word.text) > SHORT and not any(word.lower[:3] == other.lower[:3] for other in now)
        ]
        return Fault(Reason.CONTENT_DROPPED, *words) if replaced or len(old) > max(2, len(now) + 1) else None

    def _by_words(self, one: Difference, gone: list[int], new: list[int]) -> Reason | None:
        if (tense := self._forms(one, gone, new)) is not None:
            return tense
        now = [self.right.words[j].lower for j in one.region]
        splits = not self.closed.pronouns.isdisjoint(now) and self.right.breaks(one.region)
        replaced = self._replaces(one)
        answered = [i for i in gone if self.left.words[i].initial and self.left.words[i].lower == "no" and "not" in now]
        for i in gone:
            word = self.left.words[i].lower
            light = (
                word in self.closed.light - (frozenset() if replaced else self.closed.pronouns)
                or word in self.closed.assent
                or (replaced and word in self.closed.remark - self.closed.modals - self.closed.amounts)
            )
            linked = word in self.closed.links and (splits or word in ("and", "but"))
            opens = word in self.closed.connectives and self.left.words[i].initial
            if i in answered or opens or linked or self._is_bare_modal(i, now):
                continue
            if word in self.closed.negations or not light:
                return self._kind(word, Reason.CONTENT_DROPPED)
        hedged = any(j in self.right.confident for j in one.region)
        speaks = hedged or not self.closed.first_person.isdisjoint(now)
        apart, edge = self.right.is_apart(one.region), speaks and self.right.at_edge(one.region)
        free = self._named(one.region) if speaks else frozenset()
        for j in new:
            word = self.right.words[j].lower
            if j in free or (answered and word == "not"):
                continue
            if (
                word in self.closed.light
                or j in self.right.confident
                or (splits and word in self.closed.pronouns)
                or (hedged and word in "()")
            ):
                continue
            if (splits and word == "also") or (word == "would" and hedged and not splits and "would" not in self._told):
                continue
            if not ((apart and self._remarks(j, speaks)) or (edge and word in self.closed.remark - {"and", "or"})):
                return self._kind(word, Reason.CONTENT_ADDED)
        few = {
            self.right.words[j + 1].lower for j in new if self.right.words[j].lower == "a" and j + 1 in self._matched
        }
        return Reason.QUANTITY_CHANGED if few & self.closed.amounts else None

    def _replaces(self, one: Difference) -> bool:
        """Whether the words that are gone stood beside a hedge that is gone too."""
        lost = chain.from_iterable(self._lost_and_new[0])
        return any(abs(i - at) <= BESIDE for at in lost for i in one.gone)

    def _is_bare_modal(self, i: int, now: Sequence[str]) -> bool:
        """Whether a modal verb only hedges: "it may be", or one that another replaces."""
        word, words = self.left.words[i].lower, self.left.words
        if word not in ("may", "might", "could"):
            return False
        bare = (
            i > 0
            and words[i - 1].lower in ("it", "this", "that", "answer")
            and [w.lower for w in words[i + 1 : i + 2]] == ["be"]
        )
        return bare or (word != "could" and not {"may", "might"}.isdisjoint(now))

    def _named(self, region: range) -> frozenset[int]:
        """What a sentence of its own says not to know ("I'm not sure how it is served"): it asserts nothing, so its words are free; names and numbers must be given."""
        if not (self.right._parts_sentences(region.start) and self.right._parts_sentences(region.stop)):
            return frozenset()
        free, knows_not = set[int](), False
        for j in region:
            word = self.right.words[j]
            parted = _stops(self.right.between(j - 1, j))
            if (
                word.initial
                or word.lower == "but"
                or (parted and word.lower in self.closed.clauses)
                or ";" in self.right.between(j - 1, j)
            ):
                knows_not = False
            knows_not = knows_not or self._is_unknowing(j)
            named = any(map(str.isdigit, word.text)) or (
                word.text[0].isupper() and not word.initial and word.lower != "i"
            )
            if knows_not and (word.lower in self.given or not named):
                free.add(j)
        return frozenset(free)

    def _is_unknowing(self, j: int) -> bool:
        """Whether a word says not to know: "unsure", or "sure" behind "not" or "least"."""
        before = self.right.lower(max(0, j - 3), j)
        word = self.right.words[j].lower
        return word in ("unsure", "uncertain") or (
            word in self.closed.unknowing and not self.closed.hedged_by.isdisjoint(before)
        )

    def _remarks(self, j: int, speaks: bool) -> bool:
        """Whether a word may stand in a remark of doubt: one of its vocabulary, one of draft or question, or a thing that it names ("the order")."""
        word = self.right.words[j].lower
        if word in self.closed.remark or (
            speaks and (word in self.closed.negations | self.closed.modals or word in self.given)
        ):
            return True
        read = self.right.parsed.get(j)
        if not speaks or read is None or read[0].pos not in ("NOUN", "ADJ") or read[0].dep in ("attr", "ROOT"):
            return False
        token, _, tokens = read
        head = token if token.pos == "NOUN" else tokens[token.head]
        return any(
            t.dep == "det" and t.lemma not in ("a", "an") and tokens[t.head] in (head, tokens[head.head])
            for t in tokens
        )

    def _capitals(self) -> Fault | None:
        """A name that lost its capital, or a word that got one; or a sentence that ends elsewhere."""
        for j, i in self._matched.items():
            old, new = self.left.words[i], self.right.words[j]
            if old.text != new.text and (
                (len(old.text) > 1 and old.text.isupper())
                or not (old.initial or new.initial)
                or old.text[1:] != new.text[1:]
                or (old.initial and not new.initial and old.text in self._names)
            ):
                return Fault(Reason.CONTENT_DROPPED, old.text, new.text)
            if self._matched.get(j - 1) == i - 1 and self._ends(i, j):
                return Fault(Reason.STRUCTURE_CHANGED)
        return None

    @cached_property
    def _names(self) -> frozenset[str]:
        """Words of the draft that have a capital inside a sentence too."""
        return frozenset(word.text for word in self.left.words if word.text[0].isupper() and not word.initial)

    def _ends(self, i: int, j: int) -> bool:
        """Whether a sentence of the rewrite begins at `j` where none of the draft does, at `i`; before "and" or "but" it may."""
        left, right = self.left.words, self.right.words
        if ":" in self.right.between(j - 1, j):
            return False
        begins = right[j].piece != right[j - 1].piece and left[i].piece == left[i - 1].piece
        return begins and not left[i].initial and left[i].lower not in ("and", "but", "so", "while", "whereas")

    def _denial(self) -> Fault | None:
        """A word that denies and came or went: "unlikely", "I doubt that"; "without a doubt" and "may be wrong" deny nothing."""
        old, now = (
            [
                word.lower
                for i, word in enumerate(side.words)
                if word.lower in self.closed.denials and side.confident.get(i) != "booster"
            ]
            for side in (self.left, self.right)
        )
        if sorted(old) != sorted(now):
            return Fault(Reason.CONTENT_NEGATION, " ".join(old), " ".join(now))
        added = {self.right.words[j].lower for one in self.differences for j in one.region}
        added |= {self.right.words[j].lower for j in chain.from_iterable(self._lost_and_new[1])}
        if self.closed.faults & added - self.given and not (self.closed.modals | self.closed.negations) & added:
            return Fault(Reason.CONTENT_NEGATION, added=" ".join(self.closed.faults & added))
        return None

    def _kind(self, word: str, otherwise: Reason) -> Reason:
        """The reason for a word that came or went."""
        if any(map(str.isdigit, word)):
            return Reason.NUMBER_CHANGED
        if not word[0].isalnum() and word != "'s":
            return Reason.SYMBOL_CHANGED
        if word in self.closed.negations:
            return Reason.CONTENT_NEGATION
        if word in self.closed.modals:
            return Reason.MODAL_CHANGED
        return Reason.QUANTITY_CHANGED if word in self.closed.amounts else otherwise

    def _forms(self, one: Difference, gone: list[int], new: list[int]) -> Reason | None:
        """Takes forms of the same verb out of both lists; `tense_changed` where they differ in more than a hedge asks for."""
        was, now = {self.left.words[i].lower for i in gone}, {self.right.words[j].lower for j in new}
        now |= {self.right.words[j].lower for j in one.region if j in self.right.confident}
        for i in list(gone):
            old = self.left.verb(i)
            if old is None or self.left.words[i].lower in self.closed.light:
                continue
            same, tag = next(
                ((j, read[1]) for j in new if (read := self.right.verb(j)) and read[0] == old[0]), (None, "")
            )
            if same is None:
                continue
            if tag not in (old[1], *_BECOMES.get(old[1], ())) or (
                old[1] == "VBD" and tag == "VBN" and not self._perfect
            ):
                return Reason.TENSE_CHANGED
            gone.remove(i)
            new.remove(same)
        perfect = {"have", "been"} <= now or {"have", "been"} <= was
        if was & _PAST and not now & _PAST and (now & (_PRESENT - {"have"}) or "be" in now) and "have" not in now:
            return Reason.TENSE_CHANGED
        if was & {"is", "are", "am"} and not was & _PAST and (now & _PAST or perfect) and "have" not in was:
            return Reason.TENSE_CHANGED
        if was & _PAST and "would" in now:
            return Reason.TENSE_CHANGED
        if was & {"has"} and now & {"was", "were", "is", "are"} and "have" not in now:
            return Reason.TENSE_CHANGED
        return None

    @cached_property
    def _told(self) -> frozenset[str]:
        """The words of the draft."""
        return frozenset(word.lower for word in self.left.words)

    @cached_property
    def _perfect(self) -> bool:
        """Whether a "have" came with a hedge."""
        return sum(w.lower == "have" for w in self.right.words) > sum(w.lower == "have" for w in self.left.words)

    def _lost(self) -> Fault | None:
        """A hedge of the answer's own that is gone, with none in its clause instead."""
        lost, new = self._lost_and_new
        places = [
            (self._beside(run[0]), self.right.at_edge(range(run[0], run[-1] + 1)))
            for run in new
            if self.right.confident[run[0]] == "hedge"
        ]
        for run in lost:
            clause = self._clause(run[0])
            if self.left.confident[run[0]] == "hedge" and not any(
                at == clause or (edge and at[:1] == clause[:1]) for at, edge in places
            ):
                return Fault(Reason.DOUBT_DROPPED, self.left.said(run))
        return None

    def _anchor(self, j: int) -> int | None:
        """The place in the draft of the nearest kept word after a place of the rewrite, or before it, in its sentence."""
        words = self.right.words
        ahead = takewhile(lambda k: words[k].piece == words[j].piece, range(j, len(words)))
        behind = takewhile(lambda k: words[k].piece == words[j].piece, range(j, -1, -1))
        return next((self._matched[k] for k in chain(ahead, behind) if k in self._matched), None)

    def _beside(self, j: int) -> tuple[int, ...]:
        """The sentence and clause of the draft that a place of the rewrite is in, or comes after."""
        anchor = self._anchor(j)
        if anchor is None:
            anchor = next((self._matched[k] for k in range(j, -1, -1) if k in self._matched), 0)
        return self._clause(anchor)

    @cached_property
    def _matched(self) -> dict[int, int]:
        """The place in the draft of each word of the rewrite that it has."""
        gone = {i for one in self.differences for i in one.gone}
        new = {j for one in self.differences for j in one.new}
        old = [i for i in self._content[0] if i not in gone]
        return dict(zip((j for j in self._content[1] if j not in new), old, strict=True))

    def _clause(self, i: int) -> tuple[int, ...]:
        """The sentence and the clause that a place of the draft is in."""
        words = self.left.words
        i = min(i, len(words) - 1)
        if i < 0:
            return 0, 0
        return (
            words[i].piece,
            words[i].segment,
            sum(word.lower in self.closed.links for word in words[: i + 1] if word.piece == words[i].piece),
        )

    def _reported(self) -> Fault | None:
        """A hedge that was put into what others say or think."""
        new = [
            run[0]
            for run in self._lost_and_new[1]
            if self.right.confident[run[0]] == "hedge" and not self.right.at_edge(range(run[0], run[-1] + 1))
        ]
        j = next(
            (
                j
                for j in new
                if self._is_reported(j) or (self.right.words[j].lower in self.closed.modals and self._has_source(j))
            ),
            None,
        )
        return None if j is None else Fault(Reason.ATTRIBUTION_CHANGED, added=self.right.words[j].text)

    def _has_source(self, j: int) -> bool:
        """Whether "according to" stands before a modal verb in its sentence."""
        before = [word.lower for word in self.right.words[:j] if word.piece == self.right.words[j].piece]
        return ("according", "to") in pairwise(before)

    def unclaimed(self, reading: Reading, shift: int) -> Fault | None:
        """A hedge on what claims nothing; `shift`: characters of the draft before what is compared."""
        claims = any(sentence.act in CLAIMING or not is_unmarked(sentence) for sentence in reading.sentences)
        for run in self._lost_and_new[1]:
            words, anchor = self.right.said(run), self._anchor(run[0])
            if anchor is None:
                if not claims:
                    return Fault(Reason.HEDGED_NO_CLAIM, added=words)
                continue
            at = shift + self.left.words[anchor].start
            sentence = next((s for s in reading.sentences if s.start <= at < s.end), None)
            if sentence is not None and is_unmarked(sentence) and sentence.act in UNCLAIMED and not sentence.own:
                return Fault(Reason.HEDGED_NO_CLAIM, added=words)
        return None

    def _is_reported(self, j: int) -> bool:
        """Whether a hedge stands in what others are said to say or think."""
        read = self.right.parsed.get(j)
        if read is None:
            return False
        token, _, tokens = read
        start = {self.right.words[k].start for k in chain.from_iterable(self._lost_and_new[1])}
        for _ in tokens:
            above = tokens[token.head]
            if above is token:
                return False
            if token.dep == "ccomp" and above.start not in start and above.pos == "VERB":
                subject = next((t for t in tokens if tokens[t.head] is above and t.dep in ("nsubj", "nsubjpass")), None)
                if subject is not None and subject.lemma not in ("it", "i", "we"):
                    return True
            token = above
        return False

    def _form(self) -> Fault | None:
        """Whether the lines have their form: those that are all new, and blank ones, do not count."""
        lines, start, starts = [], 0, [word.start for word in self.right.words]
        for line in self.right.text.splitlines(keepends=True):
            own = range(bisect_left(starts, start), bisect_left(starts, start + len(line)))
            start += len(line)
            if not own or any(j in self._matched for j in own):
                lines.append(line)
        return None if structure("".join(lines)) == structure(self.left.text) else Fault(Reason.STRUCTURE_CHANGED)


def _by_words(spans: dict[str, Counter[str]]) -> dict[str, Counter[str]]:
    """Protected spans by their words, since a full stop may come to stand in a quotation."""
    return {kind: Counter(" ".join(spoken(span)) for span in found.elements()) for kind, found in spans.items()}


def _denies(words: Sequence[Word], closed: Closed) -> bool:
    text = "".join(word.text for word in words if word.text >= _UNSPACED)
    every = closed.negations or negations_everywhere()
    return any(word.lower in every for word in words) or any(
        no in text for no in negations_everywhere() if no >= _UNSPACED
    )
