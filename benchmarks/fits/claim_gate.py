"""Fit proxy/rewriting/claims.json on labelled sentences of real answers: `python -m benchmarks.fits.claim_gate [--check]`.

The sentences are those of tests/data/claims.tsv; what the rules leave open is learnt from, each twice, with its question and without; figures are of requests
that reach the gate: asked for a claim, answered without code. The threshold is set by folds of whole prompts of the fitted part; `held`, `last` and `unseen` are measured and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.fits.logistic import fit_weights
from hedgerow.proxy.pipeline.eligibility import asks_for_claim
from hedgerow.proxy.rewriting import claims

LABELLED = Path(__file__).parents[2] / "tests" / "data" / "claims.tsv"
FOLDS, FEWEST, PENALTY, AWAY = 10, 3, 2.5, 0.3
"""Folds; sentences that a feature must stand in; the prior's precision; weight of a sentence whose request never reaches the gate."""
PRECISION = 0.975
"""Of what passes in the fitted part, by folds, so much must be claims: a little more than the goal, because the rules have seen that part."""
FITTED = frozenset({"tuned", "fresh", "later", "newest", "more"})
"""Splits that are learnt from; `fresh`, `later` and `newest` were held out once, `later` but for the prompts that `held` has as well. `more` is of sentences that an earlier
gate called claims or nearly did, so nothing is measured on it."""


@dataclass(frozen=True)
class Sentence:
    """A labelled sentence: `split` is tuned, held, or fresh, later, last, newest and unseen (drawn one after the other, each labelled when all before it was done); `claim` is yes,
    no or either; `reaches` whether its request is calibrated at all.
    """

    split: str
    claim: str
    kind: str
    prompt: str
    reaches: bool
    question: str
    text: str

    @property
    def body(self) -> str:
        return claims._MARKERS.sub("", self.text).replace("’", "'")

    @property
    def open(self) -> bool:
        """Whether the rules leave it to the logistic."""
        return claims.may_be(self.body, [word.lower() for word in claims._WORD.findall(self.body)], self.question)


def read(path: Path = LABELLED) -> list[Sentence]:
    """All labelled sentences."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [
        Sentence(split, claim, kind, row.split("::")[0], fenced == "-" and asks_for_claim(question), question, text)
        for split, claim, kind, _, row, fenced, question, text in rows
    ]


def fit(rows: list[Sentence]) -> dict[str, float]:
    """Weights by name, from sentences that the rules leave open and that are clearly one or the other."""
    seen = [(claims.features(row.body, question), row) for row in rows if row.open for question in {row.question, ""}]
    y = np.array([row.claim == "yes" for _, row in seen], dtype=float)
    share = np.array([(1.0 if row.reaches else AWAY) / (2 if row.question else 1) for _, row in seen])
    return fit_weights([features for features, _ in seen], y, share, fewest=2 * FEWEST, penalty=PENALTY)


def scores(weights: dict[str, float], rows: list[Sentence]) -> np.ndarray:
    """Log-odds; minus infinity where the rules decide."""
    return np.array([claims.total(weights, claims.features(r.body, r.question)) if r.open else -np.inf for r in rows])


def held_out_scores(rows: list[Sentence]) -> np.ndarray:
    """Each sentence's log-odds by weights fitted on other prompts."""
    fold = np.array([int(hashlib.sha256(row.prompt.encode()).hexdigest(), 16) % FOLDS for row in rows])
    result = np.zeros(len(rows))
    for k in range(FOLDS):
        chosen = np.flatnonzero(fold == k)
        weights = fit([row for row, f in zip(rows, fold, strict=True) if f != k])
        result[chosen] = scores(weights, [rows[i] for i in chosen])
    return result


def precision_and_recall(rows: list[Sentence], called: np.ndarray) -> tuple[float, float, int]:
    """Precision, recall, and how many were called claims; sentences that may be taken either way count in neither."""
    clear = np.array([row.claim != "either" for row in rows])
    yes = np.array([row.claim == "yes" for row in rows])
    right = (called & yes).sum()
    return float(right / max((called & clear).sum(), 1)), float(right / yes.sum()), int((called & clear).sum())


def lowest_threshold(z: np.ndarray, claimed: np.ndarray) -> float:
    """The lowest log-odds from which enough of what passes are claims, so that as many as can be pass."""
    order = np.argsort(-z)
    precise = np.flatnonzero(np.cumsum(claimed[order]) >= PRECISION * np.arange(1, len(z) + 1))
    return round(float(z[order[precise[-1]]]), 2)


def report(rows: list[Sentence], called: np.ndarray, name: str) -> None:
    """Print precision and recall, and the share that is called a claim, by kind."""
    precision, recall, count = precision_and_recall(rows, called)
    print(f"{name}: {len(rows)} sentences, {count} called claims, precision {precision:.3f}, recall {recall:.3f}")
    kinds: dict[str, list[bool]] = defaultdict(list)
    for row, is_called in zip(rows, called, strict=True):
        kinds[row.kind].append(bool(is_called))
    print("  " + ", ".join(f"{kind} {sum(taken)}/{len(taken)}" for kind, taken in sorted(kinds.items())))


def main() -> None:
    rows = read()
    kept = {row.prompt for row in rows if row.split not in FITTED}
    tuned = [row for row in rows if row.split in FITTED and row.claim != "either" and row.prompt not in kept]
    z = held_out_scores(tuned)
    reaching = np.array([row.reaches and row.split != "more" for row in tuned])
    claimed = np.array([row.claim == "yes" for row in tuned])
    threshold = lowest_threshold(z[reaching], claimed[reaching])
    report(
        [r for r, measured in zip(tuned, reaching, strict=True) if measured],
        z[reaching] >= threshold,
        "tuned, by folds",
    )
    weights = fit(tuned)
    held, last, unseen = ([row for row in rows if row.split == split] for split in ("held", "last", "unseen"))
    for name, some in (
        ("held out, what reaches the gate", [r for r in held if r.reaches]),
        ("held out, every sentence", held),
        ("last, what reaches the gate", [r for r in last if r.reaches]),
        ("unseen, what reaches the gate", [r for r in unseen if r.reaches]),
    ):
        report(some, scores(weights, some) >= threshold, name)
    fitted = {
        "fitted_on": f"{len(tuned)} labelled sentences of tests/data/claims.tsv",
        "threshold": threshold,
        "weights": weights,
    }
    if "--check" not in sys.argv:
        claims.WEIGHTS.write_text(json.dumps(fitted, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
