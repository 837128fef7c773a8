"""The `hedgerow` command: the table of commands, with name, purpose and module.

A command is a function in a file of its own and one line in `COMMANDS`. Its module is imported when it runs, so that `hedgerow --help` is quick.
"""

from __future__ import annotations

import signal
import sys

if sys.argv[1:2] == ["serve"]:  # before anything is loaded: signals wait until somebody can handle them
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP, signal.SIGINT, signal.SIGTERM))

import codecs
import gc
from difflib import get_close_matches
from importlib import import_module, metadata
from io import TextIOWrapper
from typing import Annotated, Any, NamedTuple, TextIO

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from ..errors import ConfigError
from .shared.messages import say, show_text


class Command(NamedTuple):
    """One line of `hedgerow --help`; `target` is a function, or a `Typer` with commands of its own, as "module:name"."""

    target: str
    summary: str

    def load(self, name: str) -> Any:
        """Import and return the click command."""
        module, _, attribute = self.target.partition(":")
        gc.disable()  # imported objects stay: garbage collection during imports takes a tenth of the time
        try:
            _import_structlog()
            target = getattr(import_module(module), attribute)
        finally:
            gc.freeze()  # and excluded when the collector runs again
            gc.enable()
        if isinstance(target, typer.Typer):
            group = get_group(target)
            group.name, group.help = name, self.summary
            return group
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        single.command(name)(target)
        return get_command(single)


def _import_structlog() -> None:
    """Import structlog as if rich were not installed. It would load rich to draw exceptions, which is not used here."""
    if "structlog" in sys.modules or "rich" in sys.modules:
        return
    sys.modules["rich"] = None  # type: ignore[assignment]
    try:
        import_module("structlog")
    finally:
        del sys.modules["rich"]


COMMANDS = {
    "serve": Command("hedgerow.proxy.cli.serving.serve:serve", "Run the proxy."),
    "init": Command("hedgerow.proxy.cli.serving.init:init", "Write a first configuration."),
    "doctor": Command(
        "hedgerow.proxy.cli.serving.doctor:doctor",
        "Try everything once: configuration, store, maps, one question to each upstream.",
    ),
    "demo": Command(
        "hedgerow.proxy.cli.answers.demo:demo",
        "Play recorded answers of a real model through the pipeline; needs no model.",
    ),
    "ask": Command("hedgerow.proxy.cli.answers.ask:ask", "Show what the proxy does with one question."),
    "rewrite": Command(
        "hedgerow.proxy.cli.answers.rewrite:rewrite",
        "Word an answer at a given confidence; with --json one object a line.",
    ),
    "same-meaning": Command(
        "hedgerow.proxy.cli.answers.same_meaning:same_meaning", "Say whether two answers mean the same."
    ),
    "confidence": Command(
        "hedgerow.proxy.cli.answers.reading:confidence",
        "Measure the confidence in recorded answers, one JSON object a line.",
    ),
    "claims": Command(
        "hedgerow.proxy.cli.answers.reading:claims",
        "Measure the claims of long answers against other answers, as JSON lines.",
    ),
    "collect": Command("hedgerow.proxy.cli.lab.collect:collect", "Draw answers to a file of questions."),
    "grade": Command("hedgerow.proxy.cli.lab.grade:grade", "Label recorded answers as right or wrong."),
    "fit": Command("hedgerow.proxy.cli.maps.fit:fit", "Learn a calibration map from labelled answers and store it."),
    "evaluate": Command(
        "hedgerow.proxy.cli.lab.evaluate:evaluate", "Fit a map on one part of labelled answers, measure it on the rest."
    ),
    "faithfulness": Command(
        "hedgerow.proxy.cli.lab.faithfulness:faithfulness", "Measure whether answers sound as sure as their model is."
    ),
    "certify": Command(
        "hedgerow.proxy.cli.promises.certify:app",
        "Promise how often answers are wrong, with proof; list, show and verify certificates.",
    ),
    "markers": Command(
        "hedgerow.proxy.cli.lab.markers:markers",
        "Measure what a model's own hedges are worth: marker internal confidence.",
    ),
    "regimes": Command(
        "hedgerow.proxy.cli.lab.regimes:regimes",
        "Find kinds of questions on which confidence is wrong, beyond what a map corrects.",
    ),
    "maps": Command(
        "hedgerow.proxy.cli.maps.maps:app", "List, show, import, activate and compare stored calibration maps."
    ),
    "routes": Command(
        "hedgerow.proxy.cli.serving.routes:app",
        "See what routes do, switch their mode, activate a map or roll it back.",
    ),
    "keys": Command("hedgerow.proxy.cli.serving.keys:app", "Make, list, change, rotate and revoke named keys."),
    "audit": Command(
        "hedgerow.proxy.cli.audit.audit:app", "Audit store: figures, verdicts, files, verification, retention."
    ),
    "lexicon": Command(
        "hedgerow.proxy.cli.lexicon.lexicon:app",
        "Hedges, the confidence people read in them, and how confident a text sounds.",
    ),
    "config": Command("hedgerow.proxy.cli.serving.config:app", "Check the configuration; hash client keys."),
}


_UsageError: Any = typer.BadParameter.__base__
"""Whatever is wrong with the words of a command."""


class LazyGroup(TyperGroup):
    """A group that lists its commands from a table, and imports a command's module when it is run."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name, command in COMMANDS.items():
            self.add_command(TyperGroup(name=name, help=command.summary))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command named by the arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and COMMANDS[str(name)].load(str(name)), rest

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line, whose output can be written whatever the machine's encoding is."""
        for stream in (sys.stdout, sys.stderr):
            _make_writable(stream)
        return super().main(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an unusable setting that it needs becomes one sentence and exit status 2.

        An error of the operating system (a full disk, a file without write permission) becomes one sentence and status 1.
        """
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            show_text(f"hedgerow: {error}", err=True)
            raise typer.Exit(2) from error
        except _UsageError as error:
            error.message = error.message.removeprefix("Value error, ")  # pydantic's word for "this value is wrong"
            if guesses := getattr(error, "possibilities", None):  # the dashes make all short names look alike
                name, bare = error.option_name.lstrip("-"), [guess.lstrip("-") for guess in guesses]
                error.possibilities = [f"--{near}" for near in get_close_matches(name, bare)]
            raise
        except BrokenPipeError:  # the reader closed the pipe (`| head`): click exits silently
            raise
        except OSError as error:  # for example, the disk behind `>` is full
            say(f"hedgerow: {error.filename or 'output'}: {error.strerror or error}", err=True)
            raise typer.Exit(1) from error


def _make_writable(stream: TextIO) -> None:
    """A terminal that is not UTF-8 shows "?" for what it has no sign for; files and pipes are UTF-8 everywhere, as commands read them."""
    if not isinstance(stream, TextIOWrapper) or codecs.lookup(stream.encoding).name == "utf-8":
        return
    if stream.isatty():
        stream.reconfigure(errors="replace")
    else:
        stream.reconfigure(encoding="utf-8")


app = typer.Typer(cls=LazyGroup, name="hedgerow", no_args_is_help=True, pretty_exceptions_enable=False)


def _version(asked: bool) -> None:
    if asked:
        say(f"hedgerow {metadata.version('hedgerow')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """An OpenAI-compatible proxy that words each answer as confidently as it deserves."""
