"""Answers that are not reworded, direct and through the proxy: `python -m benchmarks.performance.untouched [20000] [--seed 1]`.

Each generated answer (texts, parts, calls, thoughts, refusals, annotations, sound, pictures, log-probabilities, fields that nobody knows) is said by an upstream whole,
or only as a stream that is cut anywhere, and is read in every mode, whole and streamed. What a client reads must be the same object; the order of keys aside.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import structlog
from starlette.responses import JSONResponse, Response

from hedgerow.proxy.app import application
from hedgerow.proxy.config import Settings
from tests.support.servers import serving
from tests.support.upstream import Json, Upstream

ROUTES: dict[str, Json] = {"off": {"mode": "off"}, "shadow": {"mode": "shadow"}, "on": {"mode": "on"}, "append": {"mode": "on", "stream": "append"}}  # fmt: skip
AT_ONCE = 8
GROWING = ("content", "reasoning", "reasoning_content", "refusal", "arguments", "text", "data", "transcript")
WORDS = ("Canberra", "🐨", "naïve", "\n", "12.5", "```", "東京", '"so"', "x", "\u00a0", "</p>", "—")
TOP, CHOICE = {"citations", "search_results", "x_own", "system_fingerprint", "timings"}, {"content_filter_results", "native_finish_reason", "stop_reason"}  # fmt: skip

NOISE = ("content", "tool_calls", "refusal", "function_call", "reasoning_content", "audio")
"""Fields that some servers say in every piece, without a value."""
PADDING: Json = {"usage": None, "obfuscation": "aaaa", "service_tier": None}


class Maker:
    """Makes answers, and cuts them into streams; all from one seed."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def _text(self, least: int = 1) -> str:
        return " ".join(self.dice.choices(WORDS, k=self.dice.randint(least, 9)))

    def _some(self, share: float) -> bool:
        return self.dice.random() < share

    def _value(self, depth: int = 2) -> Any:
        kinds: list[Any] = [1, 0.5, True, "constant", [1, 2]]
        return {"inner": self._value(depth - 1), "id": "i"} if depth and self._some(0.4) else self.dice.choice(kinds)

    def answer(self, number: int) -> Json:
        """A chat completion."""
        text: Any = self._text()
        message: Json = {"role": "assistant", "content": text}
        if self._some(0.2):
            message["content"] = [
                {"type": "thinking", "thinking": [{"type": "text", "text": self._text()}]}
            ] * self._some(0.5)
            message["content"] = [*message["content"], {"type": "text", "text": text}]
        if calls := self.dice.choice([0, 0, 1, 2, 3]):
            given = ["{}", "", json.dumps({"city": self._text()}), '{"a": {"b": [1, "}"]}}']
            message["tool_calls"] = [
                {
                    "id": f"call_{number}_{i}",
                    "type": "function",
                    "function": {"name": "find", "arguments": self.dice.choice(given)},
                }
                for i in range(calls)
            ]
            message["content"] = None if self._some(0.6) else text
        elif self._some(0.1):
            message |= {"content": None, "refusal": self._text()}
        for name in ("reasoning", "reasoning_content"):
            if self._some(0.15):
                message[name] = self._text()
        if self._some(0.15):
            message["reasoning_details"] = [
                {"type": "reasoning.text", "text": self._text(), "format": "f", "index": 0, "signature": "s"}
            ]
        if self._some(0.1):
            message["annotations"] = [
                {"type": "url_citation", "url_citation": {"url": self._text(), "start_index": i}} for i in range(2)
            ]
        if self._some(0.1):
            message["audio"] = {"id": "audio_1", "data": "AAAA", "transcript": self._text(), "expires_at": 9}
        if self._some(0.1):
            message["images"] = [{"type": "image_url", "index": i, "image_url": {"url": f"data:{i}"}} for i in range(2)]
        if self._some(0.15):
            message["own_field"] = self._value()
        finish = "tool_calls" if calls else self.dice.choice(["stop", "length", "content_filter"])
        choice: Json = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        choice |= {name: self._value() for name in CHOICE if self._some(0.1)}
        if isinstance(message["content"], str) and self._some(0.2):
            choice["logprobs"] = {
                "content": [{"token": t, "logprob": -0.5, "bytes": None, "top_logprobs": []} for t in text.split(" ")],
                "refusal": None,
            }
        usage = {
            "prompt_tokens": 7,
            "completion_tokens": 9,
            "total_tokens": 16,
            "prompt_tokens_details": {"cached_tokens": 4},
        }
        head: Json = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1700000000, "model": "m-1"}
        return head | {name: self._value() for name in TOP if self._some(0.15)} | {"choices": [choice], "usage": usage}

    def _cut(self, text: str) -> list[str]:
        places = sorted(self.dice.sample(range(len(text) + 1), min(len(text), self.dice.randint(0, 4))))
        return [text[a:b] for a, b in itertools.pairwise([0, *places, len(text)])]

    def _deltas(self, message: Json) -> Iterator[Json]:
        """The pieces of a message, each list of parts in one or more of them."""
        yield {"role": "assistant", "content": "" if isinstance(message.get("content"), str) else None}
        for name, value in message.items():
            if name == "tool_calls":
                yield from self._calls(value)
            elif name == "audio":
                yield {name: {"id": value["id"], "data": "AA"}}
                yield {name: {"data": "AA", "transcript": value["transcript"]}}
                yield {name: {"expires_at": value["expires_at"]}}
            elif name == "reasoning_details":
                for piece in self._cut(value[0]["text"]):
                    yield {name: [{"type": "reasoning.text", "index": 0, "format": "f", "text": piece}]}
                yield {name: [{"type": "reasoning.text", "index": 0, "signature": "s"}]}
            elif name in ("annotations", "images"):
                yield from ({name: [part]} for part in value)
            elif isinstance(value, str) and name in GROWING:
                yield from ({name: piece} for piece in self._cut(value))
            elif name != "role" and value is not None:
                yield {name: value}

    def _calls(self, calls: list[Json]) -> Iterator[Json]:
        later: Json = self.dice.choice([{}, {"id": None}, {"id": "", "type": "function"}, {"type": None}])
        pieces: list[list[Json]] = []
        for i, call in enumerate(calls):
            first = call | {"index": i, "function": call["function"] | {"arguments": ""}}
            rest = [
                later | {"index": i, "function": {"arguments": piece}}
                for piece in self._cut(call["function"]["arguments"])
            ]
            pieces.append([first, *rest])
        while any(pieces):  # in turn, or one after the other
            chosen = (
                self.dice.choice([each for each in pieces if each]) if self._some(0.5) else next(filter(None, pieces))
            )
            yield {"tool_calls": [chosen.pop(0)]}

    def stream(self, answer: Json) -> bytes:
        """The answer as the bytes of a stream."""
        head = {
            "id": answer["id"],
            "object": "chat.completion.chunk",
            "created": answer["created"],
            "model": answer["model"],
        }
        (choice,) = answer["choices"]
        tops = [{name: value} for name, value in answer.items() if name in TOP]
        owns = {name: value for name, value in choice.items() if name in CHOICE}
        noise = {name: None for name in NOISE if self._some(0.15)} | ({"role": "assistant"} if self._some(0.3) else {})
        head |= {name: value for name, value in PADDING.items() if self._some(0.1)}
        said = [{"delta": noise | delta, "finish_reason": None} for delta in self._deltas(choice["message"])]
        if choice["logprobs"]:
            said[-1]["logprobs"] = choice["logprobs"]
        chunks = [head | {"choices": [{"index": 0} | part]} for part in said]
        chunks.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]} | owns]})
        for top in tops:
            self.dice.choice(chunks).update(top)
        if self._some(0.5):
            chunks.append(head | {"choices": [], "usage": answer["usage"]})
        else:
            chunks[-1]["usage"] = answer["usage"]
        blank = self.dice.choice(["\n\n", "\r\n\r\n"])
        escaped = self._some(0.5)
        events = [f"data: {json.dumps(chunk, ensure_ascii=escaped)}" for chunk in chunks] + [
            "data: [DONE]"
        ] * self._some(0.8)
        return "".join(event + blank for event in events).encode()


def read(data: bytes) -> Json:
    """The answer of a stream: what grows is joined, parts by their index, everything else as it was last said."""
    answer: Json = {}
    message: Json = {}
    for line in data.decode().splitlines():
        if not line.startswith("data: {"):
            continue
        chunk = json.loads(line[6:])
        choices = chunk.pop("choices") or []
        answer |= chunk
        for choice in choices:
            delta = choice.pop("delta")
            kept = answer.setdefault("choices", [{"logprobs": None}])[0]
            kept |= {name: value for name, value in choice.items() if value is not None}
            _grow(message, delta)
    answer["choices"][0]["message"] = {"content": None} | message
    (message.get("tool_calls") or []).sort(key=lambda part: part["index"])
    for part in message.get("tool_calls") or ():
        part.pop("index")
    return answer | {"object": "chat.completion"}


def _grow(kept: Json, more: Json) -> None:
    for name, value in more.items():
        if isinstance(value, list) and name in ("tool_calls", "reasoning_details", "annotations", "images"):
            parts = kept[name] = kept.get(name) or []
            for part in value:
                same = next((p for p in parts if "index" in part and p.get("index") == part["index"]), None)
                if same is None:
                    parts.append(same := {})
                _grow(same, part)
        elif isinstance(value, list) and name == "content":
            kept[name] = [*(kept.get(name) or []), *value]
        elif isinstance(value, dict) and isinstance(kept.get(name), dict):
            _grow(kept[name], value)
        elif isinstance(value, str) and name in GROWING:
            kept[name] = (kept.get(name) or "") + value
        elif value or not kept.get(name):
            kept[name] = value


def _bare(answer: Json) -> Json:
    """An answer as it is compared: without our field, and with null for a content that a stream begins with nothing."""
    for choice in answer["choices"]:
        said = {name: value for name, value in choice["message"].items() if value is not None}
        choice["message"] = said | {"content": said.get("content") or None}
    return {
        name: value for name, value in answer.items() if name not in ("hedgerow", "obfuscation") and value is not None
    }


async def differences(count: int, seed: int = 1, *, at: Path | None = None) -> tuple[list[str], Counter[str]]:
    """What differed, of so many answers, and how many were read in each way."""
    maker, said = Maker(seed), {}
    upstream = Upstream()

    def reply(_request: Any, body: Json) -> Response:
        answer, streamed, only_streams = said[body["user"]]
        if body.get("stream"):
            return Response(streamed, media_type="text/event-stream")
        if only_streams:
            return JSONResponse({"error": {"message": "stream must be set to true", "param": "stream"}}, 400)
        n = body.get("n") or 1
        usage = answer["usage"] | {"completion_tokens": 9 * n, "total_tokens": 7 + 9 * n}
        return JSONResponse(
            answer | {"choices": [answer["choices"][0] | {"index": i} for i in range(n)], "usage": usage}
        )

    upstream.default = reply
    wrong: list[str] = []
    ways: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=at) as folder, serving(upstream) as below:
        for mode, route in ROUTES.items():
            with serving(
                application(_settings(below, Path(folder), mode, route), address=mode), lifespan="on"
            ) as address:
                turns = asyncio.Semaphore(AT_ONCE)
                async with httpx.AsyncClient(timeout=60) as client:

                    async def one(
                        number: int, mode: str = mode, address: str = address, client: Any = client, turns: Any = turns
                    ) -> None:
                        async with turns:
                            answer = maker.answer(number)
                            only, stream = maker.dice.random() < 0.5, maker.dice.random() < 0.5 and mode != "shadow"
                            only = only and (stream or mode != "off")
                            streamed, key = maker.stream(answer), f"u{number}"
                            said[key] = answer, streamed, only
                            fault = await _fault(client, address, mode, answer, streamed, key, stream=stream, only=only)
                            ways[
                                f"{mode}, {'streamed' if stream else 'whole'}, of {'streams only' if only else 'both'}"
                            ] += 1
                            upstream.calls.clear()
                            if fault is not None:
                                wrong.append(f"answer {number}, {mode}, stream={stream}, only={only}: {fault}")

                    share = range(count // len(ROUTES))
                    await asyncio.gather(*(one(number) for number in share))
    return wrong, ways


async def _fault(
    client: httpx.AsyncClient,
    address: str,
    mode: str,
    answer: Json,
    streamed: bytes,
    key: str,
    *,
    stream: bool,
    only: bool,
) -> str | None:
    calls = answer["choices"][0]["message"].get("tool_calls")
    body: Json = {
        "model": "m",
        "user": key,
        "messages": [{"role": "user", "content": f"What is the capital of number {key}?"}],
        "stream": stream,
    }
    if calls:
        body["tools"] = [{"type": "function", "function": {"name": "find", "parameters": {}}}]
    if answer["choices"][0]["logprobs"]:
        body["logprobs"] = True
    if stream:
        body["stream_options"] = {"include_usage": True}
    got = await client.post(f"{address}/v1/chat/completions", json=body)
    if not stream and only:  # a stream is asked for only where the client asks for one
        return None if got.status_code == 400 else f"status {got.status_code}"
    if got.status_code != 200:
        return f"status {got.status_code}: {got.text[:200]}"
    if stream and mode in ("off", "shadow"):
        return None if got.content == streamed else "other bytes"
    seen, expected = _bare(read(got.content) if stream else got.json()), _bare(json.loads(json.dumps(answer)))
    return None if seen == expected else _first(expected, seen, "$")


def _first(expected: Any, seen: Any, place: str) -> str:
    """The first place where two values differ."""
    if isinstance(expected, dict) and isinstance(seen, dict):
        for name in [*expected, *seen]:
            if expected.get(name, "(nothing)") != seen.get(name, "(nothing)"):
                return _first(expected.get(name, "(nothing)"), seen.get(name, "(nothing)"), f"{place}.{name}")
    if isinstance(expected, list) and isinstance(seen, list) and len(expected) == len(seen):
        for i, (old, new) in enumerate(zip(expected, seen, strict=True)):
            if old != new:
                return _first(old, new, f"{place}[{i}]")
    return f"{place}: {expected!r} became {seen!r}"[:400]


def _settings(below: str, folder: Path, mode: str, route: Json) -> Settings:
    return Settings(
        upstreams={"below": {"provider": "openai", "base_url": f"{below}/v1", "retries": 0}},  # type: ignore[dict-item]
        routes=[{"name": "r", "upstream": "below", "sampling": {"n": 3}, "rewriting": {"by": "local"}} | route],  # type: ignore[list-item]
        audit={"url": f"sqlite:///{folder}/{mode}.db", "spool": str(folder / f"{mode}-spool"), "synchronous": "normal"},  # type: ignore[arg-type]
        maps={"folder": str(folder / "maps")},  # type: ignore[arg-type]
    )


def main() -> int:
    """Print what differed; 1 if anything did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    wrong, ways = asyncio.run(differences(chosen.count, chosen.seed))
    for way, count in sorted(ways.items()):
        print(f"{count:6}  {way}")
    print(f"{len(wrong)} of {sum(ways.values())} answers differ from direct", *wrong[:20], sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
