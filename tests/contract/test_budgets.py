"""Budgets, before a real upstream and in real stores: fewer answers over a soft one, plain ones over a hard one, and never a request too many."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse

from hedgerow.proxy.spending import budgets
from tests.contract.test_costs import PRICED
from tests.contract.test_failures import rows_of
from tests.support.keys import in_one_day, new_key
from tests.support.upstream import Upstream, completion, says, sse_response, stream_chunks
from tests.support.waiting import until

CHAT = "/v1/chat/completions"
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")
CALL = 7 + 10 * 3
"""Tokens of one call that brings ten answers."""
FEWER = 7 + 5 * 3
PLAIN = 7 + 3
"""Tokens of an answer that is passed on."""


@pytest.fixture(autouse=True)
def _one_day() -> None:
    in_one_day()


def asked(number: int) -> dict[str, Any]:
    """Requests that are not equal: equal ones share their answers."""
    return {"model": "m", "messages": [{"role": "user", "content": f"What is the capital of Australia? ({number})"}]}


def ask(address: str, number: int = 0, **headers: str) -> httpx.Response:
    return httpx.post(address + CHAT, json=asked(number), headers=headers, timeout=60)


def one_by_one(address: str, folder: Path, count: int, **headers: str) -> list[httpx.Response]:
    """Requests that each wait until the one before has its row and is counted."""
    already = len(rows_of(folder, 0))
    answers = []
    for number in range(1, count + 1):
        answers.append(ask(address, number, **headers))
        assert len(rows_of(folder, already + number)) == already + number
        spent(folder)
    return answers


def spent(folder: Path) -> dict[str, tuple[float, float]]:
    """By name, what was used and what is held, when nothing is under way any more."""

    def read() -> dict[str, tuple[float, float]]:
        with sqlite3.connect(folder / "audit.db") as store:
            rows = store.execute("SELECT name, sum(used), sum(held) FROM spending GROUP BY name").fetchall()
        return {name: (used, held) for name, used, held in rows}

    return until(read, lambda counts: all(abs(held) < 1e-9 for _, held in counts.values()))


def settled(folder: Path, expected: dict[str, float]) -> bool:
    """Whether the counts come to stand so, with nothing held: what is passed on is counted after its answer."""
    return until(lambda: {name: used for name, (used, _) in spent(folder).items()} == pytest.approx(expected))


def test_over_a_soft_budget_fewer_answers_are_drawn_and_over_a_hard_one_none(
    serve: Any, upstream: Upstream, tmp_path: Path, lines: Any
) -> None:
    """The answer, its headers, the log, the counter and the row say so."""
    upstream.default = says(*UNSURE)
    budget = {"route": "test", "soft": CALL, "hard": 2 * CALL + FEWER}
    address = serve(settings={"budgets": [budget]})
    answers = one_by_one(address, tmp_path, 4)
    fields = [answer.json().get("hedgerow", {}) for answer in answers]
    assert [field.get("samples") for field in fields] == [10, 5, 5, None]
    assert [field.get("budget") for field in fields] == [None, "soft", "soft", None]
    assert [answer.headers.get("x-hedgerow-budget") for answer in answers] == [None, "soft", "soft", None]
    assert answers[3].headers["x-hedgerow-reason"] == "over_budget"
    assert answers[3].json()["choices"][0]["message"]["content"] == "Canberra."
    assert settled(tmp_path, {"tokens:test:*": CALL + 2 * FEWER + PLAIN})
    reached = lines.of("budget_reached")
    assert [(line["limit"], line["used_or_held"]) for line in reached] == [("soft", CALL), ("hard", CALL + 2 * FEWER)]
    assert [line["reason"] == "over_budget" for line in lines.requests(4)] == [False, False, False, True]
    metrics = httpx.get(address + "/metrics").text
    assert 'hedgerow_over_budget_total{key="",limit="soft",route="test"} 2.0' in metrics
    assert 'hedgerow_over_budget_total{key="",limit="hard",route="test"} 1.0' in metrics


def test_a_day_ends_at_midnight_utc(
    serve: Any, upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the machine is. A request counts for the day on which it came, also where its answer comes on the next; a clock that is set back
    finds spent what was spent.
    """
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0).timestamp() + 86_400
    seconds = [midnight - 2]
    monkeypatch.setattr(budgets, "time", SimpleNamespace(time=lambda: seconds[0]))
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")  # fourteen hours ahead
    time.tzset()

    def over_midnight(request: Any, body: Any) -> Any:
        seconds[0] = midnight + 1
        return says(*UNSURE)(request, body)

    upstream.enqueue(over_midnight)
    upstream.default = says(*UNSURE)
    address = serve(settings={"budgets": [{"hard": CALL}]})
    try:
        reasons = [one_by_one(address, tmp_path, 1)[0].headers.get("x-hedgerow-reason") for _ in range(3)]
        seconds[0] -= 60
        reasons.append(ask(address, 9).headers.get("x-hedgerow-reason"))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert reasons == [None, None, "over_budget", "over_budget"]


def test_a_budget_in_dollars_counts_dollars(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """A call costs .307; a limit of a dollar has room for three and not for a fourth."""
    upstream.default = says(*UNSURE)
    address = serve(settings=PRICED | {"budgets": [{"unit": "dollars", "hard": 1.0}]})
    reasons = [answer.headers.get("x-hedgerow-reason") for answer in one_by_one(address, tmp_path, 5)]
    assert "over_budget" not in reasons[:3]
    assert reasons[3:] == ["over_budget"] * 2
    assert settled(tmp_path, {"dollars:*:*": 3 * 0.307 + 2 * 0.037})


def test_each_key_has_its_own(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """One key's spending leaves the other's alone; a request without a named key has no budget of a key."""
    upstream.default = says(*UNSURE)
    settings = {"budgets": [{"key": "team-*", "hard": CALL}], "access": {"require_key": False}}
    store = f"sqlite:///{tmp_path}/audit.db"
    secrets = {name: new_key(store, name) for name in ("team-a", "team-b", "other")}
    address = serve(settings=settings)
    passed = {
        name: [
            answer.headers.get("x-hedgerow-reason") == "over_budget"
            for answer in one_by_one(address, tmp_path, 2, authorization=f"Bearer {secret}")
        ]
        for name, secret in secrets.items()
    }
    assert passed == {"team-a": [False, True], "team-b": [False, True], "other": [False, False]}
    assert settled(tmp_path, {"tokens:*:team-a": CALL + PLAIN, "tokens:*:team-b": CALL + PLAIN})
    assert ask(address, 9).headers.get("x-hedgerow-reason") != "over_budget"


def test_shadow_stops_without_a_trace(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """The client never sees shadow; beyond the budget its samples are not drawn any more, and the row says why."""
    upstream.default = says(*UNSURE)
    address = serve(mode="shadow", settings={"budgets": [{"hard": CALL}]})
    answers = one_by_one(address, tmp_path, 3)
    assert not [name for answer in answers for name in answer.headers if name.startswith("x-hedgerow")]
    assert settled(
        tmp_path, {"tokens:*:*": CALL - 3 + 3 * PLAIN}
    )  # the client's own answers are paid for too; the first is a sample
    httpx.get(address + "/v1/audit/none")
    with sqlite3.connect(tmp_path / "audit.db") as store:
        reasons = store.execute("SELECT reason FROM answers ORDER BY id").fetchall()
    assert [reason for (reason,) in reasons][1:] == ["over_budget"] * 2


@pytest.mark.parametrize("store", ["audit", "redis"])
@pytest.mark.parametrize("stream", [False, True])
def test_what_is_passed_on_plain_is_counted_too(
    serve: Any, upstream: Upstream, request: pytest.FixtureRequest, store: str, stream: bool
) -> None:
    """A greeting is passed on, and leaves the next one no room; where the upstream does not say what it took, request and answer are measured."""
    upstream.default = streams
    settings: dict[str, Any] = {"budgets": [{"route": "test", "hard": 2 * CALL if stream else CALL}]}
    if store == "redis":
        settings["access"] = {"counting": {"store": "redis", "url": request.getfixturevalue("redis_url")}}
    address, plain = serve(settings=settings), PLAIN
    greeting = {"messages": [{"role": "user", "content": "Hello, how are you?"}]}

    def pass_on(**more: Any) -> int:
        answer = httpx.post(address + CHAT, json=asked(0) | greeting | more, timeout=60)
        assert answer.headers["x-hedgerow-reason"] == "not_a_claim"
        return len(answer.request.content) // 4 + len("Canberra.") // 4

    if stream:
        plain += pass_on(stream=True)
        pass_on(stream=True, stream_options={"include_usage": True})
    else:
        pass_on()
    until(lambda: used(address), lambda tokens: tokens == plain)
    assert (
        ask(address, 3).headers.get("x-hedgerow-reason") is None
    )  # nothing is known of such requests: the first may go
    until(lambda: used(address), lambda tokens: tokens == plain + CALL)
    assert ask(address, 4).headers["x-hedgerow-reason"] == "over_budget"
    assert "The hard budget is reached" in httpx.get(f"{address}/dashboard/routes/test").text


def used(address: str) -> float:
    """What the page of the route says that its budget has spent."""
    page = httpx.get(f"{address}/dashboard/routes/test", timeout=60).text
    shown = re.search(r'<data value="([\d.]+)">', page)
    assert shown
    return float(shown[1])


def refuses_where_plain(_request: Any, body: Any) -> Any:
    """Answers only where several answers are asked for: what is refused costs nothing."""
    if not body.get("n"):
        return JSONResponse({"error": {"message": "no"}}, 403)
    return JSONResponse(completion(*(UNSURE * 2)[: body["n"]]))


def streams(_request: Any, body: Any) -> Any:
    """A stream says what it took where it is asked to."""
    if not body.get("stream"):
        return says(*UNSURE)(_request, body)
    usage = {"choices": [], "usage": completion("Canberra.")["usage"]}
    last = [stream_chunks("")[0] | usage] if (body.get("stream_options") or {}).get("include_usage") else []
    return sse_response([*stream_chunks("Canberra."), *last, "[DONE]"])


@pytest.mark.slow
@pytest.mark.parametrize(("store", "proxies"), [("audit", 1), ("redis", 2)])
def test_64_connections_spend_no_more_than_one_request_too_many(
    serve: Any, upstream: Upstream, request: pytest.FixtureRequest, store: str, proxies: int, tmp_path: Path
) -> None:
    """Against one proxy or two that share a store. What is left in the end is less than one request takes, too."""
    upstream.default = refuses_where_plain
    hard = 12 * CALL + 5
    settings: dict[str, Any] = {"budgets": [{"route": "test", "hard": hard}]}
    if store == "redis":
        settings["access"] = {"counting": {"store": "redis", "url": request.getfixturevalue("redis_url")}}
    addresses = [serve(settings=settings) for _ in range(proxies)]

    async def flood() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=64, keepalive_expiry=1)  # before the server closes what is idle
        async with httpx.AsyncClient(timeout=120, limits=limits) as client:
            asks = (client.post(addresses[i % proxies] + CHAT, json=asked(i)) for i in range(320))
            return await asyncio.gather(*asks)

    answers = asyncio.run(flood())
    assert {answer.status_code for answer in answers} == {200, 403}
    more = [ask(address, 1000 + i) for i in range(40) for address in addresses if not time.sleep(0.05)]
    spent_in_all = sum(_spent(answer) for answer in (*answers, *more))
    assert hard - CALL < spent_in_all <= hard
    assert ask(addresses[0], 5000).headers["x-hedgerow-reason"] == "over_budget"


def _spent(answer: httpx.Response) -> int:
    usage = answer.json().get("hedgerow", {}).get("usage", {})
    return sum(counts["prompt_tokens"] + counts["completion_tokens"] for counts in usage.values())


@pytest.mark.parametrize("store", ["audit", "redis"])
def test_what_was_spent_stays_spent_when_its_counters_are_set_back(
    serve: Any, upstream: Upstream, request: pytest.FixtureRequest, store: str, tmp_path: Path, lines: Any
) -> None:
    """Emptied, as after a failover to a replica that had nothing: the process that spent it says so and counts it again."""
    upstream.default = says(*UNSURE)
    url = f"sqlite:///{tmp_path}/audit.db"
    settings: dict[str, Any] = {"budgets": [{"route": "test", "hard": 3 * CALL}], "audit": {"url": url}}
    if store == "redis":
        settings["access"] = {"counting": {"store": "redis", "url": request.getfixturevalue("redis_url")}}
    address = serve(settings=settings)

    def reasons(first: int) -> list[str | None]:
        return [ask(address, first + i).headers.get("x-hedgerow-reason") for i in range(4)]

    assert reasons(0) == [None, None, None, "over_budget"]
    until(lambda: used(address), lambda tokens: tokens == 3 * CALL + PLAIN)
    if store == "redis":
        with pytest.importorskip("redis").from_url(settings["access"]["counting"]["url"]) as server:
            server.flushall()
    else:
        with closing(sqlite3.connect(tmp_path / "audit.db", isolation_level=None)) as database:
            database.execute("DELETE FROM spending")
    assert reasons(10) == ["over_budget"] * 4
    assert len(lines.of("budgets_set_back")) == 1


def test_while_the_store_is_away_a_hard_budget_counts_as_spent(serve: Any, upstream: Upstream, lines: Any) -> None:
    """Plain answers with their reason; an error in the log for the operator; a soft budget alone costs answers, not calibration."""
    pytest.importorskip("redis")
    upstream.default = says(*UNSURE)
    away = {"access": {"counting": {"store": "redis", "url": "redis://127.0.0.1:9/0"}}}
    address = serve(settings=away | {"budgets": [{"soft": 10, "hard": 1_000_000}]})
    answer = ask(address)
    assert (answer.status_code, answer.headers["x-hedgerow-reason"]) == (200, "budget_unknown")
    assert [line["id"] for line in lines.of("budget_unknown")] == [answer.headers["x-hedgerow-audit-id"]]
    assert 'hedgerow_over_budget_total{key="",limit="unknown",route="test"} 1.0' in httpx.get(address + "/metrics").text
    assert ask(serve(settings=away | {"budgets": [{"soft": 1_000_000}]})).json()["hedgerow"]["samples"] == 5


def test_a_request_that_fails_gives_back_what_was_held(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """An upstream that refuses costs nothing, and the budget has room again."""
    from tests.support.upstream import fails

    address = serve(settings={"budgets": [{"hard": CALL}]})
    upstream.default = fails(401, {"error": {"message": "no"}})
    assert ask(address).status_code == 401
    assert spent(tmp_path)["tokens:*:*"] == (0.0, 0.0)
    upstream.default = says(*UNSURE)
    assert ask(address, 1).headers.get("x-hedgerow-reason") != "over_budget"
