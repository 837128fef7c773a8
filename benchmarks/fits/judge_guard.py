"""Does the shipped judge help the guard? `python -m benchmarks.fits.judge_guard`: good and harmful rewrites that it would refuse, by threshold.

Good ones refused are answers that go unhedged for nothing; harmful ones count only where the guard lets them pass without the judge.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from benchmarks import ROOT
from hedgerow.calibration import Beta
from hedgerow.lexicon import Retriever, load
from hedgerow.proxy.rewriting import FactGuard
from hedgerow.proxy.rewriting.entailment import LocalEntailment
from hedgerow.proxy.types import Rewrite, RewriteRequest

THRESHOLDS = (0.2, 0.3, 0.4, 0.5)


def rows(name: str) -> list[dict[str, Any]]:
    """Rewrites with their drafts (tests/data)."""
    lines = (ROOT / "tests" / "data" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def scores(given: list[dict[str, Any]]) -> np.ndarray:
    """The lower score of both ways, of each."""
    pairs = [pair for row in given for pair in ((row["draft"], row["rewrite"]), (row["rewrite"], row["draft"]))]
    return np.array(LocalEntailment()(pairs)).reshape(-1, 2).min(axis=1)


def passes(given: list[dict[str, Any]]) -> np.ndarray:
    """Which the guard accepts without the judge."""
    guard, retriever = FactGuard(), Retriever(load())
    accepted = []
    for row in given:
        target = Beta.from_mean(row["target"], 10)
        request = RewriteRequest(row["question"], row["draft"], target, retriever.nearest(target, 5))
        accepted.append(guard.check_sync(request, Rewrite(row["rewrite"], None)).accepted)
    return np.array(accepted)


def main() -> None:
    good, harmful = rows("guard_good"), rows("guard_harmful")
    good_scores, harmful_scores, slipped = scores(good), scores(harmful), passes(harmful)
    told = {
        str(t): {
            "good refused": round(float((good_scores < t).mean()), 3),
            "harmful refused": round(float((harmful_scores < t).mean()), 3),
            "of those that slip through the guard": round(float((harmful_scores[slipped] < t).mean()), 3),
        }
        for t in THRESHOLDS
    }
    counts = {"good": len(good), "harmful": len(harmful), "harmful that slip through the guard": int(slipped.sum())}
    print(json.dumps(counts | told, indent=1))


if __name__ == "__main__":
    main()
