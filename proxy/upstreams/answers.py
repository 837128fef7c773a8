"""Parse an upstream's answer: check that it is a completion, and read its choices."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from ..errors import BadRequest, NotFound, UpstreamError, UpstreamRejected
from ..outcomes import Reason
from ..strict_json import TooDeep, dumps, loads, mended, read_leniently
from ..types import Json, Sample, Usage
from .sse import named_event
from .thoughts import cut

MAX_TOKENS = 2**31 - 1
_ANSWERING = frozenset(["choices", "output", "content"])
"""Fields of a choice, of which every answer has at least one."""


def _read(body: bytes) -> Any:
    """The value of a JSON text; what a strict reader takes holds no half of a surrogate pair."""
    try:
        return loads(body)
    except TooDeep:
        raise
    except ValueError:
        return mended(read_leniently(body))


def checked_completion(name: str, body: bytes, convert: Callable[[Json], Json] | None = None) -> Json:
    """Decode a completion object; `convert` converts another endpoint's answer, or raises ValueError with what is missing.

    Raises:
        UpstreamRejected: it is an error object, which some providers send with status 200; the status is the one it names, else 502.
        UpstreamError: the body is not JSON, not an object, or has no choice; the message says which, and never quotes the body.
    """
    try:
        answer = _read(body)
    except TooDeep as error:
        raise UpstreamError(
            f"the upstream {name!r} answered with JSON that is nested too deeply", code="upstream_not_completion"
        ) from error
    except ValueError as error:
        kind = "HTML" if body.lstrip()[:1] == b"<" else "something that is not JSON"
        raise UpstreamError(f"the upstream {name!r} answered with {kind}", code="upstream_not_json") from error
    if not isinstance(answer, dict):
        raise UpstreamError(
            f"the upstream {name!r} answered with JSON that is not an object", code="upstream_not_completion"
        )
    told = (answer.get(name) for name in ("error", "message", "detail"))
    if _ANSWERING.isdisjoint(answer) and any(isinstance(each, dict | str) and each for each in told):
        raise UpstreamRejected(status_of(answer), body, "application/json")
    if answer.get("status") == "failed" and answer.get("error"):  # Responses; as the client would have got it
        failed = {"type": "response.failed", "sequence_number": 0, "response": answer}
        raise UpstreamRejected(200, body, "application/json", event=named_event("response.failed", failed))
    if convert is not None:
        try:
            return convert(answer)
        except ValueError as error:
            raise UpstreamError(f"the upstream {name!r} answered {error}", code="upstream_not_completion") from error
    choices = answer.get("choices")
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise UpstreamError(f"the upstream {name!r} answered without choices", code="upstream_not_completion")
    if not choices:
        raise UpstreamError(f"the upstream {name!r} answered with an empty list of choices", code="upstream_no_choices")
    return answer


ERROR_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
"""Anthropic's names for errors, by HTTP status."""
_KINDS = {
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
}
_KINDS |= {kind: status for status, kind in ERROR_KINDS.items()}


def status_of(body: Json) -> int:
    """The HTTP status of an error that came with status 200 or inside a stream: the one that it names, that of its kind, else 502."""
    error = body["error"] if isinstance(body.get("error"), dict) else body
    named = [error.get(name) for name in ("code", "status", "status_code", "type")]
    for value in named:
        if str(value).isdecimal() and 400 <= int(str(value)) < 600:
            return int(str(value))
    return next((_KINDS[value] for value in named if isinstance(value, str) and value in _KINDS), 502)


def error_of(said: Any) -> Json:
    """The error in the words of any server: an object or a text under its name, or its fields at the top level."""
    inner = said.get("error") if isinstance(said, dict) else said
    if not inner and isinstance(said, dict):
        inner = {
            name: value
            for name, value in said.items()
            if name not in ("sequence_number", "object") and value != "error"
        }
    return inner if isinstance(inner, dict) else {"message": str(inner)}


IN_PROCESS = ("/chat/completions", "/completions")
"""Paths that upstreams in this process serve."""


def check_served(name: str, path: str) -> None:
    """Raise `NotFound` for a path that an upstream in this process does not serve, with what to do."""
    if path not in IN_PROCESS:
        message = (
            f"{name} serves /v1/chat/completions, /v1/completions, /v1/responses and /v1/messages, not /v1{path}; "
            "for this path use a route to an upstream of `provider: openai`"
        )
        raise NotFound(message, code="unknown_path")


def request_of(body: bytes) -> Json:
    """The request object in a body.

    Raises:
        BadRequest: it is not a JSON object, or nested too deeply.
    """
    try:
        request = loads(body)
    except TooDeep as error:
        raise BadRequest(
            "the body is nested too deeply to be put into other words", code=Reason.NESTED_TOO_DEEP
        ) from error
    except ValueError as error:
        raise BadRequest("the body is not valid JSON", code="invalid_json") from error
    if not isinstance(request, dict):
        raise BadRequest("the body must be a JSON object", code="invalid_json")
    return request


def encoded(body: Json) -> bytes:
    """A request object that was changed, as JSON; text that is not valid Unicode is escaped.

    Raises:
        BadRequest: it is nested too deeply.
    """
    try:
        return dumps(body)
    except RecursionError as error:
        message = "the body is nested too deeply to be sent as the route wants it"
        raise BadRequest(message, code=Reason.NESTED_TOO_DEEP) from error


def asked(path: str, body: bytes) -> Json:
    """Parse and check the request object of a call in this process.

    Raises:
        BadRequest: it is not a JSON object, or has no messages or prompt of the right type.
    """
    request = request_of(body)
    messages = request.get("messages")
    if path == "/chat/completions" and not (
        isinstance(messages, list) and messages and all(isinstance(message, dict) for message in messages)
    ):
        raise BadRequest("`messages` must be a list of messages", param="messages", code="invalid_type")
    if path == "/completions" and "prompt" not in request:
        raise BadRequest("`prompt` is missing", param="prompt", code="missing_field")
    return request


def usage_of(answer: Json) -> Usage:
    """The token usage and the model that an answer reports; 0 without a report."""
    usage, model = answer.get("usage"), answer.get("model")
    name = model if isinstance(model, str) else ""
    if not isinstance(usage, dict):
        return Usage(model=name)
    read = _details(usage, "prompt")
    return Usage(
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        _count(read.get("cached_tokens")),
        _count(_details(usage, "completion").get("reasoning_tokens")),
        _count(usage.get("cache_creation_input_tokens") or read.get("cache_creation_tokens")),
        name,
    )


def own_usage(answer: Json, _choice: Json) -> Json | None:
    """The `usage` of one choice with its details, as the upstream reported it; None without a report.

    Upstreams do not report the length of each choice, so one of several counts as an average.
    """
    usage = answer.get("usage")
    if not isinstance(usage, dict) or (several := len(answer["choices"])) == 1:
        return usage if isinstance(usage, dict) else None
    average = usage_of(answer).of_one(several)
    own = usage | {"completion_tokens": average.completion, "total_tokens": average.prompt + average.completion}
    if details := _details(usage, "completion"):
        own["completion_tokens_details"] = {name: round(_count(value) / several) for name, value in details.items()}
    return own


def _details(usage: Json, part: str) -> Json:
    details = usage.get(f"{part}_tokens_details")
    return details if isinstance(details, dict) else {}


def _count(value: object) -> int:
    """A token count; 0 for an invalid one. No answer has 2^31 tokens, and databases and encoders refuse larger numbers."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_TOKENS else 0


def text_of(content: object) -> str:
    """The text of a message's content: a string, or the texts among its parts."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def sample_of(choice: Json) -> Sample:
    """One choice, of a chat or a plain completion, as a sample. Missing fields, and fields of a wrong type, count as absent."""
    message = choice.get("message")
    if not isinstance(message, dict):
        text = choice.get("text")
        message = {"content": text if isinstance(text, str) else ""}
    content, refusal = message.get("content"), message.get("refusal")
    reason = choice.get("finish_reason")
    mean, total, truncated = _logprobs(choice.get("logprobs"))
    before, text, after = cut(text_of(content))
    return Sample(
        text=text,
        before=before,
        after=after,
        finish_reason=reason if isinstance(reason, str) else None,
        logprob_mean=mean,
        logprob_sum=total,
        logprob_truncated=truncated,
        refusal=refusal if isinstance(refusal, str) and refusal else None,
        has_tool_calls=bool(message.get("tool_calls") or message.get("function_call")),
    )


def _logprobs(logprobs: object) -> tuple[float | None, float | None, bool]:
    """Mean and sum of a choice's token log-probabilities, and whether any token's was cut off by top-k or top-p (reported as -9999 or null)."""
    if not isinstance(logprobs, dict):
        return None, None, False
    values: Sequence[Any]
    content = logprobs.get("content")
    if isinstance(content, list):  # chat
        values = [token.get("logprob") if isinstance(token, dict) else None for token in content]
    else:  # plain completions
        plain = logprobs.get("token_logprobs")
        values = plain if isinstance(plain, list) else []
    known = [float(v) for v in values if isinstance(v, int | float) and -9999.0 < v <= 0.0]
    total = sum(known) if known else None
    return (total / len(known) if total is not None else None), total, len(known) < len(values)


def completion_of(answer: Json, message: Json, finish: str, usage: Json | None, logprobs: object = None) -> Json:
    """A completion object of one choice.

    Args:
        answer: the upstream's answer.
        message: its content, in the format of chat completions.
        finish: its finish reason, in that format.
        usage: token usage, in that format; None if unknown.
        logprobs: list of the text's log-probabilities; falsy if there are none.
    """
    choice: Json = {"index": 0, "message": message, "finish_reason": finish, "original": answer}
    if logprobs:
        choice["logprobs"] = {"content": logprobs}
    completion = {"id": answer.get("id"), "model": answer.get("model"), "choices": [choice]}
    return completion if usage is None else completion | {"usage": usage}


def original_usage(_completion: Json, choice: Json) -> Json | None:
    """The token usage that the upstream reported for its answer."""
    usage: Json | None = choice["original"].get("usage")
    return usage


async def once(data: bytes) -> AsyncIterator[bytes]:
    """A body in one piece."""
    yield data
