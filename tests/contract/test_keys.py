"""Named keys: who gets in, what is written down of it, and that no upstream ever sees one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import sqlalchemy as sa

from hedgerow.proxy.audit import keys
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.tables import answers
from hedgerow.proxy.config import Audit
from tests.support.keys import new_key, on_store
from tests.support.upstream import Upstream, says
from tests.support.waiting import until

ASK: Any = {"model": "m", "messages": [{"role": "user", "content": "What is the capital of Australia?"}]}


def at(url: str, tmp_path: Path, **more: Any) -> dict[str, Any]:
    """Settings of a proxy with this store."""
    return {"audit": {"url": url, "spool": str(tmp_path / "spool"), "synchronous": "normal"}} | more


def rows(url: str) -> list[Any]:
    engine = open_engine(Audit(url=url))
    with engine.connect() as connection:
        rows = connection.execute(sa.select(answers).order_by(answers.c.created_at)).all()
    engine.dispose()
    return list(rows)


def recorded(url: str, wanted: int) -> list[Any]:
    """The rows, once there are as many."""
    return until(lambda: rows(url), lambda rows: len(rows) >= wanted)


def status_soon(ask: Any, wanted: int) -> httpx.Response:
    """The answer, once it has the status."""
    reply: httpx.Response = until(ask, lambda reply: reply.status_code == wanted)
    return reply


@pytest.mark.parametrize("mode", ["off", "shadow", "on"])
def test_a_request_is_recorded_under_its_keys_name(
    serve: Any, client_of: Any, upstream: Upstream, store_url: str, tmp_path: Path, lines: Any, mode: str
) -> None:
    """In the row, the line and the counters; the secret is in none of them, and goes to no upstream."""
    upstream.default = says("Canberra.", "Sydney.", "Canberra.")
    secret = new_key(store_url, "search", team="web")
    address = serve(settings=at(store_url, tmp_path), mode=mode)
    answer = client_of(address, api_key=secret).chat.completions.create(**ASK)
    assert "Canberra" in answer.choices[0].message.content
    (row,) = recorded(store_url, 1)
    assert (row.key, row.team, row.mode) == ("search", "web", mode)
    assert [(line["key"], line["team"]) for line in lines.requests(1)] == [("search", "web")]
    counted = httpx.get(address + "/metrics").text
    assert f'hedgerow_key_requests_total{{key="search",status="{row.status}",team="web"}} 1.0' in counted
    assert upstream.headers
    everywhere = repr((lines, counted, upstream.headers, row))
    assert secret not in everywhere
    assert keys.hash_of(secret) not in everywhere


def test_the_upstreams_own_key_goes_up_and_the_clients_second_key_as_well(
    serve: Any, upstream: Upstream, store_url: str, tmp_path: Path
) -> None:
    """An upstream with `api_key` gets that; one without gets what the client sends beside its named key."""
    upstream.default = says("Canberra.")
    secret = new_key(store_url, "search")
    own = serve(settings=at(store_url, tmp_path), mode="off", upstream_settings={"api_key": "sk-upstream"})
    through = serve(settings=at(store_url, tmp_path), mode="off")
    for address in (own, through):
        sent = {"authorization": "Bearer sk-of-the-client", "x-api-key": secret}
        assert httpx.post(address + "/v1/chat/completions", json=ASK, headers=sent).status_code == 200
    httpx.get(through + "/v1/models", headers={"authorization": f"Bearer {secret}"})
    first, second, listing = upstream.headers
    assert first["authorization"] == "Bearer sk-upstream"
    assert (second["authorization"], second.get("x-api-key")) == ("Bearer sk-of-the-client", None)
    assert "authorization" not in listing


def test_other_keys_are_refused_once_there_is_a_named_one(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """Before the first every key passes through; a person's key changes nothing about clients, and opens no model."""
    upstream.default = says("Canberra.")
    url = f"sqlite:///{tmp_path}/audit.db"
    address = serve(settings=at(url, tmp_path), mode="off")
    stranger = client_of(address, api_key="sk-stranger")
    stranger.chat.completions.create(**ASK)
    assert upstream.headers[0]["authorization"] == "Bearer sk-stranger"
    person = new_key(url, "anna", role="viewer")
    bearer = {"authorization": f"Bearer {person}"}
    status_soon(lambda: httpx.post(address + "/v1/chat/completions", json=ASK, headers=bearer), 401)
    stranger.chat.completions.create(**ASK)
    new_key(url, "search")
    status_soon(lambda: httpx.get(address + "/v1/files", headers={"authorization": "Bearer sk-stranger"}), 401)
    with pytest.raises(openai.AuthenticationError) as refused:
        stranger.chat.completions.create(**ASK)
    assert refused.value.code == "invalid_api_key"


def test_strangers_pass_beside_named_keys_where_that_is_wished(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """`require_key: false` while clients change over; `true` closes the proxy before there is a key."""
    upstream.default = says("Canberra.")
    url = f"sqlite:///{tmp_path}/audit.db"
    closed = serve(settings=at(url, tmp_path, access={"require_key": True}), mode="off")
    with pytest.raises(openai.AuthenticationError):
        client_of(closed, api_key="sk-stranger").chat.completions.create(**ASK)
    new_key(url, "search")
    opened = serve(settings=at(url, tmp_path, access={"require_key": False}), mode="off")
    client_of(opened, api_key="sk-stranger").chat.completions.create(**ASK)
    assert [row.key for row in recorded(url, 2)] == [None, None]


def test_a_key_has_its_routes(serve: Any, client_of: Any, upstream: Upstream, store_url: str, tmp_path: Path) -> None:
    """Routes that are closed to it are looked over; where only closed ones take the request it is refused, with its name on record."""
    upstream.default = says("Canberra.")
    both = {"upstream": "scripted", "mode": "off"}
    routes = [{"name": "first"} | both, {"name": "second"} | both, {"name": "third", "match": {"model": "x"}} | both]
    second, neither = new_key(store_url, "a", routes=("second",)), new_key(store_url, "b", routes=("third",))
    address = serve(settings=at(store_url, tmp_path, routes=routes))
    client_of(address, api_key=second).chat.completions.create(**ASK)
    with pytest.raises(openai.PermissionDeniedError) as refused:
        client_of(address, api_key=neither).chat.completions.create(**ASK)
    assert refused.value.code == "route_not_allowed"
    assert [(row.key, row.route, row.http_status) for row in recorded(store_url, 2)] == [
        ("a", "second", 200),
        ("b", None, 403),
    ]


def test_revoking_rotating_and_expiring_take_effect_while_the_proxy_runs(
    serve: Any, upstream: Upstream, store_url: str, tmp_path: Path
) -> None:
    """In every process, within seconds; the message says what became of the key."""
    upstream.default = says("Canberra.")
    secret = new_key(store_url, "search")
    addresses = [serve(settings=at(store_url, tmp_path), mode="off") for _ in range(2)]

    def ask(address: str, with_secret: str) -> httpx.Response:
        headers = {"authorization": f"Bearer {with_secret}"}
        return httpx.post(address + "/v1/chat/completions", json=ASK, headers=headers)

    assert [ask(address, secret).status_code for address in addresses] == [200, 200]
    _, second = on_store(store_url, keys.rotate, "search", overlap_s=3600, actor="test")
    for address in addresses:
        status_soon(lambda address=address: ask(address, second), 200)
        assert ask(address, secret).status_code == 200
    _, third = on_store(store_url, keys.rotate, "search", overlap_s=0, actor="test")
    for address in addresses:
        status_soon(lambda address=address: ask(address, third), 200)
        assert "was replaced" in status_soon(lambda address=address: ask(address, second), 401).text
        assert "not known" in ask(address, secret).text
    on_store(store_url, keys.change, "search", {"expires_at": time.time() - 1}, actor="test")
    for address in addresses:
        assert "has expired" in status_soon(lambda address=address: ask(address, third), 401).text
    on_store(store_url, keys.change, "search", {"expires_at": None}, actor="test")
    on_store(store_url, keys.revoke, "search", actor="test")
    for address in addresses:
        until(lambda address=address: "was revoked" in ask(address, third).text)
        assert ask(address, "sk-stranger").status_code == 401, "revoking the last key opens nothing"


def test_samples_are_not_shared_between_named_keys(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """Their secrets are gone when samples are shared, and what one client got is not another's."""
    upstream.default = says("Canberra.", "Sydney.", "Canberra.")
    url = f"sqlite:///{tmp_path}/audit.db"
    secrets = [new_key(url, name) for name in ("a", "b")]
    address = serve(settings=at(url, tmp_path), sampling={"cache": {"ttl_s": 60}})
    for secret in (*secrets, secrets[0]):
        client_of(address, api_key=secret).chat.completions.create(**ASK)
    assert len(upstream.calls) == 2
