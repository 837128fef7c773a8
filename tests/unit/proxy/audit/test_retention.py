"""Forgetting: what is past its time or asked to be forgotten is gone, figures and chain stay whole, and it is written down who did it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.retention import DAY_S, Purged, erase, purge
from hedgerow.proxy.audit.rows import Texts
from hedgerow.proxy.audit.store import AuditStore, purge_regularly
from hedgerow.proxy.audit.verdicts import Verdict
from hedgerow.proxy.config import Settings
from hedgerow.proxy.errors import StoreError
from hedgerow.proxy.supervision import Supervisor
from tests.unit.proxy.audit.conftest import Store, entry
from tests.unit.proxy.audit.test_chain import verify

SECRET = "the-quick-brown-fox-jumps"
SAID = Texts(SECRET, SECRET, SECRET, SECRET, (SECRET,))


def settings(store: Store, *, route: dict[str, Any] | None = None, **audit: Any) -> Settings:
    """Two routes: `r` as the audit says, `short` as given."""
    places = {"upstream": "u"}
    return Settings(
        upstreams={"u": {"provider": "openai", "base_url": "http://127.0.0.1:1/v1"}},
        routes=[{"name": "r"} | places, {"name": "short"} | places | (route or {})],
        audit=store.settings.model_dump() | audit,
    )


def aged(name: str, days: float, **more: Any) -> Any:
    """An answer of some days ago."""
    return entry(name, created_at=time.time() - days * DAY_S, texts=SAID, **more)


@pytest.fixture
def filled(store: Store) -> Store:
    """Rows of two routes, ten days to an hour old, in chains of one writer."""
    store.write(
        *(
            aged(f"{route}{days}", days, route=route, user="ada")
            for route in ("r", "short")
            for days in (10, 5, 2, 0.05)
        )
    )
    return store


def forget(store: Store, told: Settings) -> Purged:
    """A purge, by a process of its own."""
    engine = open_engine(store.settings)
    try:
        return purge(engine, told, actor="test")
    finally:
        engine.dispose()


def test_texts_go_and_figures_stay(filled: Store) -> None:
    """Past three days, with the user's hash and the salt; the chain is whole."""
    assert forget(filled, settings(filled, keep_texts_days=3)) == Purged(texts=4)
    assert sorted(filled.sql("SELECT answer_id FROM texts")) == ["r0.05", "r2", "short0.05", "short2"]
    assert len(filled.sql("SELECT id FROM answers")) == 8
    assert filled.sql("SELECT count(*) FROM answers WHERE user_hash IS NULL AND salt IS NULL AND erased_at > 0") == [4]
    report = verify(filled)
    assert (report.findings, report.erased) == ([], 4)
    assert forget(filled, settings(filled, keep_texts_days=3)) == Purged()
    assert filled.sql("SELECT note FROM changes WHERE what = 'purge'") == ["texts of 4 rows and 0 rows"]


def test_rows_go_from_the_beginning_of_their_chain(filled: Store) -> None:
    """With their verdicts; the recorded start moves, and what is left verifies."""
    filled.run(lambda opened: opened.add_verdicts([Verdict("r10", 1.0)]))
    assert forget(filled, settings(filled, keep_rows_days=4)) == Purged(rows=4)
    assert sorted(filled.sql("SELECT id FROM answers")) == ["r0.05", "r2", "short0.05", "short2"]
    assert filled.sql("SELECT count(*) FROM verdicts") == [0]
    report = verify(filled)
    assert (report.findings, report.purged) == ([], 4)
    assert forget(filled, settings(filled, keep_rows_days=0.001)) == Purged(rows=4)
    assert verify(filled).findings == []


def test_a_route_has_times_of_its_own(filled: Store) -> None:
    """Shorter or longer than the audit's."""
    changed = settings(filled, keep_rows_days=1, route={"keep_rows_days": float("inf"), "keep_texts_days": 1})
    assert forget(filled, changed) == Purged(texts=3, rows=3)
    assert sorted(filled.sql("SELECT id FROM answers")) == ["r0.05", "short0.05", "short10", "short2", "short5"]
    assert sorted(filled.sql("SELECT answer_id FROM texts")) == ["r0.05", "short0.05"]
    assert verify(filled).findings == []


def test_an_older_row_behind_a_younger_one_waits_for_it(store: Store) -> None:
    """As after a replay: the chain is only ever cut at its beginning."""
    store.write(aged("a", 10), aged("young", 1), aged("b", 10))
    assert forget(store, settings(store, keep_rows_days=4)) == Purged(rows=1)
    assert sorted(store.sql("SELECT id FROM answers")) == ["b", "young"]
    assert verify(store).findings == []


def test_a_cut_that_nobody_recorded_is_found(filled: Store) -> None:
    """Deleting from the beginning is not a purge."""
    filled.sql("DELETE FROM texts")
    filled.sql("DELETE FROM answers WHERE id = 'r10'")
    assert (1, "is missing") in [(finding.seq, finding.what) for finding in verify(filled).findings]


def test_rows_from_before_the_chains_go_too(store: Store) -> None:
    """They are in no chain."""
    store.write(aged("a", 10), aged("b", 1))
    store.sql("DELETE FROM chains")
    store.sql("UPDATE answers SET writer = NULL, seq = NULL, previous = NULL, hash = NULL")
    assert forget(store, settings(store, keep_rows_days=4)) == Purged(rows=1)
    assert store.sql("SELECT id FROM answers") == ["b"]
    assert verify(store).unchained == 1


@pytest.mark.parametrize(("which", "count"), [({"names": ["r10"]}, 1), ({"user": "ada"}, 8), ({"user": "eve"}, 0)])
def test_erasing_by_id_and_by_user(filled: Store, which: Any, count: int) -> None:
    """What was said is nowhere in the database any more; figures and chain stay."""
    filled.run(lambda opened: opened.add_verdicts([Verdict("r10", 1.0)]))
    filled.sql("UPDATE verdicts SET note = :note", note=SECRET)
    engine = open_engine(filled.settings)
    assert erase(engine, actor="test", **which) == count
    engine.dispose()
    assert filled.sql("SELECT count(*) FROM texts") == [8 - count]
    assert filled.sql("SELECT count(*) FROM verdicts WHERE note IS NOT NULL") == [0 if count else 1]
    assert filled.sql("SELECT count(*) FROM answers WHERE erased_at IS NULL") == [8 - count]
    report = verify(filled)
    assert (report.findings, report.erased) == ([], count)
    if count == 8 and filled.settings.url.startswith("sqlite"):
        path = Path(filled.settings.url.removeprefix("sqlite:///"))
        content = b"".join(file.read_bytes() for file in path.parent.glob(path.name + "*"))
        assert SECRET.encode() not in content


NOTE = "Anna asked ada@example.org about her divorce"


@pytest.mark.parametrize(
    ("level", "kept"),
    [("none", None), ("hashed", None), ("redacted", "Anna asked [email] about her divorce"), ("full", NOTE)],
)
def test_a_note_is_as_private_as_the_answer(store: Store, level: Any, kept: str | None) -> None:
    """On the answer, on a claim, and corrected later."""
    claim = {"raw": [1.0, 1.0], "calibrated": [1.0, 1.0]}
    store.write(entry("a", texts=SAID, store_text=level, claims=[claim]))
    told = [Verdict("a", 1.0, note=NOTE), Verdict("a", 0.0, note=NOTE), Verdict("a", 0.0, claim=0, note=NOTE)]
    store.run(lambda opened: opened.add_verdicts(told))
    assert notes(store) == [kept] * 3


def notes(store: Store) -> list[Any]:
    return store.sql("SELECT note FROM verdicts UNION ALL SELECT note FROM claim_verdicts")


@pytest.mark.parametrize("how", ["user", "id", "time"])
def test_notes_go_with_the_texts_and_none_come_after(store: Store, how: str) -> None:
    """Also where the answer has no text of its own."""
    store.write(aged("a", 10, user="ada"), entry("b", created_at=time.time() - 10 * DAY_S, texts=Texts(), user="ada"))
    store.run(lambda opened: opened.add_verdicts([Verdict(name, 1.0, note=NOTE) for name in ("a", "b")]))
    engine = open_engine(store.settings)
    if how == "time":
        store.sql("UPDATE answers SET digest = NULL, salt = NULL, user_hash = NULL WHERE id = 'b'")
        purge(engine, settings(store, keep_texts_days=4), actor="test")
    else:
        erase(engine, actor="test", **({"user": "ada"} if how == "user" else {"names": ["a", "b"]}))
    engine.dispose()
    assert notes(store) == [None, None]
    store.run(lambda opened: opened.add_verdicts([Verdict(name, 0.0, note=NOTE) for name in ("a", "b")]))
    assert notes(store) == [None] * 4


def test_a_purge_that_fails_is_tried_again(filled: Store, lines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A running proxy purges by itself: a store that is gone for a while is logged, and the next purge does the work."""
    failures = [StoreError("The audit store cannot be written: OperationalError.")]

    def purge_or_fail(engine: Any, told: Settings, **more: Any) -> Purged:
        if failures:
            raise failures.pop()
        return purge(engine, told, **more)

    monkeypatch.setattr("hedgerow.proxy.audit.store.purge", purge_or_fail)

    async def work(opened: AuditStore) -> None:
        for number in range(8):  # else it would take half of all rows, which needs somebody's word
            await opened.write(aged(f"new{number}", 0))
        every = settings(filled, purge_every_s=0.01, keep_rows_days=3)
        supervisor = Supervisor()
        supervisor.keep_running("purge", lambda: purge_regularly(opened, lambda: every))
        async with asyncio.timeout(60):
            while not lines.of("audit_purged"):  # noqa: ASYNC110 # log lines come without an event
                await asyncio.sleep(0.01)
        await supervisor.aclose()

    filled.run(work)
    assert [line["job"] for line in lines.of("background_failed")] == ["purge"]
    assert lines.of("audit_purged")[0]["rows"] == 4
    assert sorted(filled.sql("SELECT id FROM answers WHERE id NOT LIKE 'new%'")) == [
        "r0.05",
        "r2",
        "short0.05",
        "short2",
    ]
