"""Verify the audit: every row is hashed again and compared with its chain, in one snapshot of the store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType

import sqlalchemy as sa

from .. import strict_json
from . import chain
from .chain import GENESIS, Head
from .engine import transaction
from .entry import Row
from .tables import answers, chains, texts

ROWS_AT_A_TIME = 2000
_JSON = tuple(str(column.name) for column in answers.columns if isinstance(column.type, sa.JSON))
_COLUMNS = tuple(str(column.name) for column in answers.columns if column.name not in _JSON)
_TEXT = tuple(str(column.name) for column in texts.columns if column.name != "answer_id")
_TEXT_PREFIX = "texts."
"""Prefix of the text columns: both tables have a column `samples` and one `claims`."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A row or chain that was changed.

    Attributes:
        writer, route: the chain; the route is empty if no route matched the request.
        seq: the position in it, or the first of several.
        what: the fault, as one clause.
    """

    writer: str
    route: str
    seq: int
    what: str


@dataclass(slots=True)
class Report:
    """The result of a verification.

    Attributes:
        rows: rows in chains.
        unchained: rows outside every chain, which cannot be verified.
        erased: rows whose texts were deleted by erasure or retention.
        purged: rows deleted by retention.
    """

    chains: int = 0
    rows: int = 0
    unchained: int = 0
    erased: int = 0
    purged: int = 0
    findings: list[Finding] = field(default_factory=list)


Kept = Mapping[tuple[str, str], Mapping[int, str]]
"""Hashes of rows that were once the ends of their chains, as the log kept them: by writer and route, then by position."""
NOTHING: Kept = MappingProxyType({})


def kept_ends(lines: Iterable[str]) -> Kept:
    """The ends of chains among the lines of a JSON log, whatever stands before the JSON."""
    kept: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for line in lines:
        if chain.END in line:
            with suppress(
                ValueError, KeyError, TypeError, AttributeError
            ):  # a line of something else that holds the name
                told = strict_json.loads(line[line.index("{") :])
                if told["event"] == chain.END:
                    kept[str(told["writer"]), str(told["route"])][int(told["seq"])] = str(told["hash"])
    return kept


def verify(
    engine: sa.Engine, key: bytes, on_rows: Callable[[int], None] = lambda _: None, kept: Kept = NOTHING
) -> Report:
    """Verify everything; `on_rows` receives the number of further rows read.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine, "snapshot") as connection:
        return examine(connection, key, on_rows, kept)


def count(engine: sa.Engine) -> int:
    """Number of rows that a verification will read.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine) as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(answers)).scalar() or 0


def examine(
    connection: sa.Connection, key: bytes, on_rows: Callable[[int], None] = lambda _: None, kept: Kept = NOTHING
) -> Report:
    """Verify the rows that a transaction sees."""
    ends = {(end["writer"], end["route"]): dict(end) for end in connection.execute(sa.select(chains)).mappings()}
    report = Report(chains=len(ends), purged=sum(end["start_seq"] for end in ends.values()))
    seen = set()
    for place, rows in groupby(_rows(connection, on_rows), key=lambda row: (row["writer"], row["route"] or "")):
        if place[0] is None:
            report.unchained += sum(1 for _ in rows)
            continue
        seen.add(place)
        _verify_chain(place, ends.get(place), rows, key, report, kept.get(place, {}))
    for place in (ends.keys() | kept.keys()) - seen:
        _verify_chain(place, ends.get(place), iter(()), key, report, kept.get(place, {}))
    return report


def _rows(connection: sa.Connection, on_rows: Callable[[int], None]) -> Iterator[Row]:
    """All rows with their texts, chain by chain and in order. Story and claims are read as the text that was hashed."""
    columns = [*(answers.c[name] for name in _COLUMNS), *(texts.c[name] for name in _TEXT)]
    names = [*_COLUMNS, *(_TEXT_PREFIX + name for name in _TEXT), *_JSON]
    statement = (
        sa.select(*columns, *(sa.cast(answers.c[name], sa.Text) for name in _JSON))
        .select_from(answers.outerjoin(texts))
        .order_by(answers.c.writer, sa.func.coalesce(answers.c.route, ""), answers.c.seq)
    )
    with connection.execution_options(yield_per=ROWS_AT_A_TIME).execute(statement) as result:
        for part in result.partitions():
            yield from (dict(zip(names, row, strict=True)) for row in part)
            on_rows(len(part))


def _verify_chain(
    place: tuple[str, str], end: Row | None, rows: Iterator[Row], key: bytes, report: Report, kept: Mapping[int, str]
) -> None:
    """One chain from its recorded start to its recorded end, and to the last of its ends that were kept elsewhere."""

    def report_finding(seq: int, what: str) -> None:
        report.findings.append(Finding(*place, seq, what))

    last = Head(0, GENESIS)
    if end is None:
        report_finding(1, "the chain's ends are missing from `chains`")
    else:
        last = Head(end["start_seq"], end["start_hash"])
        _verify_ends(place, end, key, report_finding)
    for row in rows:
        report.rows += 1
        last = _verify_row(row, last, key, report_finding)
        report.erased += row["erased_at"] is not None
        if kept.get(row["seq"], row["hash"]) != row["hash"]:
            report_finding(row["seq"], "is not the row whose hash was kept in the log")
        if what := _private(row):
            report_finding(row["seq"], what)
    if (cut := max(kept, default=0)) > max(last.seq, end["last_seq"] if end else 0):
        report_finding(last.seq + 1, f"{_missing(last.seq + 1, cut)}: the end was cut off")
    if end is None:
        return
    if last.seq < end["last_seq"]:
        report_finding(last.seq + 1, _missing(last.seq + 1, end["last_seq"]))
    elif last.seq > end["last_seq"]:
        report_finding(end["last_seq"] + 1, "follows the chain's recorded end")
    elif last.hash != end["last_hash"]:
        report_finding(last.seq, "is not the row that the chain's recorded end names")


def _verify_ends(place: tuple[str, str], end: Row, key: bytes, add: Callable[[int, str], None]) -> None:
    start, last = Head(end["start_seq"], end["start_hash"]), Head(end["last_seq"], end["last_hash"])
    if end["start_seal"] != chain.seal(*place, "start", start, key):
        add(start.seq, "the chain's recorded start was altered (or was written with another hash_key)")
    if end["last_seal"] != chain.seal(*place, "last", last, key):
        add(last.seq, "the chain's recorded end was altered (or was written with another hash_key)")


def _verify_row(row: Row, before: Head, key: bytes, add: Callable[[int, str], None]) -> Head:
    """Verify a row against the previous one; returns its own place in the chain."""
    seq = row["seq"]
    covered = {name: value for name, value in row.items() if not name.startswith(_TEXT_PREFIX)}
    intact = chain.link(covered, key) == row["hash"]
    follows = row["previous"] == before.hash
    if seq > before.seq + 1:
        add(before.seq + 1, _missing(before.seq + 1, seq - 1))
    elif seq <= before.seq:
        add(seq, "occurs twice in the chain")
    elif not intact and not follows:
        add(seq, "was moved: it follows another row than the one before it, and its own hash is not its own")
    elif not follows:
        add(seq, "follows another row than the one before it: that one was replaced")
    elif not intact:
        add(seq, "was altered")
    return Head(seq, row["hash"])


def _missing(first: int, last: int) -> str:
    return "is missing" if first == last else f"is missing, and all to {last}"


def _private(row: Row) -> str | None:
    """The fault in the private part of a row; None if there is none."""
    texts_of_row = {name: row[_TEXT_PREFIX + name] for name in _TEXT if row[_TEXT_PREFIX + name] is not None}
    if row["erased_at"] is not None or row["digest"] is None:
        return "has texts that its row does not cover" if texts_of_row or row["user_hash"] or row["salt"] else None
    if row["salt"] is not None and chain.digest(row["salt"], row["user_hash"], texts_of_row) == row["digest"]:
        return None
    return "its texts were altered" if texts_of_row else "its texts are missing, but were not erased"


def chain_ends(engine: sa.Engine, route: str) -> list[Row]:
    """The ends of a route's chains: writer, seq, hash and seal of each, oldest writer first.

    Raises:
        StoreError: the store cannot be read.
    """
    c = chains.c
    statement = sa.select(c.writer, c.last_seq.label("seq"), c.last_hash.label("hash"), c.last_seal.label("seal"))
    with transaction(engine) as connection:
        ends = connection.execute(statement.where(c.route == route).order_by(c.updated_at, c.writer)).mappings()
        return [dict(row) for row in ends]
