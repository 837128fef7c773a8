"""Time to the first event of a Responses stream with `stream: append`: `python -m benchmarks.performance.first_event`.

The same streamed request to the scripted provider itself, through the proxy with the route off, and appended, in turn; what counts is the difference
within a round.
"""

from __future__ import annotations

import http.client
import json
import logging
import statistics
import time

import structlog

from tests.compat.running import places

BODY = json.dumps({"model": "m", "input": "What is the capital of Australia?", "stream": True})
ROUNDS, WARM_UP = 200, 20


def first_event(address: str) -> float:
    """Milliseconds from the request to the first event; the stream is read to its end."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"))
    start = time.perf_counter()
    connection.request("POST", "/v1/responses", BODY, {"content-type": "application/json"})
    answer = connection.getresponse()
    event = answer.read1(65536)
    took = (time.perf_counter() - start) * 1e3
    rest = answer.read()
    connection.close()
    if b"response.created" not in event or b"response.completed" not in event + rest:
        raise ValueError(f"this is not a whole stream: {event[:200]!r}")
    return took


def main() -> None:
    """Print what was measured."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with places() as found:
        ways = [found[name].address for name in ("direct", "off", "append")]
        rounds = [[first_event(address) for address in ways] for _ in range(WARM_UP + ROUNDS)][WARM_UP:]
    direct, off, append = (statistics.median(times) for times in zip(*rounds, strict=True))
    added = [appended - straight for straight, _, appended in rounds]
    late = statistics.quantiles(added, n=20)[-1]
    print(f"first event, medians of {ROUNDS} rounds: direct {direct:.2f} ms, off {off:.2f} ms, append {append:.2f} ms")
    print(
        f"append adds {statistics.median(added):.2f} ms to the provider's own first event (95th percentile {late:.2f} ms)"
    )


if __name__ == "__main__":
    main()
