"""The request explorer's rows, against a handful that can be filtered by hand, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from hedgerow.proxy.audit import explorer
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.explorer import Filter, Place, requests
from hedgerow.proxy.audit.hours import sum_up_next
from hedgerow.proxy.audit.tables import answers, texts, verdicts
from hedgerow.proxy.config import Audit
from tests.support.tables import cases


def row(name: str, at: float, **values: Any) -> dict[str, Any]:
    fixed = {"path": "/v1/chat/completions", "mode": "on", "status": "hedged", "route": "a", "duration_ms": 10.0}
    sure = {"alpha": 8.0, "beta": 2.0, "raw_alpha": 9.0, "raw_beta": 1.0, "store_text": "full"}
    return {"id": name, "created_at": at} | fixed | sure | values


@pytest.fixture
def connection(store_url: str) -> Iterator[sa.Connection]:
    """Seven requests; x4 and x5 of the same moment."""
    engine = open_engine(Audit(url=store_url))
    with engine.begin() as opened:
        for values in (
            row("x1", 1.0, key="ada", model="m"),
            row("x2", 2.0, alpha=2.0, beta=8.0),
            row("x3", 3.0, route="b", status="plain", arm="on"),
            row("x4", 4.0, route=None, status="failed", alpha=None, beta=None, store_text=None),
            row("x5", 4.0, store_text="redacted"),
            row("x6", 6.0, store_text="hashed"),
            row("x7", 7.0),
        ):
            opened.execute(sa.insert(answers).values(**values))
        for name, question, answer in (
            ("x1", "How many moons has Mars?", "Two, at 100 %."),
            ("x5", "Is 100 a square?", "Probably YES."),
            ("x6", "sha256:yes", "sha256:100"),
            ("x7", "A_B?", "x" * 400),
        ):
            opened.execute(sa.insert(texts).values(answer_id=name, question=question, answer=answer))
        for name, correct, current in (("x1", 0.0, False), ("x1", 1.0, True), ("x2", 0.25, True)):
            verdict = {"answer_id": name, "correct": correct, "current": current, "created_at": 9.0, "source": "client"}
            opened.execute(sa.insert(verdicts).values(verdict))
        yield opened
    engine.dispose()


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (Filter(), "x7 x6 x5 x4 x3 x2 x1"),
        (Filter(route="a"), "x7 x6 x5 x2 x1"),
        (Filter(route=""), "x4"),
        (Filter(key="ada"), "x1"),
        (Filter(model="m", status="hedged"), "x1"),
        (Filter(status="failed"), "x4"),
        (Filter(arm="on"), "x3"),
        (Filter(most=0.2), "x2"),
        (Filter(least=0.3, since=3.0, until=6.0), "x6 x5 x3"),
        (Filter(judged="right"), "x1"),
        (Filter(judged="wrong"), "x2"),
        (Filter(judged="any"), "x2 x1"),
        (Filter(judged="none", route="b"), "x3"),
        (Filter(text="yes"), "x5"),
        (Filter(text="100 %"), "x1"),
        (Filter(text="_b"), "x7"),
        (Filter(text="%"), "x1"),
        (Filter(text="sha256"), ""),
        (Filter(text="100", route="b"), ""),
    ],
)
def test_every_filter_chooses(connection: sa.Connection, chosen: Filter, names: str) -> None:
    """Newest first; a superseded verdict does not count, signs of patterns are searched as they stand, hashes are not searched."""
    assert [each["id"] for each in requests(connection, chosen).rows] == names.split()


def test_pages_follow_each_other_without_gap_or_repeat(connection: sa.Connection) -> None:
    """Also between rows of one moment, and when a row comes in meanwhile; a place survives being written into an address."""
    seen, after = [], None
    for _ in range(4):
        page = requests(connection, Filter(), after, size=2)
        seen.append([each["id"] for each in page.rows])
        after = Place.read(str(page.after)) if page.after else None
        connection.execute(sa.insert(answers).values(**row(f"y{len(seen)}", 10.0 + len(seen))))
    assert seen == [["x7", "x6"], ["x5", "x4"], ["x3", "x2"], ["x1"]]
    assert after is None


@cases("text", ["", "_", "x_y", "1.0", "DROP TABLE"])
def test_what_is_not_a_place_begins_at_the_newest(text: str) -> None:
    """An address is what anybody types."""
    assert Place.read(text) is None


def test_a_search_reads_so_many_texts_and_says_how_far_it_came(
    connection: sa.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on from there."""
    monkeypatch.setattr(explorer, "TEXTS_READ", 3)
    first = requests(connection, Filter(text="moons"))
    assert (first.rows, first.read_back_to) == ([], 4.0)
    second = requests(connection, Filter(text="moons"), first.after)
    assert (second.rows, second.read_back_to) == ([], 2.0)
    third = requests(connection, Filter(text="moons"), second.after)
    assert [each["id"] for each in third.rows] == ["x1"]
    assert third.after is None


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [Filter(status="failed"), Filter(status="failed", text="Why"), Filter(key="none")])
def test_what_is_rare_is_looked_for_through_so_many_rows(
    store_url: str, chosen: Filter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page says how far back it came, the next goes on from there, and together they find what one page without a limit finds."""
    engine = open_engine(Audit(url=store_url))
    with engine.begin() as opened:
        for hour in range(40):
            for i in range(3):
                status = "failed" if (hour, i) in {(2, 1), (3, 0), (30, 2)} else "hedged"
                at = 3600.0 * (hour + 0.3 * i)  # the first at the very beginning
                opened.execute(sa.insert(answers).values(**row(f"h{hour:02}{i}", at, status=status)))
                opened.execute(sa.insert(texts).values(answer_id=f"h{hour:02}{i}", question="Why?"))
    with engine.begin() as opened:
        whole = [each["id"] for each in requests(opened, chosen).rows]
    while sum_up_next(engine, 1e6) is not None:
        pass
    monkeypatch.setattr(explorer, "ROWS_READ", 10)
    names, reached, after = [], [], None
    with engine.begin() as opened:
        while True:
            page = requests(opened, chosen, after)
            names += [each["id"] for each in page.rows]
            if page.after is None:
                break
            reached.append(page.read_back_to)
            after = Place.read(str(page.after))
        assert requests(opened, Filter()).read_back_to is None, "a list of everything ends by its length"
    engine.dispose()
    assert names == whole
    assert reached == [3600.0 * hour for hour in range(36, 3, -4)]


def test_a_list_shortens_texts_and_an_export_does_not(connection: sa.Connection) -> None:
    """The figures beside them are those of the row; hashes are not shown as texts."""
    short, long = (requests(connection, Filter(route="a"), whole=whole).rows[0] for whole in (False, True))
    assert (len(short["answer"]), len(long["answer"])) == (explorer.SHOWN_CHARS, 400)
    assert set(short) == set(explorer.LISTED)
    assert short["confidence"] == pytest.approx(0.8)
    assert requests(connection, Filter(until=6.0)).rows[0]["question"] is None
    assert [each["correct"] for each in requests(connection, Filter(judged="any")).rows] == [0.25, 1.0]
