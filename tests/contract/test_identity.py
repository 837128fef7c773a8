"""No client gets another's answer: an upstream that answers with what it saw, and clients that differ in anything that it could see."""

from __future__ import annotations

import asyncio
import copy
import json
import re
import string
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.responses import JSONResponse

from hedgerow.proxy.pipeline.sampling.sharing import CANNOT_MATTER
from hedgerow.proxy.upstreams.egress import NOT_SENT, OF_A_BODY_AS_IT_CAME
from tests.contract.test_failures import rows_of
from tests.support.keys import new_key
from tests.support.upstream import Upstream, completion, sse_response, stream_chunks

CHAT = "/v1/chat/completions"
BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "What is the capital of Australia?"}]}
MARK = re.compile(r"Mark[0-9]{6}")
TOKEN = string.ascii_lowercase + string.digits + "-_"
UNSEEN = CANNOT_MATTER | NOT_SENT | OF_A_BODY_AS_IT_CAME | {"origin", "cookie", "sec-websocket-protocol"}
VENDORS = ("authorization", "x-api-key", "api-key", "ocp-apim-subscription-key", "x-goog-api-key", "xi-api-key")
KNOWN = (*VENDORS, "x-tenant", "openai-organization", "openai-project", "x-forwarded-for", "accept-language", "baggage")
FIELDS = ("user", "safety_identifier", "prompt_cache_key", "service_tier", "reasoning_effort")

HEADERS = st.sampled_from(KNOWN) | st.text(TOKEN, min_size=1, max_size=12).filter(
    lambda name: name not in UNSEEN and not name.startswith(("x-hedgerow-", "hedgerow"))
)
NAMES = st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=12).filter(
    lambda name: name.lower() not in ("model", "deployment", "stream")  # what names a model decides the route
)
DIMENSIONS = st.one_of(
    st.tuples(st.just("header"), HEADERS),
    st.tuples(st.just("cookie"), NAMES),
    st.tuples(st.just("query"), NAMES),
    st.tuples(st.just("path"), st.just("deployment")),
    st.tuples(st.just("field"), st.sampled_from(FIELDS) | NAMES.map(lambda name: f"x_{name}")),
    st.tuples(st.just("nested"), NAMES),
    st.tuples(st.just("message"), st.sampled_from(["system", "user", "assistant", "name", "part"])),
)


def _sent(dimension: tuple[str, str], mark: str | None) -> dict[str, Any]:
    """The request of a client that stands out by a mark in one dimension; without a mark, of one that has nothing there."""
    kind, name = dimension
    body, path, headers = copy.deepcopy(BODY), CHAT, {}
    if mark is None:
        return {"url": path, "json": body, "headers": headers}
    match kind:
        case "header":
            headers[name] = f"Bearer {mark}" if name == "authorization" else mark
        case "cookie":
            headers["cookie"] = f"a=1; {name}={mark}"
        case "query":
            path += f"?{name}={mark}"
        case "path":
            path = f"/openai/deployments/{mark}/chat/completions"
            del body["model"]  # one name alone: two are refused
        case "field":
            body[name] = mark
        case "nested":
            body["metadata"] = {name: mark}
        case "message":
            body["messages"] = {
                "user": [{"role": "user", "content": f"What is the capital of Australia, {mark}?"}],
                "name": [{"role": "user", "content": "What is the capital of Australia?", "name": mark}],
                "part": [{"role": "user", "content": [{"type": "text", "text": "What is the capital?", "x": mark}]}],
            }.get(name, [{"role": name, "content": mark}, *body["messages"]])
    return {"url": path, "json": body, "headers": headers}


class Reflecting:
    """Answers after a while, so that requests meet, with the mark that it saw anywhere; remembers those."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    async def __call__(self, request: Any, body: Any) -> Any:
        await asyncio.sleep(0.03)
        everything = f"{request.url} {request.headers.raw} {json.dumps(body)}"
        mark = next(iter(MARK.findall(everything)), None)
        self.seen.add(mark or "")
        text = f"The capital is {mark}." if mark else "The capital is Canberra."
        if body.get("stream"):
            return sse_response([*stream_chunks(text), "[DONE]"])
        return JSONResponse(completion(*[text] * (body.get("n") or 1)))


@pytest.fixture(params=["on", "on, streamed", "append", "shadow"])
def mode(request: Any) -> str:
    """How clients are answered."""
    name: str = request.param
    return name


@pytest.fixture(params=["share", "cache"])
def sampling(request: Any) -> dict[str, Any]:
    """How equal requests share."""
    return {"n": 2, "min_n": 2} | ({"cache": {"ttl_s": 600}} if request.param == "cache" else {"share": True})


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads of clients."""
    with ThreadPoolExecutor(6) as threads:
        yield threads


@pytest.mark.slow
def test_no_client_gets_anothers_answer(
    serve: Any, upstream: Upstream, pool: ThreadPoolExecutor, tmp_path: Any, mode: str, sampling: Any
) -> None:
    """Two clients that differ in one dimension, and one without it, twice each, at once and then again."""
    reflecting, numbers, asked = Reflecting(), count(100_000), 0
    upstream.default = reflecting
    route = {"stream": "append"} if mode == "append" else {}
    address = serve(mode="shadow" if mode == "shadow" else "on", sampling=sampling, **route)
    streams = {"stream": True} if mode in ("append", "on, streamed") else {}

    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    @example(("header", "ocp-apim-subscription-key"))
    @example(("header", "x-tenant"))
    @example(("cookie", "who"))
    @example(("query", "tenant"))
    @example(("path", "deployment"))
    @example(("field", "user"))
    @given(DIMENSIONS)
    def differing(dimension: tuple[str, str]) -> None:
        nonlocal asked
        marks = [f"Mark{next(numbers)}", f"Mark{next(numbers)}", None]

        def ask(mark: str | None) -> str:
            sent = _sent(dimension, mark)
            with httpx.Client(base_url=address, timeout=60) as client:
                got = client.post(sent["url"], json=sent["json"] | streams, headers=sent["headers"])
            assert got.status_code == 200, got.text
            return got.text

        for _ in range(2):
            told = list(pool.map(ask, marks * 2))
            asked += len(told)
            for mark, answer in zip(marks * 2, told, strict=True):
                assert set(MARK.findall(answer)) == ({mark} if mark in reflecting.seen else set()), dimension
                assert mark is None or mark in reflecting.seen, dimension

    differing()
    for row in rows_of(tmp_path, asked):
        texts = [row[name] for name in ("served", "draft", "answer") if row[name] is not None]
        assert len({frozenset(MARK.findall(text)) for text in texts}) == 1, texts


@pytest.mark.parametrize("name", ["user-agent", "x-request-id", "traceparent"])
def test_what_cannot_matter_does_not_separate(serve: Any, upstream: Upstream, name: str) -> None:
    """The program and ids of requests; nor does the order of headers, or that one of the answers is streamed."""
    upstream.default = Reflecting()
    address = serve(sampling={"cache": {"ttl_s": 600}})
    for value, streams in (("a", False), ("b", True)):
        sent = [(name, value), ("x-tenant", "t"), ("authorization", "Bearer k")]
        httpx.post(address + CHAT, json=BODY | {"stream": streams}, headers=sent if value == "a" else sent[::-1])
    assert len(upstream.calls) == 1


@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize("named", [True, False])
def test_two_clients_may_choose_the_same_idempotency_key(
    serve: Any, upstream: Upstream, tmp_path: Any, mode: str, named: bool
) -> None:
    """An upstream that repeats what it has told an account under a key, and an account that clients share."""
    told: dict[str, str] = {}

    def reply(request: Any, body: Any) -> Any:
        key = request.headers["idempotency-key"]
        text = told.setdefault(key, body["messages"][0]["content"])
        return JSONResponse(completion(*[text] * (body.get("n") or 1)))

    upstream.default = reply
    secrets = [new_key(f"sqlite:///{tmp_path}/audit.db", who) if named else f"sk-{who}" for who in ("ada", "bob")]
    address = serve(mode=mode, upstream_settings={"api_key": "sk-of-the-account"}, sampling={"n": 2, "min_n": 2})
    for secret in secrets * 2:
        asked = BODY | {"messages": [{"role": "user", "content": f"What is the capital of {secret[-6:]}?"}]}
        headers = {"authorization": f"Bearer {secret}", "idempotency-key": "1"}
        assert secret[-6:] in httpx.post(address + CHAT, json=asked, headers=headers).text
    assert 2 * len(told) == len(upstream.calls)  # the second time each has its own again


def test_a_header_that_comes_twice_is_a_list(serve: Any, upstream: Upstream) -> None:
    """A sample is drawn with both, as the upstream would see them from the client itself."""
    upstream.default = Reflecting()
    sent = [("x-tenant", "Mark000001"), ("cookie", "who=Mark000001"), ("x-tenant", "t"), ("cookie", "b=2")]
    address = serve(sampling={"cache": {"ttl_s": 600}})
    assert "Mark000001" in httpx.post(address + CHAT, json=BODY, headers=sent).text
    assert (upstream.headers[-1]["x-tenant"], upstream.headers[-1]["cookie"]) == (
        "Mark000001, t",
        "who=Mark000001; b=2",
    )


def test_two_idempotency_keys_are_two_requests(serve: Any, upstream: Upstream) -> None:
    """A repeated request has its answer again; another one of the same words is drawn anew."""
    upstream.default = Reflecting()
    address = serve(sampling={"cache": {"ttl_s": 600}})
    for key in ("one", "two", "one"):
        httpx.post(address + CHAT, json=BODY, headers={"idempotency-key": key})
    assert len(upstream.calls) == 2
