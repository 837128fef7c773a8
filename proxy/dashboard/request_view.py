"""One request's work as the pages show it, step by step: live from a flow, or later from its audit row.

Both make the same `RequestView`, so that the try-it page and the dashboard show a request through the same templates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hedgerow.calibration import Beta
from hedgerow.lexicon import Hedge, Lexicon
from hedgerow.proxy.dashboard.claims import NO_CLAIMS, Claims
from hedgerow.proxy.dashboard.claims import of_result as claims_of_result
from hedgerow.proxy.dashboard.claims import of_row as claims_of_row
from hedgerow.proxy.monitoring.diagrams import Curve, curves
from hedgerow.proxy.pipeline.result import Result
from hedgerow.proxy.types import Json

STEPS = ("sample", "cluster", "confidence", "calibrate", "decide", "retrieve", "rewrite")


@dataclass(frozen=True, slots=True)
class Wording:
    """One wording among the answers of a cluster, and how many answers have it. `text` is None where no text was kept."""

    text: str | None
    count: int


@dataclass(frozen=True, slots=True)
class Group:
    """Answers of one meaning; the first group speaks for the answer."""

    size: int
    wordings: tuple[Wording, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A retrieved hedge. `hedge` is None where the lexicon no longer has it."""

    id: str
    distance: float
    hedge: Hedge | None
    used: bool
    drawn: tuple[Curve, ...]


@dataclass(frozen=True, slots=True)
class RequestView:
    """What became of a request; whatever is not known (yet) is None or empty. `own` is how sure the draft's own words sound."""

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
        """How many answers were compared."""
        return sum(group.size for group in self.groups)

    @property
    def agreeing(self) -> int | None:
        """Answers in the largest group, where their share is the raw confidence; None where it comes from something else."""
        if self.signal != "semantic" or self.raw is None or not self.groups:
            return None
        size = self.groups[0].size
        return size if abs(self.raw.mean - size / self.answers) < 1e-3 else None

    @property
    def graded(self) -> float | None:
        """Answers that say what the draft says, each counted by the probability that it does; None where whole groups or another signal were counted."""
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
        """The step under way, where the request is."""
        return next((step for step in STEPS if step not in (self.timings_ms or {})), None)


def of_result(result: Result, live: Sequence[str], *, ended: bool) -> RequestView:
    """The view as far as the request has come. `live` are the answers as they are being written."""
    clustering, confidence, rewording = result.clustering, result.confidence, result.rewording
    used = rewording.hedge if rewording else None
    target = confidence.calibrated if confidence else None
    return RequestView(
        question=result.job.question,
        wanted=result.job.route.sampling.n,
        live=tuple(live),
        groups=grouped(clustering.clusters, result.drawn.texts) if clustering else (),
        claims=claims_of_result(result) if ended else NO_CLAIMS,  # once: finding the passages takes its time
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
    """The view of an audit row; hedges are looked up in the lexicon that the route has now."""
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
    """Clusters with the wordings in them, the commonest first."""
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
