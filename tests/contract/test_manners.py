"""What an upstream said reaches the client whole: every provider's manner, in every mode, streamed or not, with tools or without."""

from __future__ import annotations

import functools
import gzip
import itertools
import json
import zlib
from typing import Any

import brotli
import httpx
import openai
import pytest
import zstandard
from openai._models import construct_type
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk
from starlette.responses import JSONResponse, Response

from tests.compat.snippets import PAGE
from tests.support import messages as messages_support
from tests.support import responses as responses_support
from tests.support.manners import MANNERS, TEXT, USAGE, table
from tests.support.tables import cases
from tests.support.upstream import Upstream, completion, fails, says, sse_response

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
TOOLS: list[Any] = [{"type": "function", "function": {"name": "get_weather", "parameters": {}}}]
CHAT = "/v1/chat/completions"
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # the SDK takes a list for a string
MODES = {"off": {"mode": "off"}, "shadow": {"mode": "shadow"}, "on": {"mode": "on"}, "append": {"stream": "append"}}


def _accumulated(data: bytes) -> Any:
    """The answer of a stream, as the official SDK accumulates it."""
    state = ChatCompletionStreamState()
    for line in data.decode().splitlines():
        if line.startswith("data: {"):
            state.handle_chunk(construct_type(type_=ChatCompletionChunk, value=json.loads(line[6:])))
    return json.loads(state.current_completion_snapshot.model_dump_json(exclude_unset=True))


def _without_ours(answer: Any, text: str | None) -> Any:
    """An answer without our field; a reworded text counts as the upstream's."""
    answer.pop("hedgerow", None)
    message = answer["choices"][0]["message"]
    if isinstance(content := message.get("content"), list):
        for part in content:
            part |= {"text": text} if part["type"] == "text" and "Canberra" in part["text"] else {}
    elif content:
        assert "Canberra" in content
        message["content"] = text
    return answer


@pytest.fixture
def in_mode(serve: Any) -> Any:
    """The proxy in a mode; one for all rows."""
    return functools.cache(lambda mode: serve(**MODES[mode], sampling={"n": 3}))


@cases("way", ["whole", "streamed", "streamed, of an upstream of streams alone"], ids=str)
@cases("text", [TEXT, None], ids=lambda text: "a text" if text else "calls")
@cases("mode", MODES, ids=str)
@cases("name", MANNERS, ids=str)
def test_every_manner_in_every_mode(
    in_mode: Any, upstream: Upstream, mode: str, text: str | None, way: str, name: str
) -> None:
    """An answer that is not reworded is the upstream's, as an object; of one that is, only the text differs."""
    manner, stream = MANNERS[name], way != "whole"
    upstream.default = manner.says(only_streams=way.endswith("alone"))
    body = {"model": "m", "messages": ASK, "stream": stream} | ({} if text else {"tools": TOOLS})
    body |= {"stream_options": {"include_usage": True}} if stream else {}
    reply = httpx.post(in_mode(mode) + CHAT, json=body, timeout=30)
    assert reply.status_code == 200, reply.text
    expected = manner.whole(text)
    if not stream:
        assert _without_ours(reply.json(), text) == expected
    elif mode in ("off", "shadow"):
        assert reply.content == manner.stream(text)
    elif mode == "append" and text is None:
        assert _objects(reply.content) == _objects(manner.stream(text))
    elif mode == "on":
        _agrees(_accumulated(reply.content), expected, text, name)


def test_the_table_of_providers_is_in_the_document() -> None:
    """As `python -m tests.compat --write` writes it."""
    assert table() in PAGE.read_text(encoding="utf-8")


def _objects(data: bytes) -> list[Any]:
    """The deltas of a stream, without its last events, which hold what is ours."""
    lines = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: {")]
    return [
        [choice["delta"] for choice in line["choices"] or () if choice["delta"]] for line in lines if line["choices"]
    ][:-1]


def _agrees(got: Any, expected: Any, text: str | None, name: str) -> None:
    choice, own = got["choices"][0], expected["choices"][0]
    message, said = choice["message"], own["message"]
    assert got["usage"] == USAGE, name
    assert (choice["finish_reason"], got["id"], got["model"], got["created"]) == (
        own["finish_reason"],
        expected["id"],
        expected["model"],
        expected["created"],
    ), name
    for field, value in said.items():
        if field == "tool_calls":
            calls = [{k: v for k, v in call.items() if k != "index"} for call in message[field]]
            for call in calls:
                call["function"].pop("parsed_arguments", None)
            assert calls == value, name
        elif field != "content" or text is None or not isinstance(value, str):
            assert message.get(field) == value, (name, field)
        else:
            assert "Canberra" in message["content"], name
    for field in expected.keys() - {"choices", "usage", "object", "system_fingerprint"}:
        assert got[field] == expected[field], (name, field)


@pytest.mark.parametrize("mode", MODES)
def test_feedback_finds_the_answer_by_its_own_id(serve: Any, upstream: Upstream, mode: str) -> None:
    """Also where the stream opens with a chunk that has none."""
    if mode == "off":
        pytest.skip("keeps no answers")
    upstream.default = MANNERS["Azure OpenAI"].says()
    address = serve(**MODES[mode], sampling={"n": 3})
    httpx.post(address + CHAT, json={"model": "m", "messages": ASK, "stream": True})
    told = httpx.post(address + "/v1/feedback", json={"id": "chatcmpl-7", "correct": True}, timeout=30)
    assert told.status_code == 200, told.text


CODINGS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("mode", ["shadow", "on", "append"])
def test_a_compressed_answer_is_read(serve: Any, upstream: Upstream, lines: Any, mode: str, coding: str) -> None:
    """Some servers compress whatever they were asked."""
    turn = itertools.count()

    def reply(_request: Any, body: Any) -> Response:
        texts = ["Canberra." if next(turn) % 5 else "Sydney." for _ in range(body.get("n") or 1)]
        plain = MANNERS["OpenAI"].stream(texts[0]) if body.get("stream") else json.dumps(completion(*texts)).encode()
        kind = "text/event-stream" if body.get("stream") else "application/json"
        return Response(CODINGS[coding](plain), media_type=kind, headers={"content-encoding": coding})

    upstream.default = reply
    address = serve(**MODES[mode], sampling={"n": 5})
    for stream in (False, True):
        with httpx.stream("POST", address + CHAT, json={"model": "m", "messages": ASK, "stream": stream}) as got:
            assert got.status_code == 200
            said = b"".join(got.iter_raw())
            if got.headers.get("content-encoding"):
                continue  # shadow: as it came
            assert b"anberra" in said or b"ydney" in said
    assert {line["status"] for line in lines.requests(2)} <= {"hedged", "plain", "unhedged"}, lines.requests(2)


@pytest.mark.parametrize("kind", [None, "text/plain", "Text/Event-Stream"])
@pytest.mark.parametrize("mode", MODES)
def test_a_body_that_looks_like_a_stream_is_one(
    serve: Any, upstream: Upstream, lines: Any, mode: str, kind: Any
) -> None:
    """Whatever its content type says, where a stream was asked for."""
    data = MANNERS["OpenAI"].stream(TEXT)
    headers = {"content-type": kind} if kind else {}

    def reply(_request: Any, body: Any) -> Response:
        return (
            Response(data, headers=headers)
            if body.get("stream")
            else fails(400, {"error": {"message": "stream only"}})(_request, body)
        )

    upstream.default = reply
    address = serve(**MODES[mode], sampling={"n": 3})
    got = httpx.post(address + CHAT, json={"model": "m", "messages": ASK, "stream": True})
    assert (got.status_code, b"Canberra" in got.content) == (200, True)
    assert lines.requests(1)[0]["reason"] not in ("not_a_stream", "upstream_broken")


TOO_LONG = {"error": {"message": "maximum context length is 8192 tokens", "code": 400}}
ERRORS = {
    CHAT: (b"data: " + json.dumps(TOO_LONG).encode() + b"\n\n"),
    "/v1/messages": b'event: error\ndata: {"type": "error", "error": {"type": "invalid_request_error", "message": "maximum context length"}}\n\n',
    "/v1/responses": b'event: error\ndata: {"type": "error", "code": "context_length_exceeded", "message": "maximum context length", "param": null}\n\n',
}


@pytest.mark.parametrize("tools", [[], TOOLS])
@pytest.mark.parametrize("path", ERRORS)
@pytest.mark.parametrize("mode", MODES)
def test_the_upstreams_words_about_an_error_reach_the_client(
    serve: Any, upstream: Upstream, mode: str, path: str, tools: Any
) -> None:
    """A request that is too long is refused as such, whole and as an event, and nobody is asked again."""

    def reply(request: Any, body: Any) -> Response:
        if body.get("stream"):
            return Response(ERRORS[path], media_type="text/event-stream")
        return fails(400, TOO_LONG)(request, body)

    upstream.default = reply
    address = serve(**MODES[mode])
    body = {
        "model": "m",
        "messages": ASK,
        "input": "What is the capital of Australia?",
        "max_tokens": 99,
        "tools": tools,
    }
    for stream in (False, True):
        upstream.calls.clear()
        got = httpx.post(address + path, json=body | {"stream": stream})
        assert "maximum context length" in got.text
        assert got.status_code in ((400,) if not stream else (200, 400)), got.text
        assert len(upstream.calls) <= 2


def test_an_error_in_a_stream_is_raised_by_the_sdk_at_once(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """With its message, and without a second request: as direct."""

    def reply(_request: Any, body: Any) -> Response:
        if not body.get("stream"):
            return JSONResponse({"error": {"message": "stream must be set to true"}}, 400)
        first = {"id": "c", "choices": [{"index": 0, "delta": {"content": "The"}}]}
        return sse_response([first, {"error": {"message": "slow down", "code": 429, "type": "rate_limit"}}])

    upstream.default = reply
    client = client_of(serve()).with_options(max_retries=2)
    with pytest.raises(openai.APIError, match="slow down"):
        list(client.chat.completions.create(model="m", messages=ASK, tools=TOOLS, stream=True))
    assert len(upstream.calls) == 2  # whole, which it does not take, and as the client asked


@pytest.mark.parametrize("stream", [False, True])
def test_a_response_that_failed_is_served_as_it_came(
    serve: Any, client_of: Any, upstream: Upstream, stream: bool
) -> None:
    """As an object with its error; nobody takes it for an answer without text."""
    failed = responses_support.response() | {"status": "failed", "error": {"code": "server_error", "message": "broken"}}
    upstream.default = lambda _request, _body: JSONResponse(failed)
    client = client_of(serve(sampling={"n": 3}))
    got = client.responses.create(model="m", input="What is the capital of Australia?", stream=stream)
    answer = [event.response for event in got][-1] if stream else got
    assert (answer.status, answer.error.message) == ("failed", "broken")


def test_an_error_object_with_status_200_has_the_status_of_its_kind(serve: Any, upstream: Upstream) -> None:
    """By its type where it names no number."""
    upstream.default = fails(200, {"error": {"message": "slow down", "type": "rate_limit_error"}})
    got = httpx.post(serve() + CHAT, json={"model": "m", "messages": ASK})
    assert (got.status_code, got.json()["error"]["message"]) == (429, "slow down")


def test_samples_that_are_refused_do_not_hold_the_draft(serve: Any, upstream: Upstream, lines: Any) -> None:
    """An upstream that asks for a long pause gets it, but the client has its answer."""
    turn = itertools.count()

    def reply(request: Any, body: Any) -> Any:
        if next(turn):
            return fails(429, {"error": {"message": "slow down"}}, {"retry-after": "20"})(request, body)
        return says("Canberra.")(request, body)

    upstream.default = reply
    address = serve(upstream_settings={"retries": 2}, deadline_s=15)
    body = {"model": "m", "messages": ASK, "tools": TOOLS}
    got = httpx.post(address + CHAT, json=body, timeout=10)
    assert (got.json()["choices"][0]["message"]["content"], lines.requests(1)[0]["status"]) == ("Canberra.", "degraded")


@pytest.mark.parametrize("stream", [False, True])
def test_a_content_of_parts_is_measured_and_only_its_text_reworded(
    serve: Any, upstream: Upstream, stream: bool
) -> None:
    """Thoughts beside the answer stay where they are."""
    turn = itertools.count()
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hmm."}]}

    def reply(_request: Any, body: Any) -> Response:
        cities = ["Sydney" if next(turn) % 5 > 2 else "Canberra" for _ in range(body.get("n") or 1)]
        answer = completion(*cities)
        for choice, city in zip(answer["choices"], cities, strict=True):
            choice["message"]["content"] = [thinking, {"type": "text", "text": f"The capital of Australia is {city}."}]
        return JSONResponse(answer)

    upstream.default = reply
    got = httpx.post(serve(sampling={"n": 5}) + CHAT, json={"model": "m", "messages": ASK, "stream": stream})
    answer = _accumulated(got.content) if stream else got.json()
    first, text = answer["choices"][0]["message"]["content"]
    assert first == thinking
    assert text["text"] != "The capital of Australia is Canberra."
    assert "Canberra" in text["text"]


@pytest.mark.parametrize(("path", "kind"), [("/v1/responses", "response"), ("/v1/messages", "message")])
def test_requests_that_are_compressed_with_zstd_are_read(serve: Any, upstream: Upstream, path: str, kind: str) -> None:
    """Codex compresses so; routes by model need the body."""
    upstream.default = (
        responses_support.responds("Canberra.") if kind == "response" else messages_support.speaks("Canberra.")
    )
    address = serve(match={"model": "gpt-*"}, sampling={"n": 3})
    body = {"model": "gpt-5", "messages": ASK, "input": ASK, "max_tokens": 99}
    for coding in ("zstd", "gzip", "br"):
        headers = {"content-encoding": coding, "content-type": "application/json"}
        got = httpx.post(address + path, content=CODINGS[coding](json.dumps(body).encode()), headers=headers)
        assert got.status_code == 200, got.text
        assert "hedgerow" in got.json()


def _unsure(before: str = "", after: str = "", end: str = ".") -> Any:
    """Three of five answers say Canberra, each behind a thought of its own."""
    turn = itertools.count()

    def reply(_request: Any, body: Any) -> Response:
        cities = ["Sydney" if next(turn) % 5 > 2 else "Canberra" for _ in range(body.get("n") or 1)]
        return JSONResponse(completion(*(f"{before}The capital of Australia is {city}{end}{after}" for city in cities)))

    return reply


@pytest.mark.parametrize(
    ("before", "after"),
    [("The user asks for the capital.\n</think>\n\n", ""), ("<think>Same thought.</think>\n\n", "<|im_end|>"), ("\u200b", "\u200b")],
)  # fmt: skip
def test_thoughts_are_not_the_answer(serve: Any, upstream: Upstream, before: str, after: str) -> None:
    """The answers behind them are compared, and only they are reworded."""
    upstream.default = _unsure(before, after)
    got = httpx.post(serve(sampling={"n": 5}) + CHAT, json={"model": "m", "messages": ASK}).json()
    text = got["choices"][0]["message"]["content"]
    assert got["hedgerow"]["confidence"] == pytest.approx(0.6)
    assert (text.startswith(before), text.endswith(after)) == (True, True)
    assert got["hedgerow"]["status"] == "hedged"
    assert text != f"{before}The capital of Australia is Canberra.{after}"


def test_the_result_of_a_worked_answer_is_compared_and_left(serve: Any, upstream: Upstream) -> None:
    """Programs look for it behind its mark."""
    worked = [
        f"There are {way} boxes with 7 each.\n#### {sum_}"
        for way, sum_ in (("six", 42), ("6", 42), ("five", 35), ("6 large", 42), ("5", 36))
    ]
    turn = itertools.cycle(worked)
    upstream.default = lambda _request, body: JSONResponse(completion(*(next(turn) for _ in range(body.get("n") or 1))))
    ask = [{"role": "user", "content": "How many apples are in 6 boxes of 7?"}]
    got = httpx.post(serve(sampling={"n": 5}) + CHAT, json={"model": "m", "messages": ask}).json()
    assert got["choices"][0]["message"]["content"] in worked
    assert (got["hedgerow"]["confidence"], got["hedgerow"]["clusters"]) == (pytest.approx(0.6), [3, 1, 1])


@pytest.mark.parametrize("stream", ["buffer", "append"])
@pytest.mark.parametrize(
    "limits", [{"stop": ["."]}, {"stop": "is"}, {"stop": ["likely", "Likely", "robab"]}, {"max_tokens": 10}]
)
def test_our_words_keep_to_the_limits_of_the_request(serve: Any, upstream: Upstream, limits: Any, stream: str) -> None:
    """No text holds a stop sequence or goes beyond the tokens that were asked for."""
    text, body = "Canberra", {"model": "m", "messages": ASK, "stream": stream == "append"} | limits

    def reply(request: Any, asked: Any) -> Any:
        if asked.get("stream"):
            return Response(MANNERS["OpenAI"].stream(text), media_type="text/event-stream")
        turn = iter(("Canberra", "Sydney", "Canberra", "Perth", "Canberra"))
        return JSONResponse(completion(*(next(turn) for _ in range(asked.get("n") or 1)), usage=(7, 9)))

    upstream.default = reply
    got = httpx.post(serve(sampling={"n": 5}, stream=stream) + CHAT, json=body)
    answer = _accumulated(got.content) if stream == "append" else got.json()
    said = answer["choices"][0]["message"]["content"]
    stops = limits.get("stop", [])
    assert not any(stop in said for stop in ([stops] if isinstance(stops, str) else stops)), said
    assert "Canberra" in said
    if "max_tokens" in limits:
        assert said == "Canberra"


@pytest.mark.parametrize(
    "prompt",
    ["The capital of Australia is", "<PRE> def capital():\n    return <SUF>\n <MID>", "<｜fim▁begin｜>x<｜fim▁hole｜>y<｜fim▁end｜>", "[SUFFIX]\n[PREFIX]x = ", "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>"],
)  # fmt: skip
def test_a_text_that_is_continued_or_filled_is_left(serve: Any, upstream: Upstream, prompt: str) -> None:
    """Its words stand in a sentence or a file of the user's; an answer to a question is hedged there too."""
    turn = itertools.cycle((" Canberra, which was founded in 1913.", " Sydney.", " Canberra."))

    def reply(_request: Any, body: Any) -> Response:
        texts = [next(turn) for _ in range(body.get("n") or 1)]
        choices = [
            {"index": i, "text": text, "finish_reason": "stop", "logprobs": None} for i, text in enumerate(texts)
        ]
        return JSONResponse(
            {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "choices": choices}
        )

    upstream.default = reply
    address = serve(sampling={"n": 3})
    said = [
        httpx.post(address + "/v1/completions", json={"model": "m", "prompt": text}).json()["choices"][0]["text"]
        for text in (prompt, "What is the capital of Australia?\nAnswer:")
    ]
    assert said[0] in (" Canberra, which was founded in 1913.", " Canberra.", " Sydney.")
    assert said[1] != said[0]


def test_a_list_of_models_is_whole_whatever_its_pages(serve: Any, upstream: Upstream) -> None:
    """Claude Code asks for a thousand at once, Azure for a version; nobody has to ask for the next page."""
    names = [f"claude-{n}" for n in range(5)]

    def reply(request: Any, _body: Any) -> Response:
        start = names.index(request.query_params["after_id"]) + 1 if "after_id" in request.query_params else 0
        page = names[start : start + 2]
        data = [{"id": name, "type": "model"} for name in page]
        return JSONResponse({"data": data, "has_more": page[-1] != names[-1], "first_id": page[0], "last_id": page[-1]})

    upstream.default = reply
    got = httpx.get(serve() + "/v1/models?limit=1000&api-version=2").json()
    assert [model["id"] for model in got["data"]] == names
    assert (got["has_more"], got["first_id"], got["last_id"]) == (False, names[0], names[-1])
    assert all("api-version=2" in target and "limit=1000" in target for target in upstream.targets)


@pytest.mark.parametrize("mode", MODES)
def test_a_byte_order_mark_before_a_request_is_no_fault(serve: Any, upstream: Upstream, mode: str) -> None:
    """Tools on Windows write one."""
    upstream.default = says("Canberra.")
    body = b"\xef\xbb\xbf" + json.dumps({"model": "m", "messages": ASK}).encode()
    got = httpx.post(serve(**MODES[mode]) + CHAT, content=body, headers={"content-type": "application/json"})
    assert got.json()["choices"][0]["message"]["content"] == "Canberra."


def test_what_was_asked_again_here_is_not_asked_again_by_the_library(
    serve: Any, client_of: Any, upstream: Upstream
) -> None:
    """The client's library would multiply our own retries."""
    upstream.default = fails(429, {"error": {"message": "slow down"}}, {"retry-after": "0"})
    client = client_of(serve(upstream_settings={"retries": 1})).with_options(max_retries=2)
    with pytest.raises(openai.RateLimitError, match="slow down"):
        client.chat.completions.create(model="m", messages=ASK, tools=TOOLS)
    assert len(upstream.calls) == 2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_sentence_before_a_call_is_no_reason_for_others(
    serve: Any, upstream: Upstream, lines: Any, mode: str, stream: bool
) -> None:
    """A step of an agent costs what it costs direct."""
    answer = MANNERS["OpenAI"].whole(None)
    answer["choices"][0]["message"]["content"] = "I'll look."
    calls = MANNERS["OpenAI"].stream(None).replace(b'"content": ""', b'"content": "I\'ll look."')
    upstream.default = lambda _request, body: (
        Response(calls, media_type="text/event-stream") if body.get("stream") else JSONResponse(answer)
    )
    httpx.post(serve(**MODES[mode]) + CHAT, json={"model": "m", "messages": ASK, "tools": TOOLS, "stream": stream})
    line = lines.requests(1)[0]
    assert (line["status"], line["reason"]) == ("passed", "mode_off" if mode == "off" else "tool_calls")
    assert [body.get("n") or 1 for body in upstream.calls] == [1]
