"""The steps of one request for the pages: live from its run, or later from its audit row.

Both produce the same `RequestView`, so that the try page and the dashboard use the same templates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...calibration import Beta
from ...lexicon import Hedge, Lexicon
from ..monitoring.diagrams import Curve, curves
from ..pipeline.result import Result
from ..types import Json
from .claims import NO_CLAIMS, Claims
from .claims import of_result as claims_of_result
from .claims import of_row as claims_of_row

STEPS = ("sample", "cluster", "confidence", "calibrate", "decide", "retrieve", "rewrite")


@dataclass(frozen=True, slots=True)
class Wording:
    """One wording among the answers of a cluster, with its number of answers. `text` is None if it was not kept."""

    text: str | None
    count: int


@dataclass(frozen=True, slots=True)
class Group:
    """Answers of one meaning; the first group contains the draft."""

    size: int
    wordings: tuple[Wording, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A retrieved hedge. `hedge` is None if the lexicon no longer has it."""

    id: str
    distance: float
    hedge: Hedge | None
    used: bool
    drawn: tuple[Curve, ...]


@dataclass(frozen=True, slots=True)
class RequestView:
    """The data on a request; unknown values are None or empty. `own` is the perceived confidence of the draft's own words."""

    question: str | None = None
    wanted: int | None = None
    live: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()
    claims: Claims = NO_CLAIMS
    decided_by: Mapping[str, int] | None = None
    signal: str | None = None
    map_id: str | None = None
    warnings: tuple[str, ...] = ()
    raw: Beta | None = None
    calibrated: Beta | None = None
    perceived: Beta | None = None
    own: Beta | None = None
    candidates: tuple[Candidate, ...] = ()
    status: str | None = None
    reason: str | None = None
    detail: str | None = None
    draft: str | None = None
    final: str | None = None
    rewriter: str | None = None
    attempts: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] | None = None
    tokens: Mapping[str, int] | None = None
    cost: tuple[float | None, float | None] = (None, None)

    @property
    def curves(self) -> tuple[Curve, ...]:
        """Raw, calibrated and perceived confidence."""
        return curves((("raw", self.raw), ("calibrated", self.calibrated), ("perceived", self.perceived)))

    @property
    def answers(self) -> int:
        """Number of compared answers."""
        return sum(group.size for group in self.groups)

    @property
    def agreeing(self) -> int | None:
        """Number of answers in the largest group, if their share is the raw confidence; else None."""
        if self.signal != "semantic" or self.raw is None or not self.groups:
            return None
        size = self.groups[0].size
        return size if abs(self.raw.mean - size / self.answers) < 1e-3 else None

    @property
    def graded(self) -> float | None:
        """Number of answers that agree with the draft, weighted by the probability that they do; None if whole groups or another signal were used."""
        if self.signal != "semantic" or self.raw is None or not self.groups or self.agreeing is not None:
            return None
        return self.raw.mean * self.answers

    @property
    def passed_over(self) -> bool:
        """Whether a hedge was used although others are nearer."""
        used = [candidate.distance for candidate in self.candidates if candidate.used]
        return bool(used) and used[0] > self.candidates[0].distance + 1e-3

    @property
    def running(self) -> str | None:
        """The step in progress, while the request is running."""
        return next((step for step in STEPS if step not in (self.timings_ms or {})), None)


def of_result(result: Result, live: Sequence[str], *, ended: bool) -> RequestView:
    """The view of a running request. `live` are the answers being written."""
    clustering, confidence, rewording = result.clustering, result.confidence, result.rewording
    used = rewording.hedge if rewording else None
    target = confidence.calibrated if confidence else None
    return RequestView(
        question=result.job.question,
        wanted=result.job.route.sampling.n,
        live=tuple(live),
        groups=grouped(clustering.clusters, result.drawn.texts) if clustering else (),
        claims=claims_of_result(result) if ended else NO_CLAIMS,  # once, because finding the passages is slow
        decided_by=clustering.decided_by if clustering else None,
        signal=result.signal,
        map_id=confidence.map_id if confidence else None,
        warnings=confidence.warnings if confidence else (),
        raw=confidence.raw if confidence else None,
        calibrated=target,
        perceived=rewording.perceived if rewording else None,
        own=result.own if ended else None,
        candidates=tuple(candidate(m.hedge.id, m.distance, m.hedge, m.hedge.id == used, target) for m in result.hedges),
        status=result.status if ended else None,
        reason=result.reason,
        detail=result.detail,
        draft=result.draft if clustering or ended else None,
        final=result.text if ended else None,
        rewriter=rewording.rewriter if rewording else None,
        attempts=rewording.attempts if rewording else (),
        timings_ms=result.timings_ms,
        tokens={purpose: spent.total for purpose, spent in result.usage.items()},
        cost=result.cost,
    )


def of_row(row: Json, lexicon: Lexicon | None) -> RequestView:
    """The view of an audit row; hedges are looked up in the route's present lexicon."""
    steps = row["story"] or {}
    raw, calibrated = _beta(row["raw_alpha"], row["raw_beta"]), _beta(row["alpha"], row["beta"])
    texts: Json = {} if row["store_text"] == "hashed" else row["texts"] or {}
    return RequestView(
        question=texts.get("question"),
        groups=grouped(steps.get("clusters", ()), texts.get("samples")),
        claims=claims_of_row(row, texts),
        decided_by=steps.get("decided_by"),
        signal=row["signal"],
        map_id=row["map_id"],
        warnings=tuple(steps.get("map_warnings", ())),
        raw=raw,
        calibrated=calibrated,
        perceived=_perceived(row, steps),
        own=_beta(row.get("own_alpha"), row.get("own_beta")),
        candidates=tuple(
            candidate(
                hedge["id"],
                hedge["distance"],
                lexicon.get(hedge["id"]) if lexicon else None,
                hedge["id"] == row["hedge"],
                calibrated,
            )
            for hedge in steps.get("hedges", ())
        ),
        status=row["status"],
        reason=row["reason"],
        detail=steps.get("detail"),
        draft=texts.get("draft"),
        final=texts.get("answer"),
        rewriter=row["rewriter"],
        attempts=tuple(steps.get("attempts", ())),
        timings_ms=steps.get("timings_ms"),
        tokens={name: row[f"tokens_{name}"] or 0 for name in ("answer", "samples", "rewrite", "escalation")},
        cost=(row["cost_answer"], row["cost_calibration"]),
    )


def grouped(clusters: Iterable[Sequence[int]], texts: Sequence[str | None] | None) -> tuple[Group, ...]:
    """Clusters with their wordings, most frequent first."""
    groups = []
    for cluster in clusters:
        if texts is None:
            groups.append(Group(len(cluster), (Wording(None, len(cluster)),)))
            continue
        counted = Counter((texts[i] or "").strip() for i in cluster)
        groups.append(Group(len(cluster), tuple(Wording(text, count) for text, count in counted.most_common())))
    return tuple(groups)


def candidate(name: str, distance: float, hedge: Hedge | None, used: bool, target: Beta | None) -> Candidate:
    """A retrieved hedge with its density beside the target's."""
    drawn = () if hedge is None else curves((("target", target), ("perceived", hedge.beta)), cells=40)
    return Candidate(name, distance, hedge, used, drawn)


def _beta(alpha: float | None, beta: float | None) -> Beta | None:
    return None if alpha is None or beta is None else Beta(alpha, beta)


def _perceived(row: Json, steps: Json) -> Beta | None:
    in_story = steps.get("perceived")
    beta = _beta(row.get("perceived_alpha"), row.get("perceived_beta"))
    return beta or (_beta(in_story["alpha"], in_story["beta"]) if in_story else None)
