"""Conditions on figures that end a command with 1, for checks before a release: `--fail-if 'cmfg < 0.7'`."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hedgerow.proxy.cli.shared.messages import stop

_CONDITION = re.compile(r"\s*([a-z_][a-z0-9_.]*)\s*(>=|<=|>|<)\s*([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|[-+]?\.\d+)\s*")
_COMPARE = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}


@dataclass(frozen=True, slots=True)
class Condition:
    """A figure, named by its path in the document that --json prints, against a limit."""

    key: str
    sign: str
    limit: float

    def check(self, document: dict[str, Any], known: str) -> None:
        """End the command with 1 where it holds or the figure is not defined, with 2 where there is no such figure; `known` names those that there are."""
        value = self.value(document, known)
        if value is None:
            stop(
                f"{self.key} is not defined here, so that {self.key} {self.sign} {self.limit:g} cannot be checked",
                code=1,
            )
        if _COMPARE[self.sign](value, self.limit):
            stop(f"{self.key} is {value:.6g}, {self.sign} {self.limit:g} by {abs(value - self.limit):.6g}", code=1)

    def value(self, document: dict[str, Any], known: str) -> float | None:
        """The figure; None where it is there and not defined. One that is not there ends the command with 2."""
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
    """Conditions as they are written on the command line; anything else ends the command."""
    return [_parse(text, example) for text in texts or ()]


@contextmanager
def checked(conditions: Sequence[Condition], document: dict[str, Any], known: str) -> Iterator[None]:
    """Check conditions once the document has been shown, which is done within; a key that no figure has ends the command before."""
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
