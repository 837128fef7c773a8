"""Fit whether a request asks for what can be right or wrong: `python -m benchmarks.fits.reading_requests [--check]`.

The requests are those of tests/data/requests.jsonl (`by` says who labelled: a reader, one by one; the source, sets of questions of fact; or older rules) and of
tests/data/prompts.tsv. Every figure is of requests that the weights were not fitted on, by ten folds. The threshold is set so that enough of the requests that ask pass.
"""

from __future__ import annotations

import hashlib
import json
import sys

import numpy as np

from benchmarks import ROOT
from benchmarks.fits.softmax import fit_softmax
from hedgerow.lexicon.reading import features
from hedgerow.lexicon.reading.local import DATA

TESTS = ROOT / "tests" / "data"
SHARES = {"reading": 1.0, "own": 1.0, "prompts": 1.0, "source": 0.6, "rules": 0.4}
"""What a request weighs, by who labelled it."""
FOLDS, KEPT = 10, 0.89
"""Folds; the share of the requests that a reader says ask which must pass."""


def read() -> list[tuple[str, bool, str]]:
    """(request, whether it asks, who says so), of those that are clearly one or the other."""
    rows = map(json.loads, (TESTS / "requests.jsonl").read_bytes().splitlines())
    prompts = (line.split("\t") for line in (TESTS / "prompts.tsv").read_text(encoding="utf-8").splitlines())
    return [(r["request"], r["asks"] == "yes", r["by"]) for r in rows if r["asks"] != "either"] + [
        (text, asks == "yes", "prompts") for asks, text in prompts
    ]


def main() -> None:
    rows = read()
    names = [list(features.of_request(text)) for text, _, _ in rows]
    y = np.array([asks for _, asks, _ in rows]).astype(int)
    by = np.array([who for *_, who in rows])
    share, none = np.array([SHARES[who] for who in by]), np.zeros((len(rows), 0))
    fold = np.array([int(hashlib.sha256(text.encode()).hexdigest(), 16) % FOLDS for text, _, _ in rows])
    seeks = np.zeros(len(rows))

    def fit(at: np.ndarray):  # type: ignore[no-untyped-def]
        return fit_softmax([names[i] for i in at], none[at], y[at], ("no", "yes"), share=share[at], fewest=2)

    for k in range(FOLDS):
        model = fit(np.flatnonzero(fold != k))
        for i in np.flatnonzero(fold == k):
            seeks[i] = model.probabilities(names[i])[1]
    threshold = round(float(np.quantile(seeks[(y == 1) & (by == "reading")], 1 - KEPT)), 3)
    print(f"threshold {threshold}")
    for who in SHARES:
        yes, no = seeks[(by == who) & (y == 1)], seeks[(by == who) & (y == 0)]
        passed = f"of {len(yes)} that ask {(yes >= threshold).mean():.3f} pass" if len(yes) else "none asks"
        stopped = f"of {len(no)} others {(no < threshold).mean():.3f} are stopped" if len(no) else "no others"
        print(f"  by {who}: {passed}, {stopped}")
    if "--check" not in sys.argv:
        fit(np.arange(len(rows))).save(DATA / "requests.npz")


if __name__ == "__main__":
    main()
