"""The answer to the client, made from a result: its object with the field `hedgerow`, headers, and the same as a stream. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..outcomes import Reason, Status
from ..pipeline.eligibility import measures_choices
from ..pipeline.job import Job
from ..pipeline.promised import promised_or_why
from ..pipeline.result import (
    Result,
    beta_figures,
    claim_figures,
    field_figures,
    sentence_figures,
)
from ..rewriting import natural_pieces
from ..types import ClaimConfidence, Completion, Json, Usage
from ..upstreams.dialects.table import DIALECTS

ECHOED = ("temperature", "top_p")
"""Fields of a request that its answer may repeat: the draft may be the answer to a sampling call, which has others."""


def client_answer(result: Result) -> Json:
    """The answer in the endpoint's format: the draft's own object with the final text, the token usage and the field `hedgerow`."""
    job, dialect = result.job, DIALECTS[result.job.path]
    completion, choice = result.drawn.choices[result.draft_index]
    if measures_choices(job):
        return {**completion, "hedgerow": extra_field(result)} if job.route.expose.field else {**completion}
    if result.escalated is not None:
        completion, choice = result.escalated, result.escalated["choices"][0]
    elif result.reply is not None and result.drawn.samples[result.draft_index].has_tool_calls:
        choice = dialect.without_calls(choice)
    text = None if result.escalated is not None or result.text == result.draft else result.whole_text
    answer = dialect.answer(completion, choice, text, logprobs="logprobs" in job.chat)
    sums = job.route.expose.usage == "sum"
    usage = dialect.spent_in_all(result.total_usage) if sums else dialect.own_usage(completion, choice)
    answer = {key: value for key, value in answer.items() if key != "usage"}
    answer |= {name: job.body[name] for name in ECHOED if name in answer and job.body.get(name) is not None}
    if usage is not None:
        answer["usage"] = usage
    return answer | {"hedgerow": extra_field(result)} if job.route.expose.field else answer


def upstream_headers(result: Result) -> Sequence[tuple[bytes, bytes]]:
    """Headers of the call that brought the answer: its request id and remaining rate limits."""
    envelope = result.escalated or result.drawn.choices[result.draft_index][0]
    return envelope.headers if isinstance(envelope, Completion) else ()


def _counts(spent: Usage, cost: float | None) -> Json:
    return {
        "prompt_tokens": spent.prompt,
        "completion_tokens": spent.completion,
        "cached_tokens": spent.cached,
        "reasoning_tokens": spent.reasoning,
        "cost": cost,
    }


def extra_field(result: Result) -> Json:
    """The extra top-level field `hedgerow`: confidence, promises, samples, wording, and cost."""
    field: Json = {"id": result.job.id, "status": result.status, "reason": result.reason}
    if result.job.answered_by:
        field["upstream"] = result.job.answered_by
    field |= _confidence(result)
    if result.job.route.promises is not None:
        field["promises"] = promise_figures(result)
    field |= _parts(result) | _samples(result) | _wording(result)
    return field | {"usage": {name: _counts(spent, result.costs.get(name)) for name, spent in result.usage.items()}}


def _confidence(result: Result) -> Json:
    """The confidence in the answer, before and after the map."""
    confidence = result.confidence
    if confidence is None:
        return {}
    figures: Json = {
        "confidence": round(confidence.calibrated.mean, 6),
        "raw": beta_figures(confidence.raw),
        "calibrated": beta_figures(confidence.calibrated),
        "signal": confidence.signal,
        "map": confidence.map_id,
        "uncalibrated": confidence.map_id is None,
    }
    if confidence.interval is not None:
        figures["confidence_interval"] = [round(end, 6) for end in confidence.interval]
    return figures


def _parts(result: Result) -> Json:
    """The confidence in parts of the answer: choices, and claims or fields if the client gets the draft that contains them."""
    parts: Json = {}
    shows_draft = result.status not in (Status.ABSTAINED, Status.ESCALATED) or result.reason == Reason.CALLS_DISAGREE
    if result.claims and result.job.route.expose.claims and shows_draft:
        parts |= _claims(result.claims)
    if result.each:
        parts["choices"] = [
            {"index": one.index, "confidence": round(one.calibrated.mean, 6), "agreeing": one.agreeing}
            for one in result.each
        ]
    return parts


def _samples(result: Result) -> Json:
    """The drawn samples and their clusters."""
    drawn = result.drawn
    samples: Json = {}
    if result.clustering is not None:
        sizes = [len(cluster) for cluster in result.clustering.clusters]
        samples |= {"samples": len(drawn.compared), "clusters": sizes}
    if cut_off := sum(drawn.samples[i].finish_reason == "length" for i in drawn.compared):
        samples["truncated"] = cut_off
    if result.job.over_budget:
        samples["budget"] = "soft"
    if drawn.source != "upstream":
        samples["samples_from"] = drawn.source
    return samples


def _wording(result: Result) -> Json:
    """The retrieved hedges, and the result of rewriting with them."""
    wording: Json = {}
    if result.hedges:
        wording["hedges"] = [
            {"id": m.hedge.id, "phrase": m.hedge.phrase, "distance": round(m.distance, 6)} for m in result.hedges
        ]
    if (rewording := result.rewording) is not None:
        before = result.drawn.samples[result.draft_index].before
        wording["rewrite"] = {
            "hedge": rewording.hedge,
            "rewriter": rewording.rewriter,
            "attempts": list(rewording.attempts),
            "perceived": beta_figures(rewording.perceived),
        }
        if rewording.sentences:
            wording["sentences"] = [sentence_figures(each, len(before)) for each in rewording.sentences]
    return wording


def promise_figures(result: Result) -> Json:
    """The promises that cover the answer, their certificate, and the reason if not all do."""
    promised = promised_or_why(result)
    covered = [{"promise": text, "sentence": sentence} for text, sentence in promised.covered]
    return {"certificate": promised.certificate, "covered": covered, "reason": promised.reason}


def _claims(claims: Sequence[ClaimConfidence]) -> Json:
    """The claims of a long answer in order, or the fields of a JSON answer by path."""
    fields = {claim.path: field_figures(claim) for claim in claims if claim.path is not None}
    return {"fields": fields} if fields else {"claims": [claim_figures(claim) for claim in claims]}


def stream(answer: Json, job: Job) -> Iterator[bytes]:
    """An answer as the events of a stream, in the endpoint's format."""
    return DIALECTS[job.path].events(answer, natural_pieces, job.wants_usage)
