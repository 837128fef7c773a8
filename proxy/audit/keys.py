"""Named keys in the store: create, change, rotate and revoke, each with a row in `changes`. Only the hash of a secret is stored.

Blocking functions of an engine: the server calls them in worker threads, the command line directly.
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

from ..types import Key
from .engine import transaction
from .operators import note_change
from .tables import answers, keys, verdicts

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}$"
"""Valid names of keys: words that can be used in log lines, metric labels and addresses."""
PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
PREFIX = "hgk_"
"""Prefix of every secret, so that scanners for leaked secrets find it."""
MAX_OVERLAP_S = 90 * 86_400.0
"""Longest that a replaced secret may work on."""
HINT = 4
"""Number of characters at the end of a secret that are stored."""
_LOCK = 4_207_303
"""PostgreSQL: the advisory lock for changes of keys. (SQLite has one writer anyway.)"""


@dataclass(frozen=True, slots=True)
class Secret:
    """The key of a secret's hash, and when the secret expires; None if it expires with its key."""

    key: Key
    until: float | None = None


def hash_of(secret: str) -> str:
    """SHA-256 of a secret, in hex. With 256 random bits a secret cannot be guessed, so that no slow hash and no salt are needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def read_keys(engine: sa.Engine) -> list[Key]:
    """All keys, by name.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine) as connection:
        return [_key(row) for row in connection.execute(sa.select(keys).order_by(keys.c.name)).mappings()]


def read_secrets(engine: sa.Engine, known: int) -> tuple[int, Mapping[str, Secret]] | None:
    """The secrets by hash, and the revision of the table; None if it is still the `known` revision.

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
    """Create a key. Returns it and its secret, which cannot be read again; None if the name is taken, also by a revoked key.

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
    """Give a key a new secret. The old one expires after `overlap_s` seconds, one from an earlier rotation now. None if the name is unknown or the
    key is revoked.

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
    """Change some of a key's `CHANGEABLE` columns; None if there is no such key.

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
    """Revoke a key with all its secrets permanently; None if there is no such key. A revoked key stays unchanged.

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
    """Take the lock; returns the next revision."""
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
    """The values of a key as text, for the record of changes."""
    shown = {name: content[name] for name in (*CHANGEABLE, "role") if content.get(name) is not None}
    return ", ".join(f"{name.replace('_', ' ')} {_in_words(value)}" for name, value in shown.items()) or "no limits"


def _in_words(value: object) -> str:
    """A value as text: routes by name, a time (the only float) as a date."""
    if isinstance(value, tuple | list):
        return " and ".join(map(str, value))
    return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M} UTC" if isinstance(value, float) else str(value)


def _note(
    connection: sa.Connection, actor: str, what: str, name: str, before: str | None, after: str | None, note: str | None
) -> None:
    note_change(
        connection, actor=actor, what=what, route=None, before=before, after=f"{name}: {after or 'ended'}", note=note
    )


# Figures of named keys from the audit: requests, tokens, confidence and verdicts.


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """The figures of one key.

    Attributes:
        failed: number of requests answered with an error.
        tokens: spent on its answers and on measuring them.
        confidence: mean calibrated confidence of its measured answers, 0..1; None without any.
        verdicts: number of answers with a verdict.
        right: mean of these, 0..1; None without any.
        last_used: seconds since 1970.
    """

    requests: int
    failed: int
    tokens: int
    measured: int
    confidence: float | None
    verdicts: int
    right: float | None
    last_used: float


def figures_of_keys(engine: sa.Engine, since: float) -> dict[str, KeyFigures]:
    """Figures of all keys used since a time, by name.

    Raises:
        StoreError: the store cannot be read.
    """
    a, count = answers.c, sa.func.count
    tokens = a.tokens_answer + a.tokens_samples + a.tokens_rewrite + a.tokens_escalation
    wanted = (
        sa.select(
            a.key,
            count().label("requests"),
            count(sa.case((a.status == "failed", 1))).label("failed"),
            sa.func.sum(tokens).label("tokens"),
            count(a.alpha).label("measured"),
            sa.func.avg(a.alpha / (a.alpha + a.beta)).label("confidence"),
            count(verdicts.c.correct).label("verdicts"),
            sa.func.avg(verdicts.c.correct).label("right"),
            sa.func.max(a.created_at).label("last_used"),
        )
        .outerjoin(verdicts, sa.and_(verdicts.c.answer_id == a.id, verdicts.c.current))
        .where(a.key.is_not(None), a.created_at >= since)
        .group_by(a.key)
    )
    with transaction(engine) as connection:
        rows = connection.execute(wanted).mappings()
        return {row["key"]: KeyFigures(**{name: row[name] for name in KeyFigures.__slots__}) for row in rows}
