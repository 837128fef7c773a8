"""What is never rewritten, and why: reason codes from the request alone, and from the answer.

Pure functions over decoded JSON. A reason code stands in the header, in the log line and in the audit row.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from hedgerow.proxy.errors import BadRequest
from hedgerow.proxy.types import Json, Sample

GENERATING = {"/chat/completions": "messages", "/completions": "prompt"}
"""Paths that generate text, with the field that holds the prompt."""


def checked_body(path: str, data: bytes, max_messages: int) -> Json:
    """Decode a generating request and check what the pipeline relies on. Everything else is the upstream's to judge.

    Raises:
        BadRequest: it is no JSON object, or messages / prompt, model, n or stream have a wrong type.
    """
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadRequest(
            f"the body is not valid JSON: {error.msg} at character {error.pos}", code="invalid_json"
        ) from error
    if not isinstance(body, dict):
        raise BadRequest("the body must be a JSON object", code="invalid_json")
    field = GENERATING[path]
    if field not in body:
        raise BadRequest(f"`{field}` is missing", param=field, code="missing_field")
    if field == "messages":
        _check_messages(body["messages"], max_messages)
    for name, kinds, words in (
        ("model", (str,), "a string"),
        ("stream", (bool,), "true or false"),
        ("n", (int,), "a whole number"),
    ):
        value = body.get(name)
        if value is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
            raise BadRequest(f"`{name}` must be {words}", param=name, code="invalid_type")
    return body


def _check_messages(messages: object, limit: int) -> None:
    if not isinstance(messages, list):
        raise BadRequest("`messages` must be a list", param="messages", code="invalid_type")
    if not messages:
        raise BadRequest("`messages` must hold at least one message", param="messages", code="empty_messages")
    if len(messages) > limit:
        raise BadRequest(
            f"`messages` holds {len(messages)} messages; at most {limit} are taken",
            param="messages",
            code="too_many_messages",
        )
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            raise BadRequest(f"`messages[{index}]` must be an object", param=f"messages[{index}]", code="invalid_type")
        if not isinstance(message.get("role"), str):
            raise BadRequest(
                f"`messages[{index}].role` must be a string", param=f"messages[{index}].role", code="invalid_type"
            )
        if not isinstance(message.get("content"), str | list | None):
            raise BadRequest(
                f"`messages[{index}].content` must be a string or a list of parts",
                param=f"messages[{index}].content",
                code="invalid_type",
            )


def request_reason(path: str, body: Json) -> str | None:
    """Why an answer to this request is never rewritten; None where it may be."""
    if (body.get("n") or 1) > 1 or (body.get("best_of") or 1) > 1:
        return "several_choices"
    if body.get("logprobs") not in (None, False):
        return "logprobs"
    kind = body.get("response_format")
    if isinstance(kind, dict) and kind.get("type") not in (None, "text"):
        return "structured_output"
    if any(modality != "text" for modality in body.get("modalities") or ()) or body.get("audio"):
        return "media"
    choice = body.get("tool_choice")
    if choice == "required" or isinstance(choice, dict):
        return "tool_calls"
    if path == "/completions" and (not isinstance(body["prompt"], str) or body.get("echo") or body.get("suffix")):
        return "raw_prompt"
    return None


def answer_reason(samples: Sequence[Sample], choices: Sequence[Json]) -> str | None:
    """Why these answers are not compared: a tool is to be called, or there are pictures or sound."""
    if any(sample.has_tool_calls for sample in samples):
        return "tool_calls"
    if any(_has_media(choice.get("message")) for choice in choices):
        return "media"
    return None


def draft_reason(sample: Sample) -> str | None:
    """Why this draft is not rewritten."""
    if sample.refusal is not None:
        return "refusal"
    if sample.finish_reason == "content_filter":
        return "content_filter"
    text = sample.text.strip()
    if "```" in text or "~~~" in text:
        return "code"
    return "structured_output" if _is_structured(text) else None


def _has_media(message: object) -> bool:
    return isinstance(message, dict) and (bool(message.get("audio")) or isinstance(message.get("content"), list))


def _is_structured(text: str) -> bool:
    """Whether the whole text is a JSON object or array."""
    if not (text.startswith(("{", "[")) and text.endswith(("}", "]"))):
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def offers_tools(body: Json) -> bool:
    """Whether the answer may be a tool call: one answer is drawn first, to see."""
    return bool(body.get("tools") or body.get("functions")) and body.get("tool_choice") != "none"


def question_of(path: str, body: Json) -> str:
    """The user's last message as plain text; "" where there is none."""
    if path == "/completions":
        return body["prompt"] if isinstance(body["prompt"], str) else ""
    return last_message(body, "user")


def last_message(body: Json, role: str) -> str:
    """The last chat message of a role as plain text; "" where there is none."""
    for message in reversed(body.get("messages", ())):
        if message["role"] == role:
            content = message.get("content")
            if isinstance(content, list):
                parts = [part.get("text") for part in content if isinstance(part, dict)]
                return "\n".join(part for part in parts if isinstance(part, str))
            return content or ""
    return ""
