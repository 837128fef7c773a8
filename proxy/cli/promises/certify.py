"""`hedgerow certify`: promises with a statistical guarantee from labelled answers, as certificates that anybody with the key can verify offline."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from ....calibration.promises.certificate import KIND, Certificate, SealState, check
from ....calibration.promises.wishes import parse_all
from ...audit.engine import open_engine
from ...audit.maps import StoredCertificates
from ...audit.operators import states
from ...audit.store import hash_key
from ...audit.verdicts import Kind
from ...lab.promises import Certified, Labels, certify, read_labels, route_labels
from ...lab.promises_report import KIND as REPORT
from ...lab.promises_report import read_page, report_seal
from ...services.active_map import stored_maps
from ...services.reload import effective
from ..shared.files import readable, report_bad, unreadable
from ..shared.messages import counted, one_sentence, say, show_faults, show_text, stop
from ..shared.options import CONFIG, AsJson, ConfigPath, SkipBad
from ..shared.registry import check_route, map_registry
from ..shared.settings import calibrating_route, configuration
from ..shared.store import open_audit, whoami
from ..shared.times import moment
from .report import report

app = typer.Typer(help="Promise how often answers are wrong, with proof; list, show and verify certificates.")
app.command()(report)
_SEALS = {
    "valid": "as it was issued",
    "altered": "altered, or sealed with another key than audit.hash_key",
    "needs_key": "sealed with a key: set audit.hash_key in the configuration to verify it",
}


@app.callback(invoke_without_command=True)
def main(
    ctx: typer.Context,
    promise: Annotated[
        list[str] | None,
        typer.Option("--promise", "-p", help="What to promise, such as 'plain_wrong <= 5%'; several may be given."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="Labelled answers (JSONL, CSV, Parquet) with confidence, or alpha and beta; or use --route."
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Probability that all promises hold together.")] = 0.95,
    route: Annotated[
        str | None, typer.Option(help="The route it is for; without --data from its own verdicts.")
    ] = None,
    map_id: Annotated[
        str | None,
        typer.Option("--map", help="With --data: the map that calibrates alpha and beta, or that `confidence` is of."),
    ] = None,
    since: Annotated[str | None, typer.Option(help="Without --data: answers given since 14d, 36h or a date.")] = None,
    verdicts: Annotated[str, typer.Option(help="Without --data: whose verdicts count.")] = ",".join(get_args(Kind)),
    store: Annotated[
        bool, typer.Option("--store", help="Keep the certificate in the audit store, for serving.")
    ] = False,
    skip_bad: SkipBad = False,
    config: ConfigPath = CONFIG,
    as_json: AsJson = False,
) -> None:
    """Find thresholds that keep promises with a finite-sample guarantee; exits with status 1 if the labels do not support them."""
    if ctx.invoked_subcommand is not None:
        return
    with one_sentence():
        wishes = parse_all(promise or ())
        if not 0.5 <= confidence < 1.0:
            stop(f"--confidence is a probability from 0.5 to below 1, such as 0.95; got {confidence:g}")
        labels = (
            _from_route(config, route, since, verdicts)
            if data is None
            else _from_file(data, map_id, route, config, skip_bad)
        )
        certified = certify(labels, wishes, confidence, datetime.now(UTC))
        certified = _sealed(certified, config, store=store)
    show_text(json.dumps(certified.document(), indent=2)) if as_json else _print(certified, stored=store)
    if certified.certificate is None:
        raise typer.Exit(1)


@app.command("list")
def list_certificates(
    route: Annotated[str | None, typer.Option(help="Only those that hold for this route.")] = None,
    config: ConfigPath = CONFIG,
    as_json: AsJson = False,
) -> None:
    """List stored certificates, newest first, and faults of their chain; exits with status 1 if there are any."""
    with one_sentence(), _stored(config) as certificates:
        (stored, _), faults = certificates.read_all(route), certificates.verify()  # this names the damaged ones
    if as_json:
        show_text(json.dumps({"certificates": [one.to_dict() for one in stored], "faults": faults}, indent=2))
    elif not stored:
        say("no certificates yet; hedgerow certify --store keeps one")
    for one in () if as_json else stored:
        say(
            f"{one.id}  route {one.route or 'any'}  map {one.map_id or 'none'}  n={one.n}  {'; '.join(p.wish.text for p in one.promises)}"
        )
    if faults:
        show_faults(faults)
        raise typer.Exit(1)


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="The id, as in `hedgerow certify list`.")],
    config: ConfigPath = CONFIG,
) -> None:
    """Print a stored certificate as JSON; in a file, anybody with the key can verify it."""
    with one_sentence(), _stored(config) as certificates:
        certificate = certificates.get(name)
    if certificate is None:
        stop(f"there is no certificate {name!r}; hedgerow certify list lists them")
    show_text(certificate.to_json().removesuffix("\n"))


@app.command()
def verify(
    file: Annotated[
        Path, typer.Argument(help="A certificate as `certify --json` or `certify show` writes it, or a report.")
    ],
    config: ConfigPath = CONFIG,
    as_json: AsJson = False,
) -> None:
    """Verify a file against its seal with the audit's hash key, offline; exits with status 1 if it was changed."""
    content = _read(file)
    key = hash_key(configuration(config).audit) if config.exists() else b""
    with one_sentence():
        state = CHECKS[content["kind"]](content, key)
    keyless = state == "valid" and not str(content.get("seal", "")).startswith("hmac-")
    sentence = _SEALS[state] + ("; no key was used, so this is a checksum and not a signature" if keyless else "")
    show_text(
        json.dumps({"seal": state, "signed": state == "valid" and not keyless}) if as_json else f"{file}: {sentence}"
    )
    if state == "valid" and content["kind"] == REPORT and not as_json:
        for promise in content["promises"]:
            say(promise["line"])
    if state == "valid" and content["kind"] == KIND and not as_json:
        _print_certificate(Certificate.from_dict(content))
    if state != "valid":
        raise typer.Exit(1)


def certificate_seal(content: dict[str, Any], key: bytes) -> SealState:
    """The state of a certificate's seal.

    Raises:
        CertificateError: the seal is valid, but the content is not a certificate.
    """
    state = check(content, key)
    if state == "valid":
        Certificate.from_dict(content)
    return state


CHECKS = {KIND: certificate_seal, REPORT: report_seal}
"""By a file's top-level `kind`: the function (file, hash key) -> state of its seal."""


def _read(file: Path) -> dict[str, Any]:
    """The verifiable object of a file; for output of `certify --json`, the certificate in it."""
    try:
        text = file.read_text(encoding="utf-8")
        if text.lstrip().startswith("<"):
            with one_sentence():
                return read_page(text)
        content = json.loads(text)
    except OSError as error:
        unreadable(file, error)
    except (ValueError, RecursionError):
        stop(f"{file}: not a JSON file")
    if isinstance(content, dict) and "kind" not in content and "certificate" in content:
        content = content["certificate"]
        if content is None:
            stop(f"{file}: nothing was certified", code=1)
    if not isinstance(content, dict) or str(content.get("kind")) not in CHECKS:
        stop(f"{file}: neither a certificate nor a report: it has no `kind` that is one of {', '.join(CHECKS)}")
    return content


@contextmanager
def _stored(config: Path) -> Iterator[StoredCertificates]:
    with open_audit(config) as (settings, engine):
        yield StoredCertificates(engine, hash_key(settings.audit))


def _from_file(data: Path, map_id: str | None, route: str | None, config: Path, skip_bad: bool) -> Labels:
    check_route(route, None, config)
    fitted = None
    if map_id is not None:
        with map_registry(None, config) as registry:
            fitted = registry.load(map_id)
    with readable(data):
        labels = read_labels(data, map_id=map_id, fitted=fitted, route=route or "")
    report_bad(data, labels.bad, skip_bad)
    if not labels.correct.size:
        stop(f"{data}: contains no row with a label")
    return labels


def _from_route(config: Path, route: str | None, since: str | None, verdicts: str) -> Labels:
    if route is None:
        stop("--data names the labelled answers; --route takes a route's own verdicts")
    kinds = [kind.strip() for kind in verdicts.split(",")]
    if unknown := [kind for kind in kinds if kind not in get_args(Kind)]:
        stop(f"--verdicts: {unknown[0]!r} is not one of {', '.join(get_args(Kind))}")
    with open_audit(config) as (settings, engine):
        running = effective(settings, states(engine))
        chosen = calibrating_route(running, route)
        return route_labels(
            engine, stored_maps(running, engine), chosen, since=moment(since) if since else 0.0, kinds=kinds
        )


def _sealed(certified: Certified, config: Path, *, store: bool) -> Certified:
    """The result with its certificate sealed, and stored if requested."""
    if certified.certificate is None:
        return certified
    settings = configuration(config) if config.exists() or store else None
    key = hash_key(settings.audit) if settings else b""
    if settings is None or not store:
        return certified.with_certificate(certified.certificate.sealed(key))
    engine = open_engine(settings.audit)
    try:
        return certified.with_certificate(StoredCertificates(engine, key).add(certified.certificate, actor=whoami()))
    finally:
        engine.dispose()


def _print(certified: Certified, *, stored: bool) -> None:
    labels, outcome = certified.labels, certified.outcome
    say(
        f"{labels.about}, map {labels.map_id or 'none (uncalibrated)'}; all promises together with probability {certified.confidence:g}"
    )
    for promise in outcome.promises:
        say(f"  yes  {promise.in_words}")
    for refused in outcome.refused:
        say(f"  no   {refused.wish.sentence}: {refused.reason}")
    for reason, count in labels.left_out.items():
        say(f"  left out: {counted(count, 'row')} {reason}")
    for note in (*labels.notes, *outcome.notes):
        say(f"  note: {note}")
    if certified.certificate is None:
        return say("nothing is certified: a certificate needs every wish granted")
    shares = [] if outcome.share_plain is None else [f"{outcome.share_plain:.0%} of these answers go out plain"]
    if outcome.share_answered is not None and outcome.share_answered < 1.0:
        shares.append(f"{outcome.share_answered:.0%} are answered")
    kept = "stored" if stored else "not stored: --store keeps it, --json prints it"
    if shares:
        say(", ".join(shares))
    return say(f"certificate {certified.certificate.id} ({kept})")


def _print_certificate(certificate: Certificate) -> None:
    say(
        f"{certificate.id}: {certificate.data}, {certificate.issued_at:%Y-%m-%d}, probability {certificate.confidence:g}"
    )
    for promise in certificate.promises:
        say(f"  {promise.in_words}")
    for assumption in certificate.assumptions:
        say(f"  assumes: {assumption}")
