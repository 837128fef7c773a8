"""The hash chain: whatever is altered, removed, moved or added is found, and named by writer and place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from hedgerow.proxy.audit import rows
from hedgerow.proxy.audit.rows import Texts
from hedgerow.proxy.audit.store import AuditStore, hash_key
from hedgerow.proxy.audit.verify import Report, examine, kept_ends
from hedgerow.proxy.audit.verify import verify as verified
from hedgerow.proxy.cli import app
from hedgerow.proxy.config import Audit
from hedgerow.proxy.monitoring.logs import _json_line
from tests.support.tables import cases
from tests.unit.proxy.audit.conftest import Store, entry


def verify(store: Store, log: Sequence[str] = ()) -> Report:
    """A verification by a process of its own."""
    from hedgerow.proxy.audit.engine import open_engine

    engine = open_engine(store.settings)
    try:
        return verified(engine, hash_key(store.settings), kept=kept_ends(log))
    finally:
        engine.dispose()


@pytest.fixture
def written(store: Store) -> Store:
    """A store with two chains."""
    return filled(store)


@pytest.fixture(scope="module")
def shared(new_url: Callable[[Path], str], tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The same for tests that leave nothing behind."""
    folder = tmp_path_factory.mktemp("shared")
    return filled(Store(Audit(url=new_url(folder), spool=folder / "spool")))


def filled(store: Store) -> Store:
    """A store with a chain of six rows, with texts of two, and one of a request that no route took."""
    said = Texts("Who?", "Me.", "Probably me.", None, ("Me.", "You."))
    odd: Any = {
        "samples": 2,
        "alpha": 0.1 + 0.2,
        "beta": 1e-7,
        "served_agrees": False,
        "story": {"ß": [1, 2.5, None, "\u2028"]},
    }
    store.write(
        *(entry(f"a{i}", texts=said if i < 3 else None, user="u" if i == 1 else None, **odd) for i in range(1, 7)),
        entry("z1", route=None),
    )
    return store


def test_what_nobody_touched_is_whole(written: Store) -> None:
    """Both chains, over every kind of column."""
    report = verify(written)
    assert (report.chains, report.rows, report.findings) == (2, 7, [])


def test_the_hash_is_what_anybody_can_compute(written: Store) -> None:
    """From the columns alone, by the description: JSON of what is not null, sorted by name, then SHA-256."""
    (row,) = written.run(lambda opened: _columns(opened, "z1"))
    covered = {k: v for k, v in row.items() if v is not None and k not in ("hash", "user_hash", "salt", "erased_at")}
    data = json.dumps(covered, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert row["hash"] == hashlib.sha256(data.encode()).hexdigest()
    assert (row["seq"], row["previous"]) == (1, "0" * 64)


async def _columns(opened: AuditStore, name: str) -> list[Any]:
    row = await opened.get(name)
    assert row is not None
    return [{str(key): value for key, value in row.items() if key not in ("texts", "verdicts", "claim_verdicts")}]


ALTERED: list[tuple[str, list[tuple[int, str]]]] = [
    ("UPDATE answers SET alpha = 0.31 WHERE id = 'a3'", [(3, "was altered")]),
    ("UPDATE answers SET status = 'plain' WHERE id = 'a6'", [(6, "was altered")]),
    ("UPDATE answers SET hedge = 'probably' WHERE id = 'a1'", [(1, "was altered")]),
    ("UPDATE answers SET story = NULL WHERE id = 'a2'", [(2, "was altered")]),
    ("UPDATE answers SET tokens_answer = 1 WHERE id = 'a2'", [(2, "was altered")]),
    ("UPDATE answers SET created_at = 2 WHERE id = 'a2'", [(2, "was altered")]),
    ("UPDATE answers SET id = 'a9' WHERE id = 'a4'", [(4, "was altered")]),
    ("UPDATE answers SET digest = NULL WHERE id = 'a1'", [(1, "was altered"), (1, "has texts that its row does not cover")]),
    ("UPDATE texts SET question = 'What?' WHERE answer_id = 'a2'", [(2, "its texts were altered")]),
    ("UPDATE texts SET samples = '[]' WHERE answer_id = 'a2'", [(2, "its texts were altered")]),
    ("UPDATE answers SET user_hash = 'somebody' WHERE id = 'a1'", [(1, "its texts were altered")]),
    ("DELETE FROM texts WHERE answer_id = 'a2'", [(2, "its texts are missing, but were not erased")]),
    ("DELETE FROM answers WHERE id = 'a4'", [(4, "is missing")]),
    ("DELETE FROM answers WHERE id IN ('a4', 'a5')", [(4, "is missing, and all to 5")]),
    ("DELETE FROM answers WHERE id = 'a6'", [(6, "is missing")]),
    ("DELETE FROM answers WHERE id > 'a3' AND id < 'b'", [(4, "is missing, and all to 6")]),
    ("DELETE FROM answers WHERE id = 'z1'", [(1, "is missing")]),
    ("DELETE FROM chains WHERE route = 'r'", [(1, "the chain's ends are missing from `chains`")]),
    ("UPDATE chains SET start_seal = 'x' WHERE route = 'r'",
     [(0, "the chain's recorded start was altered (or was written with another hash_key)")]),
    ("UPDATE chains SET last_hash = 'x' WHERE route = 'r'",
     [(6, "the chain's recorded end was altered (or was written with another hash_key)"),
      (6, "is not the row that the chain's recorded end names")]),
    ("UPDATE chains SET last_seq = 5 WHERE route = 'r'",
     [(5, "the chain's recorded end was altered (or was written with another hash_key)"),
      (6, "follows the chain's recorded end")]),
]  # fmt: skip


@cases(("statement", "found"), ALTERED, ids=[statement for statement, _ in ALTERED])
def test_every_change_is_found_and_placed(shared: Store, statement: str, found: list[tuple[int, str]]) -> None:
    """By route and place; the rows around it are not blamed."""
    engine = sa.create_engine(shared.settings.url)
    with engine.connect() as connection:
        connection.execute(sa.text(statement))
        report = examine(lambda: nullcontext(connection), b"")
        connection.rollback()
    engine.dispose()
    assert [(finding.seq, finding.what) for finding in report.findings] == found
    assert {finding.writer for finding in report.findings} == set(shared.sql("SELECT writer FROM chains"))
    assert {finding.route for finding in report.findings} == {"" if "z1" in statement else "r"}


def test_rows_that_changed_places_are_found(written: Store) -> None:
    """The second and the fifth row of a chain, exchanged."""
    for old, new in (("2", "99"), ("5", "2"), ("99", "5")):
        written.sql(f"UPDATE answers SET seq = {new} WHERE seq = {old} AND route = 'r'")
    faults = {finding.seq: finding.what for finding in verify(written).findings}
    assert set(faults) >= {2, 5}
    assert faults[2].startswith("was moved")
    assert faults[5].startswith("was moved")


def test_a_row_replaced_together_with_its_hash_is_found(written: Store) -> None:
    """Whoever recomputes one hash breaks the link to the next row."""
    _forge(written, b"")
    (finding,) = verify(written).findings
    assert (finding.seq, finding.what) == (4, "follows another row than the one before it: that one was replaced")


def test_a_key_finds_what_recomputing_hides(store: Store, written: Store) -> None:
    """The last row replaced with its hash, its chain's end and the end's seal: whole without a key, found with one."""
    from pydantic import SecretStr

    _forge(written, b"", last=True)
    assert verify(written).findings == []
    store.sql("DELETE FROM texts")
    store.sql("DELETE FROM answers")
    store.sql("DELETE FROM chains")
    store.settings = store.settings.model_copy(update={"hash_key": SecretStr("the key")})
    store.write(*(entry(f"a{i}") for i in range(1, 7)))
    assert verify(store).findings == []
    _forge(store, b"", last=True)
    assert verify(store).findings != []


def _forge(store: Store, key: bytes, *, last: bool = False) -> None:
    """Replace a row of the chain with one that the forger hashed."""
    name = "a6" if last else "a3"

    async def row(opened: AuditStore) -> Any:
        return (await _columns(opened, name))[0]

    columns = store.run(row)
    story = store.sql(f"SELECT CAST(story AS TEXT) FROM answers WHERE id = '{name}'")[0]
    forged = columns | {"story": story, "status": "plain"}
    forged["hash"] = rows.link(forged, key)
    store.sql("UPDATE answers SET status = 'plain', hash = :hash WHERE id = :id", hash=forged["hash"], id=name)
    if last:
        seal = rows.seal(columns["writer"], "r", "last", rows.Head(6, forged["hash"]), key)
        store.sql(
            "UPDATE chains SET last_hash = :hash, last_seal = :seal WHERE route = 'r'", hash=forged["hash"], seal=seal
        )


def test_a_chain_goes_on_only_in_its_own_process(store: Store) -> None:
    """Two processes, two chains; each begins at one."""
    store.write(entry("a"), entry("b"))
    store.write(entry("c"))
    assert store.sql("SELECT seq FROM answers ORDER BY id") == [1, 2, 1]
    assert len(set(store.sql("SELECT writer FROM answers"))) == 2
    assert verify(store).findings == []


def test_a_cut_tail_is_found_by_ends_in_the_log(store: Store, lines: Any) -> None:
    """The line that `chains` held after row 3, copied in time, put back, and the rows behind it deleted: whole with any key, not with the log."""
    from pydantic import SecretStr

    store.settings = store.settings.model_copy(update={"hash_key": SecretStr("a key of some length")})

    async def work(opened: AuditStore) -> None:
        for number in range(1, 4):
            await opened.write(entry(f"a{number}"))
        opened.writer.tell_ends()
        opened.writer.tell_ends()
        with opened.engine.connect() as connection:
            held.update(connection.execute(sa.text("SELECT * FROM chains")).mappings().one())
        for number in range(4, 8):
            await opened.write(entry(f"a{number}"))
        await opened.write(entry("b1", route="other"))

    held: dict[str, Any] = {}
    store.run(work)
    log = _log(lines)
    assert [(json.loads(line)["route"], json.loads(line)["seq"]) for line in log] == [("r", 3), ("r", 7), ("other", 1)]
    assert verify(store, log).findings == []
    store.sql("DELETE FROM answers WHERE seq > 3 OR route = 'other'")
    store.sql(
        "UPDATE chains SET last_seq = :last_seq, last_hash = :last_hash, last_seal = :last_seal WHERE route = 'r'",
        **{name: held[name] for name in ("last_seq", "last_hash", "last_seal")},
    )
    store.sql("DELETE FROM chains WHERE route = 'other'")
    assert verify(store).findings == []
    docker = [f"2026-11-28T05:00:00Z stdout F {line}" for line in log]
    found = {(finding.route, finding.seq, finding.what) for finding in verify(store, ["Listening {", *docker]).findings}
    missing = "the chain's ends are missing from `chains`"
    assert found == {
        ("r", 4, "is missing, and all to 7: the end was cut off"),
        ("other", 1, "is missing: the end was cut off"),
        ("other", 1, missing),
    }


def test_a_row_replaced_with_everything_behind_it_is_found_by_ends_in_the_log(written: Store, lines: Any) -> None:
    """Without a key the last row, its hash, its chain's end and seal can be made anew; the log has another."""
    log = _log(lines)
    _forge(written, b"", last=True)
    assert verify(written).findings == []
    (finding,) = verify(written, log).findings
    assert (finding.seq, finding.what) == (6, "is not the row whose hash was kept in the log")


def test_the_command_compares_with_a_log(written: Store, lines: Any, tmp_path: Path) -> None:
    """A log as it was written, among other lines and bytes; one without ends is refused in a sentence."""
    config, log = tmp_path / "config.yaml", tmp_path / "proxy.log"
    upstreams = {"u": {"provider": "openai", "base_url": "http://127.0.0.1:9"}}
    settings = {
        "upstreams": upstreams,
        "routes": [{"name": "r", "upstream": "u"}],
        "audit": {"url": written.settings.url, "spool": str(tmp_path / "spool")},
    }
    config.write_text(json.dumps(settings))
    log.write_bytes(b"\xff audit_chain_end {]\n" + "\n".join(_log(lines)).encode())

    def run() -> Any:
        return CliRunner().invoke(app, ["audit", "verify", "--config", str(config), "--ends", str(log)])

    assert (done := run()).exit_code == 0, done.output
    written.sql("DELETE FROM answers WHERE route IS NULL")
    written.sql("DELETE FROM chains WHERE route = ''")
    assert (done := run()).exit_code == 1
    assert "the end was cut off" in done.output
    log.write_text('{"event": "request"}\n')
    assert (done := run()).exit_code == 2
    assert "holds no line audit_chain_end" in done.stderr


def test_what_retention_took_is_not_missed(written: Store, lines: Any) -> None:
    """A chain whose rows have all gone by their age still ends where the log says."""
    from hedgerow.proxy.audit.retention import purge
    from hedgerow.proxy.config import Settings

    log = _log(lines)
    settings = Settings(
        upstreams={"u": {"provider": "openai", "base_url": "http://127.0.0.1:9"}},
        routes=[{"name": "r", "upstream": "u"}],
        audit={"keep_rows_days": 1},
    )  # type: ignore[arg-type,list-item]
    engine = sa.create_engine(written.settings.url)
    purge(engine, settings, actor="test")
    engine.dispose()
    assert written.sql("SELECT count(*) FROM answers") == [0]
    assert verify(written, log).findings == []


def _log(lines: Any) -> list[str]:
    """The lines of ends, as the log writes them."""
    return [_json_line(None, "info", dict(line)).decode() for line in lines.of(rows.END)]
