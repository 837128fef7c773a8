"""The reading set: what it holds, and that a grade counts only for the text that it was given to."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from benchmarks import DATA
from benchmarks.evidence import grades, rewriting
from benchmarks.evidence.parts import rewriting as part
from benchmarks.fits import reading
from hedgerow.proxy.lab.rewording import default_reworder

ROWS = reading.load()
PERMISSIVE = {"Apache-2.0", "MIT", "CC BY 4.0"}


def test_it_holds_enough_of_every_kind_in_two_halves_that_share_no_prompt_of_a_kind() -> None:
    assert len(ROWS) >= 400
    assert {row["kind"] for row in ROWS} == set(reading.KINDS)
    assert {row["target"] for row in ROWS} == set(reading.TARGETS)
    halves = Counter(row["half"] for row in ROWS)
    assert abs(halves["tune"] - halves["report"]) < 20
    assert len({row["id"] for row in ROWS}) > 0.95 * len(ROWS)
    assert {row["licence"] for row in ROWS} <= PERMISSIVE
    assert reading.FILE.stat().st_size < 1_500_000


def test_grades_are_of_changed_texts_only() -> None:
    for row in [*ROWS, *reading.load(reading.FRESH), *reading.load(reading.ADVERSARIAL)]:
        assert row.get("grade") in (None, *grades.GRADES)
        assert row["text"] is not None or "grade" not in row
        assert row["text"] != row["answer"]


def test_fresh_answers_are_of_other_prompts_and_keep_the_grade_that_they_first_got() -> None:
    fresh = reading.load(reading.FRESH)
    assert len(fresh) >= 120
    assert not {row["id"] for row in fresh} & {row["id"] for row in ROWS}
    assert {row["licence"] for row in fresh} <= PERMISSIVE
    assert sum("first_grade" in row for row in fresh) >= 350
    assert {row.get("first_grade") for row in fresh} <= {None, *grades.GRADES}


def test_a_grade_is_void_when_the_text_changes_and_stands_while_it_does_not() -> None:
    row = next(row for row in ROWS if row["kind"] == "short fact" and row["target"] == 0.35)
    (result,) = asyncio.run(reading.reworded([row], default_reworder()))
    graded = reading.updated(row, result) | {"grade": "A", "note": "as it should be"}
    assert reading.updated(graded, result)["grade"] == "A"
    stale = reading.updated(graded | {"text": "Something else."}, result)
    assert "grade" not in stale
    assert "note" not in stale
    (marked,) = grades.now([graded | {"text": "Something else."}], [result])
    assert marked["mark"] in (grades.STALE, grades.LEFT)


def test_shares_count_graded_texts_only() -> None:
    rows = [{"kind": "x", "mark": mark} for mark in ("A", "A", "B", "D", grades.LEFT, grades.STALE)]
    assert grades.graded(rows, "A").value == 0.5
    assert grades.graded(rows, "A").n == 4
    line = grades.table(rows, "kind", lambda row: row["kind"]).splitlines()[2]
    assert line == "| x | 6 | 5 (83%) (1 not graded) | 50 | 25 | 0 | 25 |"


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded answers are not beside the checkout")
def test_the_counted_part_keeps_its_shape_on_a_handful() -> None:
    rewordings = rewriting.measure(DATA, 6)
    assert {one.row["half"] for one in rewordings} == {"bulk"}
    assert not {one.row["id"] for one in rewordings} & {row["id"] for row in ROWS}
    listener = rewriting.Listener(DATA)
    perceived = rewriting.pairs(rewordings, listener)
    assert perceived.shape[1] == 2
    text = part._counted(rewordings, perceived, listener, [False], [True, False])
    assert "programs read, changed | 0 of 1 |" in text
    assert all(f"| {kind} |" in text for kind in ("short fact", "prose", "list", "maths"))
