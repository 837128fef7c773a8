"""Claims of long answers in the audit: their confidence under the hash, their words as private as the texts, verdicts of their own."""

from __future__ import annotations

from typing import Any

import pytest

from hedgerow.calibration import faithfulness_divergence
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.labelled import EXPORTED_CLAIMS, export_claims, read_labelled
from hedgerow.proxy.audit.retention import erase, purge
from hedgerow.proxy.audit.review import review_queue
from hedgerow.proxy.audit.rows import Texts
from hedgerow.proxy.audit.store import AuditStore
from hedgerow.proxy.audit.verdicts import Verdict
from tests.unit.proxy.audit.conftest import Store, entry
from tests.unit.proxy.audit.test_chain import verify
from tests.unit.proxy.audit.test_retention import settings

WORDS = ("She was born in Rome.", "She died in Paris in 1934.")
SAID = Texts("Who was she?", " ".join(WORDS), " ".join(WORDS), None, ("a", "b"), WORDS)
CLAIMS = [
    {"start": 0, "end": 21, "sentence": 0, "raw": [8.0, 1.0], "calibrated": [7.0, 2.0], "borne_out": [True, None]},
    {"start": 22, "end": 48, "sentence": 1, "raw": [3.0, 6.0], "calibrated": [4.0, 5.0], "borne_out": [None, False]},
]
BETAS = {"raw_alpha": 5.5, "raw_beta": 3.5, "alpha": 5.5, "beta": 3.5, "signal": "consistency"}


def long_answer(name: str = "a", **more: Any) -> Any:
    return entry(name, texts=SAID, claims=CLAIMS, **BETAS | more)


def found(store: Store, name: str = "a") -> Any:
    return store.run(lambda opened: opened.get(name))


def tell(store: Store, *verdicts: Verdict) -> list[Any]:
    return store.run(lambda opened: opened.add_verdicts(verdicts))  # type: ignore[no-any-return]


def test_each_claim_is_kept_and_covered_by_the_hash(store: Store) -> None:
    store.write(long_answer(), entry("short"))
    row = found(store)
    assert row["claims"] == CLAIMS
    assert row["texts"]["claims"] == list(WORDS)
    assert found(store, "short")["claims"] is None
    assert verify(store).findings == []


@pytest.mark.parametrize(("column", "table"), [("claims", "answers"), ("claims", "texts")])
def test_a_claim_that_is_altered_is_found(store: Store, column: str, table: str) -> None:
    store.write(long_answer())
    store.sql(f"UPDATE {table} SET {column} = '[]'")
    assert len(verify(store).findings) == 1


@pytest.mark.parametrize(
    ("level", "kept"), [("none", None), ("hashed", "sha256:"), ("redacted", "She "), ("full", "She ")]
)
def test_the_words_of_claims_are_as_private_as_the_answer(store: Store, level: Any, kept: str | None) -> None:
    store.write(long_answer(store_text=level))
    row = found(store)
    assert row["claims"] == CLAIMS
    if kept is None:
        assert row["texts"] is None
    else:
        assert all(words.startswith(kept) for words in row["texts"]["claims"])


def test_redaction_reaches_into_claims(store: Store) -> None:
    claims = ("Her address is ada@example.org and she answers.",)
    store.write(
        entry(
            "a",
            texts=Texts("q", claims[0], claims[0], None, None, claims),
            store_text="redacted",
            claims=CLAIMS[:1],
            **BETAS,
        )
    )
    assert found(store)["texts"]["claims"] == ["Her address is [email] and she answers."]


def test_erasure_takes_the_words_and_leaves_the_figures(store: Store) -> None:
    store.write(long_answer())
    tell(store, Verdict("a", 0.0, claim=1, note="it was Rome"))
    engine = open_engine(store.settings)
    assert erase(engine, actor="test", names=["a"]) == 1
    engine.dispose()
    row = found(store)
    assert (row["texts"], row["claims"]) == (None, CLAIMS)
    assert [verdict["note"] for verdict in row["claim_verdicts"]] == [None]
    assert verify(store).findings == []


def test_rows_go_with_their_verdicts_on_claims(store: Store) -> None:
    store.write(long_answer())
    tell(store, Verdict("a", 0.0, claim=1))
    engine = open_engine(store.settings)
    assert purge(engine, settings(store, keep_rows_days=1), actor="test").rows == 1
    engine.dispose()
    assert store.sql("SELECT count(*) FROM claim_verdicts") == [0]


def test_a_verdict_on_a_claim_settles_its_own_confidence(store: Store) -> None:
    store.write(long_answer())
    first, second, absent = tell(
        store, Verdict("a", 1.0, claim=0), Verdict("a", 0.0, claim=1), Verdict("a", 1.0, claim=2)
    )
    assert absent is None
    assert first.scores["fd"] == pytest.approx(float(faithfulness_divergence(7.0, 2.0, 1)))
    assert second.scores["fd_raw"] == pytest.approx(float(faithfulness_divergence(3.0, 6.0, 0)))
    row = found(store)
    assert row["verdicts"] == []
    assert [(v["claim"], v["correct"], v["alpha"], v["beta"]) for v in row["claim_verdicts"]] == [
        (0, 1.0, 7.0, 2.0),
        (1, 0.0, 4.0, 5.0),
    ]


def test_of_the_verdicts_on_a_claim_the_latest_counts(store: Store) -> None:
    """The same again changes nothing, other claims and the answer keep theirs, a grader never overrides anybody else."""
    store.write(long_answer())
    verdicts = [
        Verdict("a", 1.0, claim=0),
        Verdict("a", 1.0, claim=0),
        Verdict("a", 0.0, claim=0),
        Verdict("a", 1.0, claim=1),
        Verdict("a", 0.5),
    ]
    assert [one.changed for one in tell(store, *verdicts)] == [True, False, True, True, True]
    (graded,) = tell(store, Verdict("a", 1.0, claim=0, kind="grader", source="grader"))
    assert (graded.changed, graded.counts) == (True, False)
    tell(store, Verdict("a", 1.0, claim=1, source="other"))
    row = found(store)
    assert [(v["claim"], v["correct"]) for v in row["claim_verdicts"] if v["current"]] == [(0, 0.0), (1, 1.0)]
    assert [v["correct"] for v in row["verdicts"]] == [0.5]


def test_a_verdict_on_a_claim_of_a_short_answer_finds_none(store: Store) -> None:
    store.write(entry("a", **BETAS))
    assert tell(store, Verdict("a", 1.0, claim=0), Verdict("nobody", 1.0, claim=0)) == [None, None]


def test_claims_and_answers_are_never_mixed(store: Store) -> None:
    """The figures that maps are fitted on and drift is watched by."""
    store.write(long_answer(), long_answer("b"))
    tell(store, Verdict("a", 1.0, claim=0), Verdict("a", 0.0, claim=1), Verdict("b", 1.0))
    engine = open_engine(store.settings)
    answers, claims = (read_labelled(engine, route="r", any_map=True, of=of) for of in ("answers", "claims"))
    engine.dispose()
    assert (answers.raw_alpha.tolist(), answers.correct.tolist()) == ([5.5], [1.0])
    assert (claims.raw_alpha.tolist(), claims.correct.tolist()) == ([8.0, 3.0], [1.0, 0.0])


def test_an_export_has_a_row_a_claim(store: Store) -> None:
    store.write(long_answer(), entry("short", **BETAS), long_answer("bare", store_text="none"))
    tell(store, Verdict("a", 0.0, claim=1))
    engine = open_engine(store.settings)
    rows = list(export_claims(engine))
    engine.dispose()
    assert [(row["id"], row["claim"], row["correct"], row["text"]) for row in rows] == [
        ("a", 0, None, WORDS[0]), ("a", 1, 0.0, WORDS[1]), ("bare", 0, None, None), ("bare", 1, None, None),
    ]  # fmt: skip
    assert all(tuple(row) == tuple(EXPORTED_CLAIMS) for row in rows)


def test_an_answer_whose_claims_a_person_judged_leaves_the_queue(store: Store) -> None:
    import time

    store.write(long_answer("a", created_at=time.time()), long_answer("b", created_at=time.time()))
    tell(
        store,
        Verdict("a", 1.0, claim=0, kind="human", source="page"),
        Verdict("b", 1.0, claim=0, kind="grader", source="grader"),
    )
    engine = open_engine(store.settings)
    assert [item.id for item in review_queue(engine)] == ["b"]
    engine.dispose()


def test_two_tellers_at_once_leave_one_current(store: Store) -> None:
    """On one claim, from two connections."""
    import asyncio

    store.write(long_answer())

    async def both(opened: AuditStore) -> Any:
        return await asyncio.gather(
            *(opened.add_verdicts([Verdict("a", y, claim=0, source=s)]) for y, s in ((1.0, "x"), (0.0, "y")))
        )

    store.run(both)
    assert store.sql("SELECT count(*) FROM claim_verdicts WHERE current") == [1]
