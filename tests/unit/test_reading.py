"""The graded answers: what they hold, how they are counted, and the counted part of the evidence."""

from __future__ import annotations

import pytest

from benchmarks import DATA
from benchmarks.evidence import grades, rewriting
from benchmarks.evidence.parts import rewriting as part

ROWS = grades.load()


def test_each_row_is_graded_by_what_became_of_it() -> None:
    assert len(ROWS) >= 500
    assert len({row["kind"] for row in ROWS}) >= 30
    for row in ROWS:
        assert row["grade"] in (grades.LEFT if row["text"] is None else grades.CHANGED)
        assert row["before"] in (*grades.LEFT, *grades.CHANGED)
        assert row["text"] != row["answer"]
        assert all(claim in row["answer"] for claim, _ in row["claims"])


def test_shares_count_what_they_say() -> None:
    rows = [{"kind": "x", "grade": grade, "before": "MISS"} for grade in ("A", "A", "B", "D", "OK", "MISS")]
    assert grades.of_changed(rows, "A").value == 0.5
    assert grades.good(rows).value == pytest.approx(4 / 6)
    line = grades.table(rows, "kind", lambda row: row["kind"]).splitlines()[2]
    assert line == "| x | 6 | 2 | 1 | 0 | 1 | 1 | 0 | 1 | 67% | 0% |"


@pytest.mark.nightly
@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded answers are not beside the checkout")
def test_the_counted_part_keeps_its_shape_on_a_handful() -> None:
    rewordings = rewriting.measure(DATA, 6)
    assert {one.row["half"] for one in rewordings} == {"bulk"}
    listener = rewriting.Listener(DATA)
    perceived = rewriting.pairs(rewordings, listener)
    assert perceived.shape[1] == 2
    text = part._counted(rewordings, perceived, listener, [False], [True, False])
    assert "programs read, changed | 0 of 1 |" in text
    assert all(f"| {kind} |" in text for kind in ("short fact", "prose", "list", "maths"))
