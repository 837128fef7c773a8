"""Create or migrate a database to the schema of this version.

An empty database gets the tables of `tables.py`; only a database of an older version is migrated. Alembic is imported only for that, because it
would double the time of every start.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from ..errors import StoreError
from .tables import metadata

HEAD = "0017"
"""The newest migration; a test holds it against the files in `migrations/versions`."""
MIGRATION_S = 60
"""SQLite: seconds that a starting process waits for another one's migration."""
MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 0x6865_6467_6572
"""The number of the advisory lock: "hedger" in ASCII."""


def version(connection: sa.Connection) -> str | None:
    """The revision of a database; None for an empty one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
    return None if revision is None else str(revision)


def migrate(engine: sa.Engine) -> None:
    """Create or migrate the tables; does nothing if they are up to date.

    Raises:
        StoreError: the database was written by a newer version, or cannot be opened.
    """
    try:
        with engine.begin() as connection:
            _wait_for_other_migrations(connection)
            current = version(connection)
            if current is None:
                _create(connection)
            elif current > HEAD:
                raise StoreError(
                    f"The audit store is at schema {current}, newer than this version's {HEAD}. Upgrade Hedgerow first."
                )
            elif current < HEAD:
                _upgrade(connection)
    except sa.exc.SQLAlchemyError as error:
        said = str(getattr(error, "orig", None) or "").partition("\n")[
            0
        ]  # the database's own message, such as "disk is full"
        raise StoreError(f"the audit store cannot be opened: {said or error.__class__.__name__}") from error


def _wait_for_other_migrations(connection: sa.Connection) -> None:
    """Take the lock, so that of several starting processes one migrates at a time."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {MIGRATION_S * 1000}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))


def _create(connection: sa.Connection) -> None:
    """Create the present tables, and record the newest revision in Alembic's table."""
    metadata.create_all(connection)
    stamp = sa.Table("alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))
    stamp.create(connection, checkfirst=True)
    connection.execute(sa.insert(stamp).values(version_num=HEAD))


def _upgrade(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
