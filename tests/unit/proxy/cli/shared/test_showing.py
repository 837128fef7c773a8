"""Tables on terminals of any width."""

from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table

from hedgerow.proxy.cli.shared.showing import show
from tests.support.tables import cases

FIGURES = ("support", "1,501", "0.274", "0.262–0.286", "55,537")
WORDS = "Which city is the capital of Australia, and since when has it been the seat of its parliament?"


def shown(width: int, *, words: str = "") -> str:
    table = Table(title="7 days", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("route", "requests", "smooth ECE", "tokens"):
        table.add_column(name, no_wrap=True)
    cells = ["[bold]support[/]", "1,501", "0.274\n[dim]0.262–0.286[/]", "55,537"]
    if words:
        table.add_column("question")
        cells.append(words)
    table.add_row(*cells)
    out = io.StringIO()
    show(table, Console(file=out, width=width, highlight=False))
    return out.getvalue()


@cases("width", [20, 40, 60, 80, 200])
@cases("words", ["", WORDS])
def test_no_figure_is_cut_and_no_line_is_too_long(width: int, words: str) -> None:
    said = shown(width, words=words)
    assert all(figure in said for figure in FIGURES)
    assert "…" not in said
    assert " ".join(said.split()).endswith(words.rpartition(" ")[2]) or width == 200
    assert max(len(line.rstrip()) for line in said.splitlines()) <= width


def test_a_wide_terminal_has_a_table_and_a_narrow_one_names_each_figure() -> None:
    assert shown(80).splitlines()[1].split() == ["route", "requests", "smooth", "ECE", "tokens"]
    assert "requests 1,501" in shown(30)
