"""Bringing a database to the schema of this version.

Alembic is imported only when there is something to migrate: it would double the time of every start.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from hedgerow.proxy.errors import StoreError

HEAD = "0003"
"""The newest migration; a test holds it against the files in `migrations/versions`."""
MIGRATION_S = 60
"""Longest that a starting process waits for another one's migration, where SQLite has to be told."""
_LOCK = 0x6865_6467_6572
"""Any number that nobody else locks: "hedger" in ASCII."""


def version(connection: sa.Connection) -> str | None:
    """The revision that a database stands at; None for an empty one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def migrate(engine: sa.Engine) -> None:
    """Create the tables or bring them up to date; nothing is done where they are.

    Raises:
        StoreError: the database was written by a newer version, or cannot be opened.
    """
    try:
        with engine.begin() as connection:
            _alone(connection)
            current = version(connection)
            if current == HEAD:
                return
            if current is not None and current > HEAD:
                raise StoreError(
                    f"the audit store is at schema {current}, newer than this version's {HEAD}; upgrade first"
                )
            _upgrade(connection)
    except sa.exc.SQLAlchemyError as error:
        raise StoreError(f"the audit store cannot be opened: {error.__class__.__name__}") from error


def _alone(connection: sa.Connection) -> None:
    """Wait for other processes that start at the same moment."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {MIGRATION_S * 1000}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))


def _upgrade(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
