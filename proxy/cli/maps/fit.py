"""`hedgerow fit`: learn a calibration map from labelled answers, or from a route's own verdicts, and store it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, get_args

import typer

from ....calibration import FittedMap
from ....calibration.maps import DEFAULT, MapName
from ....calibration.metrics.table import HEADLINE
from ...lab.fitting import Decile, deciles, fit_records, version_of
from ...pipeline.placing import LOCAL
from ...types import CLAIM_SIGNAL
from ..shared.messages import one_sentence, say, show_text, stop
from ..shared.options import CONFIG, ConfigPath, NegativeSlope, SkipBad
from ..shared.records import Audited, Labelled, Signal, load_records
from ..shared.registry import check_route
from ..shared.times import moment
from .fit_local import fit_local_map
from .refit import finish_refit, refit_from_audit
from .storing import Storing

FromAudit = Annotated[
    bool,
    typer.Option(
        "--from-audit",
        help="Fit on the first part of a route's verdicts, report on the rest; activate only what beats the map in use.",
    ),
]
Since = Annotated[str | None, typer.Option(help="With --from-audit: answers given since 14d, 36h or a date.")]
WhatMeasures = Annotated[
    Signal,
    typer.Option(
        metavar="SIGNAL",
        help=f"What measures it: {', '.join(get_args(Signal))} (claims of long answers: consistency).",
    ),
]
MapKind = Annotated[
    MapName,
    typer.Option("--map", "--kind", metavar="KIND", help=f"The kind of map to fit: {', '.join(get_args(MapName))}."),
]


def fit(
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Labelled answers: JSONL, JSON, CSV or Parquet, or a log of evaluations."),
    ] = None,
    from_audit: FromAudit = False,
    since: Since = None,
    signal: WhatMeasures = "semantic",
    kind: MapKind = DEFAULT,
    version: Annotated[
        str | None, typer.Option(help="Name to store the map under; made from its parts by default.")
    ] = None,
    activate: Annotated[bool, typer.Option("--activate", help="Use the map from now on.")] = False,
    route: Annotated[
        str | None, typer.Option(help="The route of --from-audit; with --activate: for this route only.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="With --activate: for this model only.")] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Store the map in this folder. Unset: in the audit store of the configuration.")
    ] = None,
    config: ConfigPath = CONFIG,
    as_json: Annotated[bool, typer.Option("--json", help="Print the stored map as JSON.")] = False,
    skip_bad: SkipBad = False,
    allow_negative_slope: NegativeSlope = False,
) -> None:
    """Learn a calibration map from labelled answers, or from a route's own verdicts, and store it."""
    source: Labelled | Audited
    if from_audit:
        if data is not None or route is None:
            stop("--from-audit takes --route in place of --data")
        source = Audited(route, since)
    else:
        if data is None:
            stop("--data names the labelled answers; --from-audit --route takes a route's own verdicts")
        if (route or model) and not activate:
            stop("--route and --model say where a map is active; add --activate")
        check_route(route, folder, config)
        source = Labelled(data, signal)
    storing = Storing(config, folder, version, activate, route, model)
    if kind == LOCAL:
        fit_local_map(source, storing, as_json=as_json, skip_bad=skip_bad)
    elif isinstance(source, Audited):
        how = {"kind": kind, "claims": signal == CLAIM_SIGNAL, "version": version}
        refitted = refit_from_audit(config, source.route, since=moment(since) if since else 0.0, **how)
        finish_refit(config, refitted, activate=activate, as_json=as_json)
    else:
        _fit(source, storing, kind, allow_negative_slope=allow_negative_slope, as_json=as_json, skip_bad=skip_bad)


def _fit(
    source: Labelled, storing: Storing, kind: MapName, *, allow_negative_slope: bool, as_json: bool, skip_bad: bool
) -> None:
    """Fit a map of the confidence alone, from a file."""
    records, weights = load_records(source.data, signal=source.signal, skip_bad=skip_bad)
    with one_sentence():
        fitted = fit_records(records, kind, source.signal, weights, allow_negative_slope=allow_negative_slope)
    name = storing.version or version_of(fitted, kind, source.signal)
    place = storing.store(name, fitted, activate=storing.activate)
    if weights is not None:
        shares = ", ".join(f"{name} {weight:.3f}" for name, weight in weights.weights.items())
        say(f"weights of the combined signal: {shares}, bias {weights.bias:.3f}", err=True)
    tenths = deciles(records, fitted)
    if as_json:
        document = {"version": name, **fitted.to_dict(), "deciles": [asdict(decile) for decile in tenths]}
        show_text(json.dumps(document, indent=2))
    else:
        _print(name, fitted, tenths, place, storing.activate)


def _change(held: Mapping[str, float]) -> str:
    interval = f", {held['change_low']:+.3f} to {held['change_high']:+.3f}" if "change_low" in held else ""
    change = held["after"] - held["before"]
    worse = " WORSE" if change > 0.0 else ""
    return f"{held['before']:.3f} before, {held['after']:.3f} after ({change:+.3f}{interval}; cross-validation){worse}"


def _print(name: str, fitted: FittedMap, tenths: Sequence[Decile], place: str, activated: bool) -> None:
    made = fitted.provenance
    say(f"{name}: fitted on {made.n} answers, {made.accuracy:.1%} of them right; stored in {place}")
    for metric in HEADLINE:
        if metric in made.cross_validation:
            say(f"  {metric}: {_change(made.cross_validation[metric])}")
    say("  by tenths of the answers (fitted on these)   n  before   after   right")
    for number, tenth in enumerate(tenths, start=1):
        say(f"{number:>40} {tenth.n:>8} {tenth.before:>7.3f} {tenth.after:>7.3f} {tenth.right:>7.3f}")
    for note in made.notes:
        say(f"  note: {note}")
    if not activated:
        say(f"not active yet; to activate it: hedgerow maps activate {name}")
