"""Open the audit's database: SQLite by default, PostgreSQL for several machines."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import sqlalchemy as sa

from ..config import Audit
from ..config.sections import VARIABLE, known
from ..errors import StoreError
from .spool import unwritable
from .tables import metadata

# Create or migrate a database to the schema of this version.
#
# An empty database gets the tables of `tables.py`; only a database of an older version is migrated. Alembic is imported
# only for that, because it would double the time of every start.

NEWEST_SCHEMA = "0001"
"""The newest migration; a test holds it against the files in `migrations/versions`."""
MIGRATION_S = 60
"""SQLite: seconds that a starting process waits for another one's migration."""
MIGRATIONS = Path(__file__).parent / "migrations"
_MIGRATION_LOCK = 0x6865_6467_6572
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
        StoreError: this version does not know the database's schema.
        SQLAlchemyError: the database cannot be opened or written.
    """
    with engine.begin() as connection:
        _wait_for_other_migrations(connection)
        current = version(connection)
        if current is None:
            _create(connection)
        elif current != NEWEST_SCHEMA:
            _upgrade(connection, current)


def _wait_for_other_migrations(connection: sa.Connection) -> None:
    """Take the lock, so that of several starting processes one migrates at a time."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {MIGRATION_S * 1000}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))


def _create(connection: sa.Connection) -> None:
    """Create the present tables, and record the newest revision in Alembic's table."""
    metadata.create_all(connection)
    stamp = sa.Table("alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))
    stamp.create(connection, checkfirst=True)
    connection.execute(sa.insert(stamp).values(version_num=NEWEST_SCHEMA))


def _upgrade(connection: sa.Connection, current: str) -> None:
    if current not in {path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("*.py")}:
        raise StoreError(
            f"The audit store is at schema {current}, and the newest that this version of Hedgerow knows is {NEWEST_SCHEMA}. A newer version wrote it, or one from "
            "before the first release. Use that version, or set `audit.url` to a new store."
        )
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


Connection = sa.Connection
Engine = sa.Engine
"""For annotations elsewhere: SQLAlchemy is known in this folder only."""
DEAD_AFTER_S = 5
"""Seconds after which a database that does not answer counts as down."""
LARGEST_LOG = 64 * 1024 * 1024
"""Bytes of SQLite's log that stay on disk when its content is in the database. It grows as long as somebody reads one snapshot."""
_POSTGRES = {
    "connect_timeout": DEAD_AFTER_S,
    "tcp_user_timeout": DEAD_AFTER_S * 1000,
    "keepalives_idle": DEAD_AFTER_S,
    "options": f"-c lock_timeout={DEAD_AFTER_S}s",
    "application_name": "hedgerow",
}
"""Connection parameters for libpq, unless the address sets them."""


def sqlite_file(settings: Audit) -> Path | None:
    """The file of an SQLite audit; None for another database, one in memory, or an invalid address.

    Raises:
        ConfigError: the address holds a variable of the environment that is not set.
    """
    try:
        url = sa.make_url(known("audit.url", settings.url))
    except sa.exc.ArgumentError:
        return None
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database not in (None, ":memory:") else None


def shown_address(settings: Audit) -> str:
    """The store's address without its password."""
    try:
        return sa.make_url(settings.url).render_as_string(hide_password=True)
    except sa.exc.ArgumentError:  # unchanged it could show a password
        return "not an address such as sqlite:///var/audit.db or postgresql://user:password@host/database"


def unusable_address(settings: Audit) -> str | None:
    """The error in the store's address, as far as it can be found without opening it; None if there is none."""
    if VARIABLE.search(settings.url):
        return None
    try:
        url = sa.make_url(settings.url)
    except sa.exc.ArgumentError:
        return f"audit.url is {shown_address(settings)}"
    file = sqlite_file(settings)
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        return f"audit.url is {shown_address(settings)}: the store is SQLite or PostgreSQL"
    if file is None:
        return None
    if not file.is_dir() and (os.access(file, os.W_OK) if file.exists() else unwritable(file.parent) is None):
        return None
    return f"audit.url is {shown_address(settings)}: cannot be written; choose a file in a folder that can"


def open_engine(settings: Audit) -> sa.Engine:
    """Connect, create the store if necessary, and migrate the schema.

    Raises:
        StoreError: the address is wrong, its driver is missing, or the database cannot be opened; one sentence, without a password, names
            `audit.url`, the reason and what to do.
        ConfigError: the address holds a variable of the environment that is not set.
    """
    try:
        url = sa.make_url(known("audit.url", settings.url))
        engine = _postgres(url) if url.get_backend_name() == "postgresql" else _sqlite(url, settings.synchronous)
        migrate(engine)
    except (sa.exc.SQLAlchemyError, ImportError, OSError) as error:
        said = said_by_driver(error) or str(error).partition("\n")[0]
        advice = next((advice for words, advice in _ADVICE if any(word in said for word in words)), _START)
        raise StoreError(f"audit.url is {shown_address(settings)}: {said}; {advice}") from error
    engine.dispose()  # the connection for the migration has a longer timeout than others may have
    return engine


_START = "start that database, make it writable, or change audit.url"
_ADVICE = (
    (("resolve host", "translate host"), "check the host name in audit.url"),
    (("authentication failed", "does not exist"), "check user, password and database in audit.url"),
)
"""What to do, by what PostgreSQL's client says; otherwise `_START`."""


def open_existing(settings: Audit) -> sa.Engine:
    """As `open_engine`, for commands that read and change a store but do not create one. On a read-only medium it can be read all the same.

    Raises:
        StoreError: the store does not exist yet, or it cannot be opened.
    """
    file = sqlite_file(settings)
    if file is not None and not file.exists():
        raise StoreError(
            f"No audit store exists at {file}. Check `audit.url`, or start `hedgerow serve`, which creates the store."
        )
    if file is not None and not (os.access(file, os.W_OK) and os.access(file.absolute().parent, os.W_OK)):
        return _unwritable(file.absolute())
    return open_engine(settings)


def _unwritable(file: Path) -> sa.Engine:
    """A SQLite file that nobody can change: SQLite would open its log beside it.

    Raises:
        StoreError: a part of it is in the log, or its schema is not today's.
    """
    log = file.with_name(f"{file.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreError(f"{file} cannot be written, and a part of it is in {log.name}. Copy both to where they can.")
    address = f"file:{quote(str(file))}?immutable=1"
    engine = sa.create_engine(
        "sqlite://", creator=partial(sqlite3.connect, address, uri=True), poolclass=sa.NullPool, hide_parameters=True
    )
    with transaction(engine) as connection:
        if (found := version(connection)) != NEWEST_SCHEMA:
            raise StoreError(
                f"{file} is at schema {found} and cannot be written. Copy it to where `hedgerow audit migrate` can."
            )
    return engine


_PLANNED = "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL jit = off; SET LOCAL work_mem = '32MB'"
"""Planner settings: a plan for any period suits none, compiling a query takes longer than it saves, and an hour of requests must be sorted in memory."""


@contextmanager
def transaction(engine: sa.Engine, kind: Literal["read", "write", "snapshot"] = "read") -> Iterator[sa.Connection]:
    """One transaction on its own connection; the only place where a database error becomes a `StoreError`.

    Args:
        kind: "write" takes SQLite's write lock at the start, so that data read first are still valid when it writes;
            "snapshot" reads all tables as they stood at one moment.

    Raises:
        StoreError: the store cannot be read or written; the message names the kind of error and no parameter.
    """
    if kind == "snapshot" and engine.dialect.name == "postgresql":
        engine = engine.execution_options(isolation_level="REPEATABLE READ")
    try:
        with engine.begin() as connection:
            if (
                kind != "read" and engine.dialect.name == "sqlite"
            ):  # the driver itself would begin only before the first write
                connection.exec_driver_sql("BEGIN IMMEDIATE" if kind == "write" else "BEGIN")
            if kind == "snapshot" and engine.dialect.name == "postgresql":
                connection.exec_driver_sql(_PLANNED)
            yield connection
    except sa.exc.SQLAlchemyError as error:
        verb = "written" if kind == "write" else "read"
        raise StoreError(f"The audit store cannot be {verb}: {type(error).__name__}.") from error


def follows(place: Sequence[sa.ColumnElement[Any]], after: Sequence[Any]) -> sa.ColumnElement[bool]:
    """Whether a row stands after a place, in the order of some columns: for readers that go on where they were."""
    return sa.tuple_(*place) > sa.tuple_(*map(sa.literal, after))


def _postgres(url: sa.URL) -> sa.Engine:
    """Open PostgreSQL. Idle connections are tested before use, so that a restarted server fails no request."""
    arguments = {name: value for name, value in _POSTGRES.items() if name not in url.query}
    url = url.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, pool_pre_ping=True, connect_args=arguments, hide_parameters=True)
    sa.event.listen(engine, "handle_error", _leave_read_only)
    return engine


def _leave_read_only(context: Any) -> None:
    """A server that cannot be written, as after a failover, is left like one that is gone: a new connection may find another, or better settings."""
    if getattr(context.original_exception, "sqlstate", None) == "25006":
        context.is_disconnect = True


def _sqlite(url: sa.URL, synchronous: str) -> sa.Engine:
    if url.get_backend_name() == "sqlite" and url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(url, hide_parameters=True)  # errors are logged, and parameters hold user texts
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", lambda raw, _: _set_up_sqlite(raw, synchronous))
    return engine


def _set_up_sqlite(raw: Any, synchronous: str) -> None:
    """Configure SQLite: readers never wait for the writer, and writers wait for each other instead of failing."""
    cursor = raw.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {DEAD_AFTER_S * 1000}")
    _turn_on_write_ahead_log(cursor)
    for pragma in (
        f"synchronous = {synchronous}",
        "foreign_keys = ON",
        "secure_delete = ON",  # erased data are overwritten
        f"journal_size_limit = {LARGEST_LOG}",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _turn_on_write_ahead_log(cursor: Any) -> None:
    """Turn on write-ahead logging. If several processes open a new file at the same moment, SQLite refuses all but one at once, whatever their
    timeout: they try again.
    """
    until = time.monotonic() + DEAD_AFTER_S
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.02)


def empty_log(connection: sa.Connection) -> None:
    """SQLite: bring the log into the database as far as there is room, and give back its own, unless somebody reads from it. Waits for nobody."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA busy_timeout = 0")
        try:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {DEAD_AFTER_S * 1000}")


def said_by_driver(error: BaseException | None) -> str | None:
    """The first line of what the database says of an error of its own, not of a row's, whose values it may quote; None if it says nothing."""
    said = str(getattr(error, "orig", None) or "").strip()
    return said.splitlines()[0] if said else None


def is_reachable(engine: sa.Engine) -> bool:
    """Whether the database answers a query now."""
    try:
        with transaction(engine) as connection:
            connection.execute(sa.text("SELECT 1"))
    except StoreError:
        return False
    return True
