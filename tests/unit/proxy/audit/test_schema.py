"""The schema: from blank and from every older version to today's, on both databases."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext

from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.schema import HEAD, migrate
from hedgerow.proxy.audit.tables import metadata, texts, verdicts
from hedgerow.proxy.config import Audit
from hedgerow.proxy.errors import StoreError

MIGRATIONS = Path(__file__).parents[4] / "proxy" / "audit" / "migrations"


@pytest.fixture
def old(store_url: str) -> sa.Engine:
    """A database as version 0001 left it, with three answers and verdicts on one of them."""
    engine = sa.create_engine(store_url)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        full = {
            "clusters": [[0, 1]],
            "question": "Who?\0",
            "samples": ["Me.", "I."],
            "draft": "Me.",
            "final": "Surely me.",
        }
        for name, story in (("a", full), ("b", {"clusters": [[0]]}), ("c", None)):
            connection.execute(
                sa.text(
                    "INSERT INTO answers (id, created_at, path, status, duration_ms, alpha, story, tokens_answer, "
                    "tokens_samples, tokens_rewrite, tokens_escalation) VALUES (:id, 1, '/', 'hedged', 2, 0.1, :story, 0, 0, 0, 0)"
                ),
                {"id": name, "story": None if story is None else json.dumps(story)},
            )
        for correct, source in ((0.0, "client"), (1.0, "client"), (0.5, "human")):
            connection.execute(
                sa.text(
                    "INSERT INTO verdicts (answer_id, created_at, correct, source) VALUES ('a', 1, :correct, :source)"
                ),
                {"correct": correct, "source": source},
            )
    engine.dispose()
    return engine


def test_the_migrations_make_the_tables_of_the_code(store_url: str) -> None:
    """From a blank database, and again without effect."""
    engine = sa.create_engine(store_url)
    migrate(engine)
    migrate(engine)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


def test_the_head_is_the_newest_file() -> None:
    """A migration that is not applied is a defect."""
    names = [re.match(r"\d+", path.name) for path in (MIGRATIONS / "versions").glob("[0-9]*.py")]
    assert max(name[0] for name in names if name) == HEAD


def test_rows_of_the_first_version_are_kept(old: sa.Engine) -> None:
    """Figures stay, texts move to their own table, and the newest verdict of each answer counts."""
    migrate(old)
    with old.connect() as connection:
        rows = connection.execute(sa.text("SELECT id, alpha, writer, store_text FROM answers ORDER BY id")).all()
        assert rows == [("a", 0.1, None, "full"), ("b", 0.1, None, None), ("c", 0.1, None, None)]
        (moved,) = connection.execute(sa.select(texts)).mappings()
        assert dict(moved) == {
            "answer_id": "a", "question": "Who?\ufffd", "draft": "Me.", "answer": "Surely me.", "served": None,
            "samples": ["Me.", "I."],
        }  # fmt: skip
        story = connection.execute(sa.text("SELECT story FROM answers WHERE id = 'a'")).scalar()
        assert (json.loads(story) if isinstance(story, str) else story) == {"clusters": [[0, 1]]}
        told = connection.execute(sa.select(verdicts.c.correct, verdicts.c.current).order_by(verdicts.c.id)).all()
        assert told == [(0.0, False), (1.0, False), (0.5, True)]
    old.dispose()


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
        told = {"answer_id": "a", "created_at": 1.0, "correct": 1.0, "source": "x"}
        connection.execute(sa.insert(verdicts).values(told | {"current": False}))
        connection.execute(sa.insert(verdicts).values(told))
        with pytest.raises(sa.exc.IntegrityError):
            connection.execute(sa.insert(verdicts).values(told))
    engine.dispose()


def test_a_store_of_a_newer_version_is_refused(store_url: str) -> None:
    """Nothing is changed in it."""
    engine = sa.create_engine(store_url)
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="newer than this version"):
        migrate(engine)
    engine.dispose()


def test_several_processes_may_start_at_once(store_url: str) -> None:
    """One migrates, the others wait and find it done."""
    import concurrent.futures

    def start(_: int) -> None:
        open_engine(Audit(url=store_url)).dispose()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(start, range(4))) == [None] * 4


@pytest.mark.parametrize(
    "url", ["sqlite:////proc/nowhere/a.db", "not an address", "nosuchdatabase://x/y", "postgresql://127.0.0.1:1/x"]
)
def test_a_store_that_cannot_be_opened_says_so(url: str) -> None:
    """One sentence, at the start."""
    with pytest.raises(StoreError, match="cannot be opened"):
        open_engine(Audit(url=url))
