"""The multiple-choice rule: the letter that the answer chooses, or the choice that it quotes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .alias import contains_gold
from .grade import Grade

_CHOICE = re.compile(r"^[ \t]*(?:([A-Z])[).:]|\(([A-Z])\)|\[([A-Z])\])[ \t]++(\S(?:.*\S)?)[ \t]*+$", re.MULTILINE)
_STATED = re.compile(
    r"\b(?i:answer|choice|option)(?i:\s+(?:is|seems to be|would be|must be)|\s*:)?\s*(?:[(\[]?\**([A-Z])\b|\(([a-z])\)|\**([a-z])\W*$)"
)
_DENIED = re.compile(r"\(?\b[A-Z]\b\)?\s+(?:is|was)(?:n't|\s+(?:not\b|wrong|incorrect|false))", re.IGNORECASE)
_LEADING = re.compile(r"\W*([A-Za-z])(?:[).:]|\W*$)")
_STANDING = re.compile(r"\b[B-HJ-Z]\b")
"""Single capitals that are not words: all except "A" and "I"."""


def choice_grade(question: str, answer: str, golds: Sequence[str], wrong: Sequence[str] = ()) -> Grade:
    r"""Grade by the rule: right if the chosen letter is a right one, or of a right text. The choices are in the question, one a line: "A) ...", "A. ...", "(A) ...".

    Without choices there, only an answer that gives a letter is graded.

    >>> asked = "Capital of Peru?\nA) Quito\nB) Lima"
    >>> [choice_grade(asked, said, ["B"]).correct for said in ("B", "(b) Lima", "It is Lima.", "A) Quito", "No idea.")]
    [1.0, 1.0, 1.0, 0.0, 0.0]
    """
    choices = choices_in(question)
    right = {gold.strip().strip("().:").upper() for gold in golds}
    right |= {
        letter for letter, text in choices.items() if any(text.casefold() == gold.strip().casefold() for gold in golds)
    }
    if choices and right.isdisjoint(choices):
        return Grade(None, "choice", "gold_is_no_choice")
    taken = taken_choice(answer, choices or dict.fromkeys(map(chr, range(ord("A"), ord("Z") + 1)), ""))
    if taken is None:
        return Grade(0.0 if choices else None, "choice", "no_choice" if choices else "no_choices_in_question")
    return Grade(float(taken in right), "choice", "letter")


def choices_in(question: str) -> dict[str, str]:
    """The choices of a question by letter."""
    return {round_ or bracketed or square: text for round_, bracketed, square, text in _CHOICE.findall(question)}


def taken_choice(answer: str, choices: Mapping[str, str]) -> str | None:
    """The letter of the choice in an answer; None without one.

    Stated ("the answer is B"), at the beginning ("B) Lima"), by quoting one choice only, or as the only single capital.
    """
    text = answer.strip()
    text = _DENIED.sub("", text).strip(" .,;") or text
    stated = [(capital or small or last).upper() for capital, small, last in _STATED.findall(text)]
    leading = _LEADING.match(text)
    quoted = [letter for letter, choice in choices.items() if choice and contains_gold(text, [choice])]
    standing = sorted(set(_STANDING.findall(text)) & set(choices))
    candidates = [
        stated[-1] if stated else None,
        leading[1].upper() if leading else None,
        quoted[0] if len(quoted) == 1 else None,
        standing[0] if len(standing) == 1 else None,
    ]
    return next((letter for letter in candidates if letter in choices), None)
