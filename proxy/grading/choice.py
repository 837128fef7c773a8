"""The multiple-choice rule: the letter that the answer chooses, or the choice that it quotes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .alias import contains_gold
from .grade import Grade

_CHOICE = re.compile(r"^([A-Z])\) (.+)$", re.MULTILINE)
_STATED = re.compile(r"\b(?i:answer|choice|option)(?i:\s+is|\s*:)?\s*(?:\(?\**([A-Z])\b|\(([a-z])\))")
_LEADING = re.compile(r"\W*([A-Za-z])(?:[).:]|\W*$)")
_STANDING = re.compile(r"\b[B-HJ-Z]\b")
"""Single capitals that are not words: all except "A" and "I"."""


def choice_grade(question: str, answer: str, golds: Sequence[str], wrong: Sequence[str] = ()) -> Grade:
    r"""Grade by the rule: right if the chosen letter is a right one. The choices are in the question, one a line, as "A) ...".

    >>> asked = "Capital of Peru?\nA) Quito\nB) Lima"
    >>> [choice_grade(asked, said, ["B"]).correct for said in ("B", "(b) Lima", "It is Lima.", "A) Quito", "No idea.")]
    [1.0, 1.0, 1.0, 0.0, 0.0]
    """
    choices = dict(_CHOICE.findall(question))
    taken = taken_choice(answer, choices)
    if taken is None:
        return Grade(0.0, "choice", "no_choice")
    right = {gold.strip().upper() for gold in golds}
    return Grade(float(taken in right), "choice", "letter")


def taken_choice(answer: str, choices: Mapping[str, str]) -> str | None:
    """The letter of the choice in an answer; None without one.

    Stated ("the answer is B"), at the beginning ("B) Lima"), by quoting one choice only, or as the only single capital.
    """
    text = answer.strip()
    stated = [capital or small.upper() for capital, small in _STATED.findall(text)]
    leading = _LEADING.match(text)
    quoted = [letter for letter, choice in choices.items() if contains_gold(text, [choice])]
    standing = sorted(set(_STANDING.findall(text)) & set(choices))
    candidates = [
        stated[-1] if stated else None,
        leading[1].upper() if leading else None,
        quoted[0] if len(quoted) == 1 else None,
        standing[0] if len(standing) == 1 else None,
    ]
    return next((letter for letter in candidates if letter in choices), None)
