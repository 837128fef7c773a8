"""What a rewrite changed besides the confidence: each difference of the aligned texts must be a word of confidence, or what such a word needs.

Words of confidence are those that the lexicon's detector finds, forms of a verb are told by the parser, and the closed lists are data
(`lexicon/data/text`). Of languages other than English nothing may go but an auxiliary verb, and nothing come but words of their vocabulary of doubt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from ...lexicon.reading.reading import Act, Reading
from ...lexicon.text.language import UNSPACED, Foreign, closed, foreign
from ...lexicon.text.opaque import protected, structure
from ..outcomes import Reason
from .aligned import Aligned, Difference, align
from .policy import is_unmarked
from .words import Word, spoken

CLAIMING: frozenset[Act] = frozenset({"states", "presents", "computes"})
"""Acts of which one at least must stand in an answer for a remark of doubt to make sense: a list of names presents."""
UNHEDGED: frozenset[Act] = frozenset({"advises", "instructs", "asks", "declines", "speaks"})
"""Acts that no hedge may stand in."""
MOST_COMPARED = 300_000
"""Pairs of equal words up to which two texts are aligned: an answer of 20,000 characters has half of them, a hostile one of one word many times more."""
_LINK = re.compile(r"\w\.[a-z]{2,}\b|[<>\[\]{}@]|://|\bwww\b|\bmailto\b", re.IGNORECASE)
"""What an address or markup has."""
_SMALL = frozenset({"little", "slight", "small", "slim", "remote", "low", "outside", "no", "faint", "tiny"})
_CHANCES = frozenset({"chance", "chances", "probability", "possibility", "odds"})
_BE = frozenset({"is", "are", "am", "was", "were", "be", "been", "'s"})
_PAST, _PRESENT = frozenset({"was", "were", "had", "did"}), frozenset({"is", "are", "am", "has", "does", "do", "'s"})
_BECOMES = {"VBZ": ("VB", "VBP"), "VBP": ("VB", "VBZ"), "VBD": ("VBN",), "VB": ("VBZ", "VBP"), "VBN": ("VBD",)}
"""Tags that a verb may take beside a hedge ("wrote", "may have written")."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A forbidden change in a rewrite, with the words of the answer that are gone and the words that are new."""

    reason: Reason
    dropped: str = ""
    added: str = ""


def fault(
    draft: str, rewrite: str, question: str = "", language: str | None = "en", reading: Reading | None = None
) -> Fault | None:
    """The first change of a rewrite besides its confidence, or None.

    Args:
        language: of the draft; None if it is unknown.
        reading: of the draft; without one, it is not asked whether what is hedged claims anything.
    """
    aligned = align(draft, rewrite, question, language)
    if aligned.repetitions() > MOST_COMPARED:
        return Fault(Reason.STRUCTURE_CHANGED)
    checks = (_protected, _linked, _form, _differing, _capitals, _denial, _carried, _lost, _reported)
    found = next((found for check in checks if (found := check(aligned)) is not None), None)
    return found or (_unclaimed(aligned, reading) if reading else None)


def _protected(both: Aligned) -> Fault | None:
    """A quotation, link, formula and the like that is gone or new; one that the draft holds may be named again."""
    old, now = (_by_words(protected(side.text)) for side in (both.left, both.right))
    for kind in old:
        if kind in ("number", "date"):
            continue
        lost, new = old[kind] - now[kind], now[kind] - old[kind]
        if lost or any(not both.given.issuperset(span.split()) for span in new):
            return Fault(Reason(f"{kind}_changed"), " ".join(lost), " ".join(new))
    return None


def _by_words(spans: dict[str, Counter[str]]) -> dict[str, Counter[str]]:
    """Protected spans by their words, since a full stop may come to stand in a quotation."""
    return {kind: Counter(" ".join(spoken(span)) for span in found.elements()) for kind, found in spans.items()}


def _linked(both: Aligned) -> Fault | None:
    """An address or markup that is new."""
    old, now = (Counter(_LINK.findall(side.text)) for side in (both.left, both.right))
    return Fault(Reason.URL_CHANGED, added=" ".join(now - old)) if now - old else None


def _form(both: Aligned) -> Fault | None:
    """Whether the lines have their form: those that are all new, and blank ones, do not count."""
    inserted = {j for one in both.differences if not one.gone for j in one.new}
    hedges = set(chain.from_iterable(both.lost_and_new[1]))
    replaces = any(one.gone for one in both.differences)
    lines, start = [], 0
    for line in both.right.text.splitlines(keepends=True):
        own = both.right.within(start, start + len(line))
        start += len(line)
        if not own or any(j not in inserted and (replaces or j not in hedges) for j in own):
            lines.append(line)
    return None if structure("".join(lines)) == structure(both.left.text) else Fault(Reason.STRUCTURE_CHANGED)


def _differing(both: Aligned) -> Fault | None:
    """The first difference that is no word of confidence; of a number or date it is told that it is one."""
    found = next((found for one in both.differences if (found := _of(both, one)) is not None), None)
    if found is None or found.reason not in (Reason.CONTENT_ADDED, Reason.CONTENT_DROPPED, Reason.NUMBER_CHANGED):
        return found
    old, now = protected(both.left.text), protected(both.right.text)
    kind = next((kind for kind in ("date", "number") if old[kind] != now[kind]), None)
    return found if kind is None else Fault(Reason(f"{kind}_changed"), found.dropped, found.added)


def _of(both: Aligned, one: Difference) -> Fault | None:
    """What is wrong with one difference."""
    read = English(both, one) if both.right.language == "en" else None
    reason = read.reason() if read else _abroad(both, one, foreign(both.right.language))
    gone, new = (read.gone, read.new) if read else (one.gone, one.new)
    words = " ".join(both.left.words[i].text for i in gone), " ".join(both.right.words[j].text for j in new)
    if reason in (Reason.CONTENT_ADDED, Reason.CONTENT_DROPPED):
        told = closed().light.union(word.lower for word in both.left.words)
        is_told = told.issuperset(both.right.lower(new))
        reason = Reason.CONTENT_DROPPED if is_told else Reason.CONTENT_ADDED
    return None if reason is None else Fault(reason, *words)


def _abroad(both: Aligned, one: Difference, lists: Foreign) -> Reason | None:
    """The reason against a difference in a language other than English."""
    old, now = [both.left.words[i] for i in one.gone], [both.right.words[j] for j in one.new]
    answered = len(old) == 1 and old[0].initial and _denies(old, lists) and _denies(now, lists)
    if not answered and any(word.lower in lists.polar | lists.negations for word in old):
        return Reason.CONTENT_NEGATION
    turned = {both.right.words[j].lower for other in both.differences if other is not one for j in other.new}
    for word in () if answered else old:
        moved = len(old) == 1 and word.text.islower() and word.text < UNSPACED and word.lower in turned
        if word.lower not in lists.auxiliaries and not moved:
            return _kind(word.lower, Reason.CONTENT_DROPPED)
    doubts = both.right.opens(one.region) and any(
        j in both.right.confident or both.right.words[j].lower in lists.doubt for j in one.region
    )
    region = [both.right.words[j].lower for j in one.region]
    if _denies(now, lists) and not answered and not (doubts and not lists.unsure.isdisjoint(region)):
        return Reason.CONTENT_NEGATION
    turned = {both.left.words[i].lower for other in both.differences if other is not one for i in other.gone}
    unsure = False
    for word in now:
        unsure = unsure or _denies([word], lists)
        known = word.lower in lists.doubt | lists.auxiliaries | lists.negations or word.lower in turned
        named = unsure and both.right.is_whole(one.region) and word.lower in both.given
        if not (known or named or (answered and word.lower in lists.polar)):
            return _kind(word.lower, Reason.CONTENT_ADDED)
    return None


def _denies(words: Sequence[Word], lists: Foreign) -> bool:
    text = "".join(word.text for word in words if word.text >= UNSPACED)
    return any(word.lower in lists.negations for word in words) or any(
        no in text for no in lists.negations if no >= UNSPACED
    )


def _kind(word: str, otherwise: Reason) -> Reason:
    """The reason for a word that came or went."""
    if any(map(str.isdigit, word)):
        return Reason.NUMBER_CHANGED
    if not word[0].isalnum() and word != "'s":
        return Reason.SYMBOL_CHANGED
    if word in closed().negations:
        return Reason.CONTENT_NEGATION
    if word in closed().modals:
        return Reason.MODAL_CHANGED
    return Reason.QUANTITY_CHANGED if word in closed().amounts else otherwise


class English:
    """One difference of an English text, and what may come and go in it."""

    def __init__(self, both: Aligned, one: Difference) -> None:
        self.both, self.left, self.right, self.region = both, both.left, both.right, one.region
        self.gone, self.new = list(one.gone), list(one.new)
        self.now = self.right.lower(one.region)
        self.hedged = any(j in self.right.confident for j in one.region)
        lost = set(chain.from_iterable(both.lost_and_new[0]))
        self.unhedged = any(i + step in lost for i in one.gone for step in (-2, -1, 1, 2))
        self.splits = not closed().pronouns.isdisjoint(self.now) and self.right.breaks(one.region)

    def reason(self) -> Reason | None:
        """Why the difference is forbidden; None if it is not."""
        if not self.gone and self._remark().issuperset(self.new):
            return None
        return self._forms() or self._dropped() or self._added()

    def _dropped(self) -> Reason | None:
        lists = closed()
        for i in self.gone:
            word = self.left.words[i].lower
            light = word in lists.light - lists.pronouns or (self.unhedged and word in lists.fillers | lists.pronouns)
            joined = word in lists.joints and self.splits
            opens = self.left.words[i].initial and word in lists.connectives
            answered = self.left.words[i].initial and (
                (word == "no" and "not" in self.right.lower(self.new))
                or (word == "yes" and self.hedged and "not" not in self.now and self._is_alone(i))
            )
            if word == "to":
                light = self._raised(self.left.lower(range(max(0, i - 3), i)))
            if not (light or joined or opens or answered or self._assents(i) or self._is_bare_modal(i)):
                return _kind(word, Reason.CONTENT_DROPPED)
        return None

    def _assents(self, i: int) -> bool:
        """Whether a word belongs to an assent that opens its sentence and goes as a whole: "Sure!", "It is well known that"."""
        first = i
        while not self.left.parts_sentences(first):
            first -= 1
        gone = {*self.gone, *self.left.confident}
        last = i
        while last + 1 in gone and not self.left.parts_sentences(last + 1):
            last += 1
        opening = range(first, last + 1)
        known = closed().assent | closed().connectives
        if not all(j in gone for j in opening) or not all(word in known for word in self.left.lower(opening)):
            return False
        after = self.left.words[last].lower in ("that", "fact") or self.left.parts_sentences(last + 1)
        return after or "," in self.left.between(last + 1)

    def _is_alone(self, i: int) -> bool:
        """Whether a word is all of its sentence."""
        return self.left.parts_sentences(i) and self.left.parts_sentences(i + 1)

    def _is_bare_modal(self, i: int) -> bool:
        """Whether a modal verb only hedges: "it may be", or one that another replaces."""
        word, words = self.left.words[i].lower, self.left.words
        if word not in ("may", "might", "could"):
            return False
        before = words[i - 1].lower if i else ""
        bare = before in ("it", "this", "that", "answer") and [w.lower for w in words[i + 1 : i + 2]] == ["be"]
        return bare or (word != "could" and not {"may", "might"}.isdisjoint(self.now))

    def _raised(self, words: Sequence[str]) -> bool:
        """Whether an infinitive may follow: "is thought to", "seems not to"."""
        return not closed().raising.isdisjoint(words)

    def _added(self) -> Reason | None:
        lists = closed()
        remark = self._remark()
        answered = "not" in self.now and any(self.left.words[i].lower == "no" for i in self.gone)
        for j in self.new:
            word = self.right.words[j].lower
            if word == "to" and j not in remark:
                if not self._raised(self.right.lower(range(max(0, j - 4), j))):
                    return Reason.TENSE_CHANGED
                continue
            joined = self.splits and (word in lists.pronouns or word == "also")
            led = self.hedged and word in lists.connectives and self.right.opens(self.region)
            would = (
                word == "would"
                and self.hedged
                and not self.splits
                and word not in self.left.lower(range(len(self.left.words)))
            )
            bracket = self.hedged and word in ("(", ")")
            allowed = word in lists.light or joined or led or would or bracket or (answered and word == "not")
            if j not in remark and not allowed:
                return _kind(word, Reason.CONTENT_ADDED)
        few = {
            self.right.words[j + 1].lower
            for j in self.new
            if self.right.words[j].lower == "a" and j + 1 in self.both.matched
        }
        return Reason.QUANTITY_CHANGED if few & lists.amounts else None

    def _remark(self) -> frozenset[int]:
        """The new words that may stand where they are because they make up a remark of doubt, set off by punctuation or in a sentence of its own."""
        lists = closed()
        unknown = next((j for j in self.region if self._is_unknowing(j)), None)
        checked = next((j for j in self.region if self.right.words[j].lower in lists.checking), None)
        doubts = self.hedged or unknown is not None or checked is not None or ("please" in self.now)
        if not doubts or not (self.right.is_apart(self.region) or self.right.opens(self.region)):
            return frozenset()
        until = self.region.stop if self.right.is_apart(self.region) else self.right.last_stop(self.region)
        heads = [j for j in (unknown, checked) if j is not None]
        asked = self._asked(unknown, until)
        allowed = set[int]()
        for j in self.new:
            word, apart = self.right.words[j].lower, j < until
            if word in lists.negations:
                fits = not lists.negatable.isdisjoint(self.right.lower(range(j + 1, min(j + 5, self.region.stop))))
            elif word in ("yes", "no"):
                fits = False
            elif word in lists.faults:
                fits = not (lists.modals | {"have", "get"}).isdisjoint(self.now)
            elif word in lists.modals:
                fits = apart
            else:
                behind = any(head < j for head in heads)
                whole = self.right.is_whole(self.region) and not lists.modals.isdisjoint(self.now)
                named = apart and (
                    (behind and word in self.both.given) or ((behind or whole) and self._names_a_thing(j))
                )
                fits = (
                    (
                        word in lists.remark | lists.unknowing | lists.checking
                        and (apart or word in lists.first_person | lists.connectives | lists.light)
                    )
                    or named
                    or j in asked
                )
            if fits:
                allowed.add(j)
        return frozenset(allowed)

    def _is_unknowing(self, j: int) -> bool:
        """Whether a word says that the speaker does not know: "unsure", or "sure" behind "not" or "least", in the first person or with nobody named."""
        word = self.right.words[j].lower
        before = self.right.lower(range(max(self.region.start, j - 6), j))
        speaks = not closed().first_person.isdisjoint(before)
        if word in ("unsure", "uncertain"):
            return speaks
        return speaks and word in closed().unknowing and not closed().hedged_by.isdisjoint(before[-4:])

    def _asked(self, unknown: int | None, until: int) -> frozenset[int]:
        """What a remark says not to know ("I'm not sure how it is served"): a question asserts nothing; names and numbers must be given."""
        found, asks = set[int](), False
        for j in () if unknown is None else range(unknown + 1, until):
            word = self.right.words[j]
            text = self.right.between(j)
            if (
                word.initial
                or any(sign in text for sign in ";:—–-(.!?")
                or word.lower in ("but", "so", "because", "until", "since")
            ):
                asks = False
            asks = asks or word.lower in closed().asking
            named = (
                any(map(str.isdigit, word.text))
                or not word.text[0].isalnum()
                or (word.text[0].isupper() and not word.initial)
            )
            if asks and (not named or word.lower in self.both.given):
                found.add(j)
        return frozenset(found)

    def _names_a_thing(self, j: int) -> bool:
        """Whether a word names what is doubted ("the order", "these statistics"): a noun with a definite word before it, or an adjective of one."""
        read = self.right.parsed.get(j)
        if read is None or read[0].pos not in ("NOUN", "ADJ") or read[0].dep in ("attr", "ROOT"):
            return False
        token, _, tokens = read
        heads = [token if token.pos == "NOUN" else tokens[token.head]]
        while heads[-1].dep == "conj" and len(heads) < len(tokens):
            heads.append(tokens[heads[-1].head])
        return any(t.dep in ("det", "poss") and t.lemma not in ("a", "an") and tokens[t.head] in heads for t in tokens)

    def _forms(self) -> Reason | None:
        """Takes forms of the same verb out of both lists; `tense_changed` where tense or voice differ in more than a hedge asks for."""
        was, now = set(self.left.lower(self.gone)), set(self.right.lower(self.new))
        for i in list(self.gone):
            old = self.left.verb(i)
            if old is None or self.left.words[i].lower in closed().light:
                continue
            same = next(((j, read[1]) for j in self.new if (read := self.right.verb(j)) and read[0] == old[0]), None)
            if same is None:
                continue
            if same[1] not in (old[1], *_BECOMES.get(old[1], ())) or (
                old[1] == "VBD" and same[1] == "VBN" and not self._is_perfect()
            ):
                return Reason.TENSE_CHANGED
            self.gone.remove(i)
            self.new.remove(same[0])
        hedges = set(self.now)
        came, went = now & _BE, was & _BE
        apart = self.right.is_apart(self.region)
        if ("been" in came and not went) or (
            came and not went and not (self.hedged or self.unhedged or apart or self.splits)
        ):
            return Reason.TENSE_CHANGED
        everywhere = set(self.right.lower([j for one in self.both.differences for j in one.region]))
        if went and not (everywhere & _BE) and not self.unhedged and not (self.gone and self._assents(self.gone[0])):
            return Reason.TENSE_CHANGED
        perfect = {"have", "been"} <= hedges
        if was & _PAST and not hedges & _PAST and (hedges & _PRESENT or "be" in hedges) and "have" not in hedges:
            return Reason.TENSE_CHANGED
        if was & {"is", "are", "am"} and not was & _PAST and (now & _PAST or perfect) and "have" not in was:
            return Reason.TENSE_CHANGED
        if was & {"has", "have"} and now & {"was", "were", "had", "is", "are"} and not hedges & {"have"}:
            return Reason.TENSE_CHANGED
        return Reason.TENSE_CHANGED if was & _PAST and "would" in now else None

    def _is_perfect(self) -> bool:
        """Whether a "have" came with a hedge."""
        return self._count(self.right.words) > self._count(self.left.words)

    def _count(self, words: Sequence[Word]) -> int:
        return sum(word.lower == "have" for word in words)


def _capitals(both: Aligned) -> Fault | None:
    """A name that lost its capital, or a word that got one; or a sentence that ends elsewhere."""
    names = {word.text for word in both.left.words if word.text[0].isupper() and not word.initial}
    for j, i in both.matched.items():
        old, new = both.left.words[i], both.right.words[j]
        if old.text != new.text and (
            (len(old.text) > 1 and old.text.isupper())
            or not (old.initial or new.initial)
            or old.text[1:] != new.text[1:]
            or (not new.initial and old.text in names)
        ):
            return Fault(Reason.CONTENT_DROPPED, old.text, new.text)
        if both.matched.get(j - 1) == i - 1 and _ends(both, i, j):
            return Fault(Reason.STRUCTURE_CHANGED)
    return None


def _ends(both: Aligned, i: int, j: int) -> bool:
    """Whether a sentence of the rewrite begins at `j` where none of the draft does, at `i`; before "and" or "but" it may."""
    left, right = both.left.words, both.right.words
    begins = right[j].piece != right[j - 1].piece and left[i].piece == left[i - 1].piece
    return begins and ":" not in both.right.between(j) and not left[i].initial and left[i].lower not in closed().joints


def _denial(both: Aligned) -> Fault | None:
    """A word that denies and came or went: "unlikely", "I doubt that", "little chance"; "without a doubt" and "may be wrong" deny nothing."""
    if both.right.language != "en":
        return None
    old, now = (
        [
            word.lower
            for i, word in enumerate(side.words)
            if word.lower in closed().denials and side.confident.get(i) != "booster"
        ]
        for side in (both.left, both.right)
    )
    if sorted(old) != sorted(now):
        return Fault(Reason.CONTENT_NEGATION, " ".join(old), " ".join(now))
    for run in both.lost_and_new[1]:
        said = both.right.said(run)
        if not _SMALL.isdisjoint(said.split()) and not _CHANCES.isdisjoint(said.split()):
            return Fault(Reason.CONTENT_NEGATION, added=said)
        near = set(both.right.lower(range(max(0, run[0] - 4), run[-1] + 1)))
        if not closed().faults.isdisjoint(said.split()) and (closed().modals | closed().negations).isdisjoint(near):
            return Fault(Reason.CONTENT_NEGATION, added=said)
    return None


def _carried(both: Aligned) -> Fault | None:
    """A hedge of the answer's own that stands in another clause."""
    places: dict[str, set[tuple[int, ...]]] = {}
    for run in both.right.runs:
        places.setdefault(both.right.said(run), set()).add(both.beside(run[0]))
    for run in both.left.runs:
        at = places.get(both.left.said(run))
        if at and both.left.confident[run[0]] == "hedge" and both.clause(run[0]) not in at:
            return Fault(Reason.DOUBT_DROPPED, both.left.said(run))
    return None


def _lost(both: Aligned) -> Fault | None:
    """A hedge of the answer's own that is gone, with none in its clause instead; one at the edge of a sentence is for all of it."""
    clauses, sentences = set[tuple[int, ...]](), set[int]()
    for run in _new_hedges(both):
        at = both.beside(run[0])
        clauses.add(at)
        if both.is_set_off(run):
            sentences.add(at[0])
    for run in both.lost_and_new[0]:
        at = both.clause(run[0])
        if both.left.confident[run[0]] == "hedge" and at not in clauses and at[0] not in sentences:
            return Fault(Reason.DOUBT_DROPPED, both.left.said(run))
    return None


def _new_hedges(both: Aligned) -> Iterator[tuple[int, ...]]:
    return (run for run in both.lost_and_new[1] if both.right.confident[run[0]] == "hedge")


def _reported(both: Aligned) -> Fault | None:
    """A hedge that was put into what others say or think, or a modal verb behind "according to"."""
    new = {both.right.words[j].start for j in chain.from_iterable(both.lost_and_new[1])}
    for run in _new_hedges(both):
        j = run[0]
        if both.is_set_off(run):
            continue
        word = both.right.words[j]
        before = [other.lower for other in both.right.words[:j] if other.piece == word.piece]
        sourced = word.lower in closed().modals and ("according", "to") in pairwise(before)
        if sourced or _is_reported(both, j, new):
            return Fault(Reason.ATTRIBUTION_CHANGED, added=word.text)
    return None


def _is_reported(both: Aligned, j: int, new: set[int]) -> bool:
    read = both.right.parsed.get(j)
    if read is None:
        return False
    token, _, tokens = read
    for _ in tokens:
        above = tokens[token.head]
        if above is token:
            return False
        if token.dep == "ccomp" and above.start not in new and above.pos == "VERB":
            subject = next((t for t in tokens if tokens[t.head] is above and t.dep in ("nsubj", "nsubjpass")), None)
            if subject is not None and subject.lemma not in ("it", "i", "we"):
                return True
        token = above
    return False


def _unclaimed(both: Aligned, reading: Reading) -> Fault | None:
    """A hedge on what claims nothing."""
    claims = any(sentence.act in CLAIMING or not is_unmarked(sentence) for sentence in reading.sentences)
    for run in both.lost_and_new[1]:
        anchor = both.anchor(run[0])
        if anchor is None and not claims:
            return Fault(Reason.HEDGED_NO_CLAIM, added=both.right.said(run))
        if anchor is None:
            continue
        at = both.shift + both.left.words[anchor].start
        sentence = next((s for s in reading.sentences if s.start <= at < s.end), None)
        if sentence is not None and is_unmarked(sentence) and sentence.act in UNHEDGED and not sentence.own:
            return Fault(Reason.HEDGED_NO_CLAIM, added=both.right.said(run))
    return None
