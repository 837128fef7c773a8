"""Time to the first token of a stream: `python -m benchmarks.performance.first_token [--endpoint responses] [--rounds 100]`.

The same streamed request, from the loopback upstream itself, through the proxy with the route off (passed through), and with
`stream: append`, in turn; each of the three is a process. What counts is the difference within a round, because absolute times follow the machine: what
off adds in the same rounds shows how much of it is the machine's. Of `/v1/responses` the first event counts, `response.created`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import yaml
from rich.progress import track

from benchmarks.performance.loopback import FIRST_TOKEN
from benchmarks.performance.overhead import configuration, free_port, process

ASKED: dict[str, object] = {"model": "m", "stream": True}
BODY = json.dumps(ASKED | {"messages": [{"role": "user", "content": "What is it?"}]}).encode()
WARM_UP = 20
WITHIN_MS = 20.0
"""What a calibrated stream may add before its first event."""


@dataclass(frozen=True)
class Endpoint:
    """A path, a request for a stream, what is waited for, and what ends it."""

    path: str
    body: bytes
    first: bytes
    last: bytes


ENDPOINTS = {
    "chat": Endpoint("/v1/chat/completions", BODY, FIRST_TOKEN.encode(), b"[DONE]"),
    "responses": Endpoint(
        "/v1/responses",
        json.dumps(ASKED | {"input": "What is it?"}).encode(),
        b"response.created",
        b"response.completed",
    ),
}


@dataclass(frozen=True)
class FirstToken:
    """Milliseconds to the first token, round by round."""

    direct: list[float]
    passed: list[float]
    append: list[float]

    @property
    def medians(self) -> tuple[float, float, float]:
        """Of the three, in the order of the fields."""
        return statistics.median(self.direct), statistics.median(self.passed), statistics.median(self.append)

    def __str__(self) -> str:
        direct, passed, append = self.medians
        lines = [
            f"{len(self.direct)} rounds, medians: direct {direct:.2f} ms, off {passed:.2f} ms, append {append:.2f} ms"
        ]
        for name, times in (("off", self.passed), ("append", self.append)):
            added = differences(times, self.direct)
            within = sum(ms <= WITHIN_MS for ms in added) / len(added)
            lines.append(
                f"{name} adds to direct: median {statistics.median(added):.2f} ms, 95th percentile {percentile(added, 0.95):.2f}, "
                f"99th {percentile(added, 0.99):.2f}, longest {added[-1]:.2f}; within {WITHIN_MS:.0f} ms: {within:.1%}"
            )
        return "\n".join(lines)


def differences(times: list[float], base: list[float]) -> list[float]:
    """What the one takes longer than the other, round by round, the least first."""
    return sorted(t - b for t, b in zip(times, base, strict=True))


def percentile(ordered: list[float], share: float) -> float:
    """The value that this share of the ordered ones does not exceed."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def measure(rounds: int, endpoint: Endpoint) -> FirstToken:
    """Measure all three in turn."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        upstream, port = free_port(), free_port()
        path = configuration(Path(name), upstream, port)
        settings = yaml.safe_load(path.read_text())
        settings["routes"][0]["stream"] = "append"
        path.write_text(yaml.safe_dump(settings))
        stack.enter_context(process("benchmarks.performance.loopback", str(upstream), port=upstream))
        stack.enter_context(process("hedgerow.proxy.cli", "serve", "-c", str(path), port=port))
        return asyncio.run(_rounds(upstream, port, rounds, endpoint))


async def _rounds(upstream: int, port: int, rounds: int, endpoint: Endpoint) -> FirstToken:
    waits = []
    for _ in track(range(WARM_UP + rounds), "first token", disable=not sys.stderr.isatty()):
        ways = ((upstream, None), (port, "off"), (port, "on"))
        waits.append([await first_token(where, mode, endpoint) for where, mode in ways])
    return FirstToken(*(list(times) for times in zip(*waits[WARM_UP:], strict=True)))


async def first_token(port: int, mode: str | None = None, endpoint: Endpoint = ENDPOINTS["chat"]) -> float:
    """Milliseconds from the request to the first token; the stream is read to its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    chosen = f"x-hedgerow-mode: {mode}\r\n" if mode else ""
    length = len(endpoint.body)
    head = f"POST {endpoint.path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{chosen}content-length: {length}\r\n\r\n"
    start = time.perf_counter()
    writer.write(head.encode() + endpoint.body)
    seen, took = b"", 0.0
    while not seen.endswith(b"0\r\n\r\n"):
        data = await asyncio.wait_for(reader.read(65536), timeout=60)
        if not data:
            raise ConnectionError(f"the stream broke off: {seen[-200:]!r}")
        seen += data
        if not took and endpoint.first in seen:
            took = (time.perf_counter() - start) * 1e3
    writer.close()
    if endpoint.last not in seen or not took:
        raise ValueError(f"this is not a whole stream: {seen[:200]!r}")
    return took


def main() -> None:
    """Print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoint", choices=list(ENDPOINTS), default="chat")
    parser.add_argument("--rounds", type=int, default=100)
    chosen = parser.parse_args()
    print(measure(chosen.rounds, ENDPOINTS[chosen.endpoint]))


if __name__ == "__main__":
    main()
