"""An audit full of answers and verdicts: made up, with a known truth."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.calibration import CalibrationMap, IdentityMap, faithfulness_divergence
from hedgerow.calibration.maps.base import apply_map
from hedgerow.proxy.audit.rows import Entry
from hedgerow.proxy.audit.store import AuditStore
from hedgerow.proxy.audit.verdicts import Verdict

SAMPLES = 10


def agreement(rng: np.random.Generator, n: int) -> Any:
    """Sizes of the largest of ten samples' clusters."""
    return rng.integers(3, 10, n)


def right(rng: np.random.Generator, agree: Any, *, shift: float = 0.0) -> Any:
    """Outcomes of a model that is right as often as the square of its agreement; `shift` is added to its log-odds."""
    odds = np.log((agree / SAMPLES) ** 2 / (1.0 - (agree / SAMPLES) ** 2)) + shift
    return rng.random(len(agree)) < 1.0 / (1.0 + np.exp(-odds))


async def fill(
    store: AuditStore,
    agree: Sequence[int],
    correct: Sequence[Any],
    *,
    start: int = 0,
    map: CalibrationMap | None = None,
    map_id: str | None = None,
    route: str = "test",
    regime: Sequence[int] | None = None,
    propensity: Sequence[float | None] | None = None,
    asker: Sequence[str | None] | None = None,
    question: Sequence[str | None] | None = None,
    key: Sequence[str | None] | None = None,
) -> list[str]:
    """Answers with these agreements under a map, one a second up to now, each with its verdict; their ids."""
    nobody = [None] * len(agree)
    drawn = propensity or [None] * len(correct)
    alpha = np.asarray(agree, dtype=float)
    a, b = apply_map(map or IdentityMap(), alpha, SAMPLES - alpha)
    names = [f"hr_{start + i:011x}{i:016x}" for i in range(len(alpha))]
    rows = [
        {
            "id": name, "created_at": time.time() - len(alpha) + i, "path": "/v1/chat/completions", "status": "hedged",
            "duration_ms": 1.0, "route": route, "mode": "on", "signal": "semantic", "map_id": map_id, "model": "m",
            "raw_alpha": alpha[i], "raw_beta": SAMPLES - alpha[i], "alpha": a[i], "beta": b[i],
            "story": None if regime is None else {"place": {"regime": int(regime[i]) or None}},
            "fd_expected": float(a[i] / SAMPLES * faithfulness_divergence(a[i], b[i], 1)),
            "asker": (asker or nobody)[i], "question_hash": (question or nobody)[i], "key": (key or nobody)[i],
        }
        for i, name in enumerate(names)
    ]  # fmt: skip
    await asyncio.gather(*(store.write(Entry(row)) for row in rows))
    for first in range(0, len(correct), 1000):
        some = slice(first, first + 1000)
        judged = zip(names[some], correct[some], drawn[some], strict=True)
        await store.add_verdicts([Verdict(name, float(y), propensity=p) for name, y, p in judged])
    return names
