"""What an answer and its calibration cost: in the answer, the audit, the metrics, the summary and on the page."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.upstream import Upstream, completion, says
from tests.unit.proxy.cli.audit.test_summary import run

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")
PRICED = {"prices": {"models": [{"model": "scripted-*", "prompt": 1000, "completion": 10_000, "cached": 100}]}}
"""A tenth of a cent for a token of the prompt, a cent for one of the answer."""
ANSWER, SAMPLES = 0.007 + 0.03, 9 * 0.03
"""One call of 7 tokens brings ten answers of 3."""


def rows(folder: Path) -> list[tuple[float | None, float | None]]:
    with sqlite3.connect(folder / "audit.db") as store:
        return store.execute("SELECT cost_answer, cost_calibration FROM answers ORDER BY id").fetchall()


def test_an_answer_says_what_it_cost(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Path, lines: Any
) -> None:
    """By purpose in the answer; as answer and calibration in the audit and the log; by purpose, model and kind in the metrics."""
    upstream.default = says(*UNSURE)
    address = serve(settings=PRICED)
    usage = client_of(address).chat.completions.create(model="m", messages=ASK).model_extra["hedgerow"]["usage"]
    assert usage["answer"]["cost"] == pytest.approx(ANSWER)
    assert usage["samples"]["cost"] == pytest.approx(SAMPLES)
    assert usage["judge"]["cost"] == usage["rewrite"]["cost"] == usage["escalation"]["cost"] == 0.0
    assert rows(tmp_path) == [(pytest.approx(ANSWER), pytest.approx(SAMPLES))]
    (line,) = lines.requests(1)
    assert line["cost"] == {"answer": pytest.approx(ANSWER), "calibration": pytest.approx(SAMPLES)}
    usage = httpx.get(address + "/metrics").text
    labels = 'key="",{kind}model="scripted-1",purpose="{purpose}",route="test"'
    for kind, purpose, tokens in (
        ("prompt", "answer", 7.0),
        ("completion", "answer", 3.0),
        ("completion", "samples", 27.0),
    ):
        assert (
            f'hedgerow_spent_tokens_total{{key="",kind="{kind}",model="scripted-1",purpose="{purpose}",route="test"}} {tokens}'
            in usage
        )
    assert "hedgerow_cost_dollars_total{" + labels.format(kind="", purpose="samples") + "} 0.27" in usage
    assert "hedgerow_unpriced_answers_total{" not in usage


def test_a_model_without_a_price_has_no_cost(serve: Any, client_of: Any, upstream: Upstream, tmp_path: Path) -> None:
    """Null everywhere, counted, and said in the summary and on the page."""
    upstream.default = says(*UNSURE)
    address = serve()
    usage = client_of(address).chat.completions.create(model="m", messages=ASK).model_extra["hedgerow"]["usage"]
    assert usage["answer"]["cost"] is None
    assert rows(tmp_path) == [(None, None)]
    assert (
        'hedgerow_unpriced_answers_total{key="",purpose="answer",route="test"} 1.0'
        in httpx.get(address + "/metrics").text
    )
    (line,) = json.loads(run(tmp_path, "summary", "--json").stdout)
    assert line["cost"] == {"answers": 0.0, "calibration": 0.0, "unpriced_answers": 1, "projection": None}
    assert "calibrated answers whose cost is not known: 1" in run(tmp_path, "summary").stdout
    assert "is not known" in httpx.get(address + "/dashboard").text
    with sqlite3.connect(tmp_path / "audit.db") as store:
        ((row,),) = store.execute("SELECT id FROM answers").fetchall()
    assert "Cost: not known" in httpx.get(f"{address}/dashboard/answers/{row}").text


def test_a_judge_costs_what_its_own_model_does(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The model that answered prices each call, whoever asked for it."""

    def reply(request: Any, body: Any) -> Any:
        if body["model"] == "referee":
            return httpx_json(completion("[[1, 2]]", model="referee-2"))
        return says(*UNSURE)(request, body)

    upstream.default = reply
    prices = [*PRICED["prices"]["models"], {"model": "referee*", "prompt": 2000, "completion": 0}]
    address = serve(settings={"prices": {"models": prices}}, equivalence="llm", judge={"model": "referee"})
    usage = client_of(address).chat.completions.create(model="m", messages=ASK).model_extra["hedgerow"]["usage"]
    asked = usage["judge"]["prompt_tokens"]
    assert asked > 0
    assert usage["judge"]["cost"] == pytest.approx(asked * 0.002)


def httpx_json(content: Any) -> Any:
    from starlette.responses import JSONResponse

    return JSONResponse(content)


def test_a_shared_answer_costs_nothing_twice(serve: Any, client_of: Any, upstream: Upstream, tmp_path: Path) -> None:
    """What came from the cache was paid for by the request that drew it."""
    upstream.default = says(*UNSURE)
    client = client_of(serve(settings=PRICED, sampling={"cache": {"ttl_s": 60}}))
    for _ in range(2):
        field = client.chat.completions.create(model="m", messages=ASK).model_extra["hedgerow"]
    assert field["samples_from"] == "cache"
    assert (field["usage"]["answer"]["cost"], field["usage"]["samples"]["cost"]) == (0.0, 0.0)
    assert rows(tmp_path)[1] == (0.0, 0.0)


def test_shadow_says_what_on_would_cost(serve: Any, client_of: Any, upstream: Upstream, tmp_path: Path) -> None:
    """On the page, in the summary and as JSON: so many times plain, and so many dollars a day."""
    upstream.default = says(*UNSURE)
    address = serve(settings=PRICED, mode="shadow")
    client = client_of(address)
    for _ in range(3):
        client.chat.completions.create(model="m", messages=ASK)
    while len(rows(tmp_path)) < 3:
        httpx.get(address + "/v1/audit/none")  # reading waits for what was handed in before
    (line,) = json.loads(run(tmp_path, "summary", "--json").stdout)
    would = line["cost"]["projection"]
    prompt_again = 0.007  # the others are a call of their own
    assert would["times"] == pytest.approx((ANSWER + prompt_again + SAMPLES) / ANSWER)
    assert would["on_a_day"] == pytest.approx(would["times"] * would["plain_a_day"])
    sentence = f"In mode on it would cost {would['times']:.1f} times as much as plain"
    assert sentence in run(tmp_path, "summary").stdout
    assert sentence in httpx.get(address + "/dashboard").text
