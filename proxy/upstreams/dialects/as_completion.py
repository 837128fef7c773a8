"""Converts answers of other endpoints to completion objects: one choice, with the original answer as `original`."""

from __future__ import annotations

from ...types import Json


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


def own_usage(_completion: Json, choice: Json) -> Json | None:
    """The token usage that the upstream reported for its answer."""
    usage: Json | None = choice["original"].get("usage")
    return usage
