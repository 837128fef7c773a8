"""What rules without a model can say about two answers: surely the same, surely different, or undecided.

Same: equal normal forms, aliases, one answer that only adds detail (middle names, the country of a place, a sentence
around a word). Different ("vetoes"): these hold whatever a judge says, so they use only clear contradictions: numbers,
dates, units, negation, opposite words, the order of arguments. Saying less is no contradiction, but the shorter answer
must have the head of the longer one. Time is linear in the length of the answers to read them, and bounded beyond that:
up to `MATCHED` words are matched by spelling, up to `COMPARED` only if equal, beyond that the pair is undecided.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .amounts import same_amounts
from .containment import acronym, another_thing, covered, says_the_same
from .contradictions import contradiction
from .in_sentence import is_taken_back, stands_in_sentence
from .normal import Normal, read_question
from .opening import SHORT, Read, read
from .order import reordered_numbers, reversed_arguments

_BETWEEN_NUMBERS = re.compile(r"(?<!\d) | (?!-?\d)")
COMPARED = 1000
"""Number of words beyond which only equal texts are the same: a sample set has many pairs to compare."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of one clustering step on two answers.

    Attributes:
        same: whether they mean the same; None if undecided.
        decided_by: the step that decided ("normal", "veto:number", "judge", ...).
        strength: how sure a merge is, in [0, 1]; stronger merges are made first.
    """

    same: bool | None
    decided_by: str
    strength: float = 1.0


def judge_pair(question: str, a: str, b: str) -> Judgement:
    """The rules' verdict on two answers to a question; `same` is None if undecided."""
    asked = read_question(question)
    return compare_read(read(a, asked), read(b, asked))


def compare_read(a: Read, b: Read) -> Judgement:
    """The rules' verdict on two answers that were read.

    A long answer usually answers in one of its first sentences, so a short answer is the same as a long one if it is
    the same as such a sentence, whatever the other sentences deny or count.
    """
    whole = compare(a.whole, b.whole)
    if whole.same or bool(a.opening) == bool(b.opening):
        return whole
    short, long = (a, b) if b.opening else (b, a)
    if len(short.whole.tokens) > SHORT:
        return whole
    of_sentences = [compare(short.whole, sentence).same for sentence in long.opening]
    if any(of_sentences):
        return Judgement(True, "sentence", 0.5)
    return Judgement(None, "undecided") if None in of_sentences else whole


def compare(a: Normal, b: Normal) -> Judgement:
    """The rules' verdict on two answers in normal form."""
    if not a.tokens or not b.tokens:
        return Judgement(a.key == b.key and bool(a.key), "normal")
    if a.key == b.key:
        return Judgement(True, "normal")
    if told_apart := _told_apart(a, b):
        return told_apart
    if _joined(a) == _joined(b):
        return Judgement(True, "normal")
    if max(len(a.tokens), len(b.tokens)) > COMPARED:
        return Judgement(None, "undecided")
    if same_amounts(a, b):
        return Judgement(True, "normal")
    if a.alias and b.alias:
        return Judgement(True, "alias") if a.alias == b.alias else Judgement(False, "veto:alias")
    if stands_in_sentence(*sorted((a, b), key=lambda x: len(x.tokens))):
        return Judgement(True, "sentence", 0.5)
    swapped = reversed_arguments(a, b)
    if reason := contradiction(a, b, swapped):
        return Judgement(False, f"veto:{reason}")
    if a.yes is not None and a.yes == b.yes:
        return Judgement(True, "normal")
    if sorted(a.content) == sorted(b.content) and _same_choice(a, b):
        return Judgement(True, "normal", 0.95)
    if swapped is False:
        return Judgement(True, "normal", 0.95)
    if acronym(a, b):
        return Judgement(True, "alias", 0.9)
    return _contained(*sorted((a, b), key=lambda x: (len(x.content), len(x.tokens), x.key)))


def _contained(shorter: Normal, longer: Normal) -> Judgement:
    """The rules' verdict where one answer may contain the other."""
    if is_taken_back(shorter, longer):
        return Judgement(None, "undecided")
    taken = covered(shorter, longer)
    same_length = len(shorter.content) == len(longer.content)
    if says_the_same(shorter, longer, taken) or (
        same_length and says_the_same(longer, shorter, covered(longer, shorter))
    ):
        return Judgement(True, "containment", 0.5 + 0.4 * len(shorter.content) / len(longer.content))
    if reason := another_thing(shorter, longer, taken):
        return Judgement(False, f"veto:{reason}")
    return Judgement(None, "undecided")


def _told_apart(a: Normal, b: Normal) -> Judgement | None:
    """What signs, single letters and the order of numbers say of two answers with other keys; None where they agree.

    One that lacks what the other has may be the same to a judge, but not to rules.
    """
    short, long = sorted((a, b), key=lambda x: len(x.tokens))
    if len(long.tokens) > SHORT:
        return None if frozenset(short.signs) <= frozenset(long.signs) else Judgement(None, "undecided")
    if a.letters and b.letters and a.letters != b.letters:
        return (
            Judgement(None, "undecided")
            if a.letters <= b.letters or b.letters <= a.letters
            else Judgement(False, "veto:option")
        )
    if sorted(a.signs) != sorted(b.signs):
        return Judgement(False, "veto:sign") if a.signs and b.signs else Judgement(None, "undecided")
    return Judgement(False, "veto:order") if reordered_numbers(a, b) else None


def _joined(answer: Normal) -> str:
    """The words without spaces and hyphens: "back-flow", "back flow" and "backflow" are one; two numbers are not."""
    return _BETWEEN_NUMBERS.sub("", " ".join(answer.tokens))


def _same_choice(a: Normal, b: Normal) -> bool:
    """Whether the words from the question differ on at most one side: "Alice won" is not "Bob won"."""
    first, second = frozenset(a.tokens) - frozenset(a.content), frozenset(b.tokens) - frozenset(b.content)
    return not (first - second and second - first)
