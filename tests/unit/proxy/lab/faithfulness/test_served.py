"""`hedgerow faithfulness --audit` over an audit that a proxy has written, and the panel that shows the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
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
    raw = json.loads(run(tmp_path, "--json", "--against", "raw").stdout)
    assert raw["n"] == 32
    page = tmp_path / "r.html"
    table = run(tmp_path, "--report", page, "--fail-if", "cmfg < 0.5").stdout
    assert "test / own words" in table
    assert "mean calibrated confidence" in page.read_text()
    assert "cmfg is" in run(tmp_path, "--fail-if", "cmfg < 0.999", code=1).stderr
    shown = httpx.get(f"{address}/dashboard").text
    assert "Do the words mean it?" in shown
    assert "Do the words mean it?" in httpx.get(f"{address}/dashboard/routes/test").text
    assert f"{ours['cmfg']:.2f}" in shown
    assert "In the model's own words" in shown
    assert ">no hedge<" in shown  # 28 answers; four with "perhaps" are too few
    assert ">perhaps<" not in shown
    assert "As served" not in shown  # every answer was worded, with hedges that are too few each


def test_what_a_hedge_that_was_served_meant_stands_beside_the_models_own(
    serve: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """Twenty equal answers with one hedge, half of them right: pages and command say so without a text."""
    address = serve(store_text="none")
    answers = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")
    for turn in range(20):
        judge(address, ask(address, upstream, "What is the capital of Australia?", answers), turn % 2 == 0)
    options = ["markers", "--audit", "--since", "1d", "--config", str(config_of(tmp_path)), "--json"]
    own, served = json.loads(CliRunner().invoke(app, options).stdout)["drift"]
    assert (own["words"], own["marker"], own["answers"]) == ("own words", "<no_hedge>", 20)
    assert (served["words"], served["answers"], served["graded"], served["right"]) == ("served", 20, 20, 0.5)
    assert served["mic"] == own["mic"] == pytest.approx(0.6)
    assert served["people"] == pytest.approx(0.6, abs=0.1)
    page = httpx.get(f"{address}/dashboard/routes/test").text
    own_words, as_served = page.partition("In the model's own words")[2].split("As served")
    assert ">no hedge<" in own_words
    assert f">{served['marker']}<" in as_served


def test_stored_texts_are_exported_and_measured_by_contradiction(
    serve: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """Each answer twice; it is not held against itself, and texts that are hashed are not there."""
    address = serve(store_text="full")
    fill(address, upstream, rounds=2)
    out = tmp_path / "w.jsonl"
    config = str(config_of(tmp_path))
    done = CliRunner().invoke(app, ["audit", "export", str(out), "--wordings", "--config", config])
    assert "16 wordings written" in done.output
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    own, ours = rows[:2]
    assert (own["answer"], own["prompt"], own["dataset"], own["correct"]) == ("Canberra.", "own words", "test", True)
    assert (len(own["samples"]), own["samples"].count("Canberra.")) == (9, 5)
    assert ours["prompt"] == "served"
    assert ours["answer"] != "Canberra."
    printed = json.loads(
        CliRunner().invoke(app, ["faithfulness", "--data", str(out), "--json", "--resamples", "0"]).stdout
    )
    mine, served = printed["groups"]
    assert mine["decisiveness"] == 1.0
    assert served["mfg"] > mine["mfg"]
    refused = CliRunner().invoke(
        app, ["audit", "export", str(tmp_path / "w.parquet"), "--wordings", "--config", config]
    )
    assert "JSONL" in refused.stderr


def test_an_audit_without_answers_says_so(serve: Any, tmp_path: Path) -> None:
    address = serve()
    assert "no answer of this period has a confidence" in run(tmp_path, code=1).stderr
    assert "Do the words mean it?" not in httpx.get(f"{address}/dashboard").text


@cases("arguments", [[], ["--audit", "--data", "x.jsonl"]])
def test_one_of_file_and_audit_is_named(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["faithfulness", *arguments])
    assert result.exit_code == 2
    assert "--data FILE, or --audit" in result.stderr
