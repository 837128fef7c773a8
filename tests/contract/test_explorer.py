"""The request explorer and `hedgerow audit list` on real traffic: the same filters, page, files and terminal."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from tests.support.tables import cases
from tests.support.traffic import CAPITALS, ask, fill, judge
from tests.support.upstream import Upstream, says
from tests.support.waiting import until

FRANCE = "What is the capital of France?"


def listed(address: str, **fields: str) -> httpx.Response:
    return httpx.get(f"{address}/dashboard/requests", params=fields)


@pytest.fixture
def filled(serve: Any, upstream: Upstream, tmp_path: Path) -> tuple[str, Path]:
    """A proxy with eight judged requests, and the configuration that its command line takes."""
    address = serve()
    fill(address, upstream, rounds=2)
    config = tmp_path / "config.yaml"
    config.write_text(
        "upstreams: { u: { provider: openai, base_url: http://127.0.0.1:9/v1 } }\nroutes: [{ name: test, upstream: u }]\n"
        f"audit: {{ url: 'sqlite:///{tmp_path}/audit.db' }}\n"
    )
    return address, config


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["audit", "list", *map(str, arguments)], env={"COLUMNS": "200"})


def test_a_filter_chooses_on_the_page(filled: tuple[str, Path]) -> None:
    """By words, verdict, confidence and route; what was said stands escaped."""
    address, _ = filled
    everything = listed(address)
    assert everything.text.count('class="question"') == 8
    assert "Who wrote &lt;i&gt;Emma&lt;/i&gt;?" in everything.text
    assert "<i>Emma" not in everything.text
    assert listed(address, text="capital of fr").text.count(FRANCE) == 2
    assert listed(address, verdict="wrong", text="France").text.count(FRANCE) == 1
    assert listed(address, verdict="right").text.count('class="question"') == 5
    assert listed(address, most="1").text.count('class="question"') == 0
    assert listed(address, route="elsewhere").text.count('class="question"') == 0
    assert listed(address, status="hedged", model="m", period="24h").text.count("key <a") == 0


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"least": "much"}, "is not a percentage from 0 to 100"),
        ({"most": "101"}, "is not a percentage from 0 to 100"),
        ({"since": "yesterday"}, "is not a date and time"),
        ({"status": "fine"}, "choose one of hedged"),
        ({"text": "x" * 201}, "at most 200 characters"),
    ],
)
def test_a_field_that_cannot_be_read_is_named(serve: Any, fields: dict[str, str], says: str) -> None:
    """On the page, and instead of a file."""
    address = serve()
    for path in ("requests", "requests.csv"):
        reply = httpx.get(f"{address}/dashboard/{path}", params=fields)
        assert reply.status_code == 400
        assert says in reply.text


@cases("option", ["--since", "--until"])
def test_a_moment_that_cannot_be_read_is_named_with_its_option(option: str) -> None:
    """Before the store is opened."""
    done = run(option, "yesterday")
    assert (done.exit_code, done.output.split(". ")[0]) == (2, f"hedgerow: Invalid {option} value 'yesterday'")


def test_pages_of_the_list_follow_each_other(serve: Any, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the link at the end, which keeps the filter."""
    from hedgerow.proxy.audit import explorer

    address = serve()
    names = fill(address, upstream, rounds=1)
    monkeypatch.setattr(explorer.requests, "__defaults__", (None, 3))
    first = listed(address, route="test", period="all")
    later = first.text.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    second = httpx.get(f"{address}/dashboard/requests{later}")
    shown = [name for reply in (first, second) for name in names if name in reply.text]
    assert "route=test" in later
    assert len(shown) == len(set(shown)) == 4


def test_what_is_chosen_comes_as_a_file(filled: tuple[str, Path]) -> None:
    """The same rows as the page, with whole texts; an unknown format is named."""
    address, _ = filled
    reply = httpx.get(f"{address}/dashboard/requests.jsonl", params={"text": "France"})
    rows = [json.loads(line) for line in reply.text.splitlines()]
    assert [row["question"] for row in rows] == [FRANCE] * 2
    assert [row["correct"] for row in rows] == [1.0, 0.0]
    assert "attachment" in reply.headers["content-disposition"]
    reply = httpx.get(f"{address}/dashboard/requests.csv", params={"verdict": "wrong"})
    assert len(list(csv.DictReader(io.StringIO(reply.text)))) == 3
    assert httpx.get(f"{address}/dashboard/requests.xlsx").status_code == 400


def test_a_list_and_a_file_ask_for_the_admin_key(serve: Any) -> None:
    """As every page does: texts are in them."""
    address = serve(settings={"server": {"admin_key": "k" * 20}})
    for path in ("requests", "requests.csv"):
        assert httpx.get(f"{address}/dashboard/{path}").headers["location"].startswith("/sign-in")


def test_equal_surprises_are_one_line_with_their_number(serve: Any, upstream: Upstream) -> None:
    """Which leads to all of them."""
    address = serve()
    for _ in range(25):
        judge(address, ask(address, upstream, FRANCE, CAPITALS[FRANCE]), False)
    reply = httpx.get(f"{address}/dashboard/surprises")
    assert reply.text.count('class="question"') == 1
    assert "25 times" in reply.text
    query = reply.text.partition('href="/dashboard/requests?')[2].partition('"')[0].replace("&amp;", "&")
    assert httpx.get(f"{address}/dashboard/requests?{query}").text.count(FRANCE) == 25 + 1  # the field of the form


def test_the_terminal_lists_by_the_same_filters(filled: tuple[str, Path], tmp_path: Path) -> None:
    """As a table, as JSON, and into a file."""
    _, config = filled
    table = run("--config", config, "--text", "France", "--verdict", "wrong")
    assert table.exit_code == 0
    assert table.output.count(FRANCE) == 1
    assert "wrong" in table.output
    rows = json.loads(run("--config", config, "--json", "--min-confidence", "0.5", "-n", "3").output)
    assert len(rows) == 3
    assert all(row["confidence"] >= 0.5 for row in rows)
    written = run("--config", config, "--out", tmp_path / "all.csv")
    assert "8 requests written" in written.output
    assert len(list(csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text())))) == 8
    assert "no request fits" in run("--config", config, "--route", "elsewhere").output
    assert run("--config", config, "--out", tmp_path / "all.xlsx").exit_code == 2


def test_what_was_hedged_in_shadow_is_not_said_to_have_been_served(
    serve: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """Neither in the list nor in the sums."""
    address = serve(mode="shadow")
    upstream.default = says("Paris.", "Lyon.", "Paris.")
    asked = {"model": "m", "messages": [{"role": "user", "content": FRANCE}]}
    httpx.post(f"{address}/v1/chat/completions", json=asked).raise_for_status()
    config = tmp_path / "config.yaml"
    config.write_text(
        "upstreams: { u: { provider: openai, base_url: http://127.0.0.1:9/v1 } }\nroutes: [{ name: test, upstream: u }]\n"
        f"audit: {{ url: 'sqlite:///{tmp_path}/audit.db' }}\n"
    )
    until(lambda: "hedged, in shadow" in run("--config", config).stdout)
    said = CliRunner().invoke(app, ["audit", "summary", "--config", str(config)], env={"COLUMNS": "200"}).stdout
    assert "in shadow: clients got the plain answers" in said
