"""Answers that call tools: a confidence for each tool name and argument, and the route's policy for doubtful calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from ..clustering.support import FieldPath
from ..errors import StepFailed
from ..outcomes import Reason
from ..types import Json
from .eligibility import json_in, replaces_calls
from .fields import measure
from .result import Run
from .steps import RoutePipeline, escalate, reply

MOST_DOUBTS = 10
"""Most parts of a call about which a user is asked in one message."""
LONGEST_VALUE = 100
"""Most characters of a value that are shown to the user."""


async def measure_calls(run: Run, pipeline: RoutePipeline, *, may_replace: bool) -> None:
    """Compare tool names and arguments of the first answer, which the client receives, with those of the others. An answer without a call
    disagrees with every part. Where the policy says so, doubtful calls are withheld.

    Raises:
        StepFailed: too few answers came, or the stronger model could not be asked.
    """
    job = run.job
    calls = [_calls(choice) for _, choice in run.result.drawn.choices]
    if len(calls) < job.route.sampling.min_n:
        missing = f"{len(calls)} of {job.route.sampling.n} answers came; {job.route.sampling.min_n} are needed"
        raise StepFailed("sample", Reason.TOO_FEW_SAMPLES, missing)
    run.learn(held_against=tuple(range(1, len(calls))))
    places = await measure(run, pipeline, calls[0], calls[1:], Reason.TOOL_CALLS)
    policy = job.route.policy
    if policy is None or not may_replace or not replaces_calls(job):
        return
    claims = run.result.claims
    doubtful = [p for p, claim in zip(places, claims, strict=True) if claim.calibrated.mean < policy.calls_below]
    if not doubtful:
        return
    with run.step("decide"):
        if policy.calls == "escalate" and pipeline.stronger is not None:
            await escalate(run, pipeline.stronger, policy.escalate_model, Reason.CALLS_DISAGREE)
        elif (
            not job.is_kept
        ):  # the upstream keeps the conversation and would wait for the result of a call that the client never sees
            reply(run, policy.question.replace("{doubts}", doubts(calls[0], doubtful)), Reason.CALLS_DISAGREE)


def doubts(calls: Sequence[Json], places: Sequence[FieldPath]) -> str:
    """The doubtful parts of calls as text for a user: at most `MOST_DOUBTS` of them.

    >>> doubts([{"name": "book", "arguments": {"city": "Canberra", "days": 3}}], [(0, "arguments", "city"), (0, "arguments", "days")])
    'book: city "Canberra", days 3'
    """
    parts_by_call: dict[int, list[str]] = {}
    for number, *path in places[:MOST_DOUBTS]:
        if isinstance(number, int):
            parts_by_call.setdefault(number, []).extend([] if path == ["name"] else [_doubt(calls[number], path)])
    return "; ".join(
        f"{calls[number]['name']}: {', '.join(parts)}" if parts else f"{calls[number]['name']}"
        for number, parts in parts_by_call.items()
    )


def _doubt(call: Json, path: Sequence[str | int]) -> str:
    value: Any = call
    for step in path:
        value = value[step]
    shown = orjson.dumps(value).decode()
    shown = shown if len(shown) <= LONGEST_VALUE else f"{shown[:LONGEST_VALUE]}…"
    name = ".".join(str(step) for step in path[1:])
    return f"{name} {shown}".strip()


def _calls(choice: Json) -> list[Json]:
    """The calls of one answer by name and arguments, whatever format its endpoint uses."""
    message = choice.get("message")
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    called: list[Json] = []
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            function: Json = call["function"] if isinstance(call.get("function"), dict) else call
            given = function.get("arguments", function.get("input"))
            arguments = json_in(given) if isinstance(given, str) else given
            called.append({"name": function.get("name"), "arguments": given if arguments is None else arguments})
    return called
