"""Opening the audit's database: SQLite beside the process by default, PostgreSQL where several processes write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from hedgerow.proxy.audit.schema import migrate
from hedgerow.proxy.config import Audit
from hedgerow.proxy.errors import StoreError

Connection = sa.Connection
Engine = sa.Engine
"""For annotations elsewhere: SQLAlchemy is known in this folder only."""
DEAD_AFTER_S = 5
"""Seconds after which a database that does not answer counts as down."""
_POSTGRES = {
    "connect_timeout": DEAD_AFTER_S,
    "tcp_user_timeout": DEAD_AFTER_S * 1000,
    "keepalives_idle": DEAD_AFTER_S,
    "options": f"-c lock_timeout={DEAD_AFTER_S}s",
    "application_name": "hedgerow",
}
"""What libpq is told, unless the address says otherwise."""


def sqlite_file(settings: Audit) -> Path | None:
    """The file of an SQLite audit; None for another database, for one in memory, or for an address that is none."""
    try:
        url = sa.make_url(settings.url)
    except sa.exc.ArgumentError:
        return None
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database not in (None, ":memory:") else None


def shown_address(settings: Audit) -> str:
    """The store's address without its password."""
    return sa.make_url(settings.url).render_as_string(hide_password=True)


def open_engine(settings: Audit) -> sa.Engine:
    """Connect, and bring the schema up to date.

    Raises:
        StoreError: the address is wrong, its driver is missing, or the database cannot be opened.
    """
    try:
        url = sa.make_url(settings.url)
        engine = _postgres(url) if url.get_backend_name() == "postgresql" else _sqlite(url, settings.synchronous)
    except (sa.exc.SQLAlchemyError, ImportError, OSError) as error:
        raise StoreError(f"the audit store cannot be opened: {error}") from error
    migrate(engine)
    engine.dispose()  # the connection that migrated was more patient than the others may be
    return engine


def _postgres(url: sa.URL) -> sa.Engine:
    """Idle connections are tried before they are used: a server that was restarted costs no request."""
    arguments = {name: value for name, value in _POSTGRES.items() if name not in url.query}
    url = url.set(drivername="postgresql+psycopg")
    return sa.create_engine(url, pool_pre_ping=True, connect_args=arguments, hide_parameters=True)


def _sqlite(url: sa.URL, synchronous: str) -> sa.Engine:
    if url.get_backend_name() == "sqlite" and url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(url, hide_parameters=True)  # errors are logged, and parameters are what people said
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", lambda raw, _: _set_up_sqlite(raw, synchronous))
    return engine


def _set_up_sqlite(raw: Any, synchronous: str) -> None:
    """Readers never wait for the writer; writers wait for each other instead of failing."""
    cursor = raw.cursor()
    for pragma in (
        f"busy_timeout = {DEAD_AFTER_S * 1000}",  # first: the next one waits for others too
        "journal_mode = WAL",
        f"synchronous = {synchronous}",
        "foreign_keys = ON",
        "secure_delete = ON",  # what was erased is overwritten
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def answers(engine: sa.Engine) -> bool:
    """Whether the database can be asked just now."""
    try:
        with engine.connect() as connection:
            connection.execute(sa.text("SELECT 1"))
    except sa.exc.SQLAlchemyError:
        return False
    return True
