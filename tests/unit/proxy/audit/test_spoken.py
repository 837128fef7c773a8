"""What was said and how sure it was, as columns of the audit, on both databases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hedgerow.proxy.audit import spoken as module
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


def test_verdicts_know_the_wording_that_was_served(store: Store) -> None:
    """Our hedge, the model's own words, a refusal, several hedges."""
    store.write(
        entry("a", created_at=1.0, **SURE, status="hedged", hedge="likely"),
        entry("b", created_at=2.0, **SURE, status="plain", hedge="no-hedge"),
        entry("c", created_at=3.0, **SURE, status="abstained"),
        entry("d", created_at=4.0, **SURE, status="hedged", hedge=None),
    )
    store.run(lambda opened: opened.add_verdicts([Verdict(name, 1.0) for name in "abcd"]))
    verdicts = store.run(lambda opened: opened.read(lambda connection: labelled(connection, Period(0.0, 20.0), "r")))
    assert verdicts.wording.tolist() == [None, None, "", "likely"]
