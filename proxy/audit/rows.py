"""From an entry to database rows: privacy applied, text made storable, a digest of the private part."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache
from itertools import chain as in_a_row
from operator import itemgetter
from typing import Any, Literal, cast

import orjson
import sqlalchemy as sa

from . import chain
from .entry import Entry, Prepared, Row
from .privacy import kept
from .tables import answers, texts

LARGEST_COUNT = 2**31 - 1
"""Largest token count that PostgreSQL's integers hold; larger reports cannot be token counts."""
ROWS_PER_STATEMENT = (64, 8, 1)
"""Numbers of rows in an INSERT: few sizes, so that SQLite's driver keeps the statements prepared."""
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_LISTS = tuple(str(c.name) for c in texts.columns if isinstance(c.type, sa.JSON))
_ZEROS: Row = dict.fromkeys(("tokens_answer", "tokens_samples", "tokens_rewrite", "tokens_escalation"), 0)


def prepare(entry: Entry, key: bytes) -> Prepared:
    """An entry in its stored form.

    `key` keys the hashes, where there is one.
    """
    row = _storable_row(entry.row)
    texts_kept = kept(entry.texts, entry.store_text, key) if entry.texts is not None else None
    private = (
        _storable_texts({name: value for name, value in asdict(texts_kept).items() if value is not None})
        if texts_kept
        else {}
    )
    row["store_text"] = entry.store_text if entry.texts is not None else None
    row["user_hash"] = user_hash(entry.user, key) if entry.user else None
    if entry.texts is not None or entry.conversation is not None:
        row |= _origin(entry, entry.texts.question if entry.texts else None, key)
    if private or row["user_hash"]:
        row["salt"] = secrets.token_hex(16)
        row["digest"] = chain.digest(row["salt"], row["user_hash"], private)
    return Prepared(row, private | {"answer_id": row["id"]} if private else None)


def _origin(entry: Entry, question: str | None, key: bytes) -> Row:
    """Pseudonyms of whom the answer was for and of its question. Where no text may be kept, what is said in it has one only by a key."""
    may_tell = entry.store_text != "none" or key
    conversation = entry.conversation if may_tell else None
    asked = " ".join((question or "").casefold().split()) if may_tell else ""
    return {
        "asker": asker_of("user", entry.user, key) if entry.user else asker_of("conversation", conversation, key),
        "question_hash": user_hash(f"question {asked}", key)[:16] if asked else None,
    }


def asker_of(kind: Literal["user", "conversation"], name: str | None, key: bytes) -> str | None:
    """The pseudonym of a user or a conversation, by which verdicts are told that depend on each other."""
    return f"{kind}:{user_hash(f'{kind} {name}', key)[:16]}" if name else None


def user_hash(user: str, key: bytes) -> str:
    """The stored hash of a client's user. Without a key it is SHA-256, so that somebody who guesses the name can find its rows."""
    data = user.encode("utf-8", "replace")
    return (hmac.digest(key, data, "sha256") if key else hashlib.sha256(data).digest()).hex()


def text_parameters(row: Row) -> Row:
    """A row of `texts` as parameters for the driver."""
    return row | {name: orjson.dumps(row[name]).decode() for name in _LISTS if row.get(name) is not None}


def _storable_row(row: Row) -> Row:
    """The row as both databases return it, so that its hash can be computed again."""
    whole: Row = _ZEROS.copy()
    for name, value in row.items():
        if value is not None:
            convert = _STORABLE[name]
            whole[name] = value if convert is None else convert(value)
    return whole


def _storable_texts(texts: dict[str, Any]) -> Row:
    return {name: storable(v) if isinstance(v, str) else [storable(t) for t in v] for name, v in texts.items()}


def storable(text: str) -> str:
    """Text that both databases can store: U+FFFD replaces NUL and halves of surrogate pairs."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def _conversion(kind: Any) -> Callable[[Any], Any] | None:
    """The function that makes a value storable in a column; None if every value is. A string longer than its column ends in an ellipsis; story and
    claims become text.
    """
    if isinstance(kind, sa.JSON):
        return lambda value: orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    if isinstance(kind, sa.Float):
        return float
    if type(kind) is sa.Integer:
        return lambda value: min(value, LARGEST_COUNT)
    if isinstance(kind, sa.String) and (length := kind.length):
        # Nearly every value fits as it is, which costs no call here.
        return lambda value: (
            value if len(value) <= length and value.isascii() and "\0" not in value else _fitted(value, length)
        )
    return None


def _fitted(text: str, length: int) -> str:
    """A text made storable, and cut to the length of its column."""
    return text if len(text := storable(text)) <= length else f"{text[: length - 1]}…"


_STORABLE = {str(column.name): _conversion(column.type) for column in answers.columns}


def insert(connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
    """Insert rows, those with the same columns together.

    The driver is called directly, because SQLAlchemy's handling of parameters costs five times the insert itself. SQLite's driver releases
    the interpreter lock at every statement and must take it back from the event loop, so one statement inserts many rows; PostgreSQL's sends
    many statements at once. An omitted column costs nothing.
    """
    dialect: Any = type(connection.dialect)
    alike: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        alike.setdefault(tuple(row), []).append(row)
    for names, same in alike.items():
        for size in ROWS_PER_STATEMENT if dialect.name == "sqlite" else (1,):
            whole = len(same) // size * size
            statement, values = _insertion(table, names, size, dialect)
            starts = range(0, whole, size)
            if whole:
                parameters = [tuple(in_a_row.from_iterable(map(values, same[i : i + size]))) for i in starts]
                connection.exec_driver_sql(statement, cast(Any, parameters))
            same = same[whole:]


@lru_cache(maxsize=256)
def _insertion(
    table: sa.Table, names: tuple[str, ...], size: int, dialect: Any
) -> tuple[str, Callable[[Row], tuple[Any, ...]]]:
    """The statement that inserts `size` rows with these columns, and a function that reads a row's values in that order."""
    style = "qmark" if dialect.name == "sqlite" else "format"
    compiled = sa.insert(table).compile(dialect=dialect(paramstyle=style), column_keys=names)
    head, _, values = str(compiled).partition(" VALUES ")
    return f"{head} VALUES {', '.join([values] * size)}", itemgetter(*compiled.positiontup or ())
