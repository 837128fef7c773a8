"""A label belongs to an answer, and the right answer is not the model's own: what is taken, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

import hedgerow
from hedgerow.calibration.errors import ShapeError
from hedgerow.calibration.metrics import smooth_ece
from hedgerow.proxy.lab.datasets import read_objects
from hedgerow.proxy.lab.measuring import measure_file
from hedgerow.proxy.lab.rows import parse_row, read_rows


def measured(rows):
    return measure_file(rows, ["semantic"], "rules")["semantic"]


def test_a_label_of_another_answer_than_the_draft_is_refused():
    """The first completion was judged, the most frequent one is measured; a verdict on the same answer in other words holds."""
    samples = ["Rome", "Paris", "Paris"]
    records = measured([
        {"prompt": "Capital of France?", "completions": samples, "response": "Rome", "is_correct": False},
        {"prompt": "Capital of France?", "completions": samples, "response": "It is Paris.", "is_correct": True},
    ])  # fmt: skip
    assert records.correct.tolist() == [1.0]
    assert "another answer" in records.bad[0].reason


def test_an_unambiguous_name_wins_over_answer():
    """`answer` is often the model's own; beside `target` it is not the right answer."""
    row = parse_row({"question": "?", "answer": "Rome", "samples": ["Rome"], "target": "Paris"})
    assert (row.gold, row.gold_name) == (("Paris",), "target")
    assert parse_row({"question": "?", "answer": "Paris", "samples": ["Rome"]}).gold == ("Paris",)


def test_answers_of_truthfulqa_in_one_cell_are_several():
    row = parse_row(
        {
            "question": "?",
            "samples": ["x"],
            "Correct Answers": "Nothing happens; The seed passes",
            "Incorrect Answers": "You grow; You die",
        }
    )
    assert row.gold == ("Nothing happens", "The seed passes")
    assert row.wrong == ("You grow", "You die")


def _choice(filtered, **more):
    row = {
        "doc_id": 0,
        "doc": {"query": "2 + 2 ="},
        "target": "1",
        "arguments": {},
        "resps": [],
        "filtered_resps": filtered,
        "filter": "none",
        "acc": 1.0,
    }
    return row | more


def test_likelihoods_are_never_answers(tmp_path):
    """One that is minus infinity has no share; one alone, or one that is no number, is no confidence."""
    path = tmp_path / "samples.jsonl"
    rows = [
        _choice([["-inf", "False"], ["-1.0", "False"]]),
        _choice([["-1.2", "True"]]),
        _choice([["nan", "True"], ["-1.0", "False"]]),
    ]
    path.write_text("".join(json.dumps(row | {"doc_hash": str(i)}) + "\n" for i, row in enumerate(rows)))
    first, second, third = (row for _, row in read_rows(path))
    assert first.raw.mean == pytest.approx(1.0, abs=1e-6)
    assert first.correct is True
    assert "likelihoods" in second.reason
    assert "likelihoods" in third.reason


def test_questions_of_tasks_put_together_stay_apart(tmp_path):
    path = tmp_path / "samples.jsonl"
    rows = [_choice([["-2.0", "False"], ["-1.0", "True"]], doc_hash=task) for task in "ab"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [row["id"] for _, row in read_objects(path)] == ["a", "b"]


def test_a_weight_is_refused_by_name_and_never_ignored(tmp_path):
    """A promise on weighted rows would be granted for other answers than it is of; a weight of 1 says nothing."""
    row = {"confidence": 0.9, "correct": True}
    with pytest.raises(ValueError, match="'sample_weight': rows have no weights here, found 20"):
        parse_row(row | {"sample_weight": 20})
    assert parse_row(row | {"weight": 1}).correct is True


def test_names_of_the_package_are_those_it_offers():
    assert [name for name in dir(hedgerow) if not name.startswith("__")] == sorted(hedgerow.__all__)


def test_one_label_is_not_a_column_of_labels():
    with pytest.raises(ShapeError, match="do not fit"):
        smooth_ece([0.95, 0.8, 0.3], [1])


def test_venn_abers_meets_its_own_knots():
    """Of ten answers at each of three confidences, 3, 6 and 9 are right: at .42, p0 = 6/11 and p1 = 7/11."""
    p = np.repeat([0.41, 0.42, 0.43], 10)
    y = np.concatenate([np.arange(10) < right for right in (3, 6, 9)]).astype(int)
    p0, p1 = (IsotonicRegression().fit([*p, 0.42], [*y, label]).predict([0.42])[0] for label in (0, 1))
    assert hedgerow.Calibrator("venn-abers").fit(p, y).predict_proba([0.42])[0, 1] == pytest.approx(p1 / (1 - p0 + p1))
