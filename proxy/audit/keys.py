"""Named keys in the store: made, changed, rotated and revoked, each with a row in `changes`. Of a secret only its hash is kept.

Functions of an engine, without an event loop: the server calls them on worker threads, the command line as they are.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from hedgerow.proxy.audit.engine import transaction
from hedgerow.proxy.audit.operators import note_change
from hedgerow.proxy.audit.tables import keys
from hedgerow.proxy.types import Key

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}$"
"""What a key may be called: a word that can stand in a log line, a label of a metric and an address."""
PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
PREFIX = "hgk_"
"""How every secret begins, so that whoever searches for leaked secrets finds it."""
MAX_OVERLAP_S = 90 * 86_400.0
"""Longest that a replaced secret may work on."""
HINT = 4
"""Characters at the end of a secret that are kept."""
_LOCK = 4_207_303
"""PostgreSQL: the advisory lock that makes those who change keys take turns. (SQLite has one writer anyway.)"""


@dataclass(frozen=True, slots=True)
class Secret:
    """What the hash of a secret stands for: a key, and until when; None where it ends with its key alone."""

    key: Key
    until: float | None = None


def hash_of(secret: str) -> str:
    """SHA-256 of a secret, in hex. A secret has 256 random bits, which nobody finds by trying: it needs no slow hash and no salt."""
    return hashlib.sha256(secret.encode()).hexdigest()


def read_keys(engine: sa.Engine) -> list[Key]:
    """All keys, by name.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine) as connection:
        return [_key(row) for row in connection.execute(sa.select(keys).order_by(keys.c.name)).mappings()]


def read_secrets(engine: sa.Engine, known: int) -> tuple[int, Mapping[str, Secret]] | None:
    """What every hash stands for, and the revision of the table; None where it is the `known` one still.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine, "snapshot") as connection:
        revision = _revision(connection)
        if revision == known:
            return None
        secrets: dict[str, Secret] = {}
        for row in connection.execute(sa.select(keys)).mappings():
            key = _key(row)
            if row["previous_hash"] is not None:
                secrets[row["previous_hash"]] = Secret(key, row["previous_until"])
            secrets[row["hash"]] = Secret(key)
        return revision, secrets


def create(engine: sa.Engine, wish: Key, *, actor: str, note: str | None = None) -> tuple[Key, str] | None:
    """Make a key; as it is kept, and its secret, which can never be had again. None where the name is taken, also by a revoked key.

    Raises:
        StoreError: the store cannot be written.
    """
    secret = _new_secret()
    with transaction(engine, "write") as connection:
        revision = _take_turn(connection)
        if _row(connection, wish.name) is not None:
            return None
        content = {name: getattr(wish, name) for name in CHANGEABLE} | {"role": wish.role}
        content |= {"name": wish.name, "hash": hash_of(secret), "hint": secret[-HINT:], "revision": revision}
        connection.execute(sa.insert(keys).values(content | {"created_at": time.time(), "created_by": actor}))
        _note(connection, actor, "key new", wish.name, None, _described(content), note)
        return _key(_row(connection, wish.name)), secret


def rotate(
    engine: sa.Engine, name: str, *, overlap_s: float, actor: str, note: str | None = None
) -> tuple[Key, str] | None:
    """Give a key a new secret; the old one ends after `overlap_s` seconds, and one that an earlier rotation left ends now. None where the
    name is not known, or the key is revoked.

    Raises:
        StoreError: the store cannot be written.
    """
    secret = _new_secret()
    with transaction(engine, "write") as connection:
        revision = _take_turn(connection)
        row = _row(connection, name)
        if row is None or row["revoked_at"] is not None:
            return None
        content = {"hash": hash_of(secret), "hint": secret[-HINT:], "revision": revision}
        content |= {"previous_hash": row["hash"], "previous_until": time.time() + overlap_s}
        _update(connection, name, content)
        overlap = f"both work for {overlap_s:g} s" if overlap_s else "the old one ends now"
        _note(connection, actor, "key rotate", name, f"…{row['hint']}", f"…{secret[-HINT:]}, {overlap}", note)
        return _key(_row(connection, name)), secret


def change(
    engine: sa.Engine, name: str, wishes: Mapping[str, Any], *, actor: str, note: str | None = None
) -> Key | None:
    """Change some of a key's `CHANGEABLE` columns; None where there is no such key.

    Raises:
        StoreError: the store cannot be written.
    """
    content = {column: wishes[column] for column in CHANGEABLE if column in wishes}
    with transaction(engine, "write") as connection:
        revision = _take_turn(connection)
        row = _row(connection, name)
        if row is None:
            return None
        before = {column: row[column] for column in content}
        _update(connection, name, content | {"revision": revision})
        _note(connection, actor, "key change", name, _described(before), _described(content), note)
        return _key(_row(connection, name))


def revoke(engine: sa.Engine, name: str, *, actor: str, note: str | None = None) -> Key | None:
    """End a key for good, with all of its secrets; None where there is no such key. One that is revoked already stays as it is.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine, "write") as connection:
        revision = _take_turn(connection)
        row = _row(connection, name)
        if row is not None and row["revoked_at"] is None:
            _update(connection, name, {"revoked_at": time.time(), "revision": revision})
            _note(connection, actor, "key revoke", name, f"…{row['hint']}", None, note)
            row = _row(connection, name)
        return None if row is None else _key(row)


CHANGEABLE = ("team", "routes", "expires_at", "requests_per_minute", "tokens_per_minute", "concurrency")
"""Columns that an operator may change at any time."""


def _new_secret() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def _take_turn(connection: sa.Connection) -> int:
    """Wait for other writers; the next revision."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    return _revision(connection) + 1


def _revision(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.max(keys.c.revision))).scalar() or 0


def _row(connection: sa.Connection, name: str) -> Any:
    return connection.execute(sa.select(keys).where(keys.c.name == name)).mappings().first()


def _update(connection: sa.Connection, name: str, content: Mapping[str, Any]) -> None:
    connection.execute(sa.update(keys).where(keys.c.name == name).values(content))


def _key(row: Any) -> Key:
    columns = {name: row[name] for name in Key.__slots__}
    return Key(**columns | {"routes": None if row["routes"] is None else tuple(row["routes"])})


def _described(content: Mapping[str, Any]) -> str:
    """What is set of a key, for the record of changes."""
    shown = {name: content[name] for name in (*CHANGEABLE, "role") if content.get(name) is not None}
    return ", ".join(f"{name.replace('_', ' ')} {_in_words(value)}" for name, value in shown.items()) or "no limits"


def _in_words(value: object) -> str:
    """Routes by name, a moment (the only float) as a date."""
    if isinstance(value, tuple | list):
        return " and ".join(map(str, value))
    return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M} UTC" if isinstance(value, float) else str(value)


def _note(
    connection: sa.Connection, actor: str, what: str, name: str, before: str | None, after: str | None, note: str | None
) -> None:
    note_change(
        connection, actor=actor, what=what, route=None, before=before, after=f"{name}: {after or 'ended'}", note=note
    )
