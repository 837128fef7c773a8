"""What is told of a flow: the answer object, the extra field, the headers, the audit row, the log line.

Pure functions of a `Flow`. The log line never holds text or keys; the audit is given texts apart from the row, and keeps what the route allows.
"""

from __future__ import annotations

import time
from typing import Any

from hedgerow.calibration import Beta
from hedgerow.proxy.audit.entry import Entry, Texts
from hedgerow.proxy.config import StoreText
from hedgerow.proxy.pipeline.job import Flow, Job
from hedgerow.proxy.types import Json, Usage, WordedSentence
from hedgerow.proxy.upstreams.answers import sample_of


def final_text(flow: Flow) -> str:
    """What the client reads: the rewording, the refusal, the stronger model's answer, or the draft."""
    if flow.status == "abstained" and flow.job.route.policy is not None:
        return flow.job.route.policy.refusal
    if flow.escalated is not None:
        return sample_of(flow.escalated["choices"][0]).text
    return flow.rewording.text if flow.rewording else flow.draft


def final_answer(flow: Flow) -> Json:
    """The completion object for the client: the draft's own, with the final text, one choice, all tokens and our field."""
    envelope, choice = flow.draft_choice
    if flow.escalated is not None:
        answer = flow.escalated | {"usage": usage_object(flow)}
        return answer | {"hedgerow": field(flow)} if flow.job.route.expose.field else answer
    choice = choice | {"index": 0}
    choice.pop("logprobs", None) if "logprobs" not in flow.job.body else None
    text = final_text(flow)
    if text != flow.draft:
        choice["logprobs"] = None  # they are not those of the new words
        if "message" in choice:
            choice["message"] = choice["message"] | {"content": text}
        else:
            choice["text"] = text
    answer = envelope | {"choices": [choice], "usage": usage_object(flow)}
    if flow.job.route.expose.field:
        answer["hedgerow"] = field(flow)
    return answer


def usage_object(flow: Flow) -> Json:
    """`usage` with all tokens spent; the upstream's details describe one call of several, so they stay out."""
    return _counts(flow.usage) | {"total_tokens": flow.usage.total}


def _counts(usage: Usage) -> Json:
    return {"prompt_tokens": usage.prompt, "completion_tokens": usage.completion}


def field(flow: Flow) -> Json:
    """The extra top-level field `hedgerow`."""
    told: Json = {"id": flow.job.id, "status": flow.status, "reason": flow.reason}
    if flow.raw is not None and flow.calibrated is not None and flow.applied is not None:
        told |= {
            "confidence": round(flow.calibrated.mean, 6),
            "raw": _beta(flow.raw),
            "calibrated": _beta(flow.calibrated),
            "signal": flow.signal,
            "map": flow.applied.id,
            "uncalibrated": flow.applied.id is None,
        }
    if flow.clustering is not None:
        told |= {"samples": len(flow.compared), "clusters": [len(cluster) for cluster in flow.clustering.clusters]}
    if cut_off := sum(flow.samples[i].finish_reason == "length" for i in flow.compared):
        told["truncated"] = cut_off
    if flow.samples_from != "upstream":
        told["samples_from"] = flow.samples_from
    if flow.matches:
        told["hedges"] = [
            {"id": m.hedge.id, "phrase": m.hedge.phrase, "distance": round(m.distance, 6)} for m in flow.matches
        ]
    if flow.rewording is not None:
        told["rewrite"] = {
            "hedge": flow.rewording.hedge,
            "rewriter": flow.rewording.rewriter,
            "attempts": list(flow.rewording.attempts),
            "perceived": _beta(flow.rewording.perceived) if flow.rewording.perceived else None,
        }
        if flow.rewording.sentences:
            told["sentences"] = [_sentence(one) for one in flow.rewording.sentences]
    told["usage"] = {
        "answer": _counts(flow.answer_usage),
        "samples": _counts(flow.sample_usage),
        "rewrite": _counts(flow.rewrite_usage),
        "escalation": _counts(flow.escalation_usage),
    }
    return told


def _beta(beta: Beta) -> Json:
    return {"alpha": round(beta.alpha, 9), "beta": round(beta.beta, 9), "mean": round(beta.mean, 6)}


def _sentence(one: WordedSentence) -> Json:
    return {
        "start": one.start,
        "end": one.end,
        "confidence": None if one.target is None else round(one.target.mean, 6),
        "status": one.status,
        "hedge": one.hedge,
    }


def headers(flow: Flow) -> list[tuple[bytes, bytes]]:
    """The headers `x-hedgerow-*`, unless the route hides them."""
    if not flow.job.route.expose.headers:
        return []
    told = [(b"x-hedgerow-status", flow.status.encode()), (b"x-hedgerow-audit-id", flow.job.id.encode())]
    if flow.reason is not None:
        told.append((b"x-hedgerow-reason", flow.reason.encode("ascii", "replace")))
    if flow.calibrated is not None:
        told.append((b"x-hedgerow-confidence", f"{flow.calibrated.mean:.4f}".encode()))
    return told


def entry(flow: Flow, *, mode: str, store_text: StoreText, perceived: Beta | None) -> Entry:
    """What the audit is told of a calibrated request. `perceived` is heard in the final words."""
    texts = Texts(
        question=flow.job.question,
        draft=flow.draft if flow.choices else None,
        answer=final_text(flow) if flow.choices else None,
        served=flow.served,
        samples=tuple(sample.text for sample in flow.samples),
    )
    return Entry(row(flow, mode=mode, perceived=perceived), texts, user_of(flow.job), store_text)


def user_of(job: Job) -> str | None:
    """The client's own name for its user, where it gives one: `safety_identifier`, or `user` as it was called before."""
    named = (job.body.get(name) for name in ("safety_identifier", "user"))
    return next((name for name in named if isinstance(name, str) and name), None)


def row(flow: Flow, *, mode: str, perceived: Beta | None) -> dict[str, Any]:
    """The figures and codes of a calibrated request."""
    raw, calibrated = flow.raw, flow.calibrated
    filled: dict[str, Any] = plain_row(flow.job, mode=mode, status=flow.status, reason=flow.reason)
    filled |= {
        "http_status": flow.http_status,
        "response_id": _response_id(flow),
        "signal": flow.signal,
        "samples": len(flow.choices) or None,
        "clusters": len(flow.clustering.clusters) if flow.clustering else None,
        "served_agrees": flow.served_agrees,
        "tokens_answer": flow.answer_usage.total,
        "tokens_samples": flow.sample_usage.total,
        "tokens_rewrite": flow.rewrite_usage.total,
        "tokens_escalation": flow.escalation_usage.total,
        "duration_ms": flow.duration_ms,
        "story": story(flow),
    }
    if raw is not None and calibrated is not None:
        filled |= {"raw_alpha": raw.alpha, "raw_beta": raw.beta, "alpha": calibrated.alpha, "beta": calibrated.beta}
        filled |= {"map_id": flow.applied.id if flow.applied else None}
        right, wrong = _divergences(calibrated)
        expected = calibrated.mean * right + (1.0 - calibrated.mean) * wrong
        filled |= {"fd_if_right": right, "fd_if_wrong": wrong, "fd_expected": expected}
    if perceived is not None:
        filled |= {"perceived_alpha": perceived.alpha, "perceived_beta": perceived.beta}
    if flow.rewording is not None:
        filled |= {"hedge": flow.rewording.hedge, "rewriter": flow.rewording.rewriter}
    return filled


def plain_row(job: Job, *, mode: str, status: str, reason: str | None) -> dict[str, Any]:
    """The part of a row that every request of a route has."""
    return {
        "id": job.id,
        "created_at": time.time(),
        "route": job.route.name,
        "path": "/v1" + job.path,
        "mode": mode,
        "status": status,
        "reason": reason,
        "model": job.model or None,
        "upstream": job.route.upstream,
    }


def _response_id(flow: Flow) -> str | None:
    found = flow.draft_choice[0].get("id") if flow.choices else None
    return found[:128] if isinstance(found, str) else None


def _divergences(beta: Beta) -> tuple[float, float]:
    """Faithfulness Divergence should the answer prove right, and should it prove wrong; nats."""
    from hedgerow.calibration import faithfulness_divergence

    right, wrong = (faithfulness_divergence(beta.alpha, beta.beta, y) for y in (1, 0))
    return float(right), float(wrong)


def outlook(flow: Flow) -> tuple[float, float] | None:
    """Faithfulness Divergence should the answer prove right, and should it prove wrong, nats; None without a confidence."""
    return None if flow.calibrated is None else _divergences(flow.calibrated)


def story(flow: Flow) -> Json:
    """The work step by step, without text, for the audit's page of one request."""
    told: Json = {"timings_ms": {name: round(ms, 3) for name, ms in flow.timings_ms.items()}, "detail": flow.detail}
    if flow.clustering is not None:
        told["clusters"] = [[flow.compared[i] for i in cluster] for cluster in flow.clustering.clusters]
        told["decided_by"] = dict(flow.clustering.decided_by)
    if flow.matches:
        told["hedges"] = [{"id": m.hedge.id, "distance": m.distance} for m in flow.matches]
    if flow.rewording is not None:
        told["attempts"] = list(flow.rewording.attempts)
        told["perceived"] = _beta(flow.rewording.perceived) if flow.rewording.perceived else None
        if flow.rewording.sentences:
            told["sentences"] = [_sentence(one) for one in flow.rewording.sentences]
    if flow.applied is not None:
        told["map_warnings"] = list(flow.applied.warnings)
    return told


def log_line(flow: Flow, *, mode: str) -> Json:
    """The one line of the log: figures and codes only."""
    line: Json = {
        "id": flow.job.id,
        "route": flow.job.route.name,
        "mode": mode,
        "status": flow.status,
        "reason": flow.reason,
        "http_status": flow.http_status,
        "model": flow.job.model,
        "n": len(flow.choices),
        "ms": round(flow.duration_ms, 2),
        "steps_ms": {name: round(ms, 2) for name, ms in flow.timings_ms.items()},
        "tokens": {
            "answer": flow.answer_usage.total,
            "samples": flow.sample_usage.total,
            "rewrite": flow.rewrite_usage.total,
            "escalation": flow.escalation_usage.total,
        },
    }
    if flow.clustering is not None:
        line["clusters"] = len(flow.clustering.clusters)
    if flow.raw is not None and flow.calibrated is not None and flow.applied is not None:
        right, wrong = _divergences(flow.calibrated)
        line |= {
            "raw_mean": round(flow.raw.mean, 4),
            "raw_concentration": round(flow.raw.concentration, 4),
            "mean": round(flow.calibrated.mean, 4),
            "concentration": round(flow.calibrated.concentration, 4),
            "map": flow.applied.id or "uncalibrated",
            "fd_if_right": round(right, 4),
            "fd_if_wrong": round(wrong, 4),
        }
    if flow.rewording is not None:
        line |= {"hedge": flow.rewording.hedge, "rewriter": flow.rewording.rewriter}
    if flow.served_agrees is not None:
        line["served_agrees"] = flow.served_agrees
    return line
