"""`hedgerow fit --map local`: a map that reads the question, stored, and activated only where it beats the map of the confidence alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ....calibration.regimes.discovery import Columns, Discovery
from ....calibration.regimes.local import STEPS, LocalFit, fit_local
from ...audit.operators import set_state
from ...lab.fitting import version_of
from ...lab.regime_data import Questions, RegimeRows
from ...lab.regime_words import contrastive_terms
from ..shared.messages import one_sentence, say, show_text, stop
from ..shared.progress import progress_bar
from ..shared.questions import embedded, labelled_rows, report_left_out, rows_of_records, samples_in
from ..shared.records import Audited, Labelled, load_records
from ..shared.settings import configuration, named_route
from ..shared.store import open_audit, whoami
from .storing import Storing


def fit_local_map(source: Labelled | Audited, storing: Storing, *, as_json: bool, skip_bad: bool) -> None:
    """Learn from a file or from a route's audit, store, and activate where that is asked for and the map helps.

    Args:
        source: what is learned from.
        storing: where the map goes.
        as_json: print the stored map as JSON.
        skip_bad: continue without rows that cannot be used.
    """
    if isinstance(source, Audited) and storing.folder is not None:
        stop("--folder goes with --data: a map from a route's audit is stored where the route finds it")
    rows, signal = _rows(source, storing.config, skip_bad)
    report_left_out(source.data if isinstance(source, Labelled) else source.route, rows, skip_bad)
    with one_sentence(), progress_bar() as progress:
        questions = embedded(rows, progress)
        task = progress.add_task("Learning and comparing", total=STEPS)
        made = fit_local(
            questions.columns, questions.alpha, questions.beta, signal=signal, model=storing.model or "",
            describe=lambda held, discovery: _words(questions, held, discovery), done=lambda: progress.advance(task),
        )  # fmt: skip
    name, used = storing.version or version_of(made.fitted, "local", signal), storing.activate and made.helps
    place = storing.store(name, made.fitted, activate=used and isinstance(source, Labelled))
    if used and isinstance(
        source, Audited
    ):  # as every refit from the audit: the route's own map, with who set it and why
        with open_audit(storing.config) as (_, engine):
            note = made.fitted.provenance.notes[0]
            set_state(engine, source.route, "map", name, actor=whoami(), note=note)
    _print(name, made, place, used, as_json)
    if storing.activate and not used:
        stop(
            f"{name} is stored but not activated: it does not beat the map of the confidence alone beyond noise", code=1
        )


def _rows(source: Labelled | Audited, config: Path, skip_bad: bool) -> tuple[RegimeRows, str]:
    """The labelled answers, and the signal that measured their confidence."""
    if isinstance(source, Audited):
        _, rows = labelled_rows(None, source.route, source.since, config)
        return rows, named_route(configuration(config), source.route).signal
    if not samples_in(source.data):
        return labelled_rows(source.data, None, None, config)[1], source.signal
    measured, _ = load_records(source.data, signal=source.signal, skip_bad=skip_bad)
    return rows_of_records(measured), source.signal


def _words(questions: Questions, held: Columns, discovery: Discovery) -> Sequence[Sequence[str]]:
    """The words of each regime: only terms that stand in several questions, no question itself."""
    texts = dict(zip(questions.columns.prompt.tolist(), questions.texts, strict=True))
    everything = set(held.prompt.tolist())
    inside = [set(held.prompt[regime.rows].tolist()) for regime in discovery.regimes]
    return [
        contrastive_terms((texts[prompt] for prompt in here), (texts[prompt] for prompt in everything - here))
        for here in inside
    ]


def _print(name: str, made: LocalFit, place: str, used: bool, as_json: bool) -> None:
    if as_json:
        content = made.fitted.to_dict()
        held = {"estimate": made.gain.mean, "low": made.gain.low, "high": made.gain.high, "n": made.n_held}
        return show_text(json.dumps({"version": name, **content, "gain": held, "activated": used}, indent=2))
    provenance = made.fitted.provenance
    say(f"{name}: fitted on {provenance.n} answers, {provenance.accuracy:.1%} of them right; stored in {place}")
    for note in provenance.notes:
        say(f"  {note}")
    if not made.helps:
        say("it does not beat the map of the confidence alone beyond noise; where it is active, that map serves")
    elif not used:
        say(f"not active yet; to activate it: hedgerow maps activate {name}")
    return None
