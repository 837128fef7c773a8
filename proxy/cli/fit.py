"""`hedgerow fit`: learn a calibration map from labelled answers and store it in the registry."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.proxy.cli.common import ConfigPath, stop
from hedgerow.proxy.cli.maps import map_registry
from hedgerow.proxy.cli.records import Clusters, Map, Signal, load_combined, load_records


def fit(
    data: Annotated[
        Path | None, typer.Option("--data", help="Labelled answers: JSONL, plain or .gz, or an export of the audit.")
    ] = None,
    from_audit: Annotated[
        bool,
        typer.Option(
            "--from-audit",
            help="Fit on the first part of a route's verdicts, report on the rest; activate only what beats the map in use.",
        ),
    ] = False,
    since: Annotated[
        str | None, typer.Option(help="With --from-audit: answers given since 14d, 36h or a date.")
    ] = None,
    train_fraction: Annotated[
        float, typer.Option(help="With --from-audit: share of the verdicts that the map is fitted on.")
    ] = 0.5,
    actor: Annotated[
        str | None, typer.Option(help="With --from-audit --activate: who does it, for the record.")
    ] = None,
    signal: Annotated[Signal, typer.Option(help="What measures the confidence.")] = "semantic",
    kind: Annotated[Map, typer.Option("--map", help="The kind of map to fit.")] = "platt-bounded",
    clusters: Annotated[
        Clusters, typer.Option(help="How answers are grouped: the proxy's rules, or equal text.")
    ] = "rules",
    version: Annotated[
        str | None, typer.Option(help="Name to store the map under; made from its parts by default.")
    ] = None,
    activate: Annotated[bool, typer.Option(help="Use the map from now on.")] = False,
    route: Annotated[
        str | None, typer.Option(help="The route of --from-audit; with --activate: for this route only.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="With --activate: for this model only.")] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Store the map in this folder. Unset: in the audit store of the configuration.")
    ] = None,
    config: ConfigPath = Path("config.yaml"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the stored map as JSON.")] = False,
    skip_bad: Annotated[bool, typer.Option(help="Go on without rows that cannot be used.")] = False,
    allow_negative_slope: Annotated[bool, typer.Option(help="Accept a Platt map that turns the order round.")] = False,
) -> None:
    """Learn a calibration map from labelled answers, or from a route's own verdicts, and store it."""
    if from_audit:
        if data is not None or route is None:
            stop("--from-audit takes --route in place of --data")
        from hedgerow.proxy.cli.refit import fit_from_audit

        return fit_from_audit(
            route, kind=kind, since=since, train_fraction=train_fraction, version=version, activate=activate,
            actor=actor, as_json=as_json, config=config,
        )  # fmt: skip
    if data is None:
        stop("--data names the labelled answers; --from-audit --route takes a route's own verdicts")
    from hedgerow.calibration.errors import CalibrationError
    from hedgerow.calibration.fitting import fit_map

    if (route or model) and not activate:
        stop("--route and --model say where a map is active; add --activate")
    weights = None
    if signal == "combined":
        records, weights = load_combined(data, clusters=clusters, skip_bad=skip_bad)
    else:
        records = load_records(data, signal=signal, clusters=clusters, skip_bad=skip_bad)
    options: dict[str, Any] = (
        {"allow_negative_slope": True} if allow_negative_slope and kind.startswith("platt") else {}
    )
    try:
        fitted = fit_map(
            kind, records.alpha, records.beta, records.correct, signal=signal, model=records.model, **options
        )
        made = fitted.provenance
        name = version or f"{kind}-{signal}-{made.fitted_at:%Y%m%d-%H%M%S}-{made.data_hash[:8]}"
        if weights is not None:
            fitted = replace(fitted, weights={"bias": weights.bias} | dict(weights.weights))
        with map_registry(folder, config, create=True) as registry:
            path = registry.add(name, fitted)
            if activate:
                registry.activate(name, route=route, model=model)
    except (CalibrationError, OSError) as error:
        stop(str(error))
    if weights is not None:
        typer.echo(
            "combined: " + ", ".join(f"{n} {w:.3f}" for n, w in weights.weights.items()) + f", bias {weights.bias:.3f}",
            err=True,
        )
    if as_json:
        typer.echo(json.dumps({"version": name, **fitted.to_dict()}, indent=2))
        return None
    typer.echo(f"{name}: fitted on {made.n} answers, {made.accuracy:.1%} of them right; stored as {path}")
    for metric in ("generalised_ece", "smooth_ece", "faithfulness_divergence"):
        if metric in made.cross_validation:
            held = made.cross_validation[metric]
            typer.echo(f"  {metric}: {held['before']:.3f} before, {held['after']:.3f} after (cross-validation)")
    for note in made.notes:
        typer.echo(f"  note: {note}")
    if not activate:
        typer.echo(f"not active yet; hedgerow maps activate {name}")
    return None
