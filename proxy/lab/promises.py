"""Certificates of promises, learned from labelled answers of a file or from a route's own verdicts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...calibration import FittedMap
from ...calibration.arrays import FloatArray
from ...calibration.clusters import first_of_each, rests_on
from ...calibration.drift import compare, raw_histogram
from ...calibration.errors import CalibrationError, NotEnoughData
from ...calibration.fitting import data_hash
from ...calibration.maps.local import LocalMap
from ...calibration.promises.certificate import Certificate
from ...calibration.promises.learning import Outcome, Refused, learn, thinned
from ...calibration.promises.wishes import Wish
from ..audit.engine import Engine
from ..audit.labelled import count_answers, count_by_map, read_labelled, read_raw_means
from ..config import Route
from ..errors import InputError
from ..services.active_map import ActiveMaps
from ..types import Json
from .datasets import BadRow, read_objects
from .forms import found_in, labelled_form, names_of
from .rows import confidence_of, is_picked

PICKED_ROWS = "picked by the review queue for their confidence"
"""Reason for leaving verdicts out: they are not a random sample of served answers."""
REPEATED = "of a user, conversation or question that has one already, or about one answer: by lot one of each counts"
"""Reason for leaving labels out that depend on others."""
UNDRAWN = "without a lot of their own, beside answers drawn with unequal probabilities"
THINNED = "by lot, so that answers drawn with unequal probabilities count alike"
"""Reasons for leaving labels out if `propensity` is not the same for all."""
ONE_SIDED = 20
"""From this many client verdicts on, it is suspicious if all of them are positive."""
UNLIKE = 0.001
"""p-value below which labelled answers count as selected by their confidence."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Labelled answers from which promises are learned; arrays of shape (n,).

    Attributes:
        confidence: calibrated means.
        correct: 0..1, 1 = right.
        sender: the key whose client sent each; None for people, graders, imports, and where it is not known.
        map_id: the map whose means these are; None: uncalibrated.
        about: their origin, as text.
        notes: remarks on how they were collected.
        left_out: number of unused rows, by reason.
    """

    confidence: FloatArray
    correct: FloatArray
    map_id: str | None
    about: str
    route: str = ""
    signal: str = ""
    model: str = ""
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    bad: tuple[BadRow, ...] = ()
    sender: NDArray[np.object_] | None = None


@dataclass(frozen=True, slots=True)
class Certified:
    """The result of an attempt: the outcome, and the certificate if every wish is granted."""

    labels: Labels
    outcome: Outcome
    confidence: float
    certificate: Certificate | None

    def with_certificate(self, certificate: Certificate) -> Certified:
        """A copy with another certificate: the sealed one."""
        return replace(self, certificate=certificate)

    def document(self) -> Json:
        """Every figure as a JSON object."""
        outcome = self.outcome
        return {
            "certified": outcome.certified, "n": outcome.n, "confidence": self.confidence, "labels_needed": outcome.labels_needed,
            "share_plain": outcome.share_plain, "share_answered": outcome.share_answered, "map_id": self.labels.map_id,
            "route": self.labels.route or None, "data": self.labels.about,
            "promises": [{"certified": True, **promise.to_dict()} for promise in outcome.promises] + [_refused(refusal) for refusal in outcome.refused],
            "notes": [*self.labels.notes, *outcome.notes], "left_out": dict(self.labels.left_out),
            "certificate": self.certificate.to_dict() if self.certificate else None,
        }  # fmt: skip


def _refused(refusal: Refused) -> Json:
    return {
        "certified": False, "promise": refusal.wish.text, "sentence": refusal.wish.sentence, "reason": refusal.reason, "labels_needed": refusal.labels_needed,
    }  # fmt: skip


def certify(labels: Labels, wishes: Sequence[Wish], confidence: float, now: datetime) -> Certified:
    """Learn thresholds from labels; with a certificate, not yet sealed, if every wish is granted.

    Raises:
        CalibrationError: there are no labels, rows are duplicated, or values are out of range.
    """
    if labels.correct.size == 0:
        raise NotEnoughData(f"{labels.about}: no labelled answer to learn from")

    def learned(kept: NDArray[np.intp] | slice) -> Outcome:
        return learn(labels.confidence[kept], labels.correct[kept], wishes, level=1.0 - confidence)

    outcome = learned(slice(None))
    if outcome.certified and labels.sender is not None:
        key = rests_on(labels.sender, lambda kept: kept.size > 0 and learned(kept).certified)
        outcome = outcome if key is None else _of_one_key(outcome, key, alone=set(labels.sender) == {key})
    if outcome.thresholds is None:
        return Certified(labels, outcome, confidence, None)
    digest = data_hash(labels.confidence, labels.correct)
    now = now.astimezone(UTC)
    certificate = Certificate(
        id="-".join(["promises", labels.route or "any", f"{now:%Y%m%d-%H%M%S}", digest[:8]]),
        issued_at=now,
        thresholds=outcome.thresholds,
        promises=outcome.promises,
        confidence=confidence,
        n=outcome.n,
        data_hash=digest,
        goals=tuple(wish.sentence for wish in wishes if wish.limit is None),
        data=labels.about,
        map_id=labels.map_id,
        route=labels.route,
        signal=labels.signal,
        model=labels.model,
        notes=(*labels.notes, *outcome.notes),
    )
    return Certified(labels, outcome, confidence, certificate)


def _of_one_key(outcome: Outcome, key: str, *, alone: bool) -> Outcome:
    """The outcome of labels that bear it out only with those that one key's client sent: nothing is certified on its word, unless all are its own."""
    if alone:
        return replace(outcome, notes=(*outcome.notes, f"All labels are verdicts of the client of key {key!r}."))
    note = f"Without the verdicts of the client of key {key!r} these labels do not bear it out, and no promise rests on one client's word."
    return replace(outcome, thresholds=None, notes=(*outcome.notes, note))


def read_labels(path: Path, *, map_id: str | None = None, fitted: FittedMap | None = None, route: str = "") -> Labels:
    """Labelled answers of a file: `confidence` (calibrated), or `alpha` and `beta`, which the map calibrates; and `correct`.

    Rows of an audit export hold both: with a map their raw confidence is calibrated again, without one the confidence at which they were
    served is used. Rows without a label are left out; duplicate rows count once.

    Args:
        map_id: the map; None: the confidences are used unchanged.
        fitted: the map itself; needed if rows hold `alpha` and `beta`.

    Raises:
        InputError: two rows contradict each other, the map was fitted on these labels, or rows come from several maps.
        OSError: the file cannot be read.
    """
    rows: list[_LabelledRow] = []
    bad: list[BadRow] = []
    seen: dict[object, _LabelledRow] = {}
    left_out = {"without a label": 0, "there twice": 0, PICKED_ROWS: 0}
    for line, content in read_objects(path):
        try:
            row = content if isinstance(content, BadRow) else _parsed(content, fitted is not None)
        except (ValueError, CalibrationError) as error:
            row = BadRow(line, str(error))
        if isinstance(row, BadRow):
            bad.append(row)
        elif row.name is not None and row.name in seen:
            earlier = seen[row.name]
            if None not in (earlier.correct, row.correct) and earlier.correct != row.correct:
                alike = (earlier.mean, earlier.alpha, earlier.beta) == (row.mean, row.alpha, row.beta)
                why = (
                    "has two labels that contradict each other"
                    if alike
                    else "has several confidences and labels: say in `claim` which claim of the answer each row is of"
                )
                raise InputError(f"{path}, line {line}: {row.name!r} {why}")
            left_out["there twice"] += 1
        else:
            left_out["without a label"] += row.correct is None
            left_out[PICKED_ROWS] += row.correct is not None and row.picked
            rows += [row] if row.correct is not None and not row.picked else []
            if row.name is not None:
                seen[row.name] = row
    maps = {row.map_id for row in rows}
    if map_id is None and len(maps) > 1:
        names = ", ".join(str(name) for name in sorted(maps, key=str))
        raise InputError(
            f"{path}: the rows are of several maps ({names}); name one with --map, which calibrates all anew"
        )
    rows, unequal = _drawn_alike(rows)
    left_out |= unequal
    asker, question, answer = np.array([row.clusters for row in rows], dtype=object).reshape(-1, 3).T
    varied = len(set(question)) >= ONE_SIDED  # else it is an instruction, which tells no row from another
    alone = _one_of_each(asker, answer, *([question] if varied else []))
    left_out[REPEATED] = len(rows) - alone.size
    rows = [rows[i] for i in alone]
    means = _means(path, rows, fitted)
    correct = np.array([row.correct for row in rows], dtype=np.float64)
    only = next(iter(maps), None) if map_id is None else map_id
    about = f"{correct.size:,} labelled answers of a file"
    used = {reason: count for reason, count in left_out.items() if count}
    return Labels(means, correct, only, about, route, fitted.provenance.signal if fitted else "", left_out=used, bad=tuple(bad), sender=np.array([row.sender for row in rows], dtype=object))  # fmt: skip


@dataclass(frozen=True, slots=True)
class _LabelledRow:
    """A row of a file: a mean, or a Beta to calibrate."""

    name: object
    correct: float | None
    mean: float | None
    alpha: float
    beta: float
    map_id: str | None
    picked: bool
    lot: float
    clusters: tuple[str | None, str | None, str | None]
    sender: str | None


def _parsed(content: Mapping[str, Any], with_map: bool) -> _LabelledRow:
    """A row from its JSON object.

    Raises:
        ValueError: it cannot be used; the message is the reason.
    """
    form = labelled_form(content)
    if "correct" not in form:
        raise ValueError(f"expected a label: one of {names_of('correct')}. {found_in(content)}")
    correct = None if form["correct"] is None else _share("correct", form["correct"])
    name = form.get("id")
    if not isinstance(name, str | int):
        name = json.dumps(content, sort_keys=True, default=str) if "question" in content else None
    elif form.get("claim") is not None:
        name = f"{name}, claim {form['claim']}"
    is_raw = isinstance(form.get("raw"), dict) or form.get("raw_alpha") is not None
    map_id = form.get("map_id") if is_raw and not with_map else None
    known = is_picked(form), _lot(form), _clusters(form), form.get("key") if form.get("kind") == "client" else None
    if form.get("confidence") is not None:
        return _LabelledRow(name, correct, _share("confidence", form["confidence"]), 1.0, 1.0, map_id, *known)
    held = confidence_of(form, served=not with_map)
    if held is None:
        raise ValueError(
            f"expected one of {names_of('confidence')}, 'counts', or 'alpha' and 'beta'. {found_in(content)}"
        )
    return _LabelledRow(name, correct, None, held[0].alpha, held[0].beta, map_id, *known)


def _clusters(form: Json) -> tuple[str | None, str | None, str | None]:
    """Whom, what question and which answer a row is of, as far as it says so; rows that share one depend on each other."""
    named = (form.get(name) for name in ("asker", "question_hash", "answer_id"))
    asker, question, answer = (None if name in (None, "") else str(name) for name in named)
    asked = form.get("question")
    return asker, question or (asked if isinstance(asked, str) and asked else None), answer


def _one_of_each(*clusters: NDArray[np.object_]) -> NDArray[np.intp]:
    """The indices of labels of which no two share a cluster: by lot, with a fixed seed."""
    order = np.random.default_rng(0).permutation(clusters[0].size)
    return np.sort(order[first_of_each(*(key[order] for key in clusters))])


def _lot(form: Json) -> float:
    """Probability with which the answer was drawn for its verdict.

    NaN if the row does not say, or if a grader drew it, which draws all with the same probability.
    """
    propensity = form.get("propensity")
    return math.nan if propensity is None or form.get("kind") == "grader" else _share("propensity", propensity)


def _alike(lot: FloatArray) -> tuple[NDArray[np.intp], dict[str, int]]:
    """The indices of labels that are equally likely, and the number of other labels by the reason to leave them out.

    If all drawing probabilities are equal, all labels are equally likely, whoever else labels too. If not, the
    probability of each label must be known, and labels are thinned to the rarest with a fixed seed.
    """
    drawn = np.flatnonzero(~np.isnan(lot))
    if np.unique(lot[drawn]).size < 2:
        return np.arange(lot.size), {}
    kept = drawn[thinned(lot[drawn], rng=np.random.default_rng(0))]
    return kept, {UNDRAWN: lot.size - drawn.size, THINNED: drawn.size - kept.size}


def _drawn_alike(rows: list[_LabelledRow]) -> tuple[list[_LabelledRow], dict[str, int]]:
    kept, left_out = _alike(np.array([row.lot for row in rows], dtype=np.float64))
    return [rows[i] for i in kept], left_out


def _share(name: str, value: object) -> float:
    if not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise ValueError(f"{name!r}: expected a number from 0 to 1")
    return float(value)


def _means(path: Path, rows: Sequence[_LabelledRow], fitted: FittedMap | None) -> FloatArray:
    """Calibrated means; a map that was fitted on these labels is refused."""
    measured = [row for row in rows if row.mean is None]
    if measured and fitted is not None and fitted.map.kind == LocalMap.kind:
        raise InputError(
            f"{path}: the map reads the question, so that alpha and beta alone do not say what it makes of an answer; give `confidence` as "
            "it was served, or certify a route's own verdicts"
        )
    alpha, beta = (np.array([getattr(row, part) for row in measured]) for part in ("alpha", "beta"))
    if fitted is not None and measured:
        correct = np.array([row.correct for row in measured], dtype=np.float64)
        if data_hash(alpha, beta, correct) == fitted.provenance.data_hash:
            raise InputError(
                f"{path}: the map was fitted on these very labels, so they cannot show how well it does; certify on others, such as "
                "the part that was held back"
            )
    raw = alpha / (alpha + beta)
    calibrated = iter(raw if fitted is None else fitted.map.means(raw))
    return np.array([next(calibrated) if row.mean is None else row.mean for row in rows], dtype=np.float64)


def route_labels(engine: Engine, maps: ActiveMaps, route: Route, *, since: float, kinds: Sequence[str]) -> Labels:
    """The verdicts on a route's answers since its map was fitted, calibrated with that map.

    For a map that depends on the question, only answers that it calibrated count, at the confidence at which they were served. Verdicts on
    answers that the review queue selected by confidence are left out: promises are about shares of all served answers.

    Raises:
        InputError: there are no verdicts, or only positive ones of clients.
        StoreError: the audit store cannot be read.
    """
    counts = count_by_map(engine, route=route.name, since=since)
    in_use = max(maps.of_route(route, route.signal).values(), key=lambda active: counts.get(active.version, 0))
    if in_use.fitted is not None:
        since = max(since, in_use.fitted.provenance.fitted_at.timestamp())
    as_served = in_use.map.kind == LocalMap.kind
    judged = read_labelled(
        engine,
        route=route.name,
        map_id=in_use.version,
        any_map=not as_served,
        signal=route.signal,
        asked_since=since,
        kinds=kinds,
        lots=True,
    )
    labelled = judged.drawn()
    picked = judged.correct.size - labelled.correct.size
    kept, unequal = _alike(labelled.lot)
    labelled = labelled.rows(kept)
    alone = _one_of_each(labelled.asker, labelled.question)
    unequal[REPEATED] = labelled.correct.size - alone.size
    labelled = labelled.rows(alone)
    left_out = {reason: n for reason, n in ({PICKED_ROWS: picked} | unequal).items() if n}
    when = f" since {datetime.fromtimestamp(since, UTC):%Y-%m-%d %H:%M} (UTC)" if since else ""
    if labelled.correct.size == 0 and picked:
        raise InputError(
            f"route {route.name}: all {picked} verdicts{when} are on answers that the review queue picked for their confidence, which is no random sample"
        )
    if labelled.correct.size == 0:
        why = (
            ", when its map was fitted: labels that the map has seen prove nothing" if in_use.fitted is not None else ""
        )
        raise InputError(f"route {route.name}: no verdict on an answer given{when}{why}")
    _refuse_praise(engine, route, since, kinds)
    raw = labelled.raw_alpha / (labelled.raw_alpha + labelled.raw_beta)
    served = np.concatenate(
        [read_raw_means(engine, route=route.name, map_id=map_id, since=since)[1] for map_id in count_by_map(engine, route=route.name, since=since)]
    )  # fmt: skip
    notes = _selection(raw, served, count_answers(engine, route=route.name, since=since))
    about = f"{labelled.correct.size:,} verdicts ({', '.join(kinds)}) on answers of route {route.name}{when}"
    means = labelled.mean if as_served else in_use.map.means(raw)
    return Labels(
        means, labelled.correct, in_use.version, about, route.name, route.signal, route.model or "", notes, left_out,
        sender=labelled.sender,
    )  # fmt: skip


def _refuse_praise(engine: Engine, route: Route, since: float, kinds: Iterable[str]) -> None:
    if "client" not in kinds:
        return
    by_clients = read_labelled(
        engine, route=route.name, any_map=True, signal=route.signal, asked_since=since, kinds=("client",)
    )
    if by_clients.correct.size >= ONE_SIDED and (by_clients.correct == 1.0).all():
        raise InputError(
            f"route {route.name}: all {by_clients.correct.size} verdicts of clients say right, as where only praise is sent; that is not a sample. "
            "Leave them out: --verdicts human,grader,import"
        )


def _selection(raw: FloatArray, served: FloatArray, answers: int) -> tuple[str, ...]:
    """Remarks on how the labelled answers seem to have been selected."""
    notes = []
    if raw.size < answers:
        notes.append(f"{raw.size:,} of {answers:,} answers have a label; it must have been chance which.")
    distance = compare(raw_histogram(served), raw_histogram(raw)) if served.size else None
    if distance is not None and distance.p_value < UNLIKE:
        more = "more" if raw.mean() > served.mean() else "less"
        notes.append(
            f"Labelled answers are {more} confident than those served (mean {raw.mean():.2f}, not {served.mean():.2f}): they were not drawn at random."
        )
    return tuple(notes)
