"""The arm of a split route for a request: random, but the same for all requests that belong together (of a user, for example)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from ..config import Mode, Route
from ..config.routes import Split
from ..pipeline.job import Job, user_of, words_of
from ..types import Json
from ..upstreams.egress import credentials


def arm_of(route: Route, split: Split, job: Job, body: Json) -> Mode:
    """The arm of a request, by a hash of the route's name and of what belongs together: no table, and the same in every process."""
    kind, value = _together(split.by, job.headers, job, body)
    lot = hashlib.sha256(b"\0".join((route.name.encode(), kind.encode(), value))).digest()
    return "on" if int.from_bytes(lot[:8]) < split.on * 2**64 else split.rest


def _together(by: str, headers: Mapping[str, str], job: Job, body: Json) -> tuple[str, bytes]:
    """What keeps requests in one arm: its kind and its value."""
    if by.startswith("header:"):
        value = headers.get(by.partition(":")[2].lower())
    else:
        value = {"user": user_of(body), "key": _key(headers, job), "conversation": None}[by]
    if value:
        return by, value.encode("utf-8", "replace")
    return "conversation", _conversation(headers, job, body).encode("utf-8", "replace")


def conversation_of(job: Job) -> str | None:
    """What tells the conversation of a request from others; None if its beginning is no text."""
    return _conversation(job.headers, job, job.body) if _opening(job.body) else None


def _conversation(headers: Mapping[str, str], job: Job, body: Json) -> str:
    return "\0".join(part or "" for part in (_key(headers, job), user_of(body), _opening(body)))


def _key(headers: Mapping[str, str], job: Job) -> str | None:
    """The name of the named key, else all the keys and tokens that were sent; a cookie only without any, since it changes."""
    if job.key is not None:
        return job.key.name
    return "\0".join(value for _, value in credentials(headers)) or headers.get("cookie")


def _opening(body: Json) -> str:
    """What identifies a conversation: its id if the client gives one, else the user's first message."""
    named = body.get("conversation")
    if isinstance(named, dict):
        named = named.get("id")
    if isinstance(named, str) and named:
        return named
    opening = next((body[name] for name in ("messages", "input", "prompt") if body.get(name)), None)
    if isinstance(opening, list):
        of_user = (part for part in opening if isinstance(part, dict) and part.get("role") == "user")
        opening = next((part.get("content") for part in of_user), opening[0])
    return words_of(opening)
