"""A split route on real traffic: who is in which arm, what the audit says of it, and what the arms are compared by."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from hedgerow.proxy.config import Route, load
from tests.support.tables import cases
from tests.support.traffic import CAPITALS, judge
from tests.support.upstream import Upstream, says
from tests.support.waiting import until

AUSTRALIA = "What is the capital of Australia?"


def send(address: str, question: str = AUSTRALIA, path: str = "chat/completions", **more: Any) -> httpx.Response:
    headers = more.pop("headers", {})
    turns = more.pop("turns", [])
    body = {"model": "m", "messages": [{"role": "user", "content": question}, *turns]} | more
    reply = httpx.post(f"{address}/v1/{path}", json=body, headers=headers)
    reply.raise_for_status()
    return reply


def arms(folder: Path) -> list[tuple[str | None, str]]:
    """Arm and mode of every row, oldest first."""
    with sqlite3.connect(folder / "audit.db") as connection:
        rows = connection.execute("SELECT arm, mode FROM answers ORDER BY id").fetchall()
    connection.close()
    return rows


def written(folder: Path, number: int) -> list[tuple[str | None, str]]:
    """Arm and mode of every row once there are so many: the row of a request in shadow follows its answer."""
    return until(lambda: arms(folder), lambda rows: len(rows) == number)


def requests(address: str, number: int) -> list[Any]:
    """The rows of the explorer once there are so many."""
    return until(
        lambda: [json.loads(line) for line in httpx.get(f"{address}/dashboard/requests.jsonl").text.splitlines()],
        lambda rows: len(rows) == number,
    )


def test_yaml_takes_a_share_in_the_place_of_a_mode(tmp_path: Path) -> None:
    """Also where YAML reads the word `on` as true; the rest is in shadow unless it says otherwise."""
    text = (
        "upstreams: { u: { provider: openai, base_url: http://127.0.0.1:9/v1 } }\n"
        "routes:\n  - { name: a, upstream: u, mode: { on: 10% } }\n  - { name: b, upstream: u, mode: { on: 0.25, rest: off, by: user } }\n"
    )
    (tmp_path / "config.yaml").write_text(text)
    first, second = load(tmp_path / "config.yaml").routes
    assert (first.mode, first.split and first.split.on, first.calibrates) == ("shadow", 0.1, True)
    assert (second.mode, second.split and second.split.by, second.calibrates) == ("off", "user", True)


@cases("mode", [{"on": "110%"}, {"on": "some"}, {"on": 0}, {}, {"on": 0.1, "rest": "on"}, {"on": 0.1, "by": "moon"}])
def test_a_share_that_is_none_is_refused(mode: Any) -> None:
    """At the start."""
    with pytest.raises(ValidationError):
        Route(name="a", upstream="u", mode=mode)


def test_a_conversation_stays_in_its_arm(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """Whatever is said later; about so many conversations as were asked for are in it, and the client of the other one sees nothing."""
    upstream.default = says(*CAPITALS[AUSTRALIA])
    address = serve(mode={"on": 0.5})
    seen = []
    for number in range(12):
        question = f"{AUSTRALIA} ({number})"
        turns = [{"role": "assistant", "content": "Sydney."}, {"role": "user", "content": "Are you sure?"}]
        seen += [("hedgerow" in send(address, question, turns=some).json()) for some in ([], turns)]
    assert seen[::2] == seen[1::2]
    assert 2 <= sum(seen[::2]) <= 10
    assert [(arm, mode) for arm, mode in written(tmp_path, 24)] == [
        ("on", "on") if each else ("shadow", "shadow") for each in seen
    ]


@pytest.mark.parametrize(
    ("by", "same", "other"),
    [
        ("user", {"user": "ada"}, lambda i: {"user": f"u{i}"}),
        (
            "key",
            {"headers": {"authorization": "Bearer sk-a"}},
            lambda i: {"headers": {"authorization": f"Bearer sk-{i}"}},
        ),
        (
            "key",
            {"headers": {"ocp-apim-subscription-key": "a", "x-request-id": "1", "cookie": "b=1"}},
            lambda i: {"headers": {"ocp-apim-subscription-key": f"s{i}"}},
        ),
        ("key", {"headers": {"cookie": "who=a"}}, lambda i: {"headers": {"cookie": f"who={i}"}}),
        ("header:X-Session", {"headers": {"x-session": "s"}}, lambda i: {"headers": {"x-session": f"s{i}"}}),
    ],
)
def test_what_stays_together_is_chosen(
    serve: Any, upstream: Upstream, tmp_path: Path, by: str, same: dict[str, Any], other: Any
) -> None:
    """A user, a key or a header's value has one arm for all it asks; others have theirs."""
    upstream.default = says(*CAPITALS[AUSTRALIA])
    address = serve(mode={"on": 0.5, "rest": "off", "by": by})
    for number in range(8):
        send(address, f"{AUSTRALIA} {number}", **same)
    assert len(set(written(tmp_path, 8))) == 1
    for number in range(10):
        send(address, **other(number))
    assert {arm for arm, _ in written(tmp_path, 18)} == {"on", "off"}


def test_the_clients_wish_is_not_a_lot(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """What it sets by header is in no arm."""
    upstream.default = says(*CAPITALS[AUSTRALIA])
    address = serve(mode={"on": 0.5}, allow_override=True)
    for mode in ("on", "shadow"):
        send(address, headers={"x-hedgerow-mode": mode})
    assert written(tmp_path, 2) == [(None, "on"), (None, "shadow")]


def test_a_mode_that_an_operator_sets_ends_the_split(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """Every request has it; given back to the configuration, the split goes on with the same arms."""
    upstream.default = says(*CAPITALS[AUSTRALIA])
    address = serve(mode={"on": 0.5}, settings={"server": {"admin_key": "k" * 20}})
    admin = {"authorization": "Bearer " + "k" * 20}
    path = f"{address}/v1/admin/routes"
    assert httpx.get(path, headers=admin).json()["routes"][0]["split"] == {
        "on": 0.5,
        "rest": "shadow",
        "by": "conversation",
    }
    before = ["hedgerow" in send(address, f"{AUSTRALIA} {i}").json() for i in range(6)]
    httpx.post(f"{path}/test/mode", headers=admin, json={"mode": "shadow"}).raise_for_status()
    assert not any("hedgerow" in send(address, f"{AUSTRALIA} {i}").json() for i in range(6))
    httpx.post(f"{path}/test/mode", headers=admin, json={"mode": None}).raise_for_status()
    assert ["hedgerow" in send(address, f"{AUSTRALIA} {i}").json() for i in range(6)] == before


def test_both_arms_are_compared(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """By requests, divergence, feedback and tokens: on the pages, in the terminal and among the metrics."""
    upstream.default = says(*CAPITALS[AUSTRALIA])
    address = serve(mode={"on": 0.5})
    for number in range(16):
        send(address, f"{AUSTRALIA} {number}")
    for row in requests(address, 16)[::2]:
        judge(address, row["id"], True)
    for path in ("/dashboard", "/dashboard/routes/test"):
        page = httpx.get(address + path).text
        assert "on beside shadow" in page
        assert "Faithfulness Divergence, nats" in page
    config = tmp_path / "config.yaml"
    config.write_text(
        "upstreams: { u: { provider: openai, base_url: http://127.0.0.1:9/v1 } }\n"
        f"routes: [{{ name: test, upstream: u, mode: {{ on: 50% }} }}]\naudit: {{ url: 'sqlite:///{tmp_path}/audit.db' }}\n"
    )
    run = CliRunner().invoke(app, ["audit", "summary", "--config", str(config), "--json"])
    (line,) = json.loads(run.output)
    split = line["arms"]
    assert sum(split["requests"].values()) == 16
    gaps = {gap["figure"]: gap for gap in split["gaps"]}
    assert gaps["feedback"]["n_on"] + gaps["feedback"]["n_rest"] == 16
    assert gaps["feedback"]["low"] <= gaps["feedback"]["difference"] <= gaps["feedback"]["high"]
    assert gaps["divergence"]["n_on"] + gaps["divergence"]["n_rest"] == 8
    assert gaps["tokens"]["on"] > gaps["tokens"]["rest"]
    table = CliRunner().invoke(app, ["audit", "summary", "--config", str(config)], env={"COLUMNS": "160"})
    assert "share with feedback" in table.output


@pytest.mark.slow
@pytest.mark.parametrize("rest", ["shadow", "off"])
def test_arms_are_compared_by_conversations(serve: Any, upstream: Upstream, tmp_path: Path, rest: str) -> None:
    """Whatever is asked in one, its first request counts, in both arms; so does one verdict of it."""
    upstream.default = says(*CAPITALS[AUSTRALIA])
    address = serve(mode={"on": 0.5, "rest": rest})
    for number in range(12):
        for turn in range(3):
            later = [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": f"{AUSTRALIA} {turn}"}]
            send(address, f"{AUSTRALIA} {number}", turns=later if turn else [])
    for row in requests(address, 36):
        judge(address, row["id"], True)
    config = tmp_path / "config.yaml"
    config.write_text(
        "upstreams: { u: { provider: openai, base_url: http://127.0.0.1:9/v1 } }\n"
        f"routes: [{{ name: test, upstream: u, mode: {{ on: 50%, rest: '{rest}' }} }}]\naudit: {{ url: 'sqlite:///{tmp_path}/audit.db' }}\n"
    )
    (line,) = json.loads(CliRunner().invoke(app, ["audit", "summary", "--config", str(config), "--json"]).output)
    assert sum(line["arms"]["requests"].values()) == 12
    gaps = {gap["figure"]: gap for gap in line["arms"]["gaps"]}
    assert gaps["tokens"]["n_on"] + gaps["tokens"]["n_rest"] == 12
    assert 0 < gaps["divergence"]["n_on"] <= line["arms"]["requests"]["on"]
    assert line["verdicts"] >= 2 * line["independent_verdicts"]
    assert line["counted_by"] == ["conversation", "question"]
