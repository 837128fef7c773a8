"""Reads questions from a JSONL or CSV file; each is usable or refused with its line number and a reason."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from .datasets import BadRow, read_objects
from .forms import found_in, in_one_form, names_of


@dataclass(frozen=True, slots=True)
class Question:
    """One question to ask.

    Attributes:
        line: its line in the file, from 1.
        text: the prompt, with lettered choices if there are any.
        gold: right answers; empty if unknown.
        wrong: answers known to be wrong, if the file lists them.
        choices: the choices of a multiple-choice question, in the order of their letters.
        id: the file's own name for it.
        dataset: where it comes from, as the file says.
    """

    line: int
    text: str
    gold: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    id: str = ""
    dataset: str = ""

    @property
    def key(self) -> str:
        """The key in ledgers: two questions with the same text are the same."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


def in_order_of(seed: int, questions: Sequence[Question]) -> list[Question]:
    """The questions shuffled by the seed.

    A longer first part extends a shorter one, and each is a random sample.
    """
    order = list(questions)
    random.Random(seed).shuffle(order)
    return order


class _Refused(ValueError):
    """Why a row cannot be used as a question."""


def read_questions(path: Path, *, separator: str = "|", need_gold: bool = True) -> Iterator[Question | BadRow]:
    """Every question of a file, in any form that `read_objects` reads. `separator` splits the answers of a cell.

    A repeated question is left out if its right answers are the same, and refused if they differ.

    Raises:
        OSError: the file cannot be read.
    """
    seen: dict[str, Question] = {}
    for line, content in read_objects(path):
        if isinstance(content, BadRow):
            yield content
            continue
        try:
            question = _question(line, content, separator, need_gold)
        except _Refused as refused:
            yield BadRow(line, str(refused))
            continue
        first = seen.setdefault(question.key, question)
        if first is question:
            yield question
        elif replace(first, line=line, id=question.id) != question:
            yield BadRow(line, f"the question of line {first.line} with other answers")


def _question(line: int, content: Mapping[str, Any], separator: str, need_gold: bool) -> Question:
    fields = in_one_form(content)
    text = fields.get("question")
    if not isinstance(text, str) or not text.strip():
        raise _Refused(f"no question: expected one of {names_of('question')}. {found_in(content)}")
    if "\ufffd" in text:
        raise _Refused("the question is not valid UTF-8")
    choices = _texts(fields, "choices", separator)
    gold = _texts(fields, "gold", separator)
    if need_gold and not gold:
        raise _Refused(f"no right answer: expected one of {names_of('gold')}. {found_in(content)}")
    return Question(
        line=line,
        text=_with_choices(text.strip(), choices),
        gold=_spelled_out(gold, choices),
        wrong=_texts(fields, "wrong", separator),
        choices=choices,
        id=str(fields.get("id") or ""),
        dataset=str(fields.get("dataset") or ""),
    )


def _texts(fields: Mapping[str, Any], part: str, separator: str) -> tuple[str, ...]:
    """A list of texts: from a list, a cell split by `separator`, or one value."""
    value = fields.get(part)
    if isinstance(value, str):
        value = value.split(separator)
    items = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(item, str | int | float) for item in items):
        raise _Refused(f"'{part}': expected a list of texts")
    texts = [str(item).strip() for item in items]
    return tuple(dict.fromkeys(text for text in texts if text))


def _with_choices(text: str, choices: tuple[str, ...]) -> str:
    if len(choices) > len(ascii_uppercase):
        raise _Refused(f"{len(choices)} choices; there are {len(ascii_uppercase)} letters")
    return "\n".join([text, *(f"{letter}) {choice}" for letter, choice in zip(ascii_uppercase, choices, strict=False))])


def _spelled_out(gold: tuple[str, ...], choices: tuple[str, ...]) -> tuple[str, ...]:
    """Right answers of a multiple-choice question as letters; given as letters, or as texts of choices."""
    if not choices:
        return gold
    letters = dict(zip(ascii_uppercase, choices, strict=False))
    by_text = {choice.casefold(): letter for letter, choice in letters.items()}
    named = [by_text.get(answer.casefold(), answer.upper()) for answer in gold]
    if unknown := [answer for answer in named if answer not in letters]:
        raise _Refused(f"a right answer is none of the {len(choices)} choices: {len(unknown)} of {len(gold)}")
    return tuple(dict.fromkeys(named))
