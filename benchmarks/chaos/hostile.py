"""Hostile answers: a model that writes what is hardest to read. Whole requests of every way run, while `/health` is watched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from benchmarks.chaos.checks import HANG, STATUS
from benchmarks.chaos.faults import SOUND
from benchmarks.chaos.load import Tally, asked, tags
from benchmarks.chaos.rules import WAYS
from benchmarks.chaos.serving import Proxy, Watch, configuration, started, watched
from benchmarks.chaos.speech import chat, chat_events, response, response_events
from benchmarks.chaos.upstream import framed, listening, requests_of
from benchmarks.chaos.wire import say
from tests.support.hostile import HOSTILE, MARKED

HOSTILE_ANSWERS = "hostile answers"
LENGTH = 19_800
"""Characters: a little less than the longest answer that is read."""
HUGE = 2_000_000
_FOUND: Mapping[str, Callable[[int], str]] = {
    "a sequence and one possessive": lambda n: "ACGT" * (n // 4) + "'s",
    "one letter and one possessive": lambda n: "a" * n + "'s",
    "asterisks": lambda n: "*" * n + "x",
    "asterisks and a line": lambda n: "*" * n + "\nParis.",
    "marks of emphasis": lambda n: "**_" * (n // 3) + "x",
    "no letters": lambda n: ". 1" * (n // 3),
    "marks in turn": lambda n: "*_" * (n // 2),
}
"""With which processes were stopped before, by name."""
TEXTS = {name: make(LENGTH) for name, make in (_FOUND | HOSTILE | MARKED).items()} | {
    f"two million times {letter!r}": letter * HUGE for letter in 'a1.* \n([<#{"\\|`é\u200b\u0301😀'
}


@dataclass(slots=True)
class Liar:
    """An upstream that says one text, with another letter at the end of each answer."""

    text: str = ""
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        async for head, data in requests_of(reader):
            body = orjson.loads(data)
            texts = [f"{self.text} {chr(97 + turn)}" for turn in range(body.get("n") or 1)]
            is_response = head.split(" ", 2)[1].endswith("/responses")
            if body.get("stream"):
                events = (response_events if is_response else chat_events)(texts[0], SOUND.patch)
                writer.write(framed(b"".join(events), "text/event-stream"))
            else:
                said = response(texts[0], SOUND.patch) if is_response else chat(texts, SOUND.patch)
                writer.write(framed(orjson.dumps(said)))
            await writer.drain()
        writer.close()


async def run_hostile(folder: Path, store: str, tally: Tally, *, every: int = 1) -> dict[str, Watch]:
    """Each of the texts, or every so-manieth, as the answer in every way on a fresh proxy. Returns how well it answered
    meanwhile, by text.
    """
    liar, names, watches = Liar(), tags(), dict[str, Watch]()
    async with listening(liar):
        settings = configuration(folder, liar.url, store)
        settings["upstreams"]["chaos"] |= {"timeout_s": 60.0, "max_answer_bytes": 64 * HUGE}
        async with started(Proxy(folder, settings)) as running:
            for turn, (name, liar.text) in enumerate([("warm", "Paris."), *list(TEXTS.items())[::every]]):
                async with watched(running) as watch:
                    for way in WAYS:
                        answer = await say(running.address, [asked(way, SOUND, next(names))])
                        tally.requests[HOSTILE_ANSWERS] += 1
                        if answer.hung:
                            tally.add(HOSTILE_ANSWERS, HANG, f"{name}, {way.name}")
                        elif answer.status != 200:
                            tally.add(
                                HOSTILE_ANSWERS, STATUS, f"{name}, {way.name}: {answer.status} {answer.body[:200]!r}"
                            )
                if turn:
                    watches[name] = watch
            for line in running.errors():
                tally.add(HOSTILE_ANSWERS, STATUS, line[:600])
    return watches
