"""Tables in terminals of any width: no figure is ever cut, and nothing in them gives the terminal orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ...monitoring.visible import in_one_line, visible

LEAST_TEXT = 32
"""Columns below which a column of running text is no longer pleasant to read."""
_UNBOUNDED = 100_000


class _Terminal(Console):
    """A console that makes all text visible. A string is one line and means only itself: lines and styles are the program's, as `Text`."""

    def render_str(self, text: str, **how: Any) -> Text:
        """Make text of a string."""
        return super().render_str(in_one_line(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What a table, panel or text consists of."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text), style, control)


def terminal(*, stderr: bool = False) -> Console:
    """The console of a command."""
    return _Terminal(stderr=stderr, highlight=False, markup=False, emoji=False)


def styled(*parts: str | tuple[str, str]) -> Text:
    """One line of strings, each alone or with its style."""
    return Text.assemble(
        *((in_one_line(part[0]), part[1]) if isinstance(part, tuple) else in_one_line(part) for part in parts)
    )


def show(table: Table, console: Console | None = None) -> None:
    """Print a table; where the terminal is too narrow for its figures, row by row, each figure behind its name."""
    console = console or terminal()
    if _needed(table, console) <= console.width:
        console.print(table)
        return
    if table.title:
        console.print(table.title, style="bold")
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        _show_row([_name(column.header) for column in table.columns], cells, console)


def _needed(table: Table, console: Console) -> int:
    """Columns that show every cell whole, and running text in lines of some length."""
    options = console.options.update(width=_UNBOUNDED)
    widths = []
    for column in table.columns:
        sizes = [Measurement.get(console, options, cell) for cell in (column.header, *column.cells)]
        whole = max(size.maximum for size in sizes)
        widths.append(whole if column.no_wrap else min(whole, max(LEAST_TEXT, *(size.minimum for size in sizes))))
    return sum(widths) + table.padding[1] * (len(widths) - 1) + table.padding[3] * (len(widths) - 1)


def _show_row(names: list[str], cells: tuple[RenderableType, ...], console: Console) -> None:
    first, *rest = (_one_line(cell, console) for cell in cells)
    console.print(Text.assemble(first, style="bold"), soft_wrap=True)
    parts = [
        Text.assemble((f"{name} " if name else "", "dim"), cell)
        for name, cell in zip(names[1:], rest, strict=True)
        if cell
    ]
    for line in _filled(parts, console.width - 2):
        console.print(Padding(line, (0, 0, 0, 2)))


def _filled(parts: list[Text], width: int) -> Iterator[Text]:
    """As many parts a line as fit, two blanks between them; one that is longer than a line begins its own."""
    line = Text()
    for part in parts:
        if line and line.cell_len + 2 + part.cell_len > width:
            yield line
            line = Text()
        line = Text.assemble(line, "  ", part) if line else part
    if line:
        yield line


def _one_line(cell: RenderableType, console: Console) -> Text:
    text = cell.copy() if isinstance(cell, Text) else console.render_str(str(cell))
    return Text(" ").join(text.split("\n"))


def _name(header: RenderableType) -> str:
    return header.plain if isinstance(header, Text) else str(header)
