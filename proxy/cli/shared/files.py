"""Read and write a command's files, and report errors of files and rows in one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from ...lab.datasets import UNREADABLE, BadRow
from .messages import counted, say, stop


def report_bad(where: Path | str, bad: Sequence[BadRow], skip: bool, *, hint: str = "", others: bool = True) -> None:
    """Print which rows of a file cannot be used, each reason once; ends the command unless they may be skipped. `others`: whether there are
    usable rows.
    """
    number, lines = len(bad), dict[str, list[int]]()
    for row in bad:
        lines.setdefault(row.reason, []).append(row.line)
    faults = list(lines.items())[:5]
    for reason, places in faults:
        say(f"{_lines(places)}: {reason}", err=True)
    if left := number - sum(len(places) for _, places in faults):
        say(f"and {left} more", err=True)
    if number and not (skip and others):
        way = f"--skip-bad continues without them{hint}" if others else "there is no other row"
        stop(f"{where}: {counted(number, 'row')} cannot be used; {way}")


def no_row(path: Path, expected: str) -> NoReturn:
    """End the command because a file is empty."""
    stop(f"{path}: contains no row; expected {expected}")


def _lines(numbers: Sequence[int], named: int = 3) -> str:
    """Line numbers as text: "line 4", "lines 2, 3, 4 and 17 more"."""
    first, left = ", ".join(map(str, numbers[:named])), len(numbers) - named
    return f"line{'s' if len(numbers) > 1 else ''} {first}" + (f" and {left:,} more" if left > 0 else "")


def unreadable(path: Path, error: Exception) -> NoReturn:
    """End the command because a file cannot be read."""
    stop(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Context: end the command with one sentence if a file read in its body is missing or damaged."""
    try:
        yield
    except UNREADABLE as error:
        unreadable(path, error)


def write_file(path: Path, text: str) -> None:
    """Write a text file; if that fails, end the command with one sentence."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        stop(f"{path}: cannot be written: {error.strerror}")


def write_page(path: Path, page: str) -> None:
    """Write a report as a page, and print its path on standard error, because standard output is for figures."""
    write_file(path, page)
    say(f"Report written to {path}", err=True)
