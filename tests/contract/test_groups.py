"""Groups of upstreams: who answers, who answers where that one fails, and that an answer is never mixed from two models."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import openai
import pytest
import sqlalchemy as sa
from starlette.responses import JSONResponse

from tests.contract.test_routes import ASK, CHAT
from tests.support.servers import serving
from tests.support.upstream import Upstream, completion, fails, never, says
from tests.support.waiting import until

BROKEN = fails(503, {"error": {"message": "over capacity"}})
DEAD = "http://127.0.0.1:9/v1"
Grouped = Callable[..., str]


@pytest.fixture
def second() -> Iterator[Upstream]:
    """Another scripted upstream."""
    app = Upstream()
    with serving(app) as address:
        app.url = address + "/v1"
        yield app


@pytest.fixture
def grouped(serve: Any, upstream: Upstream, second: Upstream) -> Grouped:
    """A proxy before a group of `first` and `second`; keyword arguments are the route's, `group=` and `members=` change the upstreams."""

    def start(*, group: Any = None, members: Any = None, **route: Any) -> str:
        urls = {"first": upstream.url, "second": second.url}
        upstreams: dict[str, Any] = {
            name: {"provider": "openai", "base_url": url, "retries": 0} | (members or {}).get(name, {})
            for name, url in urls.items()
        }
        upstreams["both"] = {"provider": "group"} | (group or {"members": {"first": 1}, "fallback": ["second"]})
        return serve(
            settings={
                "upstreams": upstreams,
                "routes": [{"name": "test", "upstream": "both", "mode": "on", "sampling": {"n": 4}} | route],
            }
        )

    return start


def ask(address: str, path: str = CHAT, **fields: Any) -> httpx.Response:
    """One request for an answer."""
    body = {"model": "m", "messages": ASK} | fields
    if path.endswith("/responses"):
        body = {"model": "m", "input": "What is the capital of Australia?"} | fields
    return httpx.post(address + path, json=body, timeout=30)


def row(address: str, answer: httpx.Response) -> dict[str, Any]:
    """The audit row of an answer."""
    audited: dict[str, Any] = httpx.get(f"{address}/v1/audit/{answer.headers['x-hedgerow-audit-id']}").json()
    return audited


def test_a_failing_member_is_passed_over_before_the_answer_begins(
    grouped: Grouped, upstream: Upstream, second: Upstream, lines: Any
) -> None:
    """The client gets the other member's answer, hedged; header, field, row, log and metrics say whose it is."""
    upstream.default, second.default = BROKEN, says("Canberra.", "Canberra.", "Sydney.")
    address = grouped()
    answer = ask(address)
    assert answer.status_code == 200
    assert answer.json()["hedgerow"]["status"] == "hedged"
    assert (answer.headers["x-hedgerow-upstream"], answer.json()["hedgerow"]["upstream"]) == ("second", "second")
    assert row(address, answer)["upstream"] == "second"
    (line,) = lines.of("upstream_fallback")
    assert (line["upstream"], line["to"], line["code"]) == ("first", "second", "upstream_rejected")
    assert line["id"] == answer.headers["x-hedgerow-audit-id"]
    assert lines.requests(1)[-1]["upstream"] == "second"
    metrics = httpx.get(address + "/metrics").text
    assert 'hedgerow_upstream_fallbacks_total{upstream="first"} 1.0' in metrics
    assert 'hedgerow_upstream_calls_total{outcome="status_5xx",upstream="first"} 1.0' in metrics


@pytest.mark.parametrize("mode", ["off", "shadow", "on"])
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("path", [CHAT, "/v1/responses"])
def test_every_mode_falls_back(
    grouped: Grouped, upstream: Upstream, second: Upstream, mode: str, streams: bool, path: str
) -> None:
    """Whole or streamed, chat or a converted endpoint: where the first member fails, the second one's answer is the client's."""
    upstream.default, second.default = BROKEN, says("Canberra.")
    converts = {name: {"converts": ["responses"]} for name in ("first", "second")}
    answer = ask(grouped(mode=mode, members=converts), path, stream=streams)
    assert answer.status_code == 200
    assert "Canberra" in answer.text
    assert upstream.calls
    assert second.calls


def test_streams_that_append_fall_back_and_sample_where_they_are_served(
    grouped: Grouped, upstream: Upstream, second: Upstream, client_of: Any
) -> None:
    """The samples beside a stream come from the member that the client reads, although the first one would have answered samples."""
    sampled = says("Canberra.")

    def refuses_streams(request: Any, body: Any) -> Any:
        return BROKEN(request, body) if body.get("stream") else sampled(request, body)

    upstream.default, second.default = refuses_streams, says("Sydney.")
    address = grouped(stream="append")
    client: openai.OpenAI = client_of(address)
    chunks = list(client.chat.completions.create(model="m", messages=ASK, stream=True))  # type: ignore[call-overload]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    (field,) = [chunk.model_extra["hedgerow"] for chunk in chunks if "hedgerow" in (chunk.model_extra or {})]
    assert text.startswith("Sydney.")
    assert (field["upstream"], field["clusters"]) == ("second", [4])  # one meaning: no Canberra among them


def test_a_stream_that_has_begun_is_not_moved(grouped: Grouped, upstream: Upstream, second: Upstream) -> None:
    """After the first byte the client has half an answer; another model's cannot follow it."""

    def breaks_off(_request: Any, _body: Any) -> Any:
        async def send(scope: Any, receive: Any, send: Any) -> None:
            await send(
                {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
            )
            await send({"type": "http.response.body", "body": b'data: {"choices": []}\n\n', "more_body": True})
            raise ConnectionError

        return send

    upstream.default, second.default = breaks_off, says("Canberra.")
    with contextlib.suppress(httpx.HTTPError):
        assert "Canberra" not in ask(grouped(mode="off"), stream=True).text
    assert not second.calls


@pytest.mark.parametrize("honours_n", [True, False])
def test_samples_of_an_answer_come_from_one_model(
    grouped: Grouped, upstream: Upstream, second: Upstream, honours_n: bool
) -> None:
    """Twelve answers over two members of equal weight: each is of one of them, and both have their share."""
    upstream.default, second.default = says("Canberra."), says("Sydney.")
    members = {name: {"honours_n": honours_n} for name in ("first", "second")}
    address = grouped(group={"members": {"first": 1, "second": 1}}, members=members)
    answers = [ask(address).json()["hedgerow"] for _ in range(12)]
    assert [answer["clusters"] for answer in answers] == [[4]] * 12
    assert sorted(answer["upstream"] for answer in answers) == ["first"] * 6 + ["second"] * 6


def test_what_a_dying_member_had_answered_is_not_mixed_in(
    grouped: Grouped, upstream: Upstream, second: Upstream
) -> None:
    """One slow sample of the first member succeeds after the answer was moved: it counts for nothing."""

    async def late(_request: Any, _body: Any) -> Any:
        await asyncio.sleep(1.0)
        return JSONResponse(completion("Canberra."))

    upstream.default, second.default = says("Canberra."), says("Sydney.")
    address = grouped(members={name: {"honours_n": False} for name in ("first", "second")})
    assert (
        ask(address).json()["hedgerow"]["upstream"] == "first"
    )  # it takes such calls: from now on they go out together
    upstream.default = late
    upstream.enqueue(late, BROKEN)
    field = ask(address).json()["hedgerow"]
    assert len(upstream.calls) == 8
    assert (field["upstream"], field["clusters"]) == ("second", [4])


def test_weights_share_the_requests(grouped: Grouped, upstream: Upstream, second: Upstream) -> None:
    """Of `{first: 3, second: 1}` the first one answers three of four."""
    upstream.default, second.default = says("Canberra."), says("Canberra.")
    address = grouped(group={"members": {"first": 3, "second": 1}}, mode="off")
    for _ in range(8):
        ask(address)
    assert (len(upstream.calls), len(second.calls)) == (6, 2)


def circuit_open(address: str) -> float:
    """What `/metrics` says of the first member's circuit."""
    metrics = httpx.get(address + "/metrics").text
    found = re.search(r'^hedgerow_upstream_circuit_open\{upstream="first"\} (\S+)$', metrics, re.MULTILINE)
    assert found is not None
    return float(found[1])


def test_an_open_circuit_keeps_requests_away(grouped: Grouped, upstream: Upstream, second: Upstream) -> None:
    """After two failures the first member is left alone."""
    upstream.default, second.default = BROKEN, says("Canberra.")
    address = grouped(mode="off", members={"first": {"circuit": {"failures": 2, "cool_down_s": 3600}}})
    for _ in range(6):
        assert ask(address).status_code == 200
    assert len(upstream.calls) == 2
    assert circuit_open(address) == 1


def test_a_member_that_recovers_is_asked_again(grouped: Grouped, upstream: Upstream, second: Upstream) -> None:
    """After the cool-down one request tries it, and its success closes the circuit; no client saw anything of it."""
    upstream.default, second.default = BROKEN, says("Canberra.")
    address = grouped(mode="off", members={"first": {"circuit": {"failures": 1, "cool_down_s": 0.2}}})
    ask(address)
    assert circuit_open(address) == 1
    upstream.default = says("Canberra.")
    until(lambda: ask(address).status_code == 200 and circuit_open(address) == 0)


def test_a_member_that_hangs_is_passed_over(grouped: Grouped, upstream: Upstream, second: Upstream) -> None:
    """No answer within `timeout_s` is a failure like any other."""
    upstream.default, second.default = never(), says("Canberra.")
    answer = ask(grouped(members={"first": {"timeout_s": 0.3}}))
    assert answer.headers["x-hedgerow-upstream"] == "second"


def test_a_rate_limit_moves_at_once_and_is_respected(
    grouped: Grouped, upstream: Upstream, second: Upstream, lines: Any
) -> None:
    """429 on the proxy's own key: the answer moves without waiting, and the member is left alone for as long as it asked."""
    upstream.default, second.default = fails(429, {}, {"retry-after": "30"}), says("Canberra.")
    address = grouped(members={"first": {"api_key": "sk-own", "retries": 2}})
    assert [ask(address).headers["x-hedgerow-upstream"] for _ in range(3)] == ["second"] * 3
    assert not lines.of("upstream_retry")
    assert len(upstream.calls) == 1


def test_a_rate_limit_of_a_clients_key_is_the_clients(grouped: Grouped, upstream: Upstream, second: Upstream) -> None:
    """Where the client's key passes through, its limit moves its answer but opens no circuit for the others."""
    upstream.default, second.default = fails(429, {}, {"retry-after": "30"}), says("Canberra.")
    address = grouped(mode="off", members={"first": {"circuit": {"failures": 1}}})
    for _ in range(3):
        assert ask(address).status_code == 200
    assert len(upstream.calls) == 3


def test_what_the_client_did_wrong_is_not_moved(grouped: Grouped, upstream: Upstream, second: Upstream) -> None:
    """A refused request is the client's to mend: it gets the first member's own words."""
    upstream.default, second.default = fails(400, {"error": {"message": "no such field"}}), says("Canberra.")
    for mode in ("off", "on"):
        answer = ask(grouped(mode=mode))
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, "no such field")
    assert not second.calls


@pytest.mark.parametrize("mode", ["off", "on"])
def test_where_all_fail_the_last_ones_error_is_the_answer(
    grouped: Grouped, upstream: Upstream, second: Upstream, mode: str
) -> None:
    """Never an error of ours in its place."""
    upstream.default, second.default = BROKEN, fails(500, {"error": {"message": "the last word"}})
    answer = ask(grouped(mode=mode))
    assert (answer.status_code, answer.json()["error"]["message"]) == (500, "the last word")


@pytest.mark.parametrize("mode", ["off", "shadow", "on"])
def test_members_are_asked_for_their_own_models(
    grouped: Grouped, upstream: Upstream, second: Upstream, mode: str
) -> None:
    """The name is put in before the call; row and log name the model that answered, and so is its map looked up."""
    upstream.default, second.default = BROKEN, says("Canberra.")
    group = {
        "members": {"first": 1},
        "fallback": ["second"],
        "models": {"second": {"gpt-5": "llama-3.3-70b", "*": "llama-3.1-8b"}},
    }
    address = grouped(group=group, mode=mode)
    ask(address, model="gpt-5")
    ask(address, model="something-else")
    assert {call["model"] for call in upstream.calls} == {"gpt-5", "something-else"}
    assert {call["model"] for call in second.calls} == {"llama-3.3-70b", "llama-3.1-8b"}


def test_the_row_names_the_model_that_answered(grouped: Grouped, upstream: Upstream, second: Upstream) -> None:
    """Maps are looked up, and fitted, by that name."""
    upstream.default, second.default = BROKEN, says("Canberra.")
    group = {"members": {"first": 1}, "fallback": ["second"], "models": {"second": {"*": "llama-3.1-8b"}}}
    address = grouped(group=group)
    audited = row(address, ask(address, model="gpt-5"))
    assert (audited["upstream"], audited["model"]) == ("second", "llama-3.1-8b")


def test_the_model_that_answered_is_asked_whether_it_is_right(
    grouped: Grouped, upstream: Upstream, second: Upstream
) -> None:
    """P(True) is a question to the model of the answer, not to the member whose turn it is."""
    answers = {"first": says("Canberra."), "second": says("Canberra.")}
    asked: dict[str, int] = {"first": 0, "second": 0}

    def of(name: str) -> Any:
        def reply(request: Any, body: Any) -> Any:
            asked[name] += 1
            return answers[name](request, body)

        return reply

    upstream.default, second.default = of("first"), of("second")
    address = grouped(group={"members": {"first": 1, "second": 1}}, signal="p_true")
    ask(address)
    assert asked["first"] >= 2
    assert asked["second"] == 0


def test_what_makes_no_text_goes_to_the_first_member(grouped: Grouped, upstream: Upstream, second: Upstream) -> None:
    """A file lies at one upstream, and embeddings of two models must not mix."""
    upstream.default, second.default = fails(500, {}), fails(200, {"data": []})
    address = grouped(group={"members": {"first": 1, "second": 1}})
    statuses = [httpx.post(address + "/v1/embeddings", json={"model": "m", "input": "a"}).status_code for _ in range(3)]
    assert statuses == [500] * 3
    assert not second.calls


def test_readiness_knows_a_dead_upstream(serve: Any, upstream: Upstream) -> None:
    """503 where nobody could answer any route; one living member is enough."""
    upstream.default = fails(200, {"object": "list", "data": []})
    dead = {"provider": "openai", "base_url": DEAD}
    route = {"name": "test", "upstream": "dead"}
    alone = httpx.get(serve(settings={"upstreams": {"dead": dead}, "routes": [route]}) + "/health/ready")
    assert (alone.status_code, alone.json()["upstreams"]) == (503, {"dead": "does not answer"})
    group = {"provider": "group", "members": {"dead": 1}, "fallback": ["living"]}
    living = {"provider": "openai", "base_url": upstream.url}
    upstreams = {"dead": dead, "living": living, "both": group}
    address = serve(settings={"upstreams": upstreams, "routes": [route | {"upstream": "both"}]})
    together = httpx.get(address + "/health/ready")
    assert (together.status_code, together.json()["upstreams"]) == (200, {"dead": "does not answer"})


def test_an_upstream_that_wants_a_key_is_alive(serve: Any, upstream: Upstream) -> None:
    """Readiness asks without a client's key: a refusal is an answer. One that has answered is not asked again."""
    upstream.default = fails(401, {"error": {"message": "no key"}})
    address = serve()
    for _ in range(3):
        assert httpx.get(address + "/health/ready").status_code == 200
    assert len(upstream.calls) == 1


def test_an_upstream_that_dies_is_noticed_and_comes_back(
    grouped: Grouped, upstream: Upstream, second: Upstream
) -> None:
    """Readiness says what the circuits know; /health says which are open."""
    upstream.default, second.default = BROKEN, says("Canberra.")
    address = grouped(mode="off", members={"first": {"circuit": {"failures": 1}}})
    ask(address)
    assert httpx.get(address + "/health").json()["upstreams"] == {"first": "open"}
    ready = httpx.get(address + "/health/ready")
    assert (ready.status_code, ready.json()["upstreams"]) == (200, {"first": "does not answer"})


@pytest.mark.parametrize(
    ("group", "fault"),
    [
        ({"members": {"nobody": 1}}, "members names 'nobody'"),
        ({"members": {"first": 1}, "fallback": ["first"]}, "fallback names 'first'"),
        ({"members": {"first": 1}, "models": {"second": {"*": "m"}}}, "models names 'second'"),
        ({"members": {"both": 1}}, "members names 'both'"),
        ({"members": {"first": 0}}, "greater than or equal to 1"),
    ],
)
def test_a_group_that_cannot_be_is_refused(grouped: Grouped, group: Any, fault: str) -> None:
    """With the key and the name at fault."""
    with pytest.raises(ValueError, match=fault):
        grouped(group=group)


def test_cached_samples_keep_their_origin(grouped: Grouped, upstream: Upstream, second: Upstream) -> None:
    """What comes from the cache is still the other model's."""
    upstream.default, second.default = BROKEN, says("Canberra.")
    group = {"members": {"first": 1}, "fallback": ["second"], "models": {"second": {"*": "llama-3.1-8b"}}}
    address = grouped(group=group, sampling={"n": 4, "cache": {"ttl_s": 60}})
    ask(address)
    again = ask(address)
    assert again.json()["hedgerow"]["samples_from"] == "cache"
    assert (row(address, again)["upstream"], row(address, again)["model"]) == ("second", "llama-3.1-8b")


def test_shadow_samples_the_member_that_served(
    grouped: Grouped, upstream: Upstream, second: Upstream, tmp_path: Any
) -> None:
    """What is measured in shadow is the model that the client has read."""
    upstream.default, second.default = says("Canberra."), says("Sydney.")
    address = grouped(group={"members": {"first": 1, "second": 1}}, mode="shadow")
    served = [ask(address).json()["choices"][0]["message"]["content"] for _ in range(4)]
    assert sorted(served) == ["Canberra.", "Canberra.", "Sydney.", "Sydney."]
    engine = sa.create_engine(f"sqlite:///{tmp_path}/audit.db")

    def rows() -> list[Any]:
        with engine.connect() as connection:
            return list(connection.execute(sa.text("SELECT upstream, served_agrees, clusters FROM answers")))

    recorded = until(rows, lambda rows: len(rows) >= 4)
    assert sorted(map(tuple, recorded)) == [("first", 1, 1), ("first", 1, 1), ("second", 1, 1), ("second", 1, 1)]
