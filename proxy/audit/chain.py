"""Hash chains of rows, by which altered, missing or moved rows are found. Pure functions.

Each writer (one process) keeps one chain a route. A row's hash covers every column and the hash of the previous row. Data that retention and
erasure may delete (texts, the user's hash) are covered by a salted digest, and the salt is deleted with them. Both ends of a chain are stored in
`chains` under a seal, so that rows removed at an end are noticed. With a key all hashes are HMACs: somebody who can write to the database but
does not have the key can neither alter a row nor shorten a chain unnoticed.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Literal

import orjson

from .entry import Row

END = "audit_chain_end"
"""The log line of a chain's end, which `hedgerow audit verify --ends` compares."""
GENESIS = "0" * 64
"""The `previous` hash of the first row."""
OUTSIDE = frozenset({"hash", "user_hash", "salt", "erased_at", "asker", "question_hash"})
"""Columns that a row's own hash does not cover: erasure changes them; `digest` covers texts and user."""


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain."""

    seq: int = 0
    hash: str = GENESIS


def link(row: Row, key: bytes) -> str:
    """The hash of a row with its place in the chain: `writer`, `seq` and `previous` are columns like any other.

    Null columns are left out, so that a column added later changes no hash.
    """
    covered = {name: value for name, value in row.items() if value is not None and name not in OUTSIDE}
    return _hash(orjson.dumps(covered, option=orjson.OPT_SORT_KEYS), key)


def placed(row: Row, writer: str, head: Head, key: bytes) -> tuple[Row, Head]:
    """The row with its place at the end of a chain, and the chain's new end."""
    chained = row | {"writer": writer, "seq": head.seq + 1, "previous": head.hash}
    chained["hash"] = link(chained, key)
    return chained, Head(head.seq + 1, chained["hash"])


def digest(salt: str, user_hash: str | None, texts: Row | None) -> str:
    """The digest of a row's private part. Without the salt nobody can test guessed texts against it."""
    private = {name: value for name, value in (texts or {}).items() if value is not None}
    return _hash(salt.encode() + orjson.dumps([user_hash, private], option=orjson.OPT_SORT_KEYS), b"")


def seal(writer: str, route: str, which: Literal["start", "last"], head: Head, key: bytes) -> str:
    """The seal of one end of a chain, as stored in `chains`."""
    return _hash(orjson.dumps([which, writer, route, head.seq, head.hash]), key)


def _hash(data: bytes, key: bytes) -> str:
    return (hmac.digest(key, data, "sha256") if key else hashlib.sha256(data).digest()).hex()
