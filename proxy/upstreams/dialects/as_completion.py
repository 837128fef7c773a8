"""Answers of other endpoints as completion objects: one choice, under whose `original` stands the answer itself."""

from __future__ import annotations

from hedgerow.proxy.types import Json


def completion_of(answer: Json, message: Json, finish: str, usage: Json | None, logprobs: object = None) -> Json:
    """A completion object of one choice.

    Args:
        answer: as the upstream sent it.
        message: what it says, in the words of chat completions.
        finish: why it ended, in those words.
        usage: the tokens spent, in those words; None where the upstream does not say.
        logprobs: of its text, a list; anything falsy where there are none.
    """
    choice: Json = {"index": 0, "message": message, "finish_reason": finish, "original": answer}
    if logprobs:
        choice["logprobs"] = {"content": logprobs}
    whole = {"id": answer.get("id"), "model": answer.get("model"), "choices": [choice]}
    return whole if usage is None else whole | {"usage": usage}


def own_usage(_completion: Json, choice: Json) -> Json | None:
    """What the upstream said of the tokens of its answer."""
    usage: Json | None = choice["original"].get("usage")
    return usage
