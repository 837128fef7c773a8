"""What was said and how sure it was, as columns of the audit, on both databases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hedgerow.proxy.audit import spoken as module
from hedgerow.proxy.audit.counts import marker_sums
from hedgerow.proxy.audit.hours import MARKER, SERVED_MARKER
from hedgerow.proxy.audit.queries import Period, labelled
from hedgerow.proxy.audit.spoken import spoken
from hedgerow.proxy.audit.verdicts import Verdict
from tests.unit.proxy.audit.conftest import Store, entry

SURE = {"raw_alpha": 8.0, "raw_beta": 2.0, "alpha": 6.0, "beta": 4.0}


def read(store: Store, *arguments: Any) -> Any:
    return store.run(lambda opened: opened.read(lambda connection: spoken(connection, *arguments)))


def test_answers_with_a_confidence_whose_words_were_read_are_columns_newest_first(store: Store) -> None:
    perceived = {"perceived_alpha": 3.0, "perceived_beta": 1.0}
    store.write(
        entry("a", created_at=1.0, **SURE, **perceived, own_alpha=9.0, own_beta=1.0),
        entry("b", created_at=2.0, **SURE, **perceived, route="other"),
        entry("c", created_at=3.0, **SURE, status="abstained"),
        entry("d", created_at=4.0, status="passed"),
        entry("e", created_at=9.0, **SURE, **perceived),
    )
    answers = read(store, Period(None, 5.0), None)
    assert (answers.route.tolist(), answers.created_at.tolist(), answers.abstained, answers.complete) == (
        ["other", "r"],
        [2.0, 1.0],
        1,
        True,
    )
    assert [answers.raw[0], answers.calibrated[0], answers.served[0]] == pytest.approx([0.8, 0.6, 0.75])
    assert np.isnan(answers.own[0])
    assert answers.own[1] == pytest.approx(0.9)
    assert read(store, Period(2.0, 5.0), "r").raw.size == 0


def test_of_too_many_answers_the_newest_are_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SPOKEN", 2)
    perceived = {"perceived_alpha": 3.0, "perceived_beta": 1.0}
    store.write(*(entry(f"a{i}", created_at=float(i), **SURE, **perceived) for i in range(3)))
    answers = read(store, Period(None, 9.0), None)
    assert (answers.created_at.tolist(), answers.complete) == ([2.0, 1.0], False)


def test_confidences_are_summed_by_route_and_marker(store: Store) -> None:
    sure, half = {"raw_alpha": 9.0, "raw_beta": 1.0}, {"raw_alpha": 5.0, "raw_beta": 5.0}
    store.write(
        entry("a", created_at=1.0, **sure, own_marker="probably"),
        entry("b", created_at=2.0, **half, own_marker="probably"),
        entry("c", created_at=2.0, **half, own_marker="<no_hedge>", route="other"),
        entry("d", created_at=2.0, **sure),
        entry("e", created_at=9.0, **sure, own_marker="probably"),
    )

    def sums(*arguments: Any) -> Any:
        read = store.run(lambda opened: opened.read(lambda connection: marker_sums(connection, *arguments)))
        return [(*key, of.answers, of.total, of.squares) for key, of in sorted(read.items()) if key[0] == MARKER]

    assert sums(Period(None, 5.0), 100.0) == [
        (MARKER, 0, "other", "<no_hedge>", 1, pytest.approx(0.5), pytest.approx(0.25)),
        (MARKER, 0, "r", "probably", 2, pytest.approx(1.4), pytest.approx(0.81 + 0.25)),
    ]
    assert sums(Period(2.0, 9.0), 4.0, "r") == [
        (MARKER, 0, "r", "probably", 1, pytest.approx(0.5), pytest.approx(0.25)),
        (MARKER, 1, "r", "probably", 1, pytest.approx(0.9), pytest.approx(0.81)),
    ]
    assert sums(Period(20.0, 30.0), 4.0) == []


def test_what_was_served_is_counted_by_our_hedge_or_the_drafts_own_marker(store: Store) -> None:
    """Our hedge in place of the draft's words, the draft as it was, a refusal, several hedges; verdicts count."""
    row = {**SURE, "own_marker": "probably"}
    store.write(
        entry("a", created_at=1.0, **row, status="hedged", hedge="likely"),
        entry("b", created_at=2.0, **row, status="plain", hedge="no-hedge"),
        entry("c", created_at=12.0, **row, status="abstained"),
        entry("d", created_at=13.0, **row, status="hedged", hedge=None),
        entry("e", created_at=14.0, **SURE, status="hedged", hedge="likely"),
    )
    store.run(lambda opened: opened.add_verdicts([Verdict("a", 1.0), Verdict("b", 0.0)]))

    def asked(function: Any, *arguments: Any) -> Any:
        return store.run(lambda opened: opened.read(lambda connection: function(connection, *arguments)))

    counted = asked(marker_sums, Period(0.0, 20.0), 100.0)
    assert {(kind, marker): of.answers for (kind, _, _, marker), of in counted.items()} == {
        (SERVED_MARKER, "likely"): 1,
        (SERVED_MARKER, "probably"): 1,
        (MARKER, "probably"): 4,
    }
    verdicts = asked(labelled, Period(0.0, 20.0), "r")
    assert verdicts.served_marker.tolist() == ["probably", "likely"]
    assert verdicts.marker.tolist() == ["probably", "probably"]
    assert verdicts.correct.tolist() == [0.0, 1.0]
