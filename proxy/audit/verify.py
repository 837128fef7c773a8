"""Verify the audit: every row is hashed again and compared with its chain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from types import MappingProxyType

import sqlalchemy as sa

from .. import strict_json
from . import rows as chain
from .engine import follows, transaction
from .rows import Head, Row
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


Look = Callable[[], AbstractContextManager[sa.Connection]]
"""Opens a snapshot of the store."""
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
    """Verify everything, a snapshot for every `ROWS_AT_A_TIME` rows: one for all would hold SQLite's log, which grows with each row that is
    written meanwhile. `on_rows` receives the number of further rows read.

    Raises:
        StoreError: the store cannot be read.
    """
    return examine(lambda: transaction(engine, "snapshot"), key, on_rows, kept)


def count(engine: sa.Engine) -> int:
    """Number of rows that a verification will read.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine) as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(answers)).scalar() or 0


def examine(look: Look, key: bytes, on_rows: Callable[[int], None] = lambda _: None, kept: Kept = NOTHING) -> Report:
    """Verify the rows that snapshots show."""
    with look() as connection:
        places = sa.select(answers.c.writer, sa.func.coalesce(answers.c.route, "")).where(answers.c.writer.is_not(None))
        known = sa.select(chains.c.writer, chains.c.route)
        found = {(writer, route) for writer, route in connection.execute(known.union(places))}
        unchained = sa.select(sa.func.count()).select_from(answers).where(answers.c.writer.is_(None))
        report = Report(unchained=connection.execute(unchained).scalar_one())
    on_rows(report.unchained)
    for place in sorted(found | kept.keys()):
        _verify_chain(place, look, key, report, on_rows, kept.get(place, {}))
    return report


def _portion(
    connection: sa.Connection, place: tuple[str, str], after: tuple[int, str] | None
) -> tuple[Row | None, list[Row]]:
    """The ends of a chain, and its next rows with their texts. Story and claims are read as the text that was hashed."""
    writer, route = place
    end = connection.execute(sa.select(chains).where(chains.c.writer == writer, chains.c.route == route))
    columns = [*(answers.c[name] for name in _COLUMNS), *(texts.c[name] for name in _TEXT)]
    names = [*_COLUMNS, *(_TEXT_PREFIX + name for name in _TEXT), *_JSON]
    statement = (
        sa.select(*columns, *(sa.cast(answers.c[name], sa.Text) for name in _JSON))
        .select_from(answers.outerjoin(texts))
        .where(answers.c.writer == writer, answers.c.route == route if route else answers.c.route.is_(None))
        .order_by(answers.c.seq, answers.c.id)
        .limit(ROWS_AT_A_TIME)
    )
    if after is not None:
        statement = statement.where(answers.c.seq >= after[0], follows((answers.c.seq, answers.c.id), after))
    rows = [dict(zip(names, row, strict=True)) for row in connection.execute(statement)]
    return next((dict(row) for row in end.mappings()), None), rows


def _verify_chain(
    place: tuple[str, str],
    look: Look,
    key: bytes,
    report: Report,
    on_rows: Callable[[int], None],
    kept: Mapping[int, str],
) -> None:
    """One chain from its recorded start to its recorded end, and to the last of its ends that were kept elsewhere. Meanwhile it may grow, and
    retention may take its beginning.
    """

    def add(seq: int, what: str) -> None:
        report.findings.append(Finding(*place, seq, what))

    last, reached, after = Head(), -1, None
    while True:
        with look() as connection:
            end, rows = _portion(connection, place, after)
        if end is not None and end["start_seq"] > reached:
            last = Head(end["start_seq"], end["start_hash"])
            if end["start_seal"] != chain.seal(*place, "start", last, key):
                add(last.seq, "the chain's recorded start was altered (or was written with another hash_key)")
        if end is None and after is None:
            add(1, "the chain's ends are missing from `chains`")
        for row in rows:
            last = _verify_row(row, last, key, add)
            report.erased += row["erased_at"] is not None
            if kept.get(row["seq"], row["hash"]) != row["hash"]:
                add(row["seq"], "is not the row whose hash was kept in the log")
            if what := _private(row):
                add(row["seq"], what)
        report.rows += len(rows)
        on_rows(len(rows))
        if len(rows) < ROWS_AT_A_TIME:
            break
        reached, after = last.seq, (rows[-1]["seq"], rows[-1]["id"])
    if (cut := max(kept, default=0)) > max(last.seq, end["last_seq"] if end else 0):
        add(last.seq + 1, f"{_missing(last.seq + 1, cut)}: the end was cut off")
    if end is not None:
        report.chains, report.purged = report.chains + 1, report.purged + end["start_seq"]
        _verify_end(place, end, last, key, add)


def _verify_end(place: tuple[str, str], end: Row, last: Head, key: bytes, add: Callable[[int, str], None]) -> None:
    """Compare the last row with the chain's recorded end."""
    recorded = Head(end["last_seq"], end["last_hash"])
    if end["last_seal"] != chain.seal(*place, "last", recorded, key):
        add(recorded.seq, "the chain's recorded end was altered (or was written with another hash_key)")
    if last.seq < recorded.seq:
        add(last.seq + 1, _missing(last.seq + 1, recorded.seq))
    elif last.seq > recorded.seq:
        add(recorded.seq + 1, "follows the chain's recorded end")
    elif last.hash != recorded.hash:
        add(last.seq, "is not the row that the chain's recorded end names")


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
