"""Certificates in the store: kept as they were issued, newest first, and a chain that shows every change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from hedgerow.calibration.promises.certificate import Certificate, Promise, ServingThresholds
from hedgerow.calibration.promises.wishes import parse
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.maps import StoredCertificates
from hedgerow.proxy.audit.operators import read_changes
from hedgerow.proxy.errors import StoreError
from tests.unit.proxy.audit.conftest import Store

KEY = b"the audit's key"
START = datetime(2026, 11, 22, tzinfo=UTC)


def certificate(number: int, *, route: str = "support", map_id: str | None = "m1") -> Certificate:
    """A certificate that promises something."""
    promise = Promise(parse("plain_wrong <= 5%"), 0.9, 400, 9.0, 0.04, 0.05, 0.5)
    return Certificate(
        f"c{number}", START + timedelta(hours=number), ServingThresholds(plain=0.9), (promise,), 0.95, 800, "ab", map_id=map_id, route=route
    )  # fmt: skip


@pytest.fixture
def engine(store: Store) -> Iterator[sa.Engine]:
    """The engine of an empty store."""
    opened = open_engine(store.settings)
    yield opened
    opened.dispose()


def test_a_certificate_is_kept_as_it_was_issued(engine: sa.Engine) -> None:
    """Sealed, chained to the one before, and never overwritten."""
    stored = StoredCertificates(engine, KEY)
    first, second = stored.add(certificate(1), actor="ada"), stored.add(certificate(2), actor="ada")
    assert stored.get("c1") == first == certificate(1).sealed(KEY)
    assert second.previous == first.seal
    assert stored.verify() == []
    assert [(change.actor, change.after) for change in read_changes(engine)] == [("ada", "c2"), ("ada", "c1")]
    assert stored.get("c3") is None
    with pytest.raises(StoreError, match="never overwritten"):
        stored.add(replace(certificate(1), n=9), actor="ada")


def test_a_routes_certificates_are_its_own_and_those_for_any(engine: sa.Engine) -> None:
    """Newest first; those of another route are left out."""
    stored = StoredCertificates(engine, KEY)
    for one in (certificate(1), certificate(2, route="sales"), certificate(3, route="", map_id=None)):
        stored.add(one, actor="ada")
    assert [one.id for one in stored.read_all("support")[0]] == ["c3", "c1"]
    assert [one.id for one in stored.read_all()[0]] == ["c3", "c2", "c1"]


def test_one_that_is_damaged_takes_none_of_the_others_away(engine: sa.Engine, store: Store) -> None:
    """They are read; of it is known whose it was."""
    stored = StoredCertificates(engine, KEY)
    for one in (certificate(1), certificate(2, route="sales")):
        stored.add(one, actor="ada")
    store.sql("UPDATE certificates SET content = '[' WHERE id = 'c2'")
    readable, damaged = stored.read_all()
    assert [one.id for one in readable] == ["c1"]
    assert [(one.id, one.route) for one in damaged] == [("c2", "sales")]
    assert stored.read_all("support") == (readable, [])


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE certificates SET content = REPLACE(content, '\"plain\": 0.9', '\"plain\": 0.5') WHERE id = 'c2'", "c2: altered"),
        ("UPDATE certificates SET content = '{}' WHERE id = 'c2'", "c2: not a certificate"),
        ("DELETE FROM certificates WHERE id = 'c2'", "2 of the chain is missing"),
        ("DELETE FROM certificates WHERE id = 'c1'", "1 of the chain is missing"),
        ("UPDATE certificates SET seq = seq + 10 WHERE id = 'c1'", "1 of the chain is missing"),
    ],
)  # fmt: skip
def test_what_somebody_changed_is_found(engine: sa.Engine, store: Store, statement: str, fault: str) -> None:
    """Altered, damaged, removed, moved."""
    stored = StoredCertificates(engine, KEY)
    for number in (1, 2, 3):
        stored.add(certificate(number), actor="ada")
    store.sql(statement)
    assert any(fault in problem for problem in stored.verify())


def test_a_certificate_that_was_replaced_by_a_sealed_one_is_found(engine: sa.Engine, store: Store) -> None:
    """Another one under the same key, in the place of the first: the second follows another seal."""
    stored = StoredCertificates(engine, KEY)
    stored.add(certificate(1), actor="ada")
    stored.add(certificate(2), actor="ada")
    forged = replace(certificate(1), n=9).sealed(KEY)
    store.sql("UPDATE certificates SET content = :content WHERE id = 'c1'", content=forged.to_json())
    assert stored.verify() == ["certificate c2: the one before it was replaced"]


def test_a_seal_counts_with_its_own_key_only(engine: sa.Engine) -> None:
    """Without a key, and with another one."""
    StoredCertificates(engine, KEY).add(certificate(1), actor="ada")
    for key, fault in ((b"", "set audit.hash_key"), (b"another", "another hash_key")):
        assert fault in StoredCertificates(engine, key).verify()[0]
