"""`hedgerow markers`: what goes in, what is refused, what comes out."""

import json
import random

import pytest

from tests.support import slow_markers as slow
from tests.support.markers_command import ANSWERS, figures, run, sentence, write
from tests.support.traffic import ask, judge
from tests.unit.proxy.cli.audit.test_summary import config_of


@pytest.fixture
def two_datasets(tmp_path):
    """ "Probably" at .7 and .9, plain sentences at 1 and .8, ten each and split."""
    rows = []
    for dataset, probably, plain, right in (("a", 0.7, 1.0, True), ("b", 0.9, 0.8, False)):
        for i in range(20):
            split = "train" if i < 10 else "test"
            rows.append(
                sentence("It was probably Rome.", probably, dataset=dataset, split=split, response=i, correct=right)
            )
            rows.append(sentence("It was Rome.", plain, dataset=dataset, split=split, response=i, correct=right))
    return write(tmp_path / "two.jsonl", rows)


def test_every_metric_by_its_name(two_datasets):
    """By hand: MICs hold within datasets; across, each is .2 off; their order turns round."""
    model = figures("--data", two_datasets)["models"][0]
    with_, without = (model["metrics"]["10"][how] for how in ("with", "without"))
    assert with_["ID-MAE"] == {"value": 0.0, "deviation": 0.0, "over": 2}
    assert with_["CD-MAE"]["value"] == pytest.approx(0.2)
    assert with_["MRC"]["value"] == pytest.approx(-0.9999)
    assert with_["M-AvgCV"]["value"] == pytest.approx((0.02**0.5 / 0.8 + 0.02**0.5 / 0.9) / 2)
    assert without["M-AvgCV"]["value"] == pytest.approx(0.02**0.5 / 0.8)
    assert without["MRC"]["value"] is None
    assert model["metrics"]["20"]["with"]["M-AvgCV"]["value"] is None
    assert model["datasets"][0] == {
        "dataset": "a",
        "train": 20,
        "test": 20,
        "responses": 20,
        "accuracy": 1.0,
        "cmfg": model["datasets"][0]["cmfg"],
    }
    assert with_["MAC"]["over"] == 2


WORDINGS = {
    "probably": "It was probably Rome.", "may": "It may be Rome.", "I believe": "I believe it was Rome.", "not certain": "I'm not certain it was Rome.", "<no_hedge>": "It was Rome.",
}  # fmt: skip


def mixed_rows(datasets, seed=0):
    """Measured sentences in both shapes, frequent and rare markers, ties; two sentences a response, the last dataset with a single split."""
    draw = random.Random(seed)
    rows = []
    for dataset in datasets:
        for i in range(400):
            marker = draw.choices(list(WORDINGS), [12, 7, 3, 1, 14])[0]
            rows.append({
                **({"marker": marker} if i % 2 else {"text": WORDINGS[marker]}), "confidence": draw.randrange(11) / 10, "decisiveness": draw.randrange(11) / 10,
                "model": "m", "dataset": dataset, "response": str(i // 2), "split": "train" if dataset == "c" or i % 3 else "test", "correct": i // 2 % 3 > "abc".index(dataset) / 2,
            })  # fmt: skip
    return rows


@pytest.mark.parametrize("datasets", ["abc", "a"])
def test_every_metric_of_a_file_is_its_formula_at_every_threshold(tmp_path, datasets):
    """From lines of a file to the printed figure, against the formulas of the paper written out slowly: T = 10, 20, 50, 100, with and without `<no_hedge>`."""
    rows = mixed_rows(datasets)
    model = figures("--data", write(tmp_path / "mixed.jsonl", rows))["models"][0]
    named = {text: marker for marker, text in WORDINGS.items()}
    plain = [{"marker": named.get(row.get("text")), **row} for row in rows]
    accuracy, cmfg = {}, {}
    for name in datasets:
        held = slow.of(plain, dataset=name)
        accuracy[name] = slow.mean(
            [float(slow.of(held, response=r)[0]["correct"]) for r in slow.names(held, "response")]
        )
        cmfg[name] = slow.cmfg(held)
    assert {of["dataset"]: (of["accuracy"], of["cmfg"]) for of in model["datasets"]} == pytest.approx(
        {name: pytest.approx((accuracy[name], cmfg[name])) for name in datasets}
    )
    for at in (10, 20, 50, 100):
        for how in ("with", "without"):
            counted = plain if how == "with" else [s for s in plain if s["marker"] != "<no_hedge>"]
            expected = {
                **{f"ID-MAE{end}": slow.mae(counted, at, by, across=False) for end, by in (("", "marker"), ("_S", "sentence"), ("_R", "response"))},
                **{f"CD-MAE{end}": slow.mae(counted, at, by, across=True) for end, by in (("", "marker"), ("_S", "sentence"), ("_R", "response"))},
                "M-AvgCV": slow.m_avg_cv(counted, at), "D-AvgCV": slow.d_avg_cv(counted, at), "MRC": slow.mrc(counted, at),
                "MAC": slow.across(counted, at, accuracy, slow.pearson), "MAC_Spear": slow.across(counted, at, accuracy, slow.spearman),
                "MCC": slow.across(counted, at, cmfg, slow.pearson), "MCC_Spear": slow.across(counted, at, cmfg, slow.spearman),
            }  # fmt: skip
            printed = model["metrics"][str(at)][how]
            assert set(printed) == set(expected)
            for name, of in expected.items():
                assert printed[name]["value"] == (None if of[0] is None else pytest.approx(of[0], abs=1e-9)), (
                    name,
                    at,
                    how,
                )
                assert printed[name]["over"] == of[-1], (name, at, how)
                if len(of) == 3:
                    assert printed[name]["deviation"] == (None if of[1] is None else pytest.approx(of[1], abs=1e-9))


def test_the_table_names_every_metric(two_datasets):
    """As in the paper, with and without plain sentences."""
    output = run("--data", two_datasets).output
    for name in (
        "ID-MAE_R",
        "CD-MAE_S",
        "M-AvgCV",
        "D-AvgCV",
        "MRC",
        "MAC_Spear",
        "MCC_Spear",
        "without <no_hedge>",
        "T = 100",
        "probably",
    ):
        assert name in output
    assert "Through two datasets MAC and MCC are 1 or -1" in output


def test_wordings_of_one_marker_are_one(tmp_path):
    """Spotted or given, with or without "I'm"; what bears several is counted and left out."""
    rows = [
        sentence("I'm fairly sure it was Rome.", 0.6),
        {"marker": "fairly sure", "confidence": 0.8, "model": "m", "dataset": "d"},
        {"marker": "", "confidence": 1.0, "model": "m", "dataset": "d"},
        sentence("Perhaps it was Rome, but I'm not sure.", 0.1),
    ]
    reported = figures("--data", write(tmp_path / "f.jsonl", rows))
    assert [(row["marker"], row["count"]) for row in reported["models"][0]["markers"]] == [
        ("fairly sure", 2),
        ("<no_hedge>", 1),
    ]
    assert reported["models"][0]["markers"][0]["datasets"]["d"]["mic"] == pytest.approx(0.7)
    assert reported["several"] == 1


def test_what_is_not_defined_is_a_line_and_a_reason(tmp_path):
    """Twelve plain sentences in one dataset and two in another: no metric without them, and no marker with a MIC everywhere."""
    rows = [
        sentence("It was Rome.", 0.5, dataset=d, split=s)
        for d, n in (("a", 12), ("b", 2))
        for s in ("train", "test")
        for _ in range(n)
    ]
    result = run("--data", write(tmp_path / "f.jsonl", rows))
    assert "without <no_hedge>: no metric is defined at T = 10, 20, 50, 100" in result.output
    assert "without <no_hedge>, T = 10, 20, 50, 100: every metric undefined: no marker has so many" in result.output
    assert "with <no_hedge>, T = 10: D-AvgCV undefined: no dataset has two markers with a MIC" in result.output
    assert "with <no_hedge>, T = 10: MAC, MAC_Spear undefined: fewer than two datasets" in result.output
    assert "No marker has a MIC in each of the 2 datasets at T = 10: M-AvgCV, MAC and MCC need one." in result.output
    assert "train sentences" in result.output


def test_nothing_marked_is_said(tmp_path):
    """One marker is left: there is nothing to compare it with."""
    reported = figures("--data", write(tmp_path / "f.jsonl", [sentence("It was Rome.", 0.5)] * 12))
    assert any("No sentence bears a marker" in note for note in reported["models"][0]["notes"])
    assert any("There is one dataset" in note for note in reported["models"][0]["notes"])
    assert reported["models"][0]["metrics"]["10"]["without"]["D-AvgCV"]["value"] is None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "contains no sentence and no answer"),
        (["{"], "line 1: not valid JSON"),
        (["[1]"], "line 1: not a JSON object"),
        ([{"text": "It was Rome."}], "line 1: 'confidence' is missing"),
        ([{"confidence": 0.5}], "a sentence has a 'text' or a 'marker'"),
        ([{"text": " ", "confidence": 0.5}], "'text' is empty"),
        ([sentence("It was Rome.", "0.5")], "line 1: 'confidence': expected a number"),
        ([sentence("It was Rome.", 1.5)], "line 1: 'confidence': must be at most 1"),
        ([sentence("It was Rome.", float("nan"))], "line 1: 'confidence'"),
        ([sentence(7, 0.5)], "line 1: 'text': expected text"),
        ([sentence("It was Rome.", 0.5, split="dev")], "line 1: 'split'"),
        ([sentence("It was Rome.", 0.5, correct="perhaps")], "line 1: 'correct'"),
        ([{"marker": "&&&", "confidence": 0.5}], "nothing to read"),
        ([{"answer": "Rome.", "samples": []}], "line 1: 'samples' is empty: confidence needs one further answer at least"),
        ([{"answer": "Rome.", "samples": [3]}], "line 1: 'samples.0'"),
        ([{"question": "?", "samples": ["Rome"]}], "line 1: 'answer' is missing"),
        ([sentence("Perhaps it was Rome, but I'm not sure.", 0.1)], "every sentence bears several markers"),
        ([{"answer": "I do not know.", "samples": ["Rome"]}], "no answer holds a sentence that asserts something"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_a_sentence(tmp_path, rows, message):
    """Line and reason; no trace."""
    result = run("--data", write(tmp_path / "f.jsonl", rows))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_good_rows_beside_bad_ones_are_not_lost(tmp_path):
    """With --skip-bad; a file that is not there is said."""
    path = write(tmp_path / "f.jsonl", ["{", sentence("It was Rome.", 0.5), "broken"])
    assert "2 rows cannot be used; --skip-bad continues" in run("--data", path).stderr
    assert figures("--data", path, "--skip-bad")["sentences"] == 1
    assert "cannot be read" in run("--data", tmp_path / "none.jsonl").stderr


@pytest.mark.slow
def test_a_hundred_thousand_rows(tmp_path):
    """All are counted."""
    wordings = ["It was probably Rome.", "It was Rome.", "Perhaps it was Rome."]
    rows = (json.dumps(sentence(wordings[i % 3], i % 10 / 10, dataset=f"d{i % 4}", response=i)) for i in range(100_000))
    path = tmp_path / "f.jsonl"
    path.write_text("\n".join(rows), encoding="utf-8")
    reported = figures("--data", path)
    assert reported["sentences"] == 100_000
    assert sum(d["train"] + d["test"] for d in reported["models"][0]["datasets"]) == 100_000


def test_what_is_not_english_is_not_taken_for_plain(tmp_path):
    """A Russian "может" is a hedge; whoever cannot read it says so, instead of counting a sentence without one."""
    rows = [
        sentence("Это, может быть, Рим.", 0.5),
        sentence("Es war wahrscheinlich Rom.", 0.5),
        sentence("It was Rome.", 0.5),
    ]
    rows.append({"question": "Wo?", "answer": "Es war wahrscheinlich in Rom.", "samples": ["In Rom."]})
    reported = figures("--data", write(tmp_path / "f.jsonl", rows))
    assert (reported["sentences"], reported["unread"]) == (1, 3)
    assert "no sentence is in English" in run("--data", write(tmp_path / "f.jsonl", rows[:2])).stderr


def test_answers_are_measured_by_their_further_answers(tmp_path):
    """Two of three bear the first out; the second is contradicted; a refusal asserts nothing."""
    reported = figures("--data", write(tmp_path / "a.jsonl", ANSWERS))
    markers = {row["marker"]: row["mic"] for row in reported["models"][0]["markers"]}
    assert markers == {"probably": pytest.approx(2 / 3, abs=1e-6), "not sure": 0.0}
    assert reported["unasserting"] == 1


def test_answers_of_the_audit_are_measured(serve, upstream, tmp_path):
    """Each route is a dataset, and verdicts say which answers are right."""
    address = serve(store_text="full")
    answers = ("Perhaps it was Monet.", "It was Manet.", "Perhaps it was Monet.", "It was Degas.", "It was Cezanne.")
    for turn in range(4):
        judge(address, ask(address, upstream, "Who painted it?", answers), turn % 2 == 0)
    reported = figures("--audit", "--since", "1d", "--config", config_of(tmp_path))
    (marker,) = (row for row in reported["models"][0]["markers"] if row["marker"] == "perhaps")
    assert (marker["count"], marker["graded"], marker["right"]) == (4, 4, 0.5)
    assert (
        "keeps no answer" in run("--audit", "--since", "1d", "--route", "none", "--config", config_of(tmp_path)).stderr
    )
