"""A store that is set back under a living process, as by a failover that loses commits: what is gone is named, counted and told, and the rest goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from hedgerow.proxy.audit import keys, operators
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.keys import hash_of
from hedgerow.proxy.audit.operators import read_changes
from hedgerow.proxy.audit.rows import Texts
from hedgerow.proxy.audit.store import AuditStore
from hedgerow.proxy.audit.tables import answers, chains, changes, hour_counts, hour_endings, hours, texts
from hedgerow.proxy.audit.tables import keys as key_table
from hedgerow.proxy.config import Settings
from hedgerow.proxy.errors import StoreError
from hedgerow.proxy.services.serving import open_reloader
from hedgerow.proxy.supervision import Supervisor
from hedgerow.proxy.types import Key
from tests.unit.proxy.audit.conftest import Store, entry
from tests.unit.proxy.audit.test_chain import verify

TABLES = (answers, texts, chains, hours, hour_endings, hour_counts)


class State:
    """What is in a store at a moment."""

    def __init__(self, engine: sa.Engine, tables: Sequence[sa.Table] = TABLES) -> None:
        self.tables = tables
        with engine.begin() as connection:
            self.rows = {
                table: [dict(row) for row in connection.execute(sa.select(table)).mappings()] for table in tables
            }

    def restore(self, engine: sa.Engine) -> None:
        """Everything as it was."""
        with engine.begin() as connection:
            for table in reversed(self.tables):
                connection.execute(sa.delete(table))
            for table, rows in self.rows.items():
                for row in rows:  # a JSON column takes None for JSON's null
                    connection.execute(
                        sa.insert(table).values({name: value for name, value in row.items() if value is not None})
                    )


async def filled(opened: AuditStore, *names: str, route: str = "r") -> None:
    for name in names:
        await opened.write(entry(name, route=route, texts=Texts("Who?", "Me.")))


@pytest.mark.parametrize("cut", [True, False], ids=["new connection", "same connection"])
@pytest.mark.parametrize("kept", [0, 2])
def test_commits_that_are_gone_are_named_counted_and_told(store: Store, lines: Any, cut: bool, kept: int) -> None:
    """Sequence by sequence in the log and in `changes`, in the counter, in `/health`; rows that come are written at once, and the chains verify."""

    async def work(opened: AuditStore) -> None:
        if kept:
            await filled(opened, "a1", "a2")
        state = await asyncio.to_thread(State, opened.engine)
        await filled(opened, *(f"a{number}" for number in range(kept + 1, 6)))
        await filled(opened, "b1", route="other")
        await asyncio.to_thread(state.restore, opened.engine)
        if cut:
            opened.writer._disconnect()
        await opened.write(entry("strict"), may_spool=False)
        await filled(opened, "a6")
        assert not opened.down
        assert f"{6 - kept} rows that were committed are gone" in opened.supervisor.problems["store-set-back"]
        notes = {(change.what, change.route): change.note for change in read_changes(opened.engine)}
        assert notes == {
            (
                "rows_gone",
                "r",
            ): f"rows {kept + 1} to 5 of chain {opened.writer.id} were committed, and the store has them no longer",
            (
                "rows_gone",
                "other",
            ): f"rows 1 to 1 of chain {opened.writer.id} were committed, and the store has them no longer",
        }

    store.run(work)
    assert sum(store.lost) == 6 - kept
    told = {(line["route"], line["first"], line["last"]) for line in lines.of("audit_rows_gone")}
    assert told == {("r", kept + 1, 5), ("other", 1, 1)}
    assert sorted(store.sql("SELECT id FROM answers")) == ["a1", "a2", "a6", "strict"][2 * (not kept) :]
    assert verify(store).findings == []


def test_operators_changes_that_are_gone_are_told(store: Store, lines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if no row is gone with them: a key that was revoked in between stays so where this is known, and one that was made is gone."""
    told = Settings.model_validate(
        {
            "audit": store.settings.model_dump(),
            "upstreams": {"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},
            "routes": [{"name": "r", "upstream": "u"}],
        }
    )

    def failing(_engine: sa.Engine) -> Any:
        raise StoreError("away")

    async def work() -> None:
        engine, supervisor = open_engine(store.settings), Supervisor()
        old = keys.create(engine, Key("old"), actor="me")
        state = State(engine, (*TABLES, key_table, changes))
        async with open_reloader(told, supervisor) as reloader:
            new = keys.create(engine, Key("new"), actor="me")
            keys.revoke(engine, "old", actor="me")
            await reloader.look()
            state.restore(engine)
            keys.create(engine, Key("another"), actor="me")
            with monkeypatch.context() as patched:  # the store fails again behind the note, which is made once
                patched.setattr(operators, "read_record", failing)
                await reloader.look()
                await reloader.look()
            await reloader.look()
            ring = reloader.services.keys
            assert old
            assert new
            secret = ring.find(hash_of(old[1]))
            assert secret
            assert secret.key.revoked_at is not None
            assert ring.find(hash_of(new[1])) is None
            assert ring.named("another")
            assert "is gone, and with it keys" in supervisor.problems["store-set-back"]
            await reloader.look()
        assert [change.what for change in read_changes(engine)] == ["changes_gone", "key new", "key new"]
        engine.dispose()

    asyncio.run(work())
    assert len(lines.of("changes_gone")) == 1


def test_a_commit_that_was_only_thought_lost_is_none(store: Store) -> None:
    """The connection breaks after the commit: the store is ahead of what the process knows, and nothing is gone."""

    async def work(opened: AuditStore) -> None:
        await filled(opened, "a")
        known = dict(opened.writer._heads)
        await filled(opened, "b")
        opened.writer._heads = known
        opened.writer._disconnect()
        await filled(opened, "c")
        assert opened.supervisor.problems == {}

    store.run(work)
    assert store.lost == []
    assert verify(store).findings == []
