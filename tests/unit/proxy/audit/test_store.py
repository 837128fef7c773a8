"""The audit store: durable when it says so, one bad row harms no other, schema from blank to today."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from proxy.audit.store import AuditStore, open_store
from proxy.audit.tables import answers
from proxy.config import Audit
from proxy.errors import StoreError


def row(name: str, **more: Any) -> dict[str, Any]:
    """A row with what must be there."""
    return {"id": name, "created_at": 1.0, "path": "/v1/x", "status": "hedged", "duration_ms": 1.0} | more


def run(tmp_path: Path, work: Callable[[AuditStore], Awaitable[Any]]) -> tuple[Any, list[int]]:
    """Work with an open store; what it gave, and how many rows it says were lost."""
    lost: list[int] = []

    async def whole() -> Any:
        store = await open_store(Audit(url=f"sqlite:///{tmp_path}/a.db"), lost.append)
        try:
            return await work(store)
        finally:
            await store.aclose()

    return asyncio.run(whole()), lost


def ids(tmp_path: Path) -> set[str]:
    """What another reader of the file sees."""
    engine = sa.create_engine(f"sqlite:///{tmp_path}/a.db")
    with engine.connect() as connection:
        found = set(connection.execute(sa.select(answers.c.id)).scalars())
    engine.dispose()
    return found


def test_a_row_is_there_when_write_returns(tmp_path: Path) -> None:
    """Another process sees it at once."""

    async def work(store: AuditStore) -> set[str]:
        await store.write(row("a"))
        return await asyncio.to_thread(ids, tmp_path)

    assert run(tmp_path, work) == ({"a"}, [])


def test_many_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """A thousand rows, waited for and not, all there in the end."""

    async def work(store: AuditStore) -> None:
        for i in range(500):
            store.enqueue(row(f"e{i}"))
        await asyncio.gather(*(store.write(row(f"w{i}")) for i in range(500)))

    run(tmp_path, work)
    assert len(ids(tmp_path)) == 1000


def test_a_reader_sees_what_was_handed_in_before(tmp_path: Path) -> None:
    """Rows that nobody waits for are found by the next question."""

    async def work(store: AuditStore) -> Any:
        store.enqueue(row("late", story={"clusters": [[0, 1]]}))
        return await store.get("late")

    found, _ = run(tmp_path, work)
    assert found["story"] == {"clusters": [[0, 1]]}
    assert found["verdicts"] == []


def test_one_bad_row_does_not_take_the_others_with_it(tmp_path: Path, lines: Any) -> None:
    """A repeated id fails for its writer alone, and is counted."""

    async def work(store: AuditStore) -> list[Any]:
        return await asyncio.gather(*(store.write(row(name)) for name in ("a", "b", "a", "c")), return_exceptions=True)

    results, lost = run(tmp_path, work)
    assert [type(result) for result in results] == [type(None), type(None), StoreError, type(None)]
    assert (ids(tmp_path), lost) == ({"a", "b", "c"}, [1])
    assert lines.of("audit_write_failed")
