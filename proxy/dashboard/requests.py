"""Requests on the pages: the explorer, and the steps of one request, live from its run, or later from its audit row.

Both produce the same `RequestView`, so that the try page and the dashboard use the same templates.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args
from urllib.parse import urlencode

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ...calibration import Beta
from ...lexicon import Hedge, Lexicon
from ..api.access import store_of
from ..audit.explorer import EXPORT_PAGE, LISTED, MAX_TEXT, SHOWN_CHARS, Filter, Judged, Page, Place, requests
from ..audit.formats import Form, date_of, form_of, forms
from ..audit.store import AuditStore
from ..clustering.support import Passages
from ..config import Mode
from ..errors import InputError
from ..monitoring import figures
from ..monitoring.diagrams import Curve, curves
from ..outcomes import Status
from ..pipeline.result import Result, claim_row
from ..services.services import Services
from ..types import READERS, Json
from .render import SECURITY, page, rendered
from .visitor import Visitor

# The claims of a long answer for the pages: each with its support by every other answer.


@dataclass(frozen=True, slots=True)
class Bearing:
    """The relation of one other answer to a claim.

    Attributes:
        answer: its number among the answers drawn, from 1.
        says: whether it supports the claim (True), contradicts it (False), or does neither (None).
        passage: its passage about the claim; "" without one, None if its text was not kept.
    """

    answer: int
    says: bool | None
    passage: str | None


@dataclass(frozen=True, slots=True)
class ClaimView:
    """One claim.

    Attributes:
        number: its place among the claims of the answer, from 0.
        text: None if it was not kept.
        mean, raw: means of the calibrated and the raw confidence.
        by_words: whether which answers state it is known from their words, without a judge that read them.
        correct: the current verdict.
    """

    number: int
    text: str | None
    mean: float
    raw: float
    bearings: tuple[Bearing, ...]
    by_words: bool
    correct: float | None = None

    @property
    def said_by(self) -> int:
        """Number of other answers that support it."""
        return sum(bearing.says is True for bearing in self.bearings)

    @property
    def contradicted_by(self) -> int:
        """Number of other answers that contradict it."""
        return sum(bearing.says is False for bearing in self.bearings)


@dataclass(frozen=True, slots=True)
class Claims:
    """The data on an answer's claims; split into views in a worker thread when it is shown.

    Attributes:
        rows: as in the audit.
        words: None if they were not kept.
        held_against: indices of the answers to which `borne_out` refers.
        samples: texts of all answers; None if they were not kept.
        verdicts: the current ones, by claim.
    """

    rows: Sequence[Json] = ()
    words: Sequence[str] | None = None
    held_against: Sequence[int] = ()
    samples: Sequence[str | None] | None = None
    verdicts: Mapping[int, float] | None = None

    def views(self) -> tuple[ClaimView, ...]:
        """Each claim, in order."""
        known = self.samples is not None and self.words is not None and self.rows
        passages = Passages([self._text(i) for i in self.held_against]) if known else None
        return tuple(self._view(number, row, passages) for number, row in enumerate(self.rows))

    def _text(self, sample: int) -> str:
        return (self.samples or ())[sample] or "" if sample < len(self.samples or ()) else ""

    def _view(self, number: int, row: Json, passages: Passages | None) -> ClaimView:
        text = self.words[number] if self.words is not None else None
        quoted = passages.of(text) if passages is not None and text is not None else [None] * len(row["borne_out"])
        bearings = (
            Bearing(sample + 1, says, quote)
            for sample, says, quote in zip(self.held_against, row["borne_out"], quoted, strict=False)
        )
        (alpha, beta), (raw_alpha, raw_beta) = row["calibrated"], row["raw"]
        correct = (self.verdicts or {}).get(number)
        mean, raw = alpha / (alpha + beta), raw_alpha / (raw_alpha + raw_beta)
        by_words = row.get("by") not in READERS
        return ClaimView(number, text, mean, raw, tuple(bearings), by_words, correct)


NO_CLAIMS = Claims()


def claims_of_result(result: Result) -> Claims:
    """The claims of a request in progress."""
    if not result.claims:
        return NO_CLAIMS
    samples = [sample.text for sample in result.drawn.samples]
    rows, words = [claim_row(claim) for claim in result.claims], [claim.statement for claim in result.claims]
    return Claims(rows, words, result.held_against, samples)


def claims_of_row(row: Json, texts: Json) -> Claims:
    """The claims of an audit row, with the texts that may be shown."""
    verdicts = {verdict["claim"]: verdict["correct"] for verdict in row.get("claim_verdicts", ()) if verdict["current"]}
    held_against = (row["story"] or {}).get("held_against", ())
    return Claims(row.get("claims") or (), texts.get("claims"), held_against, texts.get("samples"), verdicts)


STEPS = ("sample", "cluster", "confidence", "calibrate", "decide", "retrieve", "rewrite")


@dataclass(frozen=True, slots=True)
class WordingView:
    """One wording among the answers of a cluster, with its number of answers. `text` is None if it was not kept."""

    text: str | None
    count: int


@dataclass(frozen=True, slots=True)
class SampleGroup:
    """Answers of one meaning; the first group contains the draft."""

    size: int
    wordings: tuple[WordingView, ...]


@dataclass(frozen=True, slots=True)
class CandidateView:
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
    groups: tuple[SampleGroup, ...] = ()
    claims: Claims = NO_CLAIMS
    decided_by: Mapping[str, int] | None = None
    signal: str | None = None
    map_id: str | None = None
    warnings: tuple[str, ...] = ()
    raw: Beta | None = None
    calibrated: Beta | None = None
    perceived: Beta | None = None
    own: Beta | None = None
    candidates: tuple[CandidateView, ...] = ()
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


def grouped(clusters: Iterable[Sequence[int]], texts: Sequence[str | None] | None) -> tuple[SampleGroup, ...]:
    """Clusters with their wordings, most frequent first."""
    groups = []
    for cluster in clusters:
        if texts is None:
            groups.append(SampleGroup(len(cluster), (WordingView(None, len(cluster)),)))
            continue
        counted = Counter((texts[i] or "").strip() for i in cluster)
        groups.append(
            SampleGroup(len(cluster), tuple(WordingView(text, count) for text, count in counted.most_common()))
        )
    return tuple(groups)


def candidate(name: str, distance: float, hedge: Hedge | None, used: bool, target: Beta | None) -> CandidateView:
    """A retrieved hedge with its density beside the target's."""
    drawn = () if hedge is None else curves((("target", target), ("perceived", hedge.beta)), cells=40)
    return CandidateView(name, distance, hedge, used, drawn)


def _beta(alpha: float | None, beta: float | None) -> Beta | None:
    return None if alpha is None or beta is None else Beta(alpha, beta)


def _perceived(row: Json, steps: Json) -> Beta | None:
    in_story = steps.get("perceived")
    beta = _beta(row.get("perceived_alpha"), row.get("perceived_beta"))
    return beta or (_beta(in_story["alpha"], in_story["beta"]) if in_story else None)


# The request explorer: a filter form whose fields are in the page's address, and export of the selected requests.

FIELDS = ("text", "route", "key", "model", "status", "verdict", "arm", "least", "most", "period", "since", "until")
"""The fields of the form, by their names in the address."""
CHOICES: Mapping[str, tuple[str, ...]] = {
    "status": tuple(Status),
    "verdict": get_args(Judged),
    "arm": get_args(Mode),
    "period": tuple(figures.PERIODS),
}
"""The choices of fields with a list."""


def asked(request: Request) -> dict[str, str]:
    """The fields that are filled in."""
    given = {name: request.query_params.get(name, "").strip() for name in FIELDS}
    return {name: value for name, value in given.items() if value}


def filter_of(fields: Mapping[str, str], now: float) -> Filter:
    """The filter for the fields of the form.

    Raises:
        InputError: a field cannot be read; the message names it.
    """
    for name, choices in CHOICES.items():
        if name in fields and fields[name] not in choices:
            raise InputError(f"{name} is {fields[name]!r}; choose one of {', '.join(choices)}.")
    if len(fields.get("text", "")) > MAX_TEXT:
        raise InputError(f"A search takes at most {MAX_TEXT} characters.")
    _, length = figures.PERIODS[fields.get("period", "7d")]
    dated = "since" in fields or "until" in fields
    return Filter(
        route=fields.get("route"),
        key=fields.get("key"),
        model=fields.get("model"),
        status=fields.get("status"),
        arm=fields.get("arm"),
        least=_share(fields, "least"),
        most=_share(fields, "most"),
        judged=fields.get("verdict"),  # type: ignore[arg-type]  # one of its choices
        text=fields.get("text"),
        since=_moment(fields, "since") if dated or length is None else now - length,
        until=_moment(fields, "until"),
    )


def _share(fields: Mapping[str, str], name: str) -> float | None:
    """A percentage as a share."""
    if name not in fields:
        return None
    try:
        share = float(fields[name]) / 100.0
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise InputError(f"The confidence {fields[name]!r} is not a percentage from 0 to 100.")
    return share


def _moment(fields: Mapping[str, str], name: str) -> float | None:
    """A date and time in UTC as seconds since 1970."""
    if name not in fields:
        return None
    if (at := date_of(fields[name])) is None:
        raise InputError(f"{fields[name]!r} is not a date and time such as 2026-11-22T09:30.")
    return at


async def requests_page(request: Request, services: Services, visitor: Visitor) -> Response:
    """The list, newest first; with an invalid field, a message above an empty list."""
    fields, problem, listing = asked(request), None, Page([], None)
    after = Place.read(request.query_params.get("after", ""))
    try:
        query = partial(requests, chosen=filter_of(fields, time.time()), after=after)
        listing = await store_of(request).read(query)
    except InputError as error:
        problem = str(error)

    def link(**changed: Any) -> str:
        """The address of this list with some fields changed."""
        return "?" + urlencode({name: value for name, value in (fields | changed).items() if value is not None})

    return await rendered(
        "requests.html",
        status=400 if problem else 200,
        visitor=visitor,
        here="/dashboard/requests",
        fields={name: fields.get(name, "") for name in FIELDS},
        filtered=bool(fields),
        listing=listing,
        shown_chars=SHOWN_CHARS,
        problem=problem,
        paged=after is not None,
        link=link,
        forms=forms(),
        periods=figures.PERIODS,
        choices=CHOICES,
        routes=[route.name for route in services.settings.routes],
        models=sorted({row["model"] for row in listing.rows if row["model"]}),
        keys=sorted({row["key"] for row in listing.rows if row["key"]}),
    )


async def export(request: Request, _services: Services, visitor: Visitor) -> Response:
    """All selected requests with complete texts, as a streamed file."""
    name = request.path_params["form"]
    try:
        chosen = filter_of(asked(request), time.time())
        form = await anyio.to_thread.run_sync(form_of, name, LISTED)
    except InputError as error:
        return page("missing.html", status=400, visitor=visitor, here="", what=str(error))
    headers = SECURITY | {"cache-control": "no-store", "content-disposition": f'attachment; filename="requests.{name}"'}
    return StreamingResponse(_pieces(store_of(request), chosen, form), media_type=form.content_type, headers=headers)


async def _pieces(store: AuditStore, chosen: Filter, form: Form) -> AsyncIterator[bytes]:
    """The file, a batch of rows at a time, so that neither memory nor a transaction grows with it."""
    after: Place | None = None
    while True:
        read = await store.read(partial(requests, chosen=chosen, after=after, size=EXPORT_PAGE, whole=True))
        yield await anyio.to_thread.run_sync(form.batch, read.rows)
        if (after := read.after) is None:
            yield await anyio.to_thread.run_sync(form.end)
            return
