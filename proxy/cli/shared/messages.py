"""What a command says beside its results: the one sentence that ends it, what is wrong, what something costs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import typer

from ....calibration.errors import CalibrationError
from ...errors import ConfigError, HedgerowError, InputError, UpstreamRejected
from ...monitoring.visible import in_one_line, visible


def say(line: str = "", *, err: bool = False) -> None:
    """Print one line, whatever a text of others holds that stands in it."""
    typer.echo(in_one_line(line), err=err)  # noqa: TID251 # here and below, and in `showing.terminal`: nowhere else


def show_text(text: str, *, err: bool = False) -> None:
    """Print a text of several lines, or JSON, which stays the same JSON."""
    typer.echo(visible(text), err=err)  # noqa: TID251


def stop(message: str, code: int = 2) -> NoReturn:
    """End with one sentence on standard error. 2: bad input or configuration; 1: a check that failed."""
    show_text(f"hedgerow: {message}", err=True)
    raise typer.Exit(code)


@contextmanager
def one_sentence(*, on_interrupt: str = "stopped") -> Iterator[None]:
    """End with one sentence where something fails that a user can mend: 2 for input and settings, 1 for what an upstream or store did."""
    try:
        yield
    except (ConfigError, InputError, CalibrationError) as error:
        stop(str(error))
    except UpstreamRejected as error:
        stop(error.sentence, code=1)
    except HedgerowError as error:
        stop(str(error), code=1)
    except BrokenPipeError:  # whoever reads the output has seen enough (`| head`): click ends without a word
        raise
    except OSError as error:
        stop(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        stop(on_interrupt, code=1)


def show_faults(faults: Sequence[str], shown: int = 5) -> None:
    """Print the first of the things that are wrong, and how many more there are."""
    for fault in faults[:shown]:
        say(fault, err=True)
    if len(faults) > shown:
        say(f"and {len(faults) - shown} more", err=True)


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 row, 2 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def confirm(cost: str, yes: bool) -> None:
    """Say what something costs, and end the command unless the user agrees."""
    say(cost, err=True)
    if not yes:
        agree("Go on?")


def agree(question: str) -> None:
    """Ask whoever sits at the terminal, and end the command unless they agree."""
    with asking("--yes agrees beforehand"):
        agreed = typer.confirm(in_one_line(question), err=True)
    if not agreed:
        raise typer.Exit(1)


@contextmanager
def asking(instead: str) -> Iterator[None]:
    """Questions. Where standard input ends before they are answered, as in a job that nobody watches, one sentence says what to give instead."""
    try:
        yield
    except typer.Abort:
        if sys.stdin.isatty():  # Ctrl-C
            raise
        say(err=True)  # the line of the question
        stop(f"standard input ended before the question was answered; {instead}")
