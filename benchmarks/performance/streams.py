"""Many streams at once: `python -m benchmarks.performance.streams [--write]`.

What an open stream costs in memory: 1,000 of them, passed on, each silent after its first token. What two hundred calibrated streams, open at a time and
eight seconds long each, do to everybody else: a small request (`/health`) every 5 ms, whose time is what the event loop makes anybody wait. The same request
goes to the upstream in the same run, so that a busy machine shows as such.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import socket
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import yaml

from benchmarks.performance.first_token import BODY, first_token
from benchmarks.performance.loopback import stream
from benchmarks.performance.overhead import DOCUMENT, configuration, free_port, process
from benchmarks.performance.start import resident_mb

IDLE, STREAMS, EACH = 1000, 200, 3
STREAM_S = 8.0
"""How long a calibrated stream lasts: two hundred of them are 25 requests a second, a quarter of what a process can calibrate."""
PULSE_S = 0.005
PULSE = b"GET /health HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"
BEGIN, END = "<!-- streams -->", "<!-- end: streams -->"


@dataclass(frozen=True)
class Waits:
    """Seconds that each small request took."""

    seconds: list[float]

    def percentile(self, share: float) -> float:
        """Milliseconds."""
        ordered = sorted(self.seconds)
        return 1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _configured(folder: Path, upstream: int, port: int) -> Path:
    """A route that is off unless the header says otherwise, and then appends to its streams; as many connections as streams."""
    path = configuration(folder, upstream, port)
    settings = yaml.safe_load(path.read_text())
    settings["routes"][0]["stream"] = "append"
    settings["upstreams"]["loopback"]["max_connections"] = 2 * IDLE
    path.write_text(yaml.safe_dump(settings))
    return path


class _Silent(asyncio.Protocol):
    """Answers each request with the beginning of a stream, and no more."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.begun = False

    def data_received(self, data: bytes) -> None:
        if not self.begun and isinstance(self.transport, asyncio.WriteTransport):
            self.begun = True
            self.transport.write(stream()[0])


async def _idle(folder: Path) -> tuple[float, float]:
    """Resident megabytes of the proxy before and while all streams are open."""
    upstream, port = free_port(), free_port()
    server = await asyncio.get_running_loop().create_server(_Silent, "127.0.0.1", upstream, backlog=IDLE)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(BODY)}\r\n\r\n"
    with process("hedgerow.proxy.cli", "serve", "-c", str(_configured(folder, upstream, port)), port=port) as proxy:
        opened: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

        async def open_one() -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            opened.append((reader, writer))
            writer.write(head.encode() + BODY)
            await asyncio.wait_for(reader.readuntil(b"The capital "), timeout=60)

        await open_one()
        before = resident_mb(proxy.pid)
        for _ in range(IDLE // 50):
            await asyncio.gather(*(open_one() for _ in range(50)))
        during = resident_mb(proxy.pid)
        for _, writer in opened:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for _, writer in opened))
    server.close()
    return before, during


def _calibrate(port: int) -> float:
    """So many calibrated streams at a time; seconds until all are read."""

    async def one(begins_s: float) -> None:
        await asyncio.sleep(begins_s)
        for _ in range(EACH):
            await first_token(port, "on")

    async def all_of_them() -> None:
        await asyncio.gather(*(one(STREAM_S * i / STREAMS) for i in range(STREAMS)))

    start = time.perf_counter()
    asyncio.run(all_of_them())
    return time.perf_counter() - start


@contextlib.contextmanager
def _connection(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield connection


def _ask(connection: socket.socket) -> float:
    """Seconds that a small request takes."""
    start = time.perf_counter()
    connection.sendall(PULSE)
    data = b""
    while (head := data.find(b"\r\n\r\n")) < 0 or len(data) < head + 4 + _length(data[:head]):
        piece = connection.recv(65536)
        if not piece:
            raise ConnectionError("the connection was closed")
        data += piece
    return time.perf_counter() - start


def _length(head: bytes) -> int:
    match = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    return int(match[1]) if match else 0


def _stalls(folder: Path) -> tuple[Waits, Waits, float]:
    """Waits for the proxy and for the upstream while streams are calibrated, and calibrated streams a second."""
    upstream, port = free_port(), free_port()
    serve = "hedgerow.proxy.cli", "serve", "-c", str(_configured(folder, upstream, port))
    with (
        process("benchmarks.performance.loopback", str(upstream), "0", str(STREAM_S), port=upstream),
        process(*serve, port=port),
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as loader,
        _connection(port) as proxy,
        _connection(upstream) as straight,
    ):
        asyncio.run(first_token(port, "on"))
        loader.submit(int).result()  # the process is there
        running = loader.submit(_calibrate, port)
        waits: tuple[list[float], list[float]] = ([], [])
        while not running.done():
            waits[0].append(_ask(proxy))
            waits[1].append(_ask(straight))
            time.sleep(PULSE_S)
        return Waits(waits[0]), Waits(waits[1]), STREAMS * EACH / running.result()


def run() -> str:
    """Both measurements, as Markdown."""
    with tempfile.TemporaryDirectory() as name:
        before, during = asyncio.run(_idle(Path(name)))
        proxy, upstream, rate = _stalls(Path(name))
    rows = [
        f"| {IDLE:,} open streams, passed on | |",
        "|---|---|",
        f"| resident before, MB | {before:.0f} |",
        f"| while they are open, MB | {during:.0f} |",
        f"| a stream, KB | {1024 * (during - before) / IDLE:.0f} |",
        "",
        f"| a small request while {STREAMS} streams at a time are calibrated ({rate:.0f} a second), ms | to the proxy | to the upstream |",
        "|---|---|---|",
    ]
    for label, share in (("median", 0.5), ("95th percentile", 0.95), ("99th percentile", 0.99), ("longest", 1.0)):
        rows.append(f"| {label} | {proxy.percentile(share):.1f} | {upstream.percentile(share):.1f} |")
    return "\n".join([*rows, "", f"*{len(proxy.seconds):,} small requests to each.*"])


def main() -> None:
    """Measure, print, and write the document where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    arguments = parser.parse_args()
    text = run()
    print(text)
    if arguments.write:
        page = DOCUMENT.read_text(encoding="utf-8")
        start, rest = page.split(BEGIN)
        DOCUMENT.write_text(f"{start}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
