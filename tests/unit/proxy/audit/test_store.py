"""The audit store: durable when it says so, one bad row harms no other, and both databases give back what was written."""

from __future__ import annotations

import asyncio
from typing import Any

from hedgerow.proxy.audit.rows import Texts
from hedgerow.proxy.audit.store import AuditStore
from hedgerow.proxy.errors import StoreError
from tests.unit.proxy.audit.conftest import Store, entry

SAID = Texts("Who?", "Me.", "Probably me.", None, ("Me.", "You."))


def test_a_row_is_there_when_write_returns(store: Store) -> None:
    """Another process sees it at once."""

    async def work(opened: AuditStore) -> list[str]:
        await opened.write(entry("a"))
        return await asyncio.to_thread(store.sql, "SELECT id FROM answers")

    assert store.run(work) == ["a"]
    assert store.lost == []


def test_many_writers_at_once_lose_nothing(store: Store) -> None:
    """A thousand rows, waited for and not, all there in the end."""

    async def work(opened: AuditStore) -> None:
        for i in range(500):
            opened.enqueue(entry(f"e{i}"))
        await asyncio.gather(*(opened.write(entry(f"w{i}", texts=SAID)) for i in range(500)))

    store.run(work)
    assert store.sql("SELECT count(*) FROM answers") == [1000]
    assert store.sql("SELECT count(*) FROM texts") == [500]


def test_rows_with_different_columns_in_one_commit_keep_their_own_values(store: Store) -> None:
    """Rows are inserted many at a time: none gets what another one said, and a column that a row leaves out is null."""
    said = [
        {"model": f"m{i}", "http_status": i} if i % 3 else {"http_status": i, "upstream": f"u{i}"} for i in range(150)
    ]

    async def work(opened: AuditStore) -> None:
        for i, columns in enumerate(said):
            opened.enqueue(entry(f"e{i}", **columns))

    store.run(work)
    for column in ("model", "upstream", "http_status"):
        rows = store.sql(f"SELECT {column} FROM answers ORDER BY http_status")
        assert rows == [columns.get(column) for columns in said]


def test_a_reader_sees_what_was_handed_in_before(store: Store) -> None:
    """Rows that nobody waits for are found by the next question, with all that was written of them."""

    async def work(opened: AuditStore) -> Any:
        opened.enqueue(entry("late", story={"clusters": [[0, 1]]}, served_agrees=True, alpha=0.1, texts=SAID))
        return await opened.get("late")

    row = store.run(work)
    assert row["story"] == {"clusters": [[0, 1]]}
    assert (row["served_agrees"], row["alpha"], row["store_text"]) == (True, 0.1, "full")
    assert row["texts"] == {
        "question": "Who?", "draft": "Me.", "answer": "Probably me.", "served": None, "samples": ["Me.", "You."], "claims": None
    }  # fmt: skip
    assert row["verdicts"] == []


def test_one_bad_row_does_not_take_the_others_with_it(store: Store, lines: Any) -> None:
    """A repeated id fails for its writer alone, and is counted."""

    async def work(opened: AuditStore) -> list[Any]:
        names = ("a", "b", "a", "c")
        return await asyncio.gather(*(opened.write(entry(name)) for name in names), return_exceptions=True)

    results = store.run(work)
    assert [type(result) for result in results] == [type(None), type(None), StoreError, type(None)]
    assert sorted(store.sql("SELECT id FROM answers")) == ["a", "b", "c"]
    assert store.lost == [1]
    (line,) = lines.of("audit_write_failed")
    assert (line["rows"], line["ids"]) == (1, ["a"])


def test_what_clients_and_upstreams_send_never_breaks_a_row(store: Store) -> None:
    """NUL, half surrogate pairs, names without end, counts beyond every integer: kept as far as a database can."""
    odd = "nul \0 and half \ud83d a pair"
    more: Any = {"model": odd + "m" * 300, "response_id": "r" * 500, "tokens_answer": 10**30, "duration_ms": 3}
    store.write(entry("odd", texts=Texts(odd, samples=(odd,)), user=odd, **more))
    row = store.run(lambda opened: opened.get("odd"))
    assert row["texts"]["question"] == "nul \ufffd and half \ufffd a pair"
    assert row["texts"]["samples"] == ["nul \ufffd and half \ufffd a pair"]
    assert row["model"].endswith("m…")
    assert (len(row["model"]), len(row["response_id"])) == (256, 128)
    assert row["tokens_answer"] == 2**31 - 1
    assert store.lost == []


def test_an_id_that_no_answer_can_have_is_unknown(store: Store) -> None:
    """A NUL, which PostgreSQL takes in no text: that is not a store out of order."""

    async def work(opened: AuditStore) -> tuple[object, int]:
        return await opened.get("a\0b"), await opened.erase("a\0b", actor="me")

    assert store.run(work) == (None, 0)
