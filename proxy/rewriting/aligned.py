"""A draft and its rewrite, aligned: the words of both, which of them are words of confidence, and where the others differ."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import chain, takewhile
from unicodedata import category

from ...lexicon.perception.spotting import mark
from ...lexicon.reading.parsing import NoParser, parser
from ...lexicon.reading.reading import Span, Token
from ...lexicon.text.language import UNSPACED, closed, known
from ...lexicon.text.sentences import Piece, pieces
from .words import Word, words_of

CONTENT = frozenset({"often", "always", "never", "rarely", "sometimes", "either", "should", "must"})
"""Cues of the detector that are part of what is said: how often, and what ought to be."""
UNKNOWING = frozenset({"sure", "unsure", "know", "idea", "tell", "able", "unable", "recall", "check", "wrong"})
"""Cues whose "not" is the speaker's ("I'm not sure"), and denies nothing."""


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
    """One of the two texts, as far as they differ: its pieces, its words, and its language if its hedges can be found."""

    parts: tuple[Piece, ...]
    words: list[Word]
    language: str | None

    @cached_property
    def text(self) -> str:
        """What is compared of this text."""
        return "".join(part.text for part in self.parts)

    @cached_property
    def starts(self) -> list[int]:
        """The offsets of the words."""
        return [word.start for word in self.words]

    def within(self, start: int, end: int) -> range:
        """The places of the words that begin between two offsets."""
        return range(bisect_left(self.starts, start), bisect_left(self.starts, end))

    @cached_property
    def confident(self) -> dict[int, str]:
        """The words of confidence, by their place, with the kind: "hedge" or "booster".

        What says how often, a "not" that denies a claim, and in English forms of be and pronouns, are content.
        """
        if self.language is None:
            return {}
        light = closed().light | closed().pronouns if self.language == "en" else frozenset[str]()
        denying = light | (closed().negations if self.language == "en" else frozenset[str]())
        found: dict[int, str] = {}
        for marked in mark(self.text, self.language):
            content = [marked.tokens[cue.first].start for cue in marked.cues if cue.base in CONTENT]
            unknowing = [marked.tokens[cue.first].start for cue in marked.cues if cue.base in UNKNOWING]
            for span in marked.spans:
                if any(span.start <= at < span.end for at in content):
                    continue
                left_out = light if any(span.start <= at < span.end for at in unknowing) else denying
                inside = self.within(span.start, span.end)
                found |= {i: span.kind for i in inside if self.words[i].lower not in left_out}
        return found

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
        return {
            at[token.start]: (token, tag, parse.tokens)
            for parse in english.parse(self.text, spans, ())
            for token, tag in zip(parse.tokens, parse.tags, strict=True)
            if token.start in at
        }

    def verb(self, i: int) -> tuple[str, str] | None:
        """The lemma and the tag of a verb."""
        read = self.parsed.get(i)
        if read is None or read[0].pos not in ("VERB", "AUX") or read[0].end - read[0].start != len(self.words[i].text):
            return None
        return read[0].lemma, read[1]

    def said(self, places: Sequence[int]) -> str:
        """Words as one string, in lower case."""
        return " ".join(self.words[i].lower for i in places)

    def lower(self, places: Sequence[int]) -> list[str]:
        """Words in lower case."""
        return [self.words[i].lower for i in places]

    def between(self, i: int) -> str:
        """The text between a word and the one before it."""
        start = self.words[i - 1].end if i > 0 else 0
        return self.text[start : self.words[i].start if i < len(self.words) else len(self.text)]

    def is_apart(self, places: range) -> bool:
        """Whether these words are parted from the others by punctuation or the ends of their sentence, on both sides."""
        return all(self.parts_sentences(at) or stops(self.between(at)) for at in (places.start, places.stop))

    def opens(self, places: range) -> bool:
        """Whether they begin a sentence, or stand behind punctuation."""
        return self.parts_sentences(places.start) or stops(self.between(places.start))

    def last_stop(self, places: range) -> int:
        """The place after which there is no more punctuation in these words: what stands before it is parted from the rest."""
        return next((k for k in reversed(places) if k > places.start and stops(self.between(k))), places.start)

    def is_whole(self, places: range) -> bool:
        """Whether they are whole sentences."""
        return self.parts_sentences(places.start) and self.parts_sentences(places.stop)

    def breaks(self, places: range) -> bool:
        """Whether a sentence begins in them."""
        inside = range(max(0, places.start - 1), min(places.stop + 1, len(self.words)))
        return len({self.words[i].piece for i in inside}) > 1

    def parts_sentences(self, at: int) -> bool:
        """Whether a sentence ends before this place."""
        return at <= 0 or at >= len(self.words) or self.words[at - 1].piece != self.words[at].piece


def stops(text: str) -> bool:
    """Whether there is punctuation in it."""
    return any(not (character.isalnum() or character.isspace()) for character in text)


@dataclass(frozen=True)
class Aligned:
    """A draft and its rewrite. `shift`: characters of the draft before what is compared; `given`: the words of draft and question."""

    left: Side
    right: Side
    shift: int
    given: frozenset[str]

    @cached_property
    def lost_and_new(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """The runs of words of confidence that only one of the texts has."""
        left, right = Counter(map(self.left.said, self.left.runs)), Counter(map(self.right.said, self.right.runs))
        return _rest(self.left.runs, self.left.said, left - right), _rest(
            self.right.runs, self.right.said, right - left
        )

    @cached_property
    def content(self) -> tuple[list[int], list[int]]:
        """The places of the words that must be kept; what is lost of modal verbs, amounts and negations is among them."""
        lost = frozenset(chain.from_iterable(self.lost_and_new[0]))
        weighty = closed().modals | closed().amounts | closed().negations
        hidden = {i for i in self.left.confident if i not in lost or self.left.words[i].lower not in weighty}
        kept = [i for i in range(len(self.left.words)) if i not in hidden]
        return kept, [j for j in range(len(self.right.words)) if j not in self.right.confident]

    @cached_property
    def differences(self) -> list[Difference]:
        """Where the two texts differ in words that must be kept, in order."""
        old, now = self.content
        matcher = SequenceMatcher(None, self.left.lower(old), self.right.lower(now), autojunk=False)
        return [
            Difference(tuple(old[a:b]), tuple(now[c:d]), self._region(c, d))
            for tag, a, b, c, d in matcher.get_opcodes()
            if tag != "equal"
        ]

    def _region(self, c: int, d: int) -> range:
        now = self.content[1]
        return range(now[c - 1] + 1 if c else 0, now[d] if d < len(now) else len(self.right.words))

    @cached_property
    def matched(self) -> dict[int, int]:
        """The place in the draft of each word of the rewrite that it has."""
        gone = {i for one in self.differences for i in one.gone}
        new = {j for one in self.differences for j in one.new}
        old, now = self.content
        return dict(zip((j for j in now if j not in new), (i for i in old if i not in gone), strict=True))

    def is_set_off(self, run: Sequence[int]) -> bool:
        """Whether no word of the draft stands before these words in their sentence of the rewrite, or none behind them: they are about all of it."""
        words = self.right.words
        ahead = takewhile(lambda k: words[k].piece == words[run[0]].piece, range(run[-1] + 1, len(words)))
        behind = takewhile(lambda k: words[k].piece == words[run[0]].piece, range(run[0] - 1, -1, -1))
        return any(not any(k in self.matched for k in side) for side in (ahead, behind))

    def anchor(self, j: int) -> int | None:
        """The place in the draft of the nearest kept word after a place of the rewrite, or before it, in its sentence."""
        words = self.right.words
        ahead = takewhile(lambda k: words[k].piece == words[j].piece, range(j, len(words)))
        behind = takewhile(lambda k: words[k].piece == words[j].piece, range(j, -1, -1))
        return next((self.matched[k] for k in chain(ahead, behind) if k in self.matched), None)

    def beside(self, j: int) -> tuple[int, ...]:
        """The sentence and clause of the draft that a place of the rewrite is in, or comes after."""
        anchor = self.anchor(j)
        if anchor is None:
            anchor = next((self.matched[k] for k in range(j, -1, -1) if k in self.matched), 0)
        return self.clause(anchor)

    def clause(self, i: int) -> tuple[int, ...]:
        """The sentence and the clause that a place of the draft is in."""
        return self._clauses[min(i, len(self._clauses) - 1)] if self._clauses else (0, 0, 0)

    @cached_property
    def _clauses(self) -> list[tuple[int, int, int]]:
        """Of each word of the draft: its sentence, its stretch between strong breaks, and how many links stand before it in the sentence."""
        found, links, piece = list[tuple[int, int, int]](), 0, -1
        for word in self.left.words:
            links = 0 if word.piece != piece else links
            piece = word.piece
            links += word.lower in closed().links
            found.append((word.piece, word.segment, links))
        return found

    def repetitions(self) -> int:
        """Pairs of equal words: what an alignment takes time for."""
        old, now = (Counter(word.lower for word in side.words) for side in (self.left, self.right))
        return sum(count * now[word] for word, count in old.items())


def _rest(
    runs: Sequence[tuple[int, ...]], said: Callable[[Sequence[int]], str], left: Counter[str]
) -> list[tuple[int, ...]]:
    """The last runs of each wording of which so many are left."""
    rest = list[tuple[int, ...]]()
    for run in reversed(runs):
        if left[words := said(run)] > 0:
            left[words] -= 1
            rest.append(run)
    return rest[::-1]


def align(draft: str, rewrite: str, question: str, language: str | None) -> Aligned:
    """Both texts without the sentences that they share at the beginning and at the end."""
    before, after = pieces(draft), pieces(rewrite)
    head = _shared(before, after)
    tail = _shared(before[head:][::-1], after[head:][::-1])
    read = language if language in known() else None
    left, right = (_side(parts[head : len(parts) - tail], read) for parts in (before, after))
    given = frozenset(word.lower for word in _words(pieces(f"{draft}\n\n{question}")))
    return Aligned(left, right, sum(len(part.text) for part in before[:head]), given)


def _shared(first: Sequence[Piece], second: Sequence[Piece]) -> int:
    """Number of equal pieces at the start of both texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0].text == pair[1].text, zip(first, second, strict=False)))


def _side(parts: Sequence[Piece], language: str | None) -> Side:
    return Side(tuple(parts), list(_words(parts)), language)


def _words(parts: Sequence[Piece]) -> Iterator[Word]:
    """The words of pieces; of a script without spaces the characters. Punctuation and accents of other scripts are left out."""
    for word in words_of(parts):
        if not word.text.isascii() and len(word.text) == 1 and category(word.text)[0] in "PM":
            continue
        if word.text < UNSPACED or word.end - word.start != len(word.text):
            yield word
            continue
        for at, character in enumerate(word.text):
            yield replace(word, text=character, lower=character, start=word.start + at, end=word.start + at + 1)
