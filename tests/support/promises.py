"""Certificates with known thresholds, in a store of their own."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hedgerow.calibration.promises.certificate import Certificate, Promise, ServingThresholds
from hedgerow.calibration.promises.wishes import parse
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.maps import StoredCertificates
from hedgerow.proxy.config import Audit

WISHES = ("plain_wrong <= 5%", "answered_wrong <= 30%")


def certificate(
    name: str = "cert-1",
    *,
    wishes: tuple[str, ...] = WISHES,
    plain: float | None = 0.9,
    answer: float = 0.4,
    **more: Any,
) -> Certificate:
    """Plain from .9 on, nothing given below .4, for uncalibrated answers by their agreement."""
    starts = {
        "plain": plain or 1.0,
        "answered": answer,
        "plain_and_wrong": plain or 1.0,
        "abstain": answer,
        "worded": 0.8,
    }
    promises = tuple(Promise(wish, starts[wish.subject], 400, 8.0, 0.04, 0.025, 0.5) for wish in map(parse, wishes))
    known: dict[str, Any] = {
        "confidence": 0.95,
        "n": 800,
        "data_hash": "0" * 64,
        "data": "made up",
        "signal": "semantic",
    }
    thresholds = ServingThresholds(answer, plain, ((0.8, 0.85),) if any("worded" in wish for wish in wishes) else ())
    return Certificate(name, datetime.now(UTC), thresholds, promises, **(known | more))


def stored(url: str, *certificates: Certificate, key: bytes = b"") -> None:
    """Put certificates into a store."""
    engine = open_engine(Audit(url=url))
    for each in certificates:
        StoredCertificates(engine, key).add(each, actor="test")
    engine.dispose()


def settings(tmp_path: Path, **more: Any) -> dict[str, Any]:
    """A store of a test, with an admin key and a watcher that looks at once."""
    audit = {"url": f"sqlite:///{tmp_path}/audit.db", "spool": str(tmp_path / "spool"), "synchronous": "normal"}
    return {
        "audit": audit | more.pop("audit", {}),
        "server": {"admin_key": "k" * 20},
        "drift": {"every_s": 3600},
    } | more
