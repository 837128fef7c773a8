"""Edits by offset that make an answer sound as its plan says. Grammar only: what is marked, and how plainly, is the policy's.

A sentence takes one of four forms. A bare answer ("Jupiter.") and a yes or no take the hedge before them, a statement takes it beside its verb or
before its first word, and a sentence in which no place is sure takes none: then a sentence before the answer says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...lexicon import Frame, FrameKind
from ...lexicon.reading.reading import OwnHedge, Reading, Sentence, Token
from ...lexicon.text.language import grammar
from ...lexicon.text.shape import shape
from .edits import Edit, Note
from .phrases import Phrase, Voice, note_of, phrase_for
from .policy import BANDS, Band, Mark, Plan, Remark, band_of

MOST_WORDS_OF_A_FRAGMENT = 14
"""Words up to which a stretch without a verb is an answer by itself."""
SMALL_POS = frozenset({"DET", "PRON", "ADP", "ADV", "SCONJ", "CCONJ", "AUX", "PART", "INTJ"})
"""Parts of speech whose first letter is large only at the beginning of a sentence."""
_SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "expl"})
_FINITE = frozenset({"VERB", "AUX"})
MODALS = frozenset({"may", "might", "could", "can", "must", "should"})
"""Hedges that may be a permission, a possibility or a duty: alone they mark nothing."""
_CONNECTIVES = ("but", "however", "still", "yet", "although", "though", "so", "thus", "hence", "then")
_GAP = re.compile(r"[\s,]*")
_POLAR = re.compile(r"(Yes|No|Yeah|Nope)\b([,.:;!]?)\s*", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_OF_A_COUNTRY = re.compile(r"(?:ese|[lnrt]ish|[dglnrt]ian|[cprs]ean|[ir]can|ench|utch|eek|wiss)$")
"""The end of an adjective that English writes with a capital ("Japanese", "Polish", "Italian")."""
_ONE_WORD = re.compile(r"\w+ \{clause\}")
_TAKES_THAT = re.compile(r"^(?:I(?:['’]m| )|My )[^,:]*[^,: ] $")
"""An English opening of a clause that reads better with "that" where the clause opens with a phrase."""


@dataclass(frozen=True, slots=True)
class Realised:
    """The edits and the note of an answer; `placed` has the marked sentences with the ids of their hedges, `missed` those without a sure place."""

    edits: tuple[Edit, ...] = ()
    note: Note | None = None
    placed: tuple[tuple[Mark, str], ...] = ()
    missed: tuple[Mark, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.edits) or self.note is not None


def realise(reading: Reading, plan: Plan, voice: Voice) -> Realised:
    """The edits for a plan. A mark that finds no place, or two, becomes one sentence before the answer."""
    edits: list[Edit] = []
    placed: list[tuple[Mark, str]] = []
    missed: list[Mark] = []
    avoid = list(voice.avoid)
    for mark in plan.marks:
        if is_marked(mark, voice.bands):
            placed.append((mark, ""))
            continue
        made = _marked(reading, mark, voice, avoid)
        if made is None:
            missed.append(mark)
            continue
        own, hedge = made
        edits += own
        avoid.append(hedge)
        placed.append((mark, hedge))
    note = None if plan.remark is None else note_of(reading, plan.remark, voice)
    if note is None and missed and (worst := min(missed, key=lambda mark: mark.target.mean)).band != "light":
        note = note_of(reading, Remark(worst.band, worst.target), voice)
    return Realised(tuple(edits), note, tuple(placed), tuple(missed))


def is_marked(mark: Mark, bands: Mapping[Band, float] = BANDS) -> bool:
    """Whether a sentence says by itself that it is as doubtful as it should sound, or more so."""
    order = list(BANDS)
    return any(
        order.index(band_of(own.beta.mean, bands)) >= order.index(mark.band)
        or own.beta.mean <= mark.target.mean + NEAR_ENOUGH
        for own in _doubts(mark.sentence)
        if own.beta is not None
    )


NEAR_ENOUGH = 0.2
"""How much surer than the target an answer's own words may sound: another hedge beside them would read worse than the difference."""


def _doubts(sentence: Sentence) -> list[OwnHedge]:
    """A sentence's own hedges that are of what it says: not a verb that may be a permission, and none that tells of a number or a thing ("about 30",
    "the maximum possible break").
    """
    return [
        own
        for own in sentence.own
        if own.beta is not None and own.hedge not in MODALS and not _is_of_a_thing(own, sentence.tokens)
    ]


def _is_of_a_thing(own: OwnHedge, tokens: Sequence[Token]) -> bool:
    held = [token for token in tokens if own.covers(token.start, token.end)]
    return bool(held) and all(token.dep in ("amod", "quantmod") or tokens[token.head].pos == "NUM" for token in held)


def _marked(reading: Reading, mark: Mark, voice: Voice, avoid: Sequence[str]) -> tuple[list[Edit], str] | None:
    """The edits of one sentence and the hedge in them; None where no form has a sure place."""
    form = None if _doubts(mark.sentence) else _Form.of(reading, mark.sentence)
    seed = reading.words_of(mark.sentence)
    if form is None or (phrase := _phrase(form, mark, voice, avoid, seed)) is None:
        return None
    return form.edits(phrase), phrase.hedge.id


def _phrase(form: _Form, mark: Mark, voice: Voice, avoid: Sequence[str], seed: str) -> Phrase | None:
    hedges = [hedge for hedge in voice.hedges if all(form.takes(frame) for frame in hedge.frames)]
    return phrase_for(hedges, mark.target, mark.band, form.kinds(mark.band), avoid, seed, voice.bands)


@dataclass(frozen=True, slots=True)
class _Form:
    """What kinds of hedges a sentence takes, and where.

    Attributes:
        start: where its own words begin: after a label, an opener ("However, ") or words that overstate it ("It is a fact that ").
        cut: where the words that the hedge replaces begin; `start` where it replaces none.
        polar: the yes or no that it begins with.
        adverb_at: the place beside its verb; None where that is not sure.
        bare: whether it is an answer without a verb.
    """

    reading: Reading
    sentence: Sentence
    start: int
    cut: int
    drop: tuple[OwnHedge, ...]
    polar: re.Match[str] | None = None
    adverb_at: int | None = None
    bare: bool = False
    opened: bool = False

    @classmethod
    def of(cls, reading: Reading, sentence: Sentence) -> _Form | None:
        """The form of a sentence; None for questions, commands, and what cannot be told."""
        text = reading.text
        tokens = sentence.tokens
        drop = tuple(
            own
            for own in sentence.own
            if _is_adverb(own, tokens) or (own.beta is None and own.start <= sentence.start + 1)
        )
        polar = _POLAR.match(text, sentence.start, sentence.end)
        if polar is not None and (polar[2] or polar.end() >= sentence.end):
            return cls(reading, sentence, polar.end(), sentence.start, drop, polar=polar)
        if not tokens and reading.language not in (None, "en"):
            return cls._without_parse(reading, sentence, drop, reading.language)
        verb = _verb(tokens)
        if verb is None:
            words = len(text[sentence.start : sentence.end].split())
            is_told = len(tokens) > 3 and tokens[0].pos == "VERB"  # "Converted 38 files.": what somebody did
            is_bare = (
                not is_told and words <= MOST_WORDS_OF_A_FRAGMENT and (bool(tokens) or len(reading.sentences) == 1)
            )
            return cls(reading, sentence, sentence.start, sentence.start, drop, bare=True) if is_bare else None
        start, opened = _after_opener(reading, sentence)
        cut = start
        if tokens[0].pos == "INTJ" and len(tokens) > 2 and reading.words_of(tokens[1]) in (",", "!"):
            start = tokens[2].start  # "Sure, it was in 1938."
        first = next((own for own in drop if own.start <= start + 1 < own.end), None)
        if first is not None:
            drop, start = tuple(own for own in drop if own is not first), _skip(text, first.end)
        slot = _slot(tokens, verb, sentence.own, start)
        at = None if slot is None else _before_marks(text, slot)
        return cls(reading, sentence, start, cut, drop, adverb_at=at, opened=opened)

    @classmethod
    def _without_parse(
        cls, reading: Reading, sentence: Sentence, drop: tuple[OwnHedge, ...], language: str
    ) -> _Form | None:
        """The form of a sentence of a language that no parser reads: a short answer, or a finite verb that an adverb may follow."""
        seen = shape(reading.words_of(sentence), reading.question, language)
        start = sentence.start + len(seen.head)
        if seen.kind == "fragment" and not seen.unsure:
            return cls(reading, sentence, start, start, drop, bare=True)
        at = None if seen.adverb_at is None else start + seen.adverb_at
        return None if at is None else cls(reading, sentence, start, start, drop, adverb_at=at)

    @property
    def _first(self) -> Token | None:
        """The first token of its own words."""
        return next((token for token in self.sentence.tokens if token.start >= self.start), None)

    @property
    def _leans(self) -> bool:
        """Whether it opens with a participle ("Born in Paris, she ..."): no clause of ours can stand before that."""
        return self._first is not None and self._first.pos == "VERB" and self._first.dep == "advcl"

    def takes(self, frame: Frame) -> bool:
        """Whether a frame can stand here: none with a second "but" behind an opener, and only one before a yes or no."""
        if self.polar is not None:
            return not frame.text.startswith("{fragment}")
        if _ONE_WORD.match(frame.text) and self._first is not None and self._first.pos == "SCONJ":
            return False  # "Perhaps if ..."
        return not (self.opened and ", but " in frame.text)

    def kinds(self, band: Band) -> tuple[FrameKind, ...]:
        """The kinds of frames that it takes, best first."""
        if self.bare or self.polar is not None:
            return ("fragment",)
        if self._leans:
            return () if self.adverb_at is None else ("adverb",)
        if self.adverb_at is not None and self._first is not None and self._first.pos == "SCONJ":
            return ("adverb", "clause")  # "Since the sun is far, it perhaps ..."
        if self.adverb_at is not None and (band == "light" or not self.sentence.tokens):
            return ("adverb", "clause")
        return ("clause",) if band != "doubt" or self.adverb_at is None else ("clause", "adverb")

    def edits(self, phrase: Phrase) -> list[Edit]:
        """The edits that put a phrase into it; words that overstate it go."""
        if self.polar is not None:
            made = [self._polar(phrase, self.polar)]
        elif phrase.kind == "adverb" and self.adverb_at is not None:
            made = [Edit(self.adverb_at, self.adverb_at, f"{phrase.text} ", phrase.hedge.id)]
            if self.start > self.cut:
                made.append(Edit(self.cut, self.start + 1, self.reading.text[self.start].upper()))
        else:
            made = self._around(phrase)
        return made + [edit for own in self.drop if (edit := self._without(own, made)) is not None]

    def _polar(self, phrase: Phrase, polar: re.Match[str]) -> Edit:
        """Turn "Yes, it is." into "Probably yes: it is."."""
        more = _LETTER.search(self.reading.text, polar.end(), self.sentence.end) is not None
        said = phrase.text.replace("{fragment}", polar[1].lower())
        after = next(
            (token for token in self.sentence.tokens if token.start >= polar.end() and token.pos != "PUNCT"), None
        )
        joint = ", " if after is not None and after.pos == "SCONJ" else ": "  # "Probably no, because ..."
        return Edit(
            self.cut,
            polar.end(),
            _large(said) + (joint if more else self.reading.text[polar.start(2) : polar.end()]),
            phrase.hedge.id,
        )

    def _around(self, phrase: Phrase) -> list[Edit]:
        """The words of a frame before a clause or a bare answer, or after the latter."""
        before, _, after = phrase.text.partition("{fragment}" if "{fragment}" in phrase.text else "{clause}")
        made: list[Edit] = []
        if (
            _TAKES_THAT.search(before)
            and not before.endswith("that ")
            and self._first is not None
            and self._first.pos in ("ADP", "SCONJ")
        ):
            before += "that "  # "I think that in 1990, ..."
        if before:
            first = self._first_letter(keeps=self.bare)
            label = self.reading.text[: self.sentence.start].rstrip(" ").endswith(":")
            goes_on = label and self.reading.text[self.start : self.start + 1].islower()  # "Syzygy: three bodies ..."
            begins = before if self.cut > self.sentence.start or goes_on else _large(before)
            if first is not None and first == self.start:
                made.append(Edit(self.cut, first + 1, begins + self.reading.text[first].lower(), phrase.hedge.id))
            else:
                made.append(Edit(self.cut, self.start, begins, phrase.hedge.id))
                if first is not None and first > self.start:
                    made.append(Edit(first, first + 1, self.reading.text[first].lower()))
        if after:
            end = self.sentence.start + len(self.reading.words_of(self.sentence).rstrip(".!"))
            made.append(Edit(end, end, after, phrase.hedge.id))
        return made

    def _first_letter(self, *, keeps: bool) -> int | None:
        """Where the letter stands that becomes small behind a hedge; None where it stays as it is: a name, "I", a number."""
        text = self.reading.text
        letter = _LETTER.search(text, self.start, min(self.start + 4, self.sentence.end))
        if letter is None or not letter[0].isupper() or text[self.start : letter.start()].strip("*_"):
            return None
        at = letter.start()
        word = re.match(r"[\w'’-]+", text[at:])
        shown = word[0] if word else ""
        follows = text[at + len(shown) : at + len(shown) + 2]
        is_sign = not shown[1:].islower() and (len(shown) > 1 or follows.startswith("."))
        if shown in ("I",) or shown.startswith(("I'", "I’")) or is_sign:
            return None
        if shown not in ("The", "A", "An") and _is_large_elsewhere(self.reading, shown, at):
            return None
        token = next((t for t in self.sentence.tokens if t.start <= at < t.end), None)
        if token is None:
            return at if _is_small_elsewhere(self.reading, shown) or _is_small_word(self.reading, shown) else None
        return at if self._is_small(token, shown, keeps=keeps, emphasised=at > self.start) else None

    def _is_small(self, token: Token, shown: str, *, keeps: bool, emphasised: bool) -> bool:
        """Whether the first word is small within a sentence: no name, no title of a work, no adjective of a country."""
        if shown in ("The", "A", "An"):
            of = self.reading.words_of(self.sentence.tokens[token.head])
            return not of[:1].isupper() or (
                shown == "The" and not emphasised
            )  # "A Walk in the Woods", "*The Third Man*"
        if emphasised and token.pos not in SMALL_POS:
            return False
        after = self.reading.text[token.end : token.end + 3]
        if re.match(r"\s+[A-Z]", after) and token.pos not in ("ADP", "SCONJ", "PRON"):
            return False  # "To Kill a Mockingbird"
        if token.pos in ("PROPN", "X") or (token.pos == "ADJ" and _OF_A_COUNTRY.search(shown)):
            asked = self.reading.question
            return _is_small_in(self.reading.text, shown) or (asked != asked.lower() and _is_small_in(asked, shown))
        return not keeps or token.pos in SMALL_POS or _is_small_elsewhere(self.reading, shown)

    def _without(self, own: OwnHedge, made: Sequence[Edit]) -> Edit | None:
        """The removal of words that overstate the sentence, with the space and commas after them."""
        text = self.reading.text
        end = _skip(text, own.end)
        start = own.start
        if text[max(0, start - 2) : start] == ", " and text[own.end : own.end + 1] == ",":
            start, end = start - 2, own.end + 1  # ", of course, "
        clash = any(edit.start < end and start < edit.end for edit in made)
        inside = self.sentence.start < start and end < self.sentence.end
        return None if clash or not inside else Edit(start, end, "")


def _is_adverb(own: OwnHedge, tokens: Sequence[Token]) -> bool:
    """Whether an own hedge is one adverb, which can be left out."""
    held = [token for token in tokens if own.covers(token.start, token.end)]
    return len(held) == 1 and held[0].pos == "ADV"


def _verb(tokens: Sequence[Token]) -> int | None:
    """The finite verb of a statement: a root with a subject before it; None for fragments, commands and questions."""
    root = next((i for i, token in enumerate(tokens) if token.head == i and token.pos in _FINITE), None)
    if root is None:
        return None
    subject = next((i for i, token in enumerate(tokens) if token.head == root and token.dep in _SUBJECTS), None)
    is_subordinate = any(token.head == root and token.dep == "mark" for token in tokens)  # "Because the moon pulls."
    return root if subject is not None and subject < root and not is_subordinate else None


def _slot(tokens: Sequence[Token], verb: int, own: Sequence[OwnHedge], start: int) -> int | None:
    """The offset for an adverb: after the first auxiliary or a form of "be", else before the verb; None where it is not sure."""
    helpers = [
        i for i, token in enumerate(tokens) if token.head == verb and token.dep in ("aux", "auxpass") and i < verb
    ]
    if helpers and tokens[helpers[0]].lemma in ("may", "might", "could"):
        return None  # "may likely be": another word of possibility beside it
    at = helpers[0] + 1 if helpers else verb + 1 if tokens[verb].lemma == "be" else verb
    if (
        at >= len(tokens)
        or tokens[at].start < start
        or any(each.covers(tokens[at].start, tokens[at].end) for each in own)
    ):
        return None
    beside = tokens[at - 1 : at + 1]
    if any(token.pos == "ADV" and token.lemma not in ("also", "not") for token in beside) or "'" in _between(
        tokens, at
    ):
        return None
    return tokens[at].start


def _between(tokens: Sequence[Token], at: int) -> str:
    """A mark where two tokens are written as one word ("isn't"): no word goes between them."""
    return "'" if at > 0 and tokens[at - 1].end == tokens[at].start else ""


def _after_opener(reading: Reading, sentence: Sentence) -> tuple[int, bool]:
    """Where a sentence begins after "Therefore, " or "But ", and whether it has such an opener."""
    tokens = sentence.tokens
    if tokens[0].pos in ("ADV", "CCONJ") and len(tokens) > 2:
        if reading.words_of(tokens[1]) == ",":
            return tokens[2].start, True
        if tokens[0].lemma in _CONNECTIVES:
            return tokens[1].start, True
    comma = next((i for i, token in enumerate(tokens[:MOST_OF_AN_OPENER]) if reading.words_of(token) == ","), None)
    if tokens[0].pos == "ADP" and comma is not None and not any(t.pos in ("PROPN", "NUM") for t in tokens[:comma]):
        at = tokens[comma + 1].start if comma + 1 < len(tokens) else sentence.start
        if reading.words_of(tokens[min(comma + 1, len(tokens) - 1)]) not in ("which", "who", "where", "when"):
            return _before_marks(reading.text, at), True  # "As a result, "
    return sentence.start, False


MOST_OF_AN_OPENER = 5
"""Tokens of a phrase before a sentence that a hedge may follow ("As a result, ", "On the other hand, "): without names and numbers, so that no doubt is of these."""


def _before_marks(text: str, at: int) -> int:
    """The place before emphasis, quotation marks and brackets that open at a place."""
    while at > 0 and text[at - 1] in '*_"“(':
        at -= 1
    return at


def _is_small_elsewhere(reading: Reading, word: str) -> bool:
    """Whether the question or the answer writes a word with a small letter."""
    return _is_small_in(reading.question, word) or _is_small_in(reading.text, word)


def _is_small_in(text: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word.lower())}\b", text) is not None


def _is_large_elsewhere(reading: Reading, word: str, at: int) -> bool:
    """Whether the question or the answer writes a word with a capital where no sentence begins: a name."""
    large = re.compile(rf"(?<=[\w,;(] ){re.escape(word)}(?!\w)")
    return (
        any(match.start() != at for match in large.finditer(reading.text)) or large.search(reading.question) is not None
    )


def _is_small_word(reading: Reading, word: str) -> bool:
    """Whether a word that begins a sentence is small within one, in a language that no parser reads."""
    return reading.language not in (None, "en") and word.lower() in grammar(reading.language).small


def _skip(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return gap.end() if gap else at


def _large(text: str) -> str:
    return text[:1].upper() + text[1:]
