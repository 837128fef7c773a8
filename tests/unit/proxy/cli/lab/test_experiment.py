"""`hedgerow experiment run` with a scripted upstream: one command from questions to a report, resumable, nothing paid twice."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.responses import JSONResponse
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from tests.support.editing import worded_locally
from tests.support.upstream import Upstream, completion, fails

RIVERS = 60


def run(file: Path, *more: str, code: int = 0, typed: str | None = None) -> Any:
    result = CliRunner().invoke(app, ["experiment", "run", str(file), *more], input=typed)
    assert result.exit_code == code, result.output
    return result


def answer(_request: Any, body: Any) -> JSONResponse:
    """Two to five of five samples agree; where four do the answer is right but for one in seven, where fewer do one in three."""
    number = int(re.search(r"\d+", body["messages"][-1]["content"])[0])  # type: ignore[index]
    agree = 2 + number % 4
    first = "The Danube." if (number % 7 if agree >= 4 else number % 3 == 0) else "The Rhine."
    texts = [first] * agree + ["The Po.", "The Elbe.", "The Main."][: 5 - agree]
    return JSONResponse(completion(*texts[: body.get("n", 1)]))


@pytest.fixture
def experiment(tmp_path: Path, upstream: Upstream) -> Path:
    """An experiment of one route and one set of questions, in a folder of its own."""
    upstream.default = answer
    named = {"provider": "openai", "base_url": upstream.url, "retries": 0}
    route = worded_locally({"name": "mine", "upstream": "scripted", "model": "m", "sampling": {"n": 5}})
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"upstreams": {"scripted": named}, "routes": [route]}))
    rows = [{"question": f"Which river is number {i}?", "gold": ["Danube"]} for i in range(RIVERS)]
    (tmp_path / "rivers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = {"routes": ["mine"], "questions": [{"name": "rivers", "path": "rivers.jsonl"}], "resamples": 10}
    (tmp_path / "experiment.yaml").write_text(yaml.safe_dump(settings))
    return tmp_path / "experiment.yaml"


def test_from_questions_to_a_report(experiment: Path, upstream: Upstream) -> None:
    """Both spaces with every figure, in three forms that say the same; a second run asks nobody anything."""
    done = run(experiment, typed="y\n")
    shown = done.stderr
    assert f"mine on rivers: {RIVERS} questions to ask, {5 * RIVERS} answers to draw, about" in shown
    assert "what that costs is not known, m has no price" in shown
    out = experiment.parent / "experiment"
    assert f"Report written to {out / 'report.html'}" in shown
    (held,) = json.loads((out / "report.json").read_text())["runs"]
    signal, linguistic = held["signal_space"]["semantic"], held["linguistic_space"]
    assert (signal["n"], signal["n_fitted"], linguistic["n"]) == (30, 30, 30)
    for metric in ("generalised_ece", "faithfulness_divergence", "auroc"):
        assert {"before", "after", "before_interval", "after_interval"} <= set(signal[metric])
        assert {"before", "after"} <= set(linguistic[metric])
    assert sum(linguistic["reworded"].values()) == pytest.approx(1.0)
    assert linguistic["faithfulness_divergence"]["after"] < linguistic["faithfulness_divergence"]["before"]
    figure = f"{signal['generalised_ece']['after']:.3f}"
    assert figure in (out / "report.md").read_text()
    assert (out / "report.md").read_text() in done.stdout
    page = (out / "report.html").read_text()
    assert f"{signal['generalised_ece']['after']:.4f}" in page
    assert not any(word in page for word in ("http://", "https://", "<script", "src="))
    asked, before = len(upstream.calls), (out / "report.json").read_text()
    run(experiment)
    assert len(upstream.calls) == asked
    assert _figures(json.loads((out / "report.json").read_text())) == _figures(json.loads(before))


def _figures(document: Any) -> Any:
    for held in document["runs"]:
        held["signal_space"]["semantic"].pop("provenance")  # its date
    return document


def test_it_says_what_it_will_spend_before_it_asks(experiment: Path, upstream: Upstream) -> None:
    """Answers, grades of a judge and rewordings of an editor, each at its own model's price."""
    config = experiment.parent / "config.yaml"
    settings = yaml.safe_load(config.read_text())
    settings["routes"][0]["rewriting"] = {"by": "direct_beta", "model": "editor"}
    settings["prices"] = {"models": [{"model": "m", "prompt": 1000, "completion": 1000}]}
    settings["prices"]["models"].append({"model": "gpt-judge", "prompt": 100, "completion": 0})
    config.write_text(yaml.safe_dump(settings))
    rivers = {"name": "rivers", "path": "rivers.jsonl", "grader": "judge"}
    judge = {"upstream": "scripted", "model": "gpt-judge"}
    experiment.write_text(
        yaml.safe_dump(yaml.safe_load(experiment.read_text()) | {"questions": [rivers], "judge": judge})
    )
    drawn, graded, worded, *_ = run(experiment, code=1, typed="n\n").stderr.splitlines()
    prompts = RIVERS * (len("Which river is number 10?") // 4)
    spent = float(drawn.partition("about $")[2].partition(" ")[0].replace(",", ""))
    assert spent == pytest.approx((prompts + RIVERS * 5 * 50) / 1000, rel=0.02)
    assert f"{RIVERS} answers to grade" in graded
    assert f"about ${RIVERS * 300 * 100 / 1e6:.2f} by the prices of the configuration" in graded
    assert f"{RIVERS // 2} answers to reword" in worded
    assert "what that costs is not known, editor has no price" in worded
    assert not upstream.calls


def test_it_goes_on_where_the_upstream_died(experiment: Path, upstream: Upstream) -> None:
    """Half-way dead: a sentence, exit code 1, no report; then only the rest is asked."""

    def dying(request: Any, body: Any) -> Any:
        return (answer if len(upstream.calls) <= RIVERS // 2 else fails(503, {}))(request, body)

    upstream.default = dying
    assert "run the same command to continue" in run(experiment, "--yes", code=1).stderr
    assert not (experiment.parent / "experiment" / "report.json").exists()
    upstream.calls.clear()
    upstream.default = answer
    run(experiment, "--yes")
    assert len(upstream.calls) == RIVERS // 2


@pytest.mark.parametrize(
    ("file", "said"),
    [("graded", f"{RIVERS - 12} answers to grade"), ("worded-*", f"{RIVERS // 2 - 12} answers to reword")],
)
def test_it_asks_again_before_it_spends_what_is_left(
    experiment: Path, upstream: Upstream, file: str, said: str
) -> None:
    """Also where every question is answered, and it was killed while a judge or an editor worked: what they have done is not counted again."""
    config = experiment.parent / "config.yaml"
    settings = yaml.safe_load(config.read_text())
    settings["routes"][0]["rewriting"] = {"by": "direct_beta", "model": "editor"}
    config.write_text(yaml.safe_dump(settings))
    rivers = {"name": "rivers", "path": "rivers.jsonl", "grader": "judge"}
    judge = {"questions": [rivers], "judge": {"upstream": "scripted", "model": "gpt-judge"}}
    experiment.write_text(yaml.safe_dump(yaml.safe_load(experiment.read_text()) | judge))

    def paid(request: Any, body: Any) -> Any:
        if body["model"] == "m":
            return answer(request, body)
        grade = "CORRECT" if "Danube" in str(body["messages"]).rpartition("<answer>")[2] else "INCORRECT"
        return JSONResponse(completion(grade if body["model"] == "gpt-judge" else "It is probably the Rhine."))

    upstream.default = paid
    run(experiment, "--yes")
    (left,) = (experiment.parent / "experiment").glob(f"mine-rivers.{file}.jsonl")
    left.write_bytes(b"".join(left.read_bytes().splitlines(keepends=True)[:12]))
    upstream.calls.clear()
    told, *more = run(experiment, code=1, typed="n\n").stderr.splitlines()
    assert said in told
    assert not any("to draw" in line for line in (told, *more))
    assert upstream.calls == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"routes": ["other"]}, "no route is called 'other'"),
        ({"questions": [{"name": "x", "path": "missing.jsonl"}]}, "missing.jsonl"),
        ({"questions": [{"name": "x", "path": "rivers.jsonl", "grader": "judge"}]}, "name its upstream under `judge`"),
        ({"colour": 1}, "colour"),
    ],
)  # fmt: skip
def test_bad_input_costs_nothing(experiment: Path, upstream: Upstream, change: Any, said: str) -> None:
    """One sentence, exit code 2, not a single call."""
    experiment.write_text(yaml.safe_dump(yaml.safe_load(experiment.read_text()) | change))
    assert said in run(experiment, "--yes", code=2).stderr
    assert upstream.calls == []
