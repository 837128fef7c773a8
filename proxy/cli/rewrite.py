"""`hedgerow rewrite --json`: the rewriter as a Unix filter."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import anyio
import orjson
import typer

from hedgerow.calibration import Beta
from hedgerow.calibration.errors import CalibrationError
from hedgerow.lexicon import LexiconError, Retriever, load, offered
from hedgerow.proxy.rewriting import FactGuard, TemplateRewriter, reword
from hedgerow.proxy.types import RewriteRequest

_MISSING = (
    "each line is an object with answer (text), alpha and beta (numbers > 0), and question (text, may be left out)"
)


def rewrite(
    as_json: Annotated[
        bool, typer.Option("--json", help="Read and print one JSON object a line. The only form there is.")
    ] = False,
    k: Annotated[int, typer.Option(min=1, max=50, help="Hedges retrieved for each answer.")] = 5,
    lexicon: Annotated[Path | None, typer.Option(help="A lexicon file; the shipped English one by default.")] = None,
) -> None:
    """Word answers at a confidence: reads {question, answer, alpha, beta} a line, prints {text, status, reason, hedge, perceived}."""
    if not as_json:
        raise _refuse("add --json: it reads one object a line and prints one object a line")

    try:
        hedges = load(lexicon)
    except LexiconError as error:
        raise _refuse(str(error)) from error
    retriever, template, guard = Retriever(offered(hedges)), TemplateRewriter(hedges.hedges), FactGuard(hedges.hedges)
    for number, row in _rows():
        request = _request(number, row, retriever, k)
        result = anyio.run(_reword, request, template, guard)
        sys.stdout.buffer.write(orjson.dumps(result) + b"\n")
        sys.stdout.buffer.flush()


async def _reword(request: Any, template: TemplateRewriter, guard: FactGuard) -> dict[str, Any]:
    done = await reword(request, rewriters=[template], guard=guard)
    perceived = done.perceived
    return {
        "text": done.text,
        "status": done.status,
        "reason": done.reason,
        "hedge": done.hedge,
        "perceived": None
        if perceived is None
        else {"alpha": perceived.alpha, "beta": perceived.beta, "mean": perceived.mean},
    }


def _rows() -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise _refuse(f"line {number} is not valid JSON: {error}") from error
        if not isinstance(row, dict):
            raise _refuse(f"line {number} is not a JSON object; {_MISSING}")
        yield number, row


def _request(number: int, row: dict[str, Any], retriever: Retriever, k: int) -> Any:
    question, answer = row.get("question") or "", row.get("answer")
    alpha, beta = row.get("alpha"), row.get("beta")
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (alpha, beta))
    if not (isinstance(question, str) and isinstance(answer, str) and numbers):
        raise _refuse(f"line {number}: {_MISSING}")
    try:
        target = Beta(float(alpha), float(beta))  # type: ignore[arg-type] # both are numbers, see above
    except CalibrationError as error:
        raise _refuse(f"line {number}: {error}") from error
    return RewriteRequest(question, answer, target, retriever.nearest(target, k))


def _refuse(sentence: str) -> typer.Exit:
    typer.echo(f"hedgerow: {sentence}", err=True)
    return typer.Exit(2)
