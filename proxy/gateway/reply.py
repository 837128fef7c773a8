"""What the client gets of a result: the completion object with the extra field, the headers, and the same as a stream. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hedgerow.proxy.pipeline.result import Result, beta_figures, sentence_figures
from hedgerow.proxy.rewriting import natural_pieces
from hedgerow.proxy.types import Completion, Json, Usage
from hedgerow.proxy.upstreams import sse
from hedgerow.proxy.upstreams.answers import own_usage


def completion(result: Result) -> Json:
    """The completion object: the draft's own, with the final text, one choice, all tokens and our field."""
    envelope, choice = result.drawn.choices[result.draft_index]
    if result.escalated is not None:
        answer, own = result.escalated, result.escalated.get("usage")
    else:
        answer, own = envelope | {"choices": [_worded(result, choice | {"index": 0})]}, own_usage(envelope)
    answer = {key: value for key, value in answer.items() if key != "usage"}
    if (counts := usage(result, own)) is not None:
        answer["usage"] = counts
    return answer | {"hedgerow": extra_field(result)} if result.job.route.expose.field else answer


def upstream_headers(result: Result) -> Sequence[tuple[bytes, bytes]]:
    """The headers of the call that brought the answer: its request id, the rate limits that are left."""
    envelope = result.escalated or result.drawn.choices[result.draft_index][0]
    return envelope.headers if isinstance(envelope, Completion) else ()


def _worded(result: Result, choice: Json) -> Json:
    """The draft's choice with the final text; log-probabilities of other words, or that nobody asked for, stay out."""
    if "logprobs" not in result.job.body:
        choice.pop("logprobs", None)
    if (text := result.text) == result.draft:
        return choice
    words = {"message": choice["message"] | {"content": text}} if "message" in choice else {"text": text}
    return choice | words | {"logprobs": None}


def usage(result: Result, own: Json | None) -> Json | None:
    """What stands in `usage`: the answer's own as the upstream wrote it, or on a route that wants it so the sum of all calls."""
    if result.job.route.expose.usage == "answer":
        return own
    spent = result.total_usage
    return {
        "prompt_tokens": spent.prompt,
        "completion_tokens": spent.completion,
        "total_tokens": spent.total,
        "prompt_tokens_details": {"cached_tokens": spent.cached},
        "completion_tokens_details": {"reasoning_tokens": spent.reasoning},
    }


def _counts(spent: Usage) -> Json:
    return {
        "prompt_tokens": spent.prompt,
        "completion_tokens": spent.completion,
        "cached_tokens": spent.cached,
        "reasoning_tokens": spent.reasoning,
    }


def extra_field(result: Result) -> Json:
    """The extra top-level field `hedgerow`."""
    drawn = result.drawn
    field: Json = {"id": result.job.id, "status": result.status, "reason": result.reason}
    if (confidence := result.confidence) is not None:
        field |= {
            "confidence": round(confidence.calibrated.mean, 6),
            "raw": beta_figures(confidence.raw),
            "calibrated": beta_figures(confidence.calibrated),
            "signal": confidence.signal,
            "map": confidence.map_id,
            "uncalibrated": confidence.map_id is None,
        }
    if result.clustering is not None:
        sizes = [len(cluster) for cluster in result.clustering.clusters]
        field |= {"samples": len(drawn.compared), "clusters": sizes}
    if cut_off := sum(drawn.samples[i].finish_reason == "length" for i in drawn.compared):
        field["truncated"] = cut_off
    if drawn.source != "upstream":
        field["samples_from"] = drawn.source
    if result.hedges:
        field["hedges"] = [
            {"id": m.hedge.id, "phrase": m.hedge.phrase, "distance": round(m.distance, 6)} for m in result.hedges
        ]
    if (rewording := result.rewording) is not None:
        field["rewrite"] = {
            "hedge": rewording.hedge,
            "rewriter": rewording.rewriter,
            "attempts": list(rewording.attempts),
            "perceived": beta_figures(rewording.perceived),
        }
        if rewording.sentences:
            field["sentences"] = [sentence_figures(sentence) for sentence in rewording.sentences]
    return field | {"usage": {purpose: _counts(spent) for purpose, spent in result.usage.items()}}


def chunks(answer: Json, *, include_usage: bool) -> Iterator[bytes]:
    """A completion object as the events of a stream, without the last `[DONE]`."""
    choice = answer["choices"][0]
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    text = message.get("content") or choice.get("text") or ""
    yield sse.opening(answer)
    for piece in natural_pieces(text):
        yield sse.content(answer, piece)
    if rest := _rest(message):
        yield sse.message(answer, rest)
    yield sse.finish(answer, choice.get("finish_reason"), extra=answer.get("hedgerow"))
    if include_usage and "usage" in answer:
        yield sse.usage(answer, answer["usage"])


def _rest(message: Json) -> Json:
    """What a message holds beside role and text: tool calls get the index that streams want."""
    rest = {key: value for key, value in message.items() if key not in ("role", "content") and value is not None}
    calls = rest.get("tool_calls")
    if isinstance(calls, list):
        rest["tool_calls"] = [{"index": i} | call for i, call in enumerate(calls) if isinstance(call, dict)]
    return rest
