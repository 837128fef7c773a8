"""`hedgerow faithfulness` as a user runs it: the paper's facts on made answers, groups, bad input, a judge that is paid once."""

from __future__ import annotations

import json
import random
import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from hedgerow.lexicon import perceive
from hedgerow.proxy.cli import app
from hedgerow.proxy.lab.faithfulness import measuring
from hedgerow.proxy.lab.faithfulness.figures import document
from tests.support.upstream import Upstream, fails, says

PLAYWRIGHTS = ["Harold Pinter", "Samuel Beckett", "Tom Stoppard", "Bertolt Brecht", "Anton Chekhov"]
LADDER = [
    "It was {}.", "It was almost certainly {}.", "It was probably {}.", "I think it was {}.", "It may have been {}.", "Perhaps it was {}.",
    "I'm not sure, but it may have been {}.", "It is unlikely, but it was possibly {}.", "It was almost certainly not anyone but maybe {}.",
]  # fmt: skip


def run(*arguments: object, code: int = 0, typed: str | None = None) -> Any:
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=typed)
    assert result.exit_code == code, result.output
    return result


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def figures(path: Path, *options: object) -> Any:
    return json.loads(run("faithfulness", "--data", path, "--json", *options).stdout)


def answered(wording: str, agree: int, n: int = 10, i: int = 0, **more: Any) -> dict[str, Any]:
    who = PLAYWRIGHTS[i % 5]
    samples = [who] * agree + [PLAYWRIGHTS[(i + 1 + j % 4) % 5] for j in range(n - agree)]
    return {"question": f"Who wrote play number {i}?", "answer": wording.format(who), "samples": samples} | more


def spread(wording: Any, n: int = 220, **more: Any) -> list[dict[str, Any]]:
    """Answers whose confidence takes every value from 0 to 1 equally often; `wording` of an agreement of 0..10."""
    return [answered(wording(i % 11), i % 11, i=i, **more) for i in range(n)]


def test_a_model_that_is_always_decisive_is_at_one_half(tmp_path: Path) -> None:
    printed = figures(write(tmp_path / "a.jsonl", spread(lambda _: "It was {}.")))
    assert printed["cmfg"] == pytest.approx(0.5)
    assert printed["cmfg_always_decisive"] == pytest.approx(0.5)
    assert (printed["n"], printed["decisiveness"], printed["bins_filled"], printed["spearman"]) == (220, 1.0, 10, None)


def test_cmfg_of_decisive_answers_does_not_depend_on_how_sure_the_model_is(tmp_path: Path) -> None:
    """MFG does: it is the mean confidence."""
    rows = [answered("It was {}.", agree, i=i) for i in range(30) for agree in (*range(11), *[10] * 20)]
    printed = figures(write(tmp_path / "a.jsonl", rows), "--resamples", 0)
    assert printed["cmfg"] == pytest.approx(0.5, abs=0.02)
    assert printed["mfg"] == pytest.approx(printed["confidence"])
    assert printed["mfg"] > 0.8


def test_words_by_chance_are_no_better_than_what_chance_brings(tmp_path: Path) -> None:
    """Sure or very unsure by a toss: one half, but for the few hundredths that "impossible" stands above zero."""
    rng = random.Random(1)
    unsure = "There is almost no chance that it was {}."
    low = perceive(unsure.format("Harold Pinter")).beta.mean
    printed = figures(
        write(tmp_path / "a.jsonl", spread(lambda _: rng.choice([unsure, "It was {}."]), 440)), "--resamples", 0
    )
    assert low < 0.15
    assert printed["cmfg"] == pytest.approx(0.5, abs=0.06)


def test_a_model_whose_words_follow_its_confidence_is_near_one(tmp_path: Path) -> None:
    """For each confidence the wording of the ladder that is perceived nearest to it."""
    perceived = {w: 1.0 if w == LADDER[0] else perceive(w.format("Harold Pinter")).beta.mean for w in LADDER}
    printed = figures(
        write(tmp_path / "a.jsonl", spread(lambda k: min(LADDER, key=lambda w: abs(perceived[w] - k / 10))))
    )
    assert printed["cmfg"] > 0.9
    assert printed["spearman"] > 0.95
    low, high = printed["cmfg_interval"]
    assert low <= printed["cmfg"] <= high


def test_the_example_of_the_documents(tmp_path: Path) -> None:
    """Its figures are worked out there by hand."""
    text = (Path(__file__).parents[5] / "docs" / "faithfulness.md").read_text(encoding="utf-8")
    rows = text.split("```json\n")[1].split("```")[0]
    (tmp_path / "a.jsonl").write_text(rows, encoding="utf-8")
    printed = figures(tmp_path / "a.jsonl", "--resamples", 0)
    uncertainty, vanilla = printed["groups"]
    assert [round(group[name], 3) for group in (vanilla, uncertainty) for name in ("mfg", "cmfg")] == [
        0.533,
        0.533,
        0.916,
        0.916,
    ]
    assert (uncertainty["punts"], vanilla["confidence"]) == (1, pytest.approx(0.8 / 3 + 0.6 / 3 + 0.2 / 3))
    shown = [row["decisiveness"] for row in uncertainty["curve"]]
    assert {0.249, 0.598, 1.0} == {round(value, 3) for value in shown}
    assert all(f"{value:.3f}"[1:] in text for value in (0.249, 0.598, 0.533, 0.916))


def test_groups_are_told_apart_and_conditions_hold_for_the_worst(tmp_path: Path) -> None:
    rows = spread(lambda _: "It was {}.", 44, model="m", prompt="vanilla") + spread(
        lambda k: LADDER[0] if k > 6 else LADDER[3], 44, model="m", prompt="uncertainty"
    )
    data, page = write(tmp_path / "a.jsonl", rows), tmp_path / "r.html"
    printed = figures(data, "--report", page)
    uncertainty, vanilla = printed["groups"]
    assert (vanilla["model"], vanilla["prompt"], uncertainty["prompt"]) == ("m", "vanilla", "uncertainty")
    assert vanilla["cmfg"] == pytest.approx(0.5)
    assert vanilla["cmfg"] < uncertainty["cmfg"]
    assert printed["worst"]["cmfg"] == vanilla["cmfg"]
    html = page.read_text()
    assert html.count("<svg") == 3
    assert not any(word in html for word in ("http://", "https://", "<script", "src="))
    base = ("faithfulness", "--data", data, "--resamples", 0)
    table = run(*base, "--fail-if", "cmfg < 0.4").stdout
    for name in ("cmfg", "mfg", "decisiveness", "confidence", "overstated", "understated", "spearman", "punting_rate"):
        assert name in table
    assert "worst.cmfg is 0.5, < 0.6 by 0.1" in run(*base, "--fail-if", "worst.cmfg < .6", code=1).stderr
    assert "no figure is called 'ece'" in run(*base, "--fail-if", "ece < .6", code=2).stderr
    assert "Invalid --fail-if" in run(*base, "--fail-if", "cmfg under 1", code=2).stderr


def test_punts_are_counted_apart(tmp_path: Path) -> None:
    punts = [{"question": "Who?", "answer": "I don't know.", "samples": ["Pinter"], "correct": False}] * 20
    rows = spread(lambda _: "It was {}.", correct=True) + punts
    printed = figures(write(tmp_path / "a.jsonl", rows), "--resamples", 0)
    assert (printed["n"], printed["punts"], printed["accuracy"]) == (220, 20, 1.0)
    assert printed["punting_rate"] == pytest.approx(20 / 240)
    assert printed["cmfg"] == pytest.approx(0.5)


def test_answers_of_which_none_asserts_anything(tmp_path: Path) -> None:
    data = write(tmp_path / "a.jsonl", [{"answer": "I don't know.", "samples": ["Pinter"]}] * 3)
    printed = figures(data)
    assert (printed["n"], printed["punts"], printed["cmfg"], printed["curve"]) == (0, 3, None, [])
    assert printed["notes"] == [
        "No answer asserts anything (punts: 3): decisiveness, confidence and faithfulness are not defined."
    ]
    done = run("faithfulness", "--data", data, "--report", tmp_path / "r.html")
    assert "undefined  no answer asserts anything" in done.stdout
    assert printed["why"]["cmfg"] == "no answer asserts anything"
    assert "no answer asserts anything" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert f"Report written to {tmp_path / 'r.html'}" in done.stderr
    failed = run("faithfulness", "--data", data, "--fail-if", "cmfg < .7", code=1)
    assert "cmfg is not defined here" in failed.stderr


def test_a_figure_that_is_not_defined_says_why(tmp_path: Path) -> None:
    """Nobody hedged, and nobody said what is right."""
    rows = [{"decisiveness": 1.0, "confidence": i / 10} for i in range(10)]
    printed = figures(write(tmp_path / "a.jsonl", rows), "--resamples", 0)
    assert (printed["spearman"], printed["accuracy"]) == (None, None)
    assert printed["why"] == {
        "spearman": "all answers are equally decisive",
        "accuracy": "no answer says whether it is right",
    }


def test_one_sample_and_a_number_of_samples_that_differs_are_said(tmp_path: Path) -> None:
    rows = [answered("It was {}.", 1, 1), answered("It was {}.", 3, 5), {"answer": "Pinter", "samples": "Pinter"}]
    failed = run("faithfulness", "--data", write(tmp_path / "a.jsonl", rows), code=2)
    assert "line 3: 'samples'" in failed.stderr
    printed = figures(tmp_path / "a.jsonl", "--skip-bad")
    assert (printed["n"], printed["samples"], printed["one_sample"]) == (2, [1, 5], 1)
    assert any("one further answer: their confidence is 0 or 1" in note for note in printed["notes"])
    assert any("held against 1 to 5" in note for note in printed["notes"])
    assert printed["confidence"] == pytest.approx((1 + 0.6) / 2)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{no json", "not valid JSON"),
        ({"samples": ["a"]}, "'answer' is missing; each line is an object with answer"),
        ({"answer": "Pinter", "samples": []}, "'samples' is empty: confidence needs one further answer at least"),
        ({"answer": "Pinter", "samples": [1]}, "'samples.0'"),
        ({"answer": "Pinter"}, "'samples' is missing"),
        ({"decisiveness": [0.5], "confidence": []}, "1 values of decisiveness for 0 of confidence"),
        ({"decisiveness": [1.5], "confidence": [1]}, "'decisiveness.0'"),
        ({"confidence": [1]}, "'decisiveness' is missing"),
    ],
)
def test_a_row_at_fault_is_named_by_its_line_and_skipped_when_asked(tmp_path: Path, line: Any, why: str) -> None:
    data = write(tmp_path / "a.jsonl", [answered("It was {}.", 5), line, answered("It was {}.", 7)])
    failed = run("faithfulness", "--data", data, code=2)
    assert f"line 2: {why}" in failed.stderr
    assert "1 row cannot be used; --skip-bad continues without them" in failed.stderr
    assert figures(data, "--skip-bad")["n"] == 2


def test_a_file_that_is_empty_or_not_there(tmp_path: Path) -> None:
    assert "contains no answer" in run("faithfulness", "--data", write(tmp_path / "a.jsonl", []), code=2).stderr
    assert "cannot be read" in run("faithfulness", "--data", tmp_path / "no.jsonl", code=2).stderr


def test_what_cannot_be_read_is_left_out_and_said(tmp_path: Path) -> None:
    foreign = {"question": "Кто написал пьесу?", "answer": "Это был Пинтер.", "samples": ["Пинтер"]}
    data = write(tmp_path / "a.jsonl", [answered("It was {}.", 5), foreign])
    result = run("faithfulness", "--data", data, "--json", "--resamples", 0)
    printed = json.loads(result.stdout)
    assert (printed["n"], printed["unread"]) == (1, 1)
    assert "line 2: the answer is not in a language that can be read" in result.stderr


def test_rows_that_were_measured_elsewhere_are_taken_as_they_are(tmp_path: Path) -> None:
    """By hand: faithfulness .9 at .8 on an edge, .7 at .25: bins .7-.8 and .8-.9 hold half of the first."""
    rows = [{"decisiveness": [1.0, 0.8], "confidence": [0.9, 0.7]}, {"decisiveness": 0.55, "confidence": 0.25}]
    rows += [{"decisiveness": [], "confidence": []}]
    printed = figures(write(tmp_path / "a.jsonl", rows), "--resamples", 0)
    assert (printed["n"], printed["assertions"], printed["punts"]) == (2, 3, 1)
    assert printed["mfg"] == pytest.approx(0.8)
    assert printed["cmfg"] == pytest.approx((0.9 + 0.9 + 0.7) / 3)


def test_a_hundred_thousand_rows_take_memory_for_their_figures_alone(tmp_path: Path) -> None:
    """Three numbers an answer; not the answers. What a row takes is weighed on every tenth, since weighing is slow."""
    path, few = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    line = json.dumps({"question": "q" * 1000, "decisiveness": [0.7], "confidence": [0.9]}) + "\n"
    path.write_text(line * 100_000)
    few.write_text(line * 10_000)
    measure = partial(anyio.run, measuring.measure)
    gathered, _ = measure(path, measuring.by_rules_and_words(), {}, None)
    assert document(gathered, resamples=20)["n"] == 100_000
    tracemalloc.start()
    measure(few, measuring.by_rules_and_words(), {}, None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_500_000  # of 10 MB of text


def test_what_was_measured_is_kept_and_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels and groups are those of the row as it is now; rows that are equal count each."""
    data, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    write(data, [answered("It was {}.", 5), answered("It was {}.", 5), answered("Probably {}.", 9)])
    first = figures(data, "--out", out, "--resamples", 0)
    assert len(out.read_text().splitlines()) == first["n"] == 3

    def never(*_: object) -> Any:
        raise AssertionError("measured again")

    monkeypatch.setattr(measuring, "judge_here", never)
    write(data, [answered("It was {}.", 5, correct=True), answered("It was {}.", 5), answered("Probably {}.", 9)])
    again = figures(data, "--out", out, "--resamples", 0)
    assert again == first | {"accuracy": 1.0, "why": {}}
    assert (
        "'none', now it is 'local'"
        in run("faithfulness", "--data", data, "--out", out, "--judge", "local", code=2).stderr
    )


@pytest.fixture
def config(tmp_path: Path, upstream: Upstream) -> Path:
    path = tmp_path / "config.yaml"
    named = {"provider": "openai", "base_url": upstream.url, "retries": 0}
    route = {
        "name": "test",
        "upstream": "scripted",
        "mode": "on",
        "judge": {"upstream": "scripted", "model": "judge-1"},
    }
    path.write_text(yaml.safe_dump({"upstreams": {"scripted": named}, "routes": [route]}))
    return path


def test_a_judge_says_its_price_first_reads_both_and_is_never_paid_twice(
    tmp_path: Path, upstream: Upstream, config: Path
) -> None:
    rows = [answered("Perhaps it was {}.", 2, 4, i=i) for i in range(3)]
    data = write(tmp_path / "a.jsonl", rows)
    judge = (
        "faithfulness",
        "--data",
        data,
        "--judge",
        "llm",
        "--config",
        config,
        "--concurrency",
        1,
        "--resamples",
        0,
        "--json",
    )
    stopped = run(*judge, code=1, typed="n\n")
    assert "3 to measure: 6 calls of the judge at most" in stopped.stderr
    assert upstream.calls == []
    reading, verdicts = 'As [1] says: [{"assertion": "It was he.", "decisiveness": 0.4}]', 'Here: ["ncc"]'
    upstream.enqueue(says(reading), says(verdicts), says("[]"), says("Hm."))
    failed = run(*judge, "--yes", code=1)
    assert "line 3: judge_nonsense: the judge's reply is not a list of assertions" in failed.stderr
    assert "1 row could not be measured yet" in failed.stderr
    assert json.loads(failed.stdout)["n"] == 1
    sent = upstream.calls[0]
    assert (sent["model"], sent["temperature"]) == ("judge-1", 0.0)
    assert "Perhaps it was Harold Pinter." in sent["messages"][0]["content"]
    assert upstream.calls[1]["messages"][0]["content"].count("<answer ") == 3  # equal answers are asked about once
    upstream.calls.clear()
    upstream.enqueue(says(reading), says('["nnn"]'))
    done = run(*judge, "--yes")
    assert "2 rows measured already; 1 to measure: 2 calls" in done.stderr
    assert len(upstream.calls) == 2
    printed = json.loads(done.stdout)
    assert (printed["n"], printed["punts"], printed["decisiveness"]) == (2, 1, pytest.approx(0.4))
    assert printed["confidence"] == pytest.approx(np.mean([0.5, 1.0]))
    assert json.loads(run(*judge).stdout) == printed
    assert len(upstream.calls) == 2


@pytest.mark.parametrize("reply", ['["nc"]', '["nnnn"]', '["nxn"]', "[[1]]", "none", '["nnn", "nnn"]'])
def test_a_judge_that_talks_nonsense_is_not_guessed_at(
    tmp_path: Path, upstream: Upstream, config: Path, reply: str
) -> None:
    data = write(tmp_path / "a.jsonl", [answered("Perhaps it was {}.", 2, 4)])
    upstream.enqueue(says('[{"assertion": "It was he.", "decisiveness": 0.4}]'), says(reply))
    failed = run("faithfulness", "--data", data, "--judge", "llm", "--config", config, "--yes", code=1)
    assert "judge_nonsense" in failed.stderr


def test_a_judge_that_is_down_is_given_up_and_the_rest_is_left(
    tmp_path: Path, upstream: Upstream, config: Path
) -> None:
    data = write(tmp_path / "a.jsonl", [answered("It was {}.", 2, 4, i=i) for i in range(20)])
    upstream.default = fails(500, {})
    judge = ("faithfulness", "--data", data, "--judge", "llm", "--config", config, "--yes", "--concurrency", 1)
    failed = run(*judge, code=1)
    assert "none of 20 rows could be measured" in failed.stderr
    assert failed.stdout == ""
    assert len(upstream.calls) == 5
