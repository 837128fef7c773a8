"""Fit whether a request asks for what can be right or wrong: `python -m benchmarks.fits.reading_requests [--check]`.

The requests are those of tests/data/requests.jsonl (`by` says who labelled: a reader, one by one; the source, sets of questions of fact; or older rules),
of prompts.tsv, of acts.jsonl (its answers' sentences were labelled) and of editor_replies.jsonl (the editor says what claims). Every figure is of requests
that the weights were not fitted on, by ten folds; what was set `apart` is never fitted on.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import ROOT
from benchmarks.fits.softmax import fit_softmax
from hedgerow.lexicon.reading import features
from hedgerow.lexicon.reading.local import DATA
from hedgerow.proxy.pipeline.eligibility import ASKS

TESTS = ROOT / "tests" / "data"
SHARES = {
    "reading": 1.0,
    "own": 1.0,
    "prompts": 1.0,
    "acts": 1.0,
    "editor": 0.6,
    "source": 0.6,
    "rules": 0.4,
    "apart": 0.0,
}
"""What a request weighs, by who labelled it."""
FOLDS = 10


def read() -> list[tuple[str, bool, str]]:
    """(request, whether it asks, who says so), of those that are clearly one or the other."""
    rows = lines("requests.jsonl")
    prompts = (line.split("\t") for line in (TESTS / "prompts.tsv").read_text(encoding="utf-8").splitlines())
    found = [(r["request"], r["asks"] == "yes", r["by"]) for r in rows if r["asks"] != "either"]
    found += [(text, asks == "yes", "prompts") for asks, text in prompts]
    found += [
        (row["question"], asks, "acts" if row["split"] == "fitted" else "apart")
        for row in lines("acts.jsonl")
        if (asks := asks_by_acts(row)) is not None
    ]
    found += [
        (row["question"], bool(claims), "editor")
        for row in lines("editor_replies.jsonl")
        if (claims := claims_of(row["reply"])) is not None
    ]
    first: dict[str, tuple[str, bool, str]] = {}
    for row in found:
        if row[0].strip():
            first.setdefault(row[0], row)
    return list(first.values())


def lines(name: str) -> Iterator[Any]:
    """The rows of a file of tests/data."""
    return map(json.loads, (TESTS / name).read_bytes().splitlines())


def asks_by_acts(row: Any) -> bool | None:
    """Whether a request asks, by what the sentences of its answer do; None where they do not tell."""
    acts = row["acts"].split()
    if acts[:1] == ["states"] or acts.count("states") * 3 >= max(1, len(acts)):
        return True
    return None if {"states", "declines", "asks"} & set(acts) else False


def claims_of(reply: str) -> list[int] | None:
    """The sentences that an editor's reply calls claims; None of a reply that cannot be read."""
    try:
        claims = json.loads(reply)["claims"]
    except (ValueError, TypeError, KeyError):
        return None
    return claims if isinstance(claims, list) else None


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
        model = fit(np.flatnonzero((fold != k) & (share > 0)))
        for i in np.flatnonzero(fold == k):
            seeks[i] = model.probabilities(names[i])[1]
    for who in SHARES:
        yes, no = seeks[(by == who) & (y == 1)], seeks[(by == who) & (y == 0)]
        passed = f"of {len(yes)} that ask {(yes >= ASKS).mean():.3f} pass" if len(yes) else "none asks"
        stopped = f"of {len(no)} others {(no < ASKS).mean():.3f} are stopped" if len(no) else "no others"
        print(f"  by {who}: {passed}, {stopped}")
    if "--check" not in sys.argv:
        fit(np.flatnonzero(share)).save(DATA / "requests.npz")


if __name__ == "__main__":
    main()
