"""An open store on both databases, and what another reader of it sees."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.rows import Entry
from hedgerow.proxy.audit.store import AuditStore, open_store
from hedgerow.proxy.audit.tables import metadata
from hedgerow.proxy.config import Audit
from tests.support.postgres import Cluster


def entry(name: str, *, texts: Any = None, user: str | None = None, store_text: Any = "full", **more: Any) -> Entry:
    """An entry with what must be there."""
    row = {"id": name, "created_at": 1.0, "path": "/v1/x", "status": "hedged", "duration_ms": 1.0, "route": "r"} | more
    return Entry(row, texts, user, store_text)


class Store:
    """The store of one test.

    Attributes:
        settings: of the audit.
        lost: how many rows the store says were lost, each time it said so.
    """

    def __init__(self, settings: Audit) -> None:
        self.settings = settings
        self.lost: list[int] = []

    def run(self, work: Callable[[AuditStore], Awaitable[Any]]) -> Any:
        """Work with the open store; what it gave."""

        async def whole() -> Any:
            store = await open_store(self.settings, self.lost.append)
            try:
                return await work(store)
            finally:
                await store.aclose()

        return asyncio.run(whole())

    def write(self, *entries: Entry) -> None:
        """Write entries, one after the other."""

        async def work(store: AuditStore) -> None:
            for one in entries:
                await store.write(one)

        self.run(work)

    def sql(self, statement: str, **parameters: Any) -> list[Any]:
        """What another reader finds, or does."""
        engine = sa.create_engine(self.settings.url)
        try:
            with engine.begin() as connection:
                result = connection.execute(sa.text(statement), parameters)
                return list(result.scalars()) if result.returns_rows else []
        finally:
            engine.dispose()


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], str]:
    """Makes stores with today's tables, as copies of one that was migrated once; gives their addresses."""
    first = tmp_path_factory.mktemp("first") / "audit.db"
    if request.param == "sqlite":
        open_engine(Audit(url=f"sqlite:///{first}")).dispose()

        def copy(folder: Path) -> str:
            shutil.copyfile(first, folder / "audit.db")
            return f"sqlite:///{folder}/audit.db"

        return copy
    server: Cluster = request.getfixturevalue("postgres")
    open_engine(Audit(url=server.database())).dispose()
    template = f"d{server.made}"
    return lambda _: server.database(template)


@pytest.fixture(scope="session")
def common_url(new_url: Callable[[Path], str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """One store for all tests in turn: emptying tables is quicker than making a database."""
    return new_url(tmp_path_factory.mktemp("common"))


@pytest.fixture
def store(new_url: Callable[[Path], str], common_url: str, tmp_path: Path) -> Store:
    """An empty store; the test runs on both databases."""
    if common_url.startswith("sqlite"):
        return Store(Audit(url=new_url(tmp_path), spool=tmp_path / "spool", synchronous="normal"))
    emptied = Store(Audit(url=common_url, spool=tmp_path / "spool"))
    emptied.sql("TRUNCATE " + ", ".join(table.name for table in metadata.sorted_tables))
    return emptied
