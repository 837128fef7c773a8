"""From an answer to its row: the entry, privacy applied, text made storable, a digest of the private part, and its place in a hash chain."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import chain as in_a_row
from operator import itemgetter
from typing import Any, Literal, NamedTuple, cast

import orjson
import sqlalchemy as sa

from ..config import StoreText
from .tables import answers, texts

Row = dict[str, Any]
"""A row of `answers`, by column name."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one answer; None if there is no such text.

    Attributes:
        draft: the plain answer.
        answer: the final words; in shadow, what would have been served.
        served: in shadow, the text that the client got.
        samples: the answers drawn, in order.
        claims: of a long answer, the words of each claim, with its context.
    """

    question: str | None = None
    draft: str | None = None
    answer: str | None = None
    served: str | None = None
    samples: tuple[str, ...] | None = None
    claims: tuple[str, ...] | None = None


class Entry(NamedTuple):
    """One answer before privacy settings are applied.

    Attributes:
        row: figures and codes; omitted columns are null.
        texts: the unchanged texts.
        user: the client's own name for its user.
        conversation: what tells its conversation from others.
        store_text: how the texts may be stored.
    """

    row: Row
    texts: Texts | None = None
    user: str | None = None
    store_text: StoreText = "none"
    conversation: str | None = None


class Prepared(NamedTuple):
    """An entry to be stored: columns of `answers` except its place in a chain, and columns of `texts`."""

    row: Row
    texts: Row | None = None

    @property
    def id(self) -> str:
        """The audit id."""
        return str(self.row["id"])


# Hash chains of rows, by which altered, missing or moved rows are found. Pure functions.
#
# Each writer (one process) keeps one chain a route. A row's hash covers every column and the hash of the previous row.
# Data that retention and erasure may delete (texts, the user's hash) are covered by a salted digest, and the salt is
# deleted with them. Both ends of a chain are stored in `chains` under a seal, so that rows removed at an end are
# noticed. With a key all hashes are HMACs: somebody who can write to the database but does not have the key can neither
# alter a row nor shorten a chain unnoticed.

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


# How a text is stored: not at all, as a hash, without personal data and credentials, or in full.
#
# Redaction knows patterns, not people: e-mail addresses, telephone numbers, payment cards (Luhn), IBANs (mod 97), US
# social security numbers, IP addresses, keys and tokens, credentials in addresses. Names and postal addresses have no
# pattern; only `hashed` and `none` keep them out.

_SUSPECT = re.compile(
    r"[@\d]|sk-|hgk_|hf_|gh[a-z]_|glpat-|xox|AIza|eyJ|AKIA|ASIA|BEGIN|://|(?i:bearer|passw|secret|token|api)"
)
"""A text without any of these needs no redaction: for most answers this one search is enough."""


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit())


def _is_card(text: str) -> bool:
    """The check digit of payment cards (ISO/IEC 7812-1)."""
    doubled = [int(d) * (1 + i % 2) for i, d in enumerate(reversed(_digits(text)))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def _is_iban(text: str) -> bool:
    """The check digits of an IBAN (ISO 13616, ISO 7064 MOD 97-10)."""
    compact = text.replace(" ", "")
    return len(compact) <= 34 and int("".join(str(int(c, 36)) for c in compact[4:] + compact[:4])) % 97 == 1


def _is_phone(text: str) -> bool:
    return 8 <= len(_digits(text)) <= 15


_PATTERNS: tuple[tuple[str, str, Callable[[str], bool] | None], ...] = (
    ("key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?", None),
    ("key", r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*", None),  # JSON web tokens
    ("key", r"\b(?:sk-|hgk_|hf_|gh[a-z]_|github_pat_|glpat-|xox[a-z]-|AIza)[\w-]{6,}", None),
    ("key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", None),
    ("key", r"(?i:\bbearer\s+)(?P<only>[\w.~+/-]{6,}=*)", None),
    ("key", r"(?i:\b(?:password|passwd|secret|token|api[ _-]?key)\s*(?:[:=]|is\b)\s*)(?P<only>[^\s,;]+)", None),
    ("key", r"\b[0-9a-fA-F]{32,}\b", None),
    ("credentials", r"://(?P<only>[^\s/@:]+:[^\s/@]+)@", None),
    ("email", r"(?<![\w.%+'-])[\w.%+'-]+@[\w-]+(?:\.[\w-]+)+", None),
    ("iban", r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b", _is_iban),
    ("card", r"(?<![\w.,])\d(?:[ -]?\d){12,18}(?!\w|[.,]\d)", _is_card),
    ("ssn", r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])", None),
    ("ip", r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?!\w|\.\d)", None),
    ("ip", r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}(?![\w:])", None),
    ("ip", r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){1,6}(?::[0-9a-fA-F]{1,4}){1,6}(?![\w:])", None),
    ("phone", r"(?<![\w.,])\+\d(?:[ ().-]{0,2}\d){6,14}(?!\w)", _is_phone),
    ("phone", r"(?<![\w.,])(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?!\w)", None),
    ("phone", r"(?<![\w.,])\(?0\d{2,5}\)?[ /-]\d{2,10}(?:[ -]\d{2,8}){0,4}(?!\w|[.,]\d)", _is_phone),
    ("phone", r"(?<![\w.,])0\d(?:[ .-]\d\d){4}(?!\w)", None),
    ("phone", r"(?<![\w.,])0[1-9]\d{8,10}(?!\w|[.,]\d)", None),
)
"""What is redacted, in this order: name, pattern (`only`: the part that is removed), and a check of the match.

Repetitions are bounded or anchored at the start of a run, so that the time is linear in the length of the text."""
_COMPILED = tuple((f"[{name}]", re.compile(pattern), check) for name, pattern, check in _PATTERNS)


def redact(text: str) -> str:
    """The text with each match replaced by its name in brackets."""
    if _SUSPECT.search(text) is None:
        return text
    for name, pattern, check in _COMPILED:

        def replace(match: re.Match[str], name: str = name, check: Callable[[str], bool] | None = check) -> str:
            text = match[0]
            if check is not None and not check(text):
                return text
            only = match.groupdict().get("only")
            return name if only is None else text.replace(only, name)

        text = pattern.sub(replace, text)
    return text


def hashed(text: str, key: bytes) -> str:
    """SHA-256 of a text, as HMAC if there is a key: it shows only whether two texts are equal."""
    data = text.encode("utf-8", "replace")
    return "sha256:" + (hmac.digest(key, data, "sha256") if key else hashlib.sha256(data).digest()).hex()


def kept(texts: Texts, store_text: StoreText, key: bytes) -> Texts | None:
    """The texts as they may be stored; None for nothing."""
    if store_text == "none":
        return None
    if store_text == "full":
        return texts

    def keep(text: str | None) -> str | None:
        if text is None:
            return None
        return redact(text) if store_text == "redacted" else hashed(text, key)

    def keep_all(several: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if several is None else tuple(keep(text) or "" for text in several)

    return Texts(
        keep(texts.question),
        keep(texts.draft),
        keep(texts.answer),
        keep(texts.served),
        keep_all(texts.samples),
        keep_all(texts.claims),
    )


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
        row["digest"] = digest(row["salt"], row["user_hash"], private)
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
