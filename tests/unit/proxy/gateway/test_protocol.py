"""How bytes leave a connection: in their order, together where they can, and never later than the turn in which they were written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from hedgerow.proxy.gateway.protocol import Together


class Sent(asyncio.Transport):
    """A transport that keeps what is sent, one entry a call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Keep it."""
        assert not self.closed
        self.calls.append(bytes(data))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Keep them as one."""
        self.write(b"".join(list_of_data))

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return self.closed

    def close(self) -> None:
        """Nothing may be sent from now on."""
        self.closed = True


def test_a_head_leaves_with_its_body() -> None:
    """What is written in one turn needs one call of the system."""

    async def work() -> list[bytes]:
        sent = Sent()
        together = Together(sent, asyncio.get_running_loop())
        together.write(b"head")
        together.write(b"body")
        await asyncio.sleep(0)
        return sent.calls

    assert asyncio.run(work()) == [b"headbody"]


def test_a_head_without_a_body_leaves_at_the_end_of_the_turn() -> None:
    """A stream that says nothing for a while has begun for its client; what comes later follows in order."""

    async def work() -> list[bytes]:
        sent = Sent()
        together = Together(sent, asyncio.get_running_loop())
        together.write(b"head")
        await asyncio.sleep(0)
        assert sent.calls == [b"head"]
        for piece in (b"1", b"2", b"3"):
            together.write(piece)
        await asyncio.sleep(0)
        return sent.calls

    assert b"".join(asyncio.run(work())) == b"head123"


def test_what_was_written_before_the_end_is_sent() -> None:
    """An answer that is broken off loses nothing that was written, and nothing is sent after the end."""

    async def work() -> Sent:
        sent = Sent()
        together = Together(sent, asyncio.get_running_loop())
        together.write(b"head")
        together.close()
        await asyncio.sleep(0)
        return sent

    sent = asyncio.run(work())
    assert (sent.calls, sent.closed) == ([b"head"], True)


def test_what_is_held_for_a_client_that_left_is_dropped() -> None:
    """Its connection closed before the loop's turn ended: nothing is written to it, and nothing is raised."""

    async def work() -> list[bytes]:
        sent = Sent()
        together = Together(sent, asyncio.get_running_loop())
        together.write(b"head")
        sent.close()
        together.write(b"body")
        together.write(b"more")
        await asyncio.sleep(0)
        return sent.calls

    assert asyncio.run(work()) == []
