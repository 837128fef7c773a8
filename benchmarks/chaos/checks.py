"""What is wrong with one answer: a hang, a status that no rule allows, an error that says nothing, a text that nobody checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import orjson

from benchmarks.chaos.faults import Fault, Wire
from benchmarks.chaos.rules import Way, fits
from benchmarks.chaos.wire import Answer
from hedgerow.lexicon.hedges.offered import written
from hedgerow.proxy.rewriting.changes import fault as change

HANG, STATUS, TEXT = "hang", "wrong status", "unchecked text"
_OWN_ERRORS = (502, 504)


def defect(way: Way, fault: Fault, answer: Answer, said: Sequence[str], first: bytes | None) -> tuple[str, str] | None:
    """The worst thing that is wrong with an answer, and what; None where nothing is.

    Args:
        said: the texts that the upstream sent to this question.
        first: the body that it sent first.
    """
    if answer.hung:
        return HANG, f"nothing after {answer.seconds:.0f} s"
    if not fits(way, fault, answer):
        return STATUS, f"{answer.status} {answer.ending} {answer.body[-120:]!r}"
    if (answer.status in _OWN_ERRORS and fault.wire is not Wire.REFUSED) and not says_why(answer.body):
        return STATUS, f"{answer.status} without a sentence: {answer.body[:120]!r}"
    if "hr_0" in answer.headers.get("x-hedgerow-audit-id", ""):
        return TEXT, "the upstream's own headers in our name"
    relayed = way.relays or fault.wire is Wire.REFUSED
    if relayed and answer.ending == "whole" and first is not None and answer.status == fault.status:
        return None if answer.body == first else (TEXT, f"not the upstream's bytes: {answer.body[:120]!r}")
    if relayed or (way.name == "append" and answer.body == first):
        return None
    return next(((TEXT, repr(text[:200])) for text in texts(answer.body) if not is_checked(text, said)), None)


def says_why(body: bytes) -> bool:
    """Whether an error object has a sentence."""
    try:
        error = orjson.loads(body)["error"]
        return bool(error if isinstance(error, str) else error["message"])  # the forms of pages have a sentence alone
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return False


def is_checked(text: str, said: Iterable[str]) -> bool:
    """Whether a text is the beginning of one that the upstream sent, or says the same but for words of confidence."""
    drafts = {draft for draft in said if isinstance(draft, str)}
    text = text.removesuffix("\ufffd")  # what cannot be read as Unicode
    if not text or any(draft.startswith(text) for draft in drafts):
        return True
    served = next((text.removesuffix(closing) for closing in _closings() if text.endswith(closing)), None)
    if served is not None:  # a sentence of our own list behind an answer
        return any(draft.strip() in (served.strip(), served.strip().removesuffix(".")) for draft in drafts)
    return any(change(draft, text) is None for draft in drafts)


@cache
def _closings() -> tuple[str, ...]:
    known = written("en")
    return tuple(closing.text for closing in known.closings)


def texts(body: bytes) -> list[str]:
    """The texts that an answer shows, whichever endpoint's it is, whole or streamed."""
    if body.lstrip()[:1] in (b"d", b"e", b":"):
        return [_streamed(body)]
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return []
    return list(_whole(answer)) if isinstance(answer, dict) else []


def _whole(answer: dict[str, Any]) -> Iterable[str]:
    for choice in _dicts(answer.get("choices")):
        message = choice.get("message")
        if isinstance(message, dict) and isinstance(message.get("content"), str):
            yield message["content"]
    for item in _dicts(answer.get("output")):
        for part in _dicts(item.get("content")):
            if isinstance(part.get("text"), str):
                yield part["text"]


def _streamed(body: bytes) -> str:
    pieces: list[str] = []
    for line in body.splitlines():
        try:
            event = orjson.loads(line.removeprefix(b"data:")) if line.startswith(b"data:") else None
        except orjson.JSONDecodeError:
            continue
        if not isinstance(event, dict):
            continue
        spoken = [
            delta.get("content")
            for delta in (c.get("delta") for c in _dicts(event.get("choices")))
            if isinstance(delta, dict)
        ]
        if event.get("type") == "response.output_text.delta":
            spoken.append(event.get("delta"))
        pieces += [piece for piece in spoken if isinstance(piece, str)]
    return "".join(pieces)


def _dicts(parts: object) -> Iterable[dict[str, Any]]:
    return (part for part in parts if isinstance(part, dict)) if isinstance(parts, list) else ()
