"""The audit under real servers: killed under load, without its database, with a full disk; erased over HTTP, verified from the command line."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
import yaml
from typer.testing import CliRunner

from hedgerow.proxy.audit import retention
from hedgerow.proxy.cli import app
from tests.support.postgres import Cluster
from tests.support.upstream import Upstream, says
from tests.support.waiting import until

ROOT = Path(__file__).parent.parent.parent
CHAT = "/v1/chat/completions"
ASK = {"model": "m", "messages": [{"role": "user", "content": "What is the capital of Australia?"}], "user": "ada"}
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def configuration(tmp_path: Path, upstream: Upstream, store_url: str, port: int, **route: Any) -> Path:
    """A file for a server process."""
    settings = {
        "server": {"port": port, "admin_key": "adm-of-these-tests"},
        "upstreams": {"scripted": {"provider": "openai", "base_url": upstream.url, "retries": 0}},
        "routes": [{"name": "test", "upstream": "scripted", "mode": "on", "sampling": {"n": 5}} | route],
        "audit": {"url": store_url, "spool": str(tmp_path / "spool")},
        "maps": {"folder": str(tmp_path / "maps")},
    }
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


@contextmanager
def server(path: Path, port: int, **limits: Any) -> Iterator[subprocess.Popen[bytes]]:
    """`hedgerow serve` in a process of its own, once it answers."""
    command = [sys.executable, "-m", "hedgerow.proxy.cli", "serve", "-c", str(path)]
    with (path.parent / "log").open("ab") as out:
        running = subprocess.Popen(
            command, cwd=ROOT, stdout=out, stderr=out, env=os.environ | {"OMP_NUM_THREADS": "1"}, **limits
        )
    try:

        def is_up() -> bool:
            assert running.poll() is None, (path.parent / "log").read_text()
            with suppress(httpx.TransportError):
                return httpx.get(f"http://127.0.0.1:{port}/health", timeout=5).status_code == 200
            return False

        until(is_up)
        yield running
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGTERM)
        running.wait(timeout=60)


async def load(port: int, answered: list[str], statuses: list[int], *, clients: int, enough: int, stop: Any) -> None:
    """Clients that ask without pause until the server is gone; `stop` is called once enough were answered."""
    stopped = False

    async def client() -> None:
        nonlocal stopped
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
            with suppress(httpx.TransportError, json.JSONDecodeError):
                while not stopped:
                    reply = await http.post(CHAT, json=ASK)
                    statuses.append(reply.status_code)
                    if reply.status_code == 200:
                        answered.append(reply.json()["hedgerow"]["id"])
                    if len(statuses) >= enough and not stopped:
                        stopped = True
                        stop()

    await asyncio.gather(*(client() for _ in range(clients)))


def ids(store_url: str) -> set[str]:
    """All ids in a store."""
    engine = sa.create_engine(store_url)
    with engine.connect() as connection:
        ids = set(connection.execute(sa.text("SELECT id FROM answers")).scalars())
    engine.dispose()
    return ids


def verified(path: Path) -> dict[str, Any]:
    """What `hedgerow audit verify` says; it must find nothing wrong."""
    done = CliRunner().invoke(app, ["audit", "verify", "-c", str(path), "--json"])
    assert done.exit_code == 0, done.output
    printed: dict[str, Any] = json.loads(done.output)
    return printed


@pytest.mark.slow
def test_every_answered_id_outlives_the_process(tmp_path: Path, upstream: Upstream) -> None:
    """Killed without warning in the middle of load: what a client was given an id for is found after the restart, and the chain is whole."""
    upstream.default = says(*UNSURE)
    port, url = free_port(), f"sqlite:///{tmp_path}/audit.db"
    path = configuration(tmp_path, upstream, url, port)
    answered: list[str] = []
    with server(path, port) as running:
        asyncio.run(load(port, answered, [], clients=16, enough=100, stop=running.kill))
        running.wait(timeout=30)
    assert len(answered) >= 100
    with server(path, port), httpx.Client(base_url=f"http://127.0.0.1:{port}") as http:
        row = http.get(f"/v1/audit/{answered[-1]}", headers={"authorization": "Bearer adm-of-these-tests"}).json()
        assert (row["id"], row["texts"]["draft"]) == (answered[-1], "Canberra.")
    assert set(answered) <= ids(url)
    assert verified(path)["rows"] >= len(answered)


@pytest.mark.slow
@pytest.mark.parametrize("on_failure", ["pass", "error"])
def test_a_full_disk_is_decided_by_the_route(tmp_path: Path, upstream: Upstream, on_failure: str) -> None:
    """No file may grow further: answered and kept in the spool, or refused; once there is room, all that was answered is in the store."""
    import resource

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    upstream.default = says(*UNSURE)
    port, url = free_port(), f"sqlite:///{tmp_path}/audit.db"
    path = configuration(tmp_path, upstream, url, port, on_failure=on_failure)
    assert CliRunner().invoke(app, ["audit", "migrate", "-c", str(path)]).exit_code == 0
    answered: list[str] = []
    statuses: list[int] = []
    with server(path, port, preexec_fn=limit) as running:
        asyncio.run(load(port, answered, statuses, clients=4, enough=60, stop=lambda: None))
        assert running.poll() is None
    assert set(statuses) == ({200} if on_failure == "pass" else {200, 503})
    CliRunner().invoke(app, ["audit", "replay", "-c", str(path)])
    assert set(answered) <= ids(url)
    verified(path)


@pytest.mark.parametrize("on_failure", ["pass", "error"])
def test_a_database_that_is_gone_is_decided_by_the_route(
    serve: Any, postgres: Cluster, upstream: Upstream, on_failure: str
) -> None:
    """PostgreSQL stopped mid-flight: answered and kept in the spool, or refused at once; all is well when it is back."""
    upstream.default = says(*UNSURE)
    url = postgres.database()
    address = serve(on_failure=on_failure, settings={"audit": {"url": url}})
    assert httpx.post(address + CHAT, json=ASK).status_code == 200
    postgres.stop()
    try:
        replies = [httpx.post(address + CHAT, json=ASK, timeout=30) for _ in range(3)]
        health = httpx.get(f"{address}/health").json()
        assert (health["store"], health["degraded"]) == ("down", True)
        asked = len(upstream.calls)
        httpx.post(address + CHAT, json=ASK, timeout=30)
        assert (len(upstream.calls) > asked) == (on_failure == "pass")
    finally:
        postgres.start()
    if on_failure == "error":
        assert [reply.status_code for reply in replies] == [503] * 3
        assert replies[0].json()["error"]["code"] == "store_unavailable"
        assert replies[0].headers["retry-after"] == "1"
    else:
        assert [reply.status_code for reply in replies] == [200] * 3
    reply = until(lambda: httpx.post(address + CHAT, json=ASK), lambda reply: reply.status_code == 200)
    answered = [one.json()["hedgerow"]["id"] for one in [*replies, reply] if one.status_code == 200]
    until(lambda: set(answered) <= ids(url))
    assert httpx.get(f"{address}/health").json()["status"] == "ok"


def test_a_client_s_key_is_nowhere(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """Not in the database, not in the log of its writes, whatever the route keeps; nor is any text under `none`."""
    upstream.default = says(*UNSURE)
    key = "sk-client-0123456789abcdef"
    routes = [
        {"name": name, "upstream": "scripted", "mode": mode, "match": {"model": name}, "store_text": store_text}
        for name, mode, store_text in (("plain", "off", "full"), ("kept", "on", "full"), ("unkept", "on", "none"))
    ]
    address = serve(settings={"routes": routes})
    for name in ("plain", "kept", "unkept"):
        asked = {"model": name, "messages": [{"role": "user", "content": f"What of the question-of-{name}?"}]}
        assert httpx.post(address + CHAT, json=asked, headers={"authorization": f"Bearer {key}"}).status_code == 200
    reply = httpx.get(address + "/v1/audit/chatcmpl-scripted", headers={"authorization": f"Bearer {key}"})
    assert reply.json()["store_text"] == "none"
    content = b"".join(path.read_bytes() for path in tmp_path.glob("audit.db*"))
    assert key.encode() not in content
    assert b"question-of-kept" in content
    assert b"question-of-unkept" not in content
    assert b"question-of-plain" not in content


def test_erasing_over_http_needs_the_admin_key(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """Texts go, figures stay; without a configured key nobody may."""
    upstream.default = says(*UNSURE)
    address = serve(settings={"server": {"admin_key": "adm-of-these-tests"}})
    name = httpx.post(address + CHAT, json=ASK).json()["hedgerow"]["id"]
    admin = {"authorization": "Bearer adm-of-these-tests"}
    assert httpx.delete(f"{address}/v1/audit/{name}").status_code == 401
    assert httpx.delete(f"{address}/v1/audit/{name}", headers=admin).json() == {"id": name, "erased": True}
    assert httpx.delete(f"{address}/v1/audit/nobody", headers=admin).json()["error"]["code"] == "unknown_id"
    row = httpx.get(f"{address}/v1/audit/{name}", headers=admin).json()
    assert (row["texts"], row["user_hash"], row["samples"]) == (None, None, 10)
    assert row["erased_at"] > 0
    content = b"".join(path.read_bytes() for path in tmp_path.glob("audit.db*"))
    assert b"capital of Australia" not in content
    assert httpx.delete(f"{serve()}/v1/audit/{name}").status_code == 403


def test_the_commands(serve: Any, tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    """Migrate, verify, delete and purge, as an operator types them beside a running server."""
    upstream.default = says(*UNSURE)
    url = f"sqlite:///{tmp_path}/audit.db"
    path = configuration(tmp_path, upstream, url, 0)

    def hedgerow(*words: str) -> Any:
        return CliRunner().invoke(app, ["audit", *words, "-c", str(path)])

    assert hedgerow("verify").exit_code == 2
    assert "is at schema" in hedgerow("migrate").output
    address = serve()
    name = httpx.post(address + CHAT, json=ASK).json()["hedgerow"]["id"]
    httpx.post(address + CHAT, json=ASK)
    whole = hedgerow("verify")
    assert (whole.exit_code, "every chained row is as it was written" in whole.output) == (0, True)
    assert hedgerow("delete").exit_code == 2
    assert "erased the texts of 1 answer\n" in hedgerow("delete", "--id", name).output
    monkeypatch.setattr(retention, "MANY", 0)  # the name of so many is perhaps none of a person
    assert "Nothing was erased: 1 of 2 rows are theirs" in " ".join(hedgerow("delete", "--user", "ada").output.split())
    assert "erased the texts of 1 answer\n" in hedgerow("delete", "--user", "ada", "--yes").output
    assert hedgerow("delete", "--user", "eve").exit_code == 1
    path.write_text(path.read_text().replace("audit:\n", "audit:\n  keep_rows_days: 0.0000001\n"))
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE answers SET hedge = 'x' WHERE id = :id"), {"id": name})
    altered = hedgerow("verify")
    assert (altered.exit_code, "was altered" in altered.output) == (1, True)
    refused = hedgerow("purge")
    assert (refused.exit_code, "run it again with --yes" in refused.stderr) == (1, True)
    assert "would erase the texts of 0 rows, delete 2 rows\nand needs --yes" in hedgerow("purge", "--dry-run").output
    assert "deleted 2 rows" in hedgerow("purge", "--yes").output
    assert hedgerow("verify").exit_code == 0
    with engine.connect() as connection:
        what = list(connection.execute(sa.text("SELECT what FROM changes ORDER BY id")).scalars())
        assert what == ["erase", "erase", "purge"]
    engine.dispose()
