"""Tables of kinds. A kind has a name, a summary and the place of its definition, which is imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    """One entry of a table.

    Attributes
    ----------
    name : str
        As in the configuration, on the command line and in stored data.
    summary : str
        What it is, as one phrase for documents, help texts and the dashboard.
    target : str
        Where it is defined: "package.module:name".
    needs_logprobs : bool
        Signals: whether the upstream is asked for the log-probabilities of its tokens.
    """

    name: str
    summary: str
    target: str
    needs_logprobs: bool = False

    def load(self) -> Any:
        """The object at `target`; its module is imported if necessary.

        Examples
        --------
        >>> Kind("tau", "Twice pi.", "math:tau").load()
        6.283185307179586
        """
        module, _, name = self.target.partition(":")
        return getattr(import_module(module), name)


def table(*kinds: Kind) -> dict[str, Kind]:
    """A table from kinds, by name, in this order."""
    return {kind.name: kind for kind in kinds}


def choices(kinds: Mapping[str, Kind]) -> str:
    """The names for an error message: "semantic, token or p_true".

    Examples
    --------
    >>> choices(table(Kind("a", "", ""), Kind("b", "", ""), Kind("c", "", "")))
    'a, b or c'
    """
    *first, last = kinds
    return f"{', '.join(first)} or {last}" if first else last
