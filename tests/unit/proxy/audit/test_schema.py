"""The schema: from blank and from an older version to today's, on both databases."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from hedgerow.proxy.audit import engine as schema
from hedgerow.proxy.audit.engine import MIGRATIONS, NEWEST_SCHEMA, migrate, open_engine, version
from hedgerow.proxy.audit.tables import answers, metadata, verdicts
from hedgerow.proxy.config import Audit
from hedgerow.proxy.errors import StoreError
from tests.support.tables import cases

REVISIONS = sorted(path.name[:4] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def test_a_blank_database_gets_the_tables_of_the_code(store_url: str) -> None:
    """Columns, kinds, keys, indices; a second start changes nothing, and Alembic finds the newest revision's stamp."""
    engine = sa.create_engine(store_url)
    migrate(engine)
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == NEWEST_SCHEMA
    engine.dispose()


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Begin to be the next version, whose migration adds a column and an index."""

    def begin() -> None:
        shutil.copytree(schema.MIGRATIONS, tmp_path / "migrations")
        (tmp_path / "migrations" / "versions" / "9999_a_column.py").write_text(
            "import sqlalchemy as sa\nfrom alembic import op\n\nrevision, down_revision = '9999', '"
            + NEWEST_SCHEMA
            + "'\n\n"
            "def upgrade():\n    op.add_column('answers', sa.Column('region', sa.String(8)))\n"
            "    op.create_index('ix_answers_region', 'answers', ['region', 'id'])\n"
        )
        monkeypatch.setattr(schema, "MIGRATIONS", tmp_path / "migrations")
        monkeypatch.setattr(schema, "NEWEST_SCHEMA", "9999")

    return begin


def test_a_database_of_an_older_version_is_migrated(store_url: str, next_version: Callable[[], None]) -> None:
    """The next version adds a column: the rows stay, and have it."""
    engine = open_engine(Audit(url=store_url))
    with engine.begin() as connection:
        connection.execute(
            sa.insert(answers).values(id="a", created_at=1.0, path="/", status="hedged", duration_ms=2.0)
        )
    next_version()
    migrate(engine)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT id, region FROM answers")).all() == [("a", None)]
        assert version(connection) == "9999"
    engine.dispose()


def test_the_head_is_the_newest_file() -> None:
    """A migration that is not applied is a defect."""
    assert REVISIONS[-1] == NEWEST_SCHEMA


def test_at_most_one_verdict_counts(store_url: str) -> None:
    """The database itself refuses a second one."""
    engine = open_engine(Audit(url=store_url))
    with engine.begin() as connection:
        connection.execute(
            sa.text(
                "INSERT INTO answers (id, created_at, path, status, duration_ms, tokens_answer, tokens_samples, tokens_rewrite, "
                "tokens_escalation) VALUES ('a', 1, '/', 'hedged', 2, 0, 0, 0, 0)"
            )
        )
        verdict = {"answer_id": "a", "created_at": 1.0, "correct": 1.0, "source": "x"}
        connection.execute(sa.insert(verdicts).values(verdict | {"current": False}))
        connection.execute(sa.insert(verdicts).values(verdict))
        with pytest.raises(sa.exc.IntegrityError):
            connection.execute(sa.insert(verdicts).values(verdict))
    engine.dispose()


@pytest.mark.parametrize("revision", ["9999", "0000", "0017"])
def test_a_store_of_an_unknown_schema_is_refused(store_url: str, revision: str) -> None:
    """Nothing is changed in it, whether a newer version wrote it or one from before the first release."""
    engine = sa.create_engine(store_url)
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{revision}'"))
    with pytest.raises(StoreError, match=rf"is at schema {revision}, and the newest .* knows is {NEWEST_SCHEMA}\."):
        migrate(engine)
    with engine.connect() as connection:
        assert version(connection) == revision
    engine.dispose()


def test_a_migration_without_room_changes_nothing_and_says_why(
    tmp_path: Path, next_version: Callable[[], None]
) -> None:
    """It goes on from where it was, once there is room."""
    engine = open_engine(Audit(url=f"sqlite:///{tmp_path}/audit.db"))
    row = {"created_at": 1.0, "path": "/", "status": "hedged", "duration_ms": 2.0}
    with engine.begin() as connection:
        connection.execute(sa.insert(answers), [row | {"id": str(number)} for number in range(500)])
    engine.dispose()
    next_version()
    full = sa.create_engine(f"sqlite:///{tmp_path}/audit.db")
    pages: list[int] = []

    @sa.event.listens_for(full, "connect")
    def _fill(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("VACUUM")
        connection.execute("PRAGMA max_page_count = 1")  # as many as there are
        pages.extend(connection.execute("PRAGMA page_count").fetchone())

    with pytest.raises(sa.exc.OperationalError, match="database or disk is full"):
        migrate(full)
    full.dispose()
    assert pages
    engine = open_engine(Audit(url=f"sqlite:///{tmp_path}/audit.db"))
    with engine.connect() as connection:
        assert version(connection) == "9999"
        assert connection.execute(sa.select(sa.func.count()).select_from(answers)).scalar() == 500
    engine.dispose()


def test_several_processes_may_start_at_once(store_url: str) -> None:
    """One migrates, the others wait and find it done."""

    def start(_: int) -> None:
        open_engine(Audit(url=store_url)).dispose()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(start, range(4))) == [None] * 4


def test_a_new_file_that_another_process_is_setting_up_is_waited_for(tmp_path: Path) -> None:
    """SQLite refuses write-ahead logging at once while somebody writes, however patient the connection is."""
    with contextlib.closing(
        sqlite3.connect(tmp_path / "audit.db", isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("CREATE TABLE theirs (i)")
        other.execute("BEGIN IMMEDIATE")
        later = threading.Timer(0.3, other.execute, ["COMMIT"])
        later.start()
        open_engine(Audit(url=f"sqlite:///{tmp_path}/audit.db")).dispose()
        later.join()
        with contextlib.closing(sqlite3.connect(tmp_path / "audit.db")) as third:
            assert third.execute("PRAGMA journal_mode").fetchone() == ("wal",)


UNOPENED = {
    "sqlite:////proc/nowhere/a.db": "make it writable",
    "not an address": "is not an address such as",
    "nosuchdatabase://x/y": "change audit.url",
    "postgresql://u:secret@127.0.0.1:1/x": r"u:\*\*\*@127\.0\.0\.1:1/x: .*[Rr]efused; start that database",
    "postgresql://u:secret@nosuch.invalid/x": "check the host name in audit.url",
}


@cases("url", UNOPENED)
def test_a_store_that_cannot_be_opened_says_so(url: str) -> None:
    """One sentence, at the start and in every command: the key, the reason, what to do, and no password."""
    with pytest.raises(StoreError, match=f"^audit.url .*{UNOPENED[url]}") as caught:
        open_engine(Audit(url=url))
    assert "secret" not in str(caught.value)
