"""`hedgerow faithfulness --audit` over an audit that a proxy has written, and the panel that shows the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from tests.support.tables import cases
from tests.support.traffic import ask, fill, judge
from tests.support.upstream import Upstream
from tests.unit.proxy.cli.audit.test_summary import config_of


def run(folder: Path, *arguments: object, code: int = 0) -> Any:
    options = ["faithfulness", "--audit", "--config", str(config_of(folder)), *map(str, arguments)]
    result = CliRunner().invoke(app, options)
    assert result.exit_code == code, result.output
    return result


def test_what_was_served_is_measured_beside_the_plain_answer_and_the_models_own_words(
    serve: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """No verdict and no text is needed. The model hedges one question in four by itself, always in the same words."""
    address = serve(store_text="none")
    fill(address, upstream, judged=False)
    for _ in range(4):
        ask(
            address,
            upstream,
            "Who painted it?",
            ("Perhaps it was Monet.", "It was Manet.", "Perhaps it was Monet.", "It was Degas.", "It was Cezanne."),
        )
    printed = json.loads(run(tmp_path, "--json").stdout)
    assert (printed["n"], printed["groups"][0]["route"]) == (32, "test")
    plain, own, ours = printed["groups"]
    assert [group["words"] for group in printed["groups"]] == ["plain answer", "own words", "served"]
    assert plain["decisiveness"] == 1.0
    assert plain["decisiveness"] > own["decisiveness"] > ours["decisiveness"]
    assert plain["mfg"] < own["mfg"] < ours["mfg"]
    assert printed["cmfg"] == printed["worst"]["cmfg"] == ours["cmfg"]
    assert printed["cmfg"] > 0.85
    table = run(tmp_path, "--fail-if", "cmfg < 0.5").stdout
    assert "test / own words" in table
    assert "cmfg is" in run(tmp_path, "--fail-if", "cmfg < 0.999", code=1).stderr
    shown = httpx.get(f"{address}/dashboard").text
    assert "Do the words mean it?" in shown
    assert "Do the words mean it?" in httpx.get(f"{address}/dashboard/routes/test").text
    assert f"{ours['cmfg']:.2f}" in shown
    assert "As served, by wording" not in shown  # no answer has a verdict


def test_the_pages_say_how_often_answers_of_a_wording_were_right(serve: Any, upstream: Upstream) -> None:
    """Twenty equal answers with one hedge, half of them right; no text is needed."""
    address = serve(store_text="none")
    answers = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")
    for turn in range(20):
        judge(address, ask(address, upstream, "What is the capital of Australia?", answers), turn % 2 == 0)
    for path in ("/dashboard", "/dashboard/routes/test"):
        section = httpx.get(f"{address}{path}").text.partition("As served, by wording")[2].partition("</section>")[0]
        row = " ".join(re.sub(r"<[^>]+>", " ", section.partition("<tbody>")[2].partition("</tbody>")[0]).split())
        assert "20 0.50 0.30–0.70" in row


def test_an_audit_without_answers_says_so(serve: Any, tmp_path: Path) -> None:
    address = serve()
    assert "no answer of this period has a confidence" in run(tmp_path, code=1).stderr
    assert "Do the words mean it?" not in httpx.get(f"{address}/dashboard").text


@cases("arguments", [[], ["--audit", "--data", "x.jsonl"]])
def test_one_of_file_and_audit_is_named(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["faithfulness", *arguments])
    assert result.exit_code == 2
    assert "--data FILE, or --audit" in result.stderr
