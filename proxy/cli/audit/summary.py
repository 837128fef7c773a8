"""`hedgerow audit summary` and `audit worst`: what the dashboard shows, in the terminal or as JSON."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any, TypeVar

import typer
from rich.table import Table
from rich.text import Text

from ....calibration.metrics import Interval
from ...audit import counts, queries
from ...audit.engine import Connection, transaction
from ...monitoring import figures
from ...monitoring.figures import (
    PERIODS,
    ArmComparison,
    Buckets,
    ClaimFigures,
    Money,
    RouteFigures,
    comparison,
    dollars,
    money,
    percent,
)
from ..shared.messages import say, show_text, stop
from ..shared.options import CONFIG, AsJson, ConfigPath
from ..shared.showing import show, styled, terminal
from ..shared.store import open_audit

Line = tuple[RouteFigures, ClaimFigures, Money]
T = TypeVar("T")
Since = Annotated[str, typer.Option(help="How far back: 24h, 7d, 30d or all.")]
RouteName = Annotated[str | None, typer.Option("--route", help="One route only.")]


def summary(config: ConfigPath = CONFIG, since: Since = "7d", route: RouteName = None, as_json: AsJson = False) -> None:
    """Per route: requests, shares hedged and passed through, confidence against outcomes, divergence, tokens, cost."""
    _check_period(since)
    with open_audit(config) as (settings, engine), transaction(engine, "snapshot") as connection:
        rows = _lines(connection, _buckets(connection, since), route)
        compared = (comparison(connection, each) for each in settings.routes if route in (None, each.name))
        arms = {each.route: each for each in compared if each is not None}
    if as_json:
        split = {name: each.to_dict() for name, each in arms.items()}
        lines = [_figures(*row) | {"arms": split.get(row[0].name or "")} for row in rows if row[0].requests]
        show_text(_json(lines))
    elif not any(line.requests for line, _, _ in rows):
        say(f"no requests in {figures.PERIODS[since][0]}" + (f" on the route {route}" if route else ""))
    else:
        _print_summary(rows, figures.PERIODS[since][0])
        _print_shadow(rows)
        _print_projections(rows)
        _print_claims(rows)
        _print_arms(list(arms.values()))


def _lines(connection: Connection, buckets: Buckets, route: str | None) -> list[Line]:
    """Each route's answers, claims of its long answers, and costs; with several routes, a total at the end."""
    counted = counts.tallies(connection, buckets.period, buckets.seconds, route)
    labelled = queries.labelled(connection, buckets.period, route)
    claims = queries.labelled_claims(connection, buckets.period, route)

    def line(name: str | None) -> Line:
        if name is None:
            of_answers = figures.route_figures(None, counted, labelled, buckets)
            return of_answers, figures.claim_figures(claims), money(counted, buckets)
        mine = [tally for tally in counted if tally.route == name]
        of_answers = figures.route_figures(name, mine, labelled.where(labelled.route == name), buckets)
        return of_answers, figures.claim_figures(claims.where(claims.route == name)), money(mine, buckets)

    each = [line(name) for name in sorted({tally.route for tally in counted if tally.route})]
    return each if len(each) == 1 else [*each, line(None)]


def worst(
    config: ConfigPath = CONFIG,
    since: Since = "30d",
    route: RouteName = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Number to show.")] = 10,
    as_json: AsJson = False,
) -> None:
    """The answers with the most surprising outcomes: highest Faithfulness Divergence first."""
    _check_period(since)
    with open_audit(config) as (_, engine), transaction(engine) as connection:
        rows = queries.surprises(connection, _buckets(connection, since).period, route, limit)
    if as_json:
        show_text(_json(rows))
    elif not rows:
        say("no answer of this period has a verdict")
    else:
        _print_worst(rows)


def _check_period(since: str) -> None:
    if since not in PERIODS:
        stop(f"Invalid --since value {since!r}. Use one of {', '.join(PERIODS)}.")


def _buckets(connection: Connection, since: str) -> Buckets:
    first = queries.first_moment(connection) if since == "all" else None
    return figures.buckets_of(since, time.time(), first)


def _figures(line: RouteFigures, claims: ClaimFigures, spent: Money) -> dict[str, Any]:
    """A line as a JSON object; intervals are [estimate, low, high], the ends null where no interval is right."""

    def interval(held: Interval | None) -> list[float] | None:
        return None if held is None else [held.estimate, held.low, held.high]

    return {
        "route": line.name,
        "requests": line.requests,
        "hedged": line.hedged,
        "passed": line.passed,
        "in_trouble": line.troubled,
        "in_shadow": line.in_shadow,
        "verdicts": line.verdicts,
        "independent_verdicts": line.independent,
        "counted_by": list(line.counted_by),
        "accuracy": line.accuracy,
        "mean_confidence": line.confidence,
        "faithfulness_divergence": interval(line.fd_interval) or (None if line.fd is None else [line.fd, None, None]),
        "faithfulness_divergence_raw": line.fd_raw,
        "smooth_ece": interval(line.smooth_ece),
        "smooth_ece_raw": line.smooth_ece_raw,
        "claims": {
            "verdicts": claims.verdicts,
            "accuracy": claims.accuracy,
            "mean_confidence": claims.confidence,
            "faithfulness_divergence": claims.fd,
            "faithfulness_divergence_raw": claims.fd_raw,
            "generalised_ece": claims.generalised_ece,
            "generalised_ece_raw": claims.generalised_ece_raw,
        },
        "tokens": dict(line.tokens),
        "cost": spent.to_json(),
        "mean_ms": line.milliseconds,
    }


def _route(name: str | None) -> Text:
    """A route's name; None: all routes together."""
    return styled((name, "bold") if name else "all")


def _json(content: Any) -> str:
    return json.dumps(content, indent=2, allow_nan=False)


def _print_summary(lines: list[Line], period: str) -> None:
    def share(part: float | None) -> str:
        return "–" if part is None else f"{part:.0%}"

    def estimate(held: Interval | None, digits: int) -> Text:
        if held is None:
            return Text("–")
        return Text.assemble(f"{held.estimate:.{digits}f}\n", (f"{held.low:.{digits}f}–{held.high:.{digits}f}", "dim"))

    table = Table(
        box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", title=period, title_justify="left"
    )
    table.add_column("route")
    for column in [
        "requests",
        "hedged",
        "passed",
        "verdicts",
        "right",
        "conf.",
        "FD nats",
        "smooth ECE",
        "tokens",
        "cost",
    ]:
        table.add_column(column, justify="right", no_wrap=True)
    for line, _, spent in lines:
        table.add_row(
            _route(line.name),
            f"{line.requests:,}",
            share(line.share(line.hedged)),
            share(line.share(line.passed)),
            f"{line.verdicts:,}",
            share(line.accuracy),
            share(line.confidence),
            "–" if line.fd is None else estimate(line.fd_interval, 2) if line.fd_interval else f"{line.fd:.2f}",
            estimate(line.smooth_ece, 3),
            f"{sum(line.tokens.values()):,}",
            "–" if spent.unpriced and not spent.total else dollars(spent.total),
        )
    show(table)


def _print_shadow(rows: list[Line]) -> None:
    """Print on which routes clients got plain answers, because they are in shadow."""
    for line, _, _ in rows:
        if line.name and line.in_shadow:
            whole = "all" if line.in_shadow == line.requests else f"{line.in_shadow:,} of {line.requests:,}"
            say(f'{line.name}: {whole} in shadow: clients got the plain answers, "hedged" is what they would have got')


def _print_projections(rows: list[Line]) -> None:
    """Print the projected cost of shadow routes in mode `on`, and the number of answers with unknown cost."""
    for line, _, spent in rows:
        name = line.name or "all"
        if spent.projection is not None:
            say(f"{name}: {spent.projection.sentence}")
        if line.independent < line.verdicts:
            by = ", ".join(line.counted_by)
            say(f"{name}: intervals count {line.independent:,} of {line.verdicts:,} verdicts: one of each {by}")
        if spent.unpriced:
            say(
                f"{name}: calibrated answers whose cost is not known: {spent.unpriced:,}; see `prices.models` in docs/costs.md"
            )


def _print_claims(rows: list[Line]) -> None:
    """Print claims with their own verdicts, if any."""
    if not any(claims.verdicts for _, claims, _ in rows):
        return
    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="dim",
        title="claims of long answers",
        title_justify="left",
    )
    table.add_column("route")
    for column in ("verdicts", "right", "conf.", "FD nats", "generalised ECE"):
        table.add_column(column, justify="right", no_wrap=True)

    def number(value: float | None, digits: int) -> str:
        return "–" if value is None else f"{value:.{digits}f}"

    for line, claims, _ in rows:
        shares = ("–" if share is None else f"{share:.0%}" for share in (claims.accuracy, claims.confidence))
        table.add_row(
            _route(line.name), f"{claims.verdicts:,}", *shares, number(claims.fd, 2), number(claims.generalised_ece, 3)
        )
    show(table)


_GAPS = {
    "divergence": ("FD nats", 3),
    "feedback": ("share with feedback", 3),
    "tokens": ("tokens an answer", 0),
    "cost": ("dollars an answer", 5),
}


def _print_arms(arms: list[ArmComparison]) -> None:
    """Print both arms of each split route, since the split began."""
    if not arms:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.title, table.title_justify = "arms of split routes, since the first lot", "left"
    for column in ("route", "", "on", "other", "difference, 95 % at any time"):
        table.add_column(column, justify="left" if column in ("route", "") else "right", no_wrap=True)
    for each in arms:
        requests = (f"{each.requests[arm]:,}" for arm in ("on", each.rest))
        table.add_row(_route(each.route), "requests", *requests, f"other: {each.rest}")
        for gap in each.gaps:
            name, digits = _GAPS[gap.figure]
            means = ("–" if mean is None else f"{mean:,.{digits}f}" for mean in (gap.on, gap.rest))
            known = gap.estimate is not None
            table.add_row("", name, *means, f"{gap.low:,.{digits}f} to {gap.high:,.{digits}f}" if known else "–")
    show(table)


def _print_worst(rows: list[dict[str, Any]]) -> None:
    console = terminal()
    for row in rows:
        confidence = percent(row["alpha"] / (row["alpha"] + row["beta"]))
        outcome = "right" if row["correct"] >= 0.5 else "wrong"
        head = Text.assemble(
            (f"{row['fd']:8.2f} nats  ", "bold"), f"confidence {confidence}, was ", (outcome, "bold red")
        )
        console.print(head, styled((f"  {row['route']}  {row['id']}", "dim")), soft_wrap=True)
        for text, style in ((row["question"], ""), (row["answer"] or row["draft"], "italic")):
            if text:
                console.print("               " + " ".join(text.split())[:300], style=style, soft_wrap=True)
