"""Time to the first token of a stream: `python -m benchmarks.performance.first_token`.

The same streamed request, from the loopback upstream itself, through the proxy with the route off (passed through), and with
`stream: append`, in turn. What counts is the difference within a round, because absolute times follow the machine.
"""

from __future__ import annotations

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

BODY = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "What is it?"}]}).encode()
WARM_UP = 20


@dataclass(frozen=True)
class FirstToken:
    """Milliseconds to the first token, medians over rounds, and what `append` adds to passing through, round by round."""

    direct: float
    passed: float
    append: float
    added: float
    added_p95: float
    rounds: int


def measure(rounds: int) -> FirstToken:
    """Measure all three in turn."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        upstream, port = free_port(), free_port()
        path = configuration(Path(name), upstream, port)
        settings = yaml.safe_load(path.read_text())
        settings["routes"][0]["stream"] = "append"
        path.write_text(yaml.safe_dump(settings))
        stack.enter_context(process("benchmarks.performance.loopback", str(upstream), port=upstream))
        stack.enter_context(process("hedgerow.proxy.cli", "serve", "-c", str(path), port=port))
        return asyncio.run(_rounds(upstream, port, rounds))


async def _rounds(upstream: int, port: int, rounds: int) -> FirstToken:
    waits = []
    for _ in track(range(WARM_UP + rounds), "first token", disable=not sys.stderr.isatty()):
        waits.append([await first_token(upstream), await first_token(port, "off"), await first_token(port, "on")])
    direct, passed, append = (list(times) for times in zip(*waits[WARM_UP:], strict=True))
    added = [a - p for a, p in zip(append, passed, strict=True)]
    medians = (statistics.median(times) for times in (direct, passed, append))
    return FirstToken(*medians, statistics.median(added), statistics.quantiles(added, n=20)[-1], rounds)


async def first_token(port: int, mode: str | None = None) -> float:
    """Milliseconds from the request to the first token; the stream is read to its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    chosen = f"x-hedgerow-mode: {mode}\r\n" if mode else ""
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{chosen}content-length: {len(BODY)}\r\n\r\n"
    start = time.perf_counter()
    writer.write(head.encode() + BODY)
    seen, took = b"", 0.0
    while not seen.endswith(b"0\r\n\r\n"):
        data = await asyncio.wait_for(reader.read(65536), timeout=60)
        if not data:
            raise ConnectionError(f"the stream broke off: {seen[-200:]!r}")
        seen += data
        if not took and FIRST_TOKEN.encode() in seen:
            took = (time.perf_counter() - start) * 1e3
    writer.close()
    if b"[DONE]" not in seen or not took:
        raise ValueError(f"this is not a whole stream: {seen[:200]!r}")
    return took


def main() -> None:
    """Print what was found."""
    print(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 100))


if __name__ == "__main__":
    main()
