"""What passes without its check: named in `/health`, in the log and in the metrics while it lasts, and no longer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from hedgerow.proxy import supervision
from hedgerow.proxy.cli import app
from hedgerow.proxy.config import redis as redis_module
from tests.contract.test_editor import ANSWERS, MARK, asked_at
from tests.contract.test_equivalence import ASK, TWO_WORDINGS
from tests.contract.test_limits import answered, at, send
from tests.support.editing import edits, scripted
from tests.support.keys import new_key
from tests.support.upstream import Upstream, fails, says
from tests.support.waiting import until

REFUSED = fails(500, {"error": {"message": "no"}})


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for what rests."""
    monkeypatch.setattr(supervision, "SETTLED_S", 0.0)
    monkeypatch.setattr(redis_module, "DOWN_S", 0.0)
    monkeypatch.setattr(redis_module, "LONGEST_DOWN_S", 0.0)


def told(address: str, name: str) -> str:
    """What `/health` says of a problem, which the metrics name too."""
    health, metrics = httpx.get(address + "/health").json(), httpx.get(address + "/metrics").text
    said: str = health.get("problems", {}).get(name, "")
    assert (f'hedgerow_problem{{problem="{name}"}} 1.0' in metrics) == bool(said) == health.get("degraded", False)
    return said


@pytest.mark.parametrize("maxmemory", ["1", "0"])
def test_a_full_redis_enforces_no_limit_until_it_has_room(
    serve: Any, upstream: Upstream, tmp_path: Path, redis_url: str, lines: Any, maxmemory: str
) -> None:
    """It answers, but with a refusal."""
    upstream.default = says("Canberra.")
    url = f"sqlite:///{tmp_path}/audit.db"
    secret = new_key(url, "search", requests_per_minute=1000)
    counting = {"store": "redis", "url": redis_url}
    address = serve(settings=at(url, tmp_path, access={"counting": counting}), mode="off")
    with pytest.importorskip("redis").from_url(redis_url) as server:
        server.config_set("maxmemory", maxmemory)
        assert answered(send([address], secret, 3)) == 3
        assert ("OutOfMemoryError" in told(address, "unchecked-limits")) == (maxmemory == "1")
        server.config_set("maxmemory", 0)
        assert answered(send([address], secret, 3)) == 3
    assert told(address, "unchecked-limits") == ""
    assert len(lines.of("problem")) == len(lines.of("problem_over")) == (maxmemory == "1")


def test_a_wrong_password_is_seen_online(tmp_path: Path, redis_url: str) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(
        "upstreams: {u: {provider: openai, base_url: 'http://127.0.0.1:9/v1'}}\nroutes: [{name: r, upstream: u}]\n"
        f"access: {{counting: {{store: redis, url: '{redis_url.replace('//', '//:sesame@')}'}}}}\n"
        f"audit: {{url: 'sqlite:///{tmp_path}/audit.db'}}\n"
    )
    with pytest.importorskip("redis").from_url(redis_url) as server:
        server.config_set("requirepass", "right")
        for words in (["config", "check", "--online"], ["doctor"]):
            done = CliRunner().invoke(app, [*words, "-c", str(config)])
            said = " ".join(done.output.split())
            assert done.exit_code == 1
            assert "Redis of access.counting: the Redis of access.counting fails: AuthenticationError" in said
            assert "sesame" not in said


def test_budgets_that_cannot_be_read(serve: Any, upstream: Upstream, client_of: Any) -> None:
    pytest.importorskip("redis")
    upstream.default = says("Canberra.")
    counting = {"store": "redis", "url": "redis://127.0.0.1:9/0"}
    address = serve(settings={"access": {"counting": counting}, "budgets": [{"hard": 10}]})
    client_of(address).chat.completions.create(model="m", messages=ASK)
    assert "ConnectionError" in told(address, "unchecked-budgets")


def test_a_judge_that_fails(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Until one replies that can be read."""
    address = serve(equivalence="llm", judge={"model": "judge"}, upstream_settings={"retries": 0})
    for reply, why in ((says("They agree."), "judge_nonsense"), (REFUSED, "model_unreachable"), (says("[[0, 1]]"), "")):
        upstream.enqueue(says(*TWO_WORDINGS), reply)
        client_of(address).chat.completions.create(model="m", messages=ASK)
        said = told(address, "unchecked-judge:test")
        assert bool(said) == bool(why)
        assert "judge_" in said or not why


def test_an_editor_that_did_edit(
    serve: Any, client_of: Any, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that never did is no problem: answers take the local way, as they are meant to."""
    address = serve(rewriting={"by": "auto", "model": "m"})
    scripted(upstream, "no", *ANSWERS)
    asked_at(address, client_of)
    assert told(address, "unchecked-editor:scripted") == ""
    scripted(upstream, edits(MARK), *ANSWERS)
    monkeypatch.setattr("hedgerow.proxy.upstreams.readiness.Readiness.admits", lambda *_: True)
    asked_at(address, client_of)
    scripted(upstream, "no", *ANSWERS)
    for _ in range(3):
        asked_at(address, client_of)
    until(lambda: "m: the reply is not of the requested form" in told(address, "unchecked-editor:scripted"))
