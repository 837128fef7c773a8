"""`hedgerow audit summary` and `worst` over an audit that a proxy has written."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from tests.contract.test_long_answers import ANSWERS, ASK, UNCALIBRATED, text_and_field
from tests.support.traffic import fill
from tests.support.upstream import Upstream, says


def config_of(folder: Path) -> Path:
    """The configuration of an audit in a folder."""
    path = folder / "config.yaml"
    path.write_text(
        f"upstreams: {{ u: {{ provider: openai, base_url: 'http://127.0.0.1:9/v1' }} }}\n"
        f"routes: [ {{ name: test, upstream: u }} ]\naudit: {{ url: 'sqlite:///{folder}/audit.db' }}\n"
    )
    return path


def run(folder: Path, *arguments: str) -> Any:
    return CliRunner().invoke(app, ["audit", *arguments, "--config", str(config_of(folder))])


def test_the_summary_says_what_happened(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """As a table and as JSON, with the worst surprise on top."""
    fill(serve(), upstream)
    (line,) = json.loads(run(tmp_path, "summary", "--json").stdout)
    assert (line["route"], line["requests"], line["verdicts"]) == ("test", 28, 28)
    assert line["accuracy"] == pytest.approx(20 / 28)
    estimate, *ends = line["faithfulness_divergence"]
    assert estimate > 0.0
    assert ends == [None, None]  # of 28 verdicts no interval would be right
    assert "test" in run(tmp_path, "summary").stdout
    worst = json.loads(run(tmp_path, "worst", "--json", "-n", "2").stdout)
    assert worst[0]["question"] == "What is the capital of France?"  # unanimous, and once called wrong
    assert worst[0]["fd"] > worst[1]["fd"]
    assert "was wrong" in run(tmp_path, "worst", "-n", "1").stdout


def test_claims_are_told_apart_from_answers(serve: Any, client_of: Any, upstream: Upstream, tmp_path: Path) -> None:
    """In the terminal, as JSON and on the page; a verdict on a claim moves no figure of the answers, and the reverse."""
    upstream.default = says(*ANSWERS)
    address = serve(rewriting=UNCALIBRATED)
    answers = [text_and_field(client_of(address).chat.completions.create(model="m", messages=ASK))[1] for _ in range(6)]
    batch = [{"id": told["id"], "claims": [True, True, False, True]} for told in answers]
    assert httpx.post(f"{address}/v1/feedback", json=batch).json()["failed"] == 0
    (line,) = json.loads(run(tmp_path, "summary", "--json").stdout)
    assert (line["verdicts"], line["accuracy"]) == (0, None)
    claims = line["claims"]
    assert (claims["verdicts"], claims["accuracy"]) == (24, 0.75)
    settled = [claim for told in answers for claim in told["claims"]]
    assert claims["mean_confidence"] == pytest.approx(fmean(claim["confidence"] for claim in settled), abs=1e-5)
    assert 0.0 < claims["generalised_ece"] < 1.0
    assert claims["faithfulness_divergence"] > 0.0
    assert "claims of long answers" in run(tmp_path, "summary").stdout
    page = httpx.get(f"{address}/dashboard").text
    assert "24 claims with a verdict of their own: 75" in page
    assert "None has a verdict yet" in page
    httpx.post(f"{address}/v1/feedback", json={"id": answers[0]["id"], "correct": False})
    (line,) = json.loads(run(tmp_path, "summary", "--json").stdout)
    assert (line["verdicts"], line["accuracy"], line["claims"]["verdicts"]) == (1, 0.0, 24)


def test_what_is_not_there_is_said_in_one_sentence(tmp_path: Path) -> None:
    """No audit, or no such period: exit code 2; an audit is never made by looking at it."""
    none = run(tmp_path, "summary")
    assert (none.exit_code, "No audit store exists" in none.stderr) == (2, True)
    assert not (tmp_path / "audit.db").exists()
    wrong = run(tmp_path, "worst", "--since", "soon")
    assert (wrong.exit_code, "24h, 7d, 30d, all" in wrong.stderr) == (2, True)


def test_an_audit_without_what_is_asked_for_says_so(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """No request on a route, none with a verdict: a sentence and 0, and an empty list where a program reads it."""
    fill(serve(), upstream, rounds=1, judged=False)
    nothing = run(tmp_path, "summary", "--route", "nowhere")
    assert (nothing.exit_code, nothing.stdout.strip()) == (0, "no requests in 7 days on the route nowhere")
    assert json.loads(run(tmp_path, "summary", "--route", "nowhere", "--json").stdout) == []
    unjudged = run(tmp_path, "worst")
    assert (unjudged.exit_code, unjudged.stdout.strip()) == (0, "no answer of this period has a verdict")
    assert json.loads(run(tmp_path, "worst", "--json").stdout) == []
