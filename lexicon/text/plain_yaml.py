"""YAML whose aliases are bounded: a few lines of them could stand for gigabytes, and one for a value within itself."""

from __future__ import annotations

from typing import Any

import yaml

MOST_REPEATED = 10_000
"""Values that all aliases of a text may stand for together."""


class PlainLoader(yaml.SafeLoader):
    """A safe loader, the one in Python: that in C crashes at a text that is nested a hundred thousand deep."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._sizes: dict[yaml.Node | None, int] = {}
        self._values = self._repeated = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """One value; an alias gives the one that its name stands for."""
        alias = self.peek_event() if self.check_event(yaml.AliasEvent) else None  # type: ignore[no-untyped-call]
        before = self._values
        node = super().compose_node(parent, index)
        if alias is None:
            self._values += 1
            self._sizes[node] = self._values - before
            return node
        size = self._sizes.get(node, 0)
        self._values += size
        self._repeated += size
        if not size or self._repeated > MOST_REPEATED:
            why = (
                f"makes aliases stand for more than {MOST_REPEATED:,} values"
                if size
                else "stands for a value that it is part of"
            )
            raise yaml.MarkedYAMLError(problem=f"the alias *{alias.anchor} {why}", problem_mark=alias.start_mark)
        return node
