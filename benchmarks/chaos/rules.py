"""What must come of a fault, by rule: from what is on the wire and from how the request is served. Nothing here was recorded from a run.

A relayed answer is the upstream's, byte for byte, or an error of ours where there is none. A calibrated answer is an answer, the upstream's own
refusal, or one clear error: 502 where what came is not an answer, 504 where nothing came in time. What has begun to flow ends as it should,
with an event that says what went wrong, or visibly broken; never as if it were complete.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.chaos.faults import Fault, Wire
from benchmarks.chaos.serving import KEEP_ALIVE_S
from benchmarks.chaos.wire import Answer

Outcome = tuple[int, str]
"""Status, and how the answer ended (`Answer.ending`)."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way in which requests are served.

    Attributes:
        route: the route that takes them, by the header `x-way`.
        relays: whether the client gets the upstream's bytes.
    """

    name: str
    route: str
    stream: bool = False
    path: str = "/v1/chat/completions"
    relays: bool = False


WAYS = (
    Way("off", "off", relays=True),
    Way("off, stream", "off", stream=True, relays=True),
    Way("shadow", "shadow", relays=True),
    Way("on", "on"),
    Way("on, stream", "on", stream=True),
    Way("append", "append", stream=True),
    Way("responses", "on", path="/v1/responses"),
    Way("responses, stream", "on", stream=True, path="/v1/responses"),
)

_READABLE = {Wire.ANSWER, Wire.TEXTLESS, Wire.ODD, Wire.UNREADABLE, Wire.HUGE}
"""Complete HTTP: a relay passes it on whatever it holds."""


def expected(way: Way, fault: Fault) -> set[Outcome]:
    """Everything that may come of a fault."""
    if way.relays:
        return _relayed(fault)
    if way.name == "append":
        return _relayed(fault) | ({(fault.status, "error")} if fault.wire in _READABLE - {Wire.ANSWER} else set())
    outcomes = _calibrated(way, fault)
    return outcomes | ({(200, "error") for status, _ in outcomes if status != 200} if way.stream else set())


def _relayed(fault: Fault) -> set[Outcome]:
    broken = {(fault.status, "cut"), (fault.status, "error")}
    return {
        Wire.REFUSED: {(fault.status, "whole")},
        Wire.CUT: broken | {(502, "whole")} | ({(fault.status, "whole")} if fault.events is not None else set()),
        Wire.STALLED: broken,
        Wire.DEAD: {(502, "whole")},
        Wire.SILENT: {(504, "whole")},
        Wire.FRAMING: broken | {(fault.status, "whole"), (502, "whole")},
    }.get(fault.wire, {(fault.status, "whole")})


def _calibrated(way: Way, fault: Fault) -> set[Outcome]:
    wire = fault.wire
    if wire is Wire.UNREADABLE and fault.top and way.path.endswith("/responses"):
        wire = Wire.ODD  # a response without items is a response
    statuses = {
        Wire.ANSWER: {200},
        Wire.TEXTLESS: {200},
        Wire.ODD: {200, 502},
        Wire.REFUSED: {fault.status},
        Wire.SILENT: {504},
        Wire.STALLED: {504},
        Wire.FRAMING: {200, 502},
    }.get(wire, {502})
    return {(status, "whole") for status in statuses}


def fits(way: Way, fault: Fault, answer: Answer) -> bool:
    """Whether what came may come of the fault. A stream that tells its error inside must have been kept waiting for it."""
    outcome = (answer.status or 0, answer.ending)
    if outcome not in expected(way, fault):
        return False
    late = answer.seconds > 0.5 * KEEP_ALIVE_S
    return late or way.relays or way.name == "append" or outcome != (200, "error")
