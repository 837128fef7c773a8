"""`hedgerow faithfulness` as a user runs it: the paper's facts on made answers, groups, bad input."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hedgerow.lexicon import perceive
from hedgerow.proxy.cli import app
from hedgerow.proxy.lab.faithfulness.figures import document
from hedgerow.proxy.lab.faithfulness.measuring import measure
from hedgerow.proxy.lab.faithfulness.rows import read_rows

PLAYWRIGHTS = ["Harold Pinter", "Samuel Beckett", "Tom Stoppard", "Bertolt Brecht", "Anton Chekhov"]
LADDER = [
    "It was {}.", "It was almost certainly {}.", "It was probably {}.", "I think it was {}.", "It may have been {}.", "Perhaps it was {}.",
    "I'm not sure, but it may have been {}.", "It is unlikely, but it was possibly {}.", "It was almost certainly not anyone but maybe {}.",
]  # fmt: skip


def run(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
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
    printed = figures(write(tmp_path / "a.jsonl", rows))
    assert printed["cmfg"] == pytest.approx(0.5, abs=0.02)
    assert printed["mfg"] == pytest.approx(printed["confidence"])
    assert printed["mfg"] > 0.8


def test_words_by_chance_are_no_better_than_what_chance_brings(tmp_path: Path) -> None:
    """Sure or very unsure by a toss: one half, but for the few hundredths that "impossible" stands above zero."""
    rng = random.Random(1)
    unsure = "There is almost no chance that it was {}."
    low = perceive(unsure.format("Harold Pinter")).beta.mean
    printed = figures(write(tmp_path / "a.jsonl", spread(lambda _: rng.choice([unsure, "It was {}."]), 440)))
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
    printed = figures(tmp_path / "a.jsonl")
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
    data = write(tmp_path / "a.jsonl", rows)
    printed = figures(data)
    uncertainty, vanilla = printed["groups"]
    assert (vanilla["model"], vanilla["prompt"], uncertainty["prompt"]) == ("m", "vanilla", "uncertainty")
    assert vanilla["cmfg"] == pytest.approx(0.5)
    assert vanilla["cmfg"] < uncertainty["cmfg"]
    assert printed["worst"]["cmfg"] == vanilla["cmfg"]
    base = ("faithfulness", "--data", data)
    table = run(*base, "--fail-if", "cmfg < 0.4").stdout
    for name in ("cmfg", "mfg", "decisiveness", "confidence", "overstated", "understated", "spearman", "punting_rate"):
        assert name in table
    assert "worst.cmfg is 0.5, < 0.6 by 0.1" in run(*base, "--fail-if", "worst.cmfg < .6", code=1).stderr
    assert "no figure is called 'ece'" in run(*base, "--fail-if", "ece < .6", code=2).stderr
    assert "Invalid --fail-if" in run(*base, "--fail-if", "cmfg under 1", code=2).stderr


def test_punts_are_counted_apart(tmp_path: Path) -> None:
    punts = [{"question": "Who?", "answer": "I don't know.", "samples": ["Pinter"], "correct": False}] * 20
    rows = spread(lambda _: "It was {}.", correct=True) + punts
    printed = figures(write(tmp_path / "a.jsonl", rows))
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
    assert "undefined  no answer asserts anything" in run("faithfulness", "--data", data).stdout
    assert printed["why"]["cmfg"] == "no answer asserts anything"
    failed = run("faithfulness", "--data", data, "--fail-if", "cmfg < .7", code=1)
    assert "cmfg is not defined here" in failed.stderr


def test_a_figure_that_is_not_defined_says_why(tmp_path: Path) -> None:
    """Nobody hedged, and nobody said what is right."""
    rows = [{"decisiveness": 1.0, "confidence": i / 10} for i in range(10)]
    printed = figures(write(tmp_path / "a.jsonl", rows))
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
    result = run("faithfulness", "--data", data, "--json")
    printed = json.loads(result.stdout)
    assert (printed["n"], printed["unread"]) == (1, 1)
    assert "line 2: the answer is not in a language that can be read" in result.stderr


def test_rows_that_were_measured_elsewhere_are_taken_as_they_are(tmp_path: Path) -> None:
    """By hand: faithfulness .9 at .8 on an edge, .7 at .25: bins .7-.8 and .8-.9 hold half of the first."""
    rows = [{"decisiveness": [1.0, 0.8], "confidence": [0.9, 0.7]}, {"decisiveness": 0.55, "confidence": 0.25}]
    rows += [{"decisiveness": [], "confidence": []}]
    printed = figures(write(tmp_path / "a.jsonl", rows))
    assert (printed["n"], printed["assertions"], printed["punts"]) == (2, 3, 1)
    assert printed["mfg"] == pytest.approx(0.8)
    assert printed["cmfg"] == pytest.approx((0.9 + 0.9 + 0.7) / 3)


def test_a_hundred_thousand_rows_take_memory_for_their_figures_alone(tmp_path: Path) -> None:
    """Three numbers an answer; not the answers. What a row takes is weighed on every tenth, since weighing is slow."""
    path, few = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    line = json.dumps({"question": "q" * 1000, "decisiveness": [0.7], "confidence": [0.9]}) + "\n"
    path.write_text(line * 100_000)
    few.write_text(line * 10_000)
    assert document(measure(read_rows(path))[0])["n"] == 100_000
    tracemalloc.start()
    measure(read_rows(few))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_500_000  # of 10 MB of text
