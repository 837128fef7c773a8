"""A route whose map reads questions, with verdicts inside its regimes."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from hedgerow.calibration import FittedMap, MapRegistry, PlattMap, Provenance
from hedgerow.calibration.maps.local import LocalMap, packed
from hedgerow.proxy.audit.store import open_store
from hedgerow.proxy.config import Audit
from tests.support.audit import fill


def reads_questions(folder: Path) -> None:
    """Map `reads` of the route `test` in folder/maps, and 300 verdicts in folder/audit.db: in regime 1 a third is right, regime 2 has ten."""
    base, centre = PlattMap(1.0, 0.0), packed(np.zeros(3))
    local = LocalMap(
        base, base, dimension=3, weights=packed(np.zeros(3)), anchors=packed(np.zeros((1, 3))), anchor_counts=packed([9.0]),
        regimes=((-1, centre, "court, trial, judge, contract, plaintiff, liability"), (1, centre, "")),
    )  # fmt: skip
    registry = MapRegistry(folder / "maps")
    registry.add("reads", FittedMap(local, Provenance(500, 0.6, "0" * 64, "semantic", "m", datetime.now(UTC))))
    registry.activate("reads", route="test")
    regime = np.array([1] * 90 + [2] * 10 + [0] * 200)
    correct = np.where(regime == 1, np.arange(300) % 3 == 0, True).astype(float)

    async def work() -> None:
        store = await open_store(Audit(url=f"sqlite:///{folder}/audit.db", spool=folder / "spool"), lambda _: None)
        try:
            await fill(store, [8] * 300, correct.tolist(), map=local, map_id="reads", regime=regime.tolist())
        finally:
            await store.aclose()

    with ThreadPoolExecutor(1) as thread:  # a browser test has a loop of its own in this one
        thread.submit(asyncio.run, work()).result()
