"""Fit proxy/pipeline/asked.json on labelled requests: `python -m benchmarks.fits.request_gate [--check]`.

The requests are those of tests/data/requests.jsonl: `asks` says whether an answer could be right or wrong (yes, no, or either), `by` who says so: one reader, who
read them one by one; the source (sets of questions of fact); or the patterns that stand before this gate, so that it learns from what they know. Every figure is
of requests that the weights were not fitted on, by ten folds. The threshold is set so that enough of the requests with answers pass.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass

import numpy as np
from scipy.stats import mannwhitneyu

from benchmarks import ROOT
from benchmarks.fits.logistic import fit_weights
from hedgerow.proxy.pipeline import asked

LABELLED = ROOT / "tests" / "data" / "requests.jsonl"
FOLDS, FEWEST, PENALTY = 10, 2, 2.0
"""Folds; requests that a feature must stand in; the prior's precision."""
SHARES = {"reading": 1.0, "source": 0.4, "rules": 0.4}
"""What one request weighs, by who says what it asks."""
KEPT = 0.88
"""Share of the requests that a reader calls answerable that must pass."""


@dataclass(frozen=True)
class Request:
    """A labelled request, in the small letters that the gate reads."""

    asks: bool
    by: str
    text: str

    @property
    def fold(self) -> int:
        return int(hashlib.sha256(self.text.encode()).hexdigest(), 16) % FOLDS


def read() -> list[Request]:
    """The requests that are clearly one or the other."""
    rows = map(json.loads, LABELLED.read_bytes().splitlines())
    return [Request(r["asks"] == "yes", r["by"], asked.ends(r["request"])) for r in rows if r["asks"] != "either"]


def fit(rows: list[Request]) -> dict[str, float]:
    """Weights by name."""
    y = np.array([row.asks for row in rows], dtype=float)
    share = np.array([SHARES[row.by] for row in rows])
    return fit_weights([asked.features(row.text) for row in rows], y, share, fewest=FEWEST, penalty=PENALTY)


def held_out_scores(rows: list[Request]) -> np.ndarray:
    """Each request's log-odds by weights fitted on the other folds."""
    result = np.zeros(len(rows))
    for k in range(FOLDS):
        weights = fit([row for row in rows if row.fold != k])
        for at, row in enumerate(rows):
            if row.fold == k:
                result[at] = asked.total(weights, asked.features(row.text))
    return result


def main() -> None:
    rows = read()
    z = held_out_scores(rows)
    asks, by_reader = np.array([row.asks for row in rows]), np.array([row.by == "reading" for row in rows])
    threshold = round(float(np.quantile(z[asks & by_reader], 1 - KEPT)), 2)
    for name, some in (("read", by_reader), ("by their source or by the patterns", ~by_reader)):
        yes, no = z[some & asks], z[some & ~asks]
        area = mannwhitneyu(yes, no).statistic / (len(yes) * len(no))
        print(
            f"{name}: of {len(yes)} that have an answer {(yes >= threshold).mean():.3f} pass, of {len(no)} others {(no < threshold).mean():.3f} are stopped, AUROC {area:.3f}"
        )
    weights = fit(rows)
    fitted = {
        "fitted_on": f"{len(rows)} requests of tests/data/requests.jsonl",
        "threshold": threshold,
        "weights": weights,
    }
    if "--check" not in sys.argv:
        asked.WEIGHTS.write_text(json.dumps(fitted, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
