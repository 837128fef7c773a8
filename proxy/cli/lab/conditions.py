"""Conditions on figures that make a command exit with status 1, for checks before a release: `--fail-if 'cmfg < 0.7'`."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..shared.messages import stop

_CONDITION = re.compile(r"\s*([a-z_][a-z0-9_.]*)\s*(>=|<=|>|<)\s*([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|[-+]?\.\d+)\s*")
_COMPARE = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}


@dataclass(frozen=True, slots=True)
class Condition:
    """A figure, named by its path in the document that --json prints, against a limit."""

    key: str
    sign: str
    limit: float

    def check(self, document: dict[str, Any], known: str) -> None:
        """Exit with status 1 if the condition holds or the figure is undefined, with 2 if there is no such figure; `known` lists the existing ones."""
        value = self.value(document, known)
        if value is None:
            stop(
                f"{self.key} is not defined here, so that {self.key} {self.sign} {self.limit:g} cannot be checked",
                code=1,
            )
        if _COMPARE[self.sign](value, self.limit):
            stop(f"{self.key} is {value:.6g}, {self.sign} {self.limit:g} by {abs(value - self.limit):.6g}", code=1)

    def value(self, document: dict[str, Any], known: str) -> float | None:
        """The figure; None if it is undefined. If there is no such figure, exits with status 2."""
        value: Any = document
        for part in self.key.split("."):
            value = value.get(part, _MISSING) if isinstance(value, dict) else _MISSING
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            stop(f"--fail-if: no figure is called {self.key!r}; the figures are {known}")
        return float(value)


_MISSING = object()


def parse_conditions(texts: Sequence[str] | None, example: str) -> list[Condition]:
    """Parse conditions of the command line; ends the command if one is invalid."""
    return [_parse(text, example) for text in texts or ()]


@contextmanager
def checked(conditions: Sequence[Condition], document: dict[str, Any], known: str) -> Iterator[None]:
    """Context: check conditions after its body has shown the document; an unknown key ends the command before."""
    for condition in conditions:
        condition.value(document, known)
    yield
    for condition in conditions:
        condition.check(document, known)


def _parse(text: str, example: str) -> Condition:
    parts = _CONDITION.fullmatch(text)
    if parts is None:
        stop(f"Invalid --fail-if condition {text!r}. Write a key, a sign and a number, such as {example}")
    return Condition(parts[1], parts[2], float(parts[3]))
