"""Named keys by admin API and command line, roles of people, and verdicts of an app on its own answers."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import yaml
from typer.testing import CliRunner

from hedgerow.proxy.audit import keys, operators
from hedgerow.proxy.cli import app
from tests.contract.test_keys import ASK, at, recorded, rows, status_soon
from tests.support.keys import new_key, on_store
from tests.support.upstream import Upstream, says
from tests.support.waiting import until

ADMIN: Any = {"authorization": "Bearer the one admin key"}
WITH_ADMIN: Any = {"server": {"admin_key": "the one admin key"}}
KEYS = "/v1/admin/keys"


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def test_a_keys_life_by_the_api(serve: Any, client_of: Any, upstream: Upstream, store_url: str, tmp_path: Path) -> None:
    """Made, used, changed, rotated with an overlap, revoked; each with who did it, and never a secret twice."""
    upstream.default = says("Canberra.")
    address = serve(settings=at(store_url, tmp_path, **WITH_ADMIN), mode="off")
    wish = {"name": "search", "team": "web", "routes": ["test"], "requests_per_minute": 500, "actor": "olga"}
    made = httpx.post(address + KEYS, json=wish, headers=ADMIN)
    first = made.json()["secret"]
    assert (made.status_code, made.json()["key"]["state"], first.startswith("hgk_")) == (201, "active", True)
    client = client_of(address, api_key=first)
    raw = client.chat.completions.with_raw_response.create(**ASK)
    assert raw.headers["x-ratelimit-limit-requests"] == "500"
    changed = httpx.patch(
        f"{address}{KEYS}/search", json={"requests_per_minute": None, "concurrency": 8}, headers=ADMIN
    )
    assert [changed.json()["key"][name] for name in ("requests_per_minute", "concurrency", "team")] == [None, 8, "web"]
    assert "x-ratelimit-limit-requests" not in client.chat.completions.with_raw_response.create(**ASK).headers
    second = httpx.post(f"{address}{KEYS}/search/rotate", json={"overlap_s": 3600}, headers=ADMIN).json()["secret"]
    for secret in (first, second):
        client_of(address, api_key=secret).chat.completions.create(**ASK)
    recorded(store_url, 4)
    listed = httpx.get(address + KEYS, headers=ADMIN).json()["keys"]
    (found,) = listed
    assert (found["figures"]["requests"], found["figures"]["tokens"], found["figures"]["failed"]) == (4, 40, 0)
    assert found["hint"] == second[-4:]
    assert httpx.post(f"{address}{KEYS}/search/revoke", headers=ADMIN).json()["key"]["state"] == "revoked"
    for secret in (first, second):
        with pytest.raises(openai.AuthenticationError, match="was revoked"):
            client_of(address, api_key=secret).chat.completions.create(**ASK)
    done = on_store(store_url, operators.read_changes)
    assert [change.what for change in done] == ["key revoke", "key rotate", "key change", "key new"]
    assert done[-1].actor == "olga"
    everything = json.dumps(listed) + repr(done)
    assert not any(word in everything for secret in (first, second) for word in (secret, keys.hash_of(secret)))


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", KEYS, {"name": "taken"}, 400, "name_taken"),
        ("POST", KEYS, {"name": "two words"}, 400, "invalid_type"),
        ("POST", KEYS, {"name": "x", "routes": ["nosuch"]}, 400, "unknown_route"),
        ("POST", KEYS, {"name": "x", "concurrency": 0}, 400, "invalid_type"),
        ("PATCH", KEYS + "/nosuch", {"team": "a"}, 404, "unknown_key"),
        ("POST", KEYS + "/nosuch/rotate", {}, 404, "unknown_key"),
        ("POST", KEYS + "/nosuch/revoke", {}, 404, "unknown_key"),
    ],
)
def test_what_cannot_be_done_with_keys(
    serve: Any, tmp_path: Path, method: str, path: str, body: Any, status: int, code: str
) -> None:
    """An error object that says what is wrong."""
    url = f"sqlite:///{tmp_path}/audit.db"
    new_key(url, "taken")
    reply = httpx.request(method, serve(settings=at(url, tmp_path, **WITH_ADMIN)) + path, json=body, headers=ADMIN)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)


def test_roles_open_what_they_should_and_nothing_else(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """A viewer looks, a reviewer judges as well, an operator does everything, a client's key none of it; with an admin key and without."""
    upstream.default = says("Canberra.", "Sydney.", "Canberra.")
    url = f"sqlite:///{tmp_path}/audit.db"
    roles = {"viewer": 0, "reviewer": 1, "operator": 2}
    people = {role: new_key(url, f"anna-{role}", role=role) for role in roles}
    client = new_key(url, "search")
    doors = {
        ("GET", "/v1/admin/routes"): 0, ("GET", "/v1/admin/changes"): 0, ("GET", "/v1/admin/alarms"): 0, ("GET", KEYS): 0,
        ("GET", "/v1/admin/review"): 1, ("POST", "/v1/admin/review/{id}"): 1, ("POST", "/v1/feedback"): 1,
        ("GET", "/v1/audit/{id}"): 0, ("DELETE", "/v1/audit/{id}"): 2, ("POST", "/v1/admin/reload"): 2,
        ("POST", "/v1/admin/routes/test/mode"): 2, ("POST", "/v1/admin/routes/test/alarms/clear"): 2,
        ("POST", KEYS): 2, ("POST", KEYS + "/search/rotate"): 2, ("PATCH", KEYS + "/search"): 2,
    }  # fmt: skip
    bodies: dict[str, Any] = {"mode": {"mode": None}, "feedback": {"correct": True}, "review": {"correct": True}}
    bodies |= {"keys": {"name": "made"}, "search": {"team": "t"}}
    for settings in (WITH_ADMIN, {}):
        address = serve(settings=at(url, tmp_path, **settings))
        field = httpx.post(address + "/v1/chat/completions", json=ASK, headers=bearer(client)).json()["hedgerow"]["id"]
        for (method, path), needed in doors.items():
            body = next((bodies[part] for part in reversed(path.split("/")) if part in bodies), None)
            body = body | {"id": field} if path.endswith("feedback") else body
            for role, rank in roles.items():
                reply = httpx.request(method, address + path.format(id=field), json=body, headers=bearer(people[role]))
                if rank >= needed:
                    assert reply.status_code in (200, 201, 400), (role, method, path, reply.text)
                else:
                    assert (reply.status_code, reply.json()["error"]["code"]) == (403, "role_too_low"), (role, path)
            if path.startswith("/v1/admin"):
                assert httpx.request(method, address + path, json=body, headers=bearer(client)).status_code == 401
    assert "anna-operator" in {change.actor for change in on_store(url, operators.read_changes)}


def test_an_app_judges_its_own_answers_and_no_others(
    serve: Any, upstream: Upstream, store_url: str, tmp_path: Path
) -> None:
    """With an admin key configured and without: another app's answer does not exist for it, whatever it is called by."""
    upstream.default = says("Canberra.", "Sydney.", "Canberra.")
    mine, other = new_key(store_url, "mine"), new_key(store_url, "other")
    for settings in (WITH_ADMIN, {}):
        address = serve(settings=at(store_url, tmp_path, **settings))
        upstream.default = says("Canberra.", "Sydney.", "Canberra.", id=f"chatcmpl-{len(settings)}")
        answer = httpx.post(address + "/v1/chat/completions", json=ASK, headers=bearer(mine)).json()
        for name in (answer["hedgerow"]["id"], answer["id"]):
            verdict = {"id": name, "correct": True}
            refused = httpx.post(address + "/v1/feedback", json=verdict, headers=bearer(other))
            assert (refused.status_code, refused.json()["error"]["code"]) == (404, "unknown_id")
            many = httpx.post(address + "/v1/feedback", json=[verdict], headers=bearer(other)).json()
            assert (many["failed"], many["changed"]) == (1, 0)
            assert httpx.get(f"{address}/v1/audit/{name}", headers=bearer(other)).status_code == 404
        taken = httpx.post(address + "/v1/feedback", json={"id": answer["id"], "correct": True}, headers=bearer(mine))
        assert taken.json()["counts"] is True
        row = httpx.get(f"{address}/v1/audit/{answer['id']}", headers=bearer(mine)).json()
        assert [(verdict["correct"], verdict["kind"], verdict["actor"]) for verdict in row["verdicts"]] == [
            (1.0, "client", "key:mine")
        ]
        assert httpx.post(address + "/v1/feedback", json=verdict, headers=bearer("sk-stranger")).status_code == 401


def test_a_keys_life_by_the_command_line(serve: Any, upstream: Upstream, store_url: str, tmp_path: Path) -> None:
    """The secret is all of standard output, so that it can be piped; a running proxy follows."""
    upstream.default = says("Canberra.")
    address = serve(settings=at(store_url, tmp_path), mode="off")
    config = tmp_path / "config.yaml"
    settings = at(store_url, tmp_path) | {
        "upstreams": {"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},
        "routes": [{"name": "test", "upstream": "u", "mode": "off"}],
    }
    config.write_text(yaml.safe_dump(settings))

    def run(*command: str, fails: bool = False) -> Any:
        done = CliRunner().invoke(app, ["keys", *command, "--config", str(config)])
        assert (done.exit_code != 0) == fails, done.output
        return done

    limits = ("--requests-per-minute", "500", "--expires", "90d", "--route", "test", "--team", "web")
    secret = run("new", "search", *limits).stdout.strip()

    def ask(secret: str) -> httpx.Response:
        return httpx.post(address + "/v1/chat/completions", json=ASK, headers=bearer(secret))

    status_soon(lambda: ask("sk-stranger"), 401)
    assert ask(secret).headers["x-ratelimit-limit-requests"] == "500"
    second = run("rotate", "search", "--overlap", "24h").stdout.strip()
    status_soon(lambda: ask(second), 200)
    assert ask(secret).status_code == 200
    run("change", "search", "--requests-per-minute", "0", "--expires", "never")
    until(lambda: [row for row in rows(store_url) if row.key == "search"], lambda listed: len(listed) >= 3)
    line = run("list").stdout
    assert "the old secret works until" in line
    assert "search  active  team web  routes test" in line
    assert f"…{second[-4:]}" in line
    assert (listed := json.loads(run("list", "--json").stdout)[0])["figures"]["requests"] >= 3
    assert (listed["requests_per_minute"], listed["expires_at"]) == (None, None)
    assert "cannot be a key's name" in run("new", "two words", fails=True).output
    assert "no route is called 'nosuch'" in run("new", "x", "--route", "nosuch", fails=True).output
    assert "is, or was, a key" in run("new", "search", fails=True).output
    assert "90 days at most" in run("rotate", "search", "--overlap", "91d", fails=True).output
    run("revoke", "search")
    status_soon(lambda: ask(second), 401)
    assert "is revoked" in run("rotate", "search", fails=True).output
    stored = json.dumps([repr(row) for row in on_store(store_url, keys.read_keys)])
    assert secret not in stored
    assert second not in stored


def test_an_expired_key_is_shown_as_one(serve: Any, tmp_path: Path) -> None:
    """In the list, without anybody having ended it."""
    url = f"sqlite:///{tmp_path}/audit.db"
    new_key(url, "search", expires_at=time.time() - 1)
    (found,) = httpx.get(serve(settings=at(url, tmp_path, **WITH_ADMIN)) + KEYS, headers=ADMIN).json()["keys"]
    assert found["state"] == "expired"


def test_operators_who_act_at_once_take_turns(serve: Any, upstream: Upstream, store_url: str, tmp_path: Path) -> None:
    """Of twenty who make one key one does; of as many who rotate it two secrets are left, the last and the one before; revoked, none."""
    upstream.default = says("Canberra.")
    address = serve(settings=at(store_url, tmp_path, server={"admin_key": "the one admin key"}), mode="off")
    operator = {"authorization": "Bearer the one admin key"}

    def at_once(path: str, body: Any) -> list[httpx.Response]:
        with ThreadPoolExecutor(20) as pool:
            asks = [pool.submit(httpx.post, address + path, json=body, headers=operator, timeout=60) for _ in range(20)]
            return [ask.result() for ask in asks]

    def working() -> int:
        return sum(
            httpx.post(
                address + "/v1/chat/completions", json=ASK, headers={"authorization": f"Bearer {one}"}
            ).status_code
            == 200
            for one in secrets
        )

    made = at_once("/v1/admin/keys", {"name": "search"})
    assert sorted(reply.status_code for reply in made) == [201] + [400] * 19
    rotated = at_once("/v1/admin/keys/search/rotate", {"overlap_s": 600})
    secrets = [reply.json()["secret"] for reply in (*rotated, *made) if reply.status_code in (200, 201)]
    assert len(secrets) == 21
    until(working, lambda number: number == 2)
    assert {reply.status_code for reply in at_once("/v1/admin/keys/search/revoke", {})} == {200}
    until(working, lambda number: number == 0)


NUL = "a\x00b"
FROM_HERE = {"sec-fetch-site": "same-origin"}


def test_a_nul_is_the_senders_fault_and_not_the_stores(serve: Any, store_url: str, tmp_path: Path, lines: Any) -> None:
    """PostgreSQL takes no text with one: whoever sends it gets an error, or finds nothing, on every path that looks something up or keeps it."""
    address = serve(settings=at(store_url, tmp_path, server={"admin_key": "the one admin key"}))
    cookies = httpx.post(address + "/sign-in", data={"key": "the one admin key"}, headers=FROM_HERE).cookies
    asked = [
        ("POST", "/v1/admin/keys", {"name": "web", "actor": NUL}),
        ("POST", "/v1/admin/keys", {"name": "web", "note": NUL}),
        ("POST", "/v1/admin/keys/a%00b/revoke", {}),
        ("POST", "/v1/admin/routes/test/mode", {"mode": "off", "note": NUL}),
        ("POST", "/v1/admin/routes/a%00b/mode", {"mode": "off"}),
        ("POST", "/v1/admin/routes/test/map", {"map": NUL}),
        ("POST", "/v1/admin/review/a%00b", {"correct": 1}),
        ("POST", "/v1/admin/review/hr_none", {"correct": 1, "note": NUL}),
        ("POST", "/v1/admin/review/hr_none", {"correct": 1, "claim": 2**70}),
        ("GET", "/v1/admin/review?route=a%00b", None),
        ("GET", "/v1/audit/a%00b", None),
        ("DELETE", "/v1/audit/a%00b", None),
        ("POST", "/v1/feedback", {"id": NUL, "correct": True}),
        *(
            ("GET", f"/dashboard/requests?period=all&{field}=a%00b", None)
            for field in ("text", "route", "key", "model")
        ),
        ("GET", "/dashboard/requests?period=all&after=1.0_a%00b", None),
        ("GET", "/dashboard/requests?period=all&after=nan_a", None),
        ("GET", "/dashboard/requests?period=all&after=1e999_a", None),
        ("GET", "/dashboard/requests.csv?text=a%00b", None),
        ("GET", "/dashboard/answers/a%00b", None),
        ("GET", "/dashboard/routes/a%00b", None),
    ]
    for method, path, body in asked:
        who: dict[str, Any] = {"headers": {"authorization": "Bearer the one admin key"}}
        if path.startswith("/dashboard"):
            who = {"headers": FROM_HERE, "cookies": cookies}
        reply = httpx.request(method, address + path, json=body, timeout=60, **who)
        assert reply.status_code < 500, (method, path, body, reply.text)
    assert [line for line in lines if line["level"] in ("error", "warning") and "store" in line["event"]] == []
