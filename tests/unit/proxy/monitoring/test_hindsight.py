"""What today's map would have said, against a map whose effect is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hedgerow.calibration import ActiveMap, PlattMap
from hedgerow.calibration.metrics import faithfulness_divergence
from hedgerow.proxy.audit.queries import LabelledAnswers
from hedgerow.proxy.config import Route
from hedgerow.proxy.monitoring.figures import hindsight, today_of
from tests.support.tables import cases

ROUTE = Route(name="a", upstream="u")
TODAY = ActiveMap(PlattMap(w=0.5, b=0.0), "today", "exact")


def labelled(count: int, *, map_id: str | None = "before", route: str = "a") -> LabelledAnswers:
    """Answers of mean .9 that are right six times in ten."""
    names = [np.full(count, name, dtype=object) for name in (route, map_id, "m", "semantic", None, None, None)]
    sure = (np.full(count, 9.0), np.full(count, 1.0))
    correct = (np.arange(count) % 10 < 6).astype(float)
    return LabelledAnswers(np.arange(count) * 1.0, *names, sure, sure, sure, correct, correct, correct, correct, True)


def test_a_better_map_of_today_scores_better() -> None:
    """Its map takes .9 to .75; both scores are those of these means."""
    measured = hindsight(labelled(40), {"a": {"": TODAY}}, [ROUTE])
    assert measured is not None
    assert (measured.answers, measured.versions) == (40, ["today"])
    correct = labelled(40).correct
    assert measured.said.brier == pytest.approx(np.mean((0.9 - correct) ** 2))
    assert measured.today.brier == pytest.approx(np.mean((0.75 - correct) ** 2))
    assert measured.today.divergence == pytest.approx(np.mean(faithfulness_divergence(7.5, 2.5, correct)))
    assert measured.today.smooth_ece < measured.said.smooth_ece


@cases(
    ("answers", "maps"),
    [
        (labelled(19), {"a": {"": TODAY}}),
        (labelled(40, map_id="today"), {"a": {"": TODAY}}),
        (labelled(40, route="b"), {"a": {"": TODAY}}),
        (labelled(40), {"a": {"other": TODAY}}),
        (labelled(40), {}),
    ],
    ids=["too few", "said with it", "of no route", "map of another model", "no map"],
)
def test_there_may_be_nothing_to_compare(answers: LabelledAnswers, maps: Any) -> None:
    """Then no figure is shown."""
    assert hindsight(answers, maps, [ROUTE]) is None


def test_one_answer_is_looked_at_again() -> None:
    """Where it has a raw confidence, and another map than today's."""
    row = {"route": "a", "raw_alpha": 9.0, "raw_beta": 1.0, "signal": "semantic", "model": "m", "map_id": None}
    today = today_of(row, {"a": {"": TODAY}}, [ROUTE])
    assert today is not None
    assert today.calibrated.mean == pytest.approx(0.75)
    for other in ({"map_id": "today"}, {"raw_alpha": None}, {"signal": "token"}, {"route": None}):
        assert today_of(row | other, {"a": {"": TODAY}}, [ROUTE]) is None
