"""Fit what a sentence does, on labelled sentences of real answers: `python -m benchmarks.fits.reading_acts [--check]`.

The sentences are those of tests/data/claims.tsv, each with its kind. One softmax reads words, parse and question (lexicon/data/reading/acts.npz), another words
and question alone, for readers without a parser (plain.npz). The threshold of each is set by folds of whole prompts; `held`, `last` and `unseen` are measured and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np

from benchmarks import ROOT
from benchmarks.fits.softmax import fit_softmax
from hedgerow.lexicon.reading import features, parsing, segments
from hedgerow.lexicon.reading.local import DATA, SEEKS, seeks_claim
from hedgerow.lexicon.reading.reading import Act, Span
from hedgerow.lexicon.reading.softmax import Softmax

LABELLED = ROOT / "tests" / "data" / "claims.tsv"
FITTED = frozenset({"tuned", "fresh", "later", "newest", "more"})
"""Splits that are learnt from. `more` is of sentences that an earlier gate called claims or nearly did, so nothing is measured on it."""
MEASURED = ("held", "last", "unseen")
PRECISION = 0.975
"""Of what is called a statement in the fitted part, by folds, so much must be one."""
FOLDS = 5
ACTS: tuple[Act, ...] = get_args(Act)
OF_KIND: dict[str, Act] = {
    "fact": "states", "definition": "states", "opinion": "advises", "advice": "advises", "safety": "advises", "instructs": "instructs",
    "question": "asks", "refusal": "declines", "presents": "presents", "heading": "presents", "code": "presents", "own work": "speaks",
    "polite": "speaks", "performative": "speaks", "fiction": "invents", "email text": "invents", "text": "repeats", "reasons": "computes",
}  # fmt: skip
"""The act of each kind of tests/data/claims.tsv; what may be taken either way, and other languages, are not learnt from."""
Features = Callable[["Labelled"], list[str]]


@dataclass(frozen=True)
class Labelled:
    """A labelled sentence with its question, and its parse; `reaches`: its request asks for what can be right or wrong, and the answer has no code."""

    split: str
    claim: str
    kind: str
    prompt: str
    reaches: bool
    question: str
    text: str
    parsed: parsing.Parsed

    @property
    def act(self) -> Act | None:
        return OF_KIND.get(self.kind)


def read(path: Path = LABELLED) -> list[Labelled]:
    """All labelled sentences, parsed."""
    parser, rows = parsing.parser(), [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Labelled(split, claim, kind, row.split("::")[0], fenced == "-" and seeks_claim(question) >= SEEKS, question, text,
                 parser.parse(text, [Span(0, len(text))], segments.inline_opaque(text))[0])
        for split, claim, kind, _, row, fenced, question, text in rows
    ]  # fmt: skip


def with_parse(row: Labelled) -> list[str]:
    """What the local reader looks at."""
    return list(features.of_sentence(row.text, row.question, row.parsed))


def without_parse(row: Labelled) -> list[str]:
    """What the plain reader looks at."""
    return list(features.of_sentence(row.text, row.question, None))


def fit(rows: Sequence[Labelled], names: Sequence[Sequence[str]]) -> Softmax:
    """The softmax of these sentences, all of which have an act."""
    y = np.array([ACTS.index(row.act or "states") for row in rows])
    return fit_softmax(names, np.zeros((len(rows), 0)), y, ACTS)


def probabilities(model: Softmax, names: Sequence[Sequence[str]]) -> np.ndarray:
    """(sentences, acts)."""
    return np.array([model.probabilities(some) for some in names])


def by_folds(rows: Sequence[Labelled], names: Sequence[Sequence[str]]) -> np.ndarray:
    """Each sentence's probabilities by weights of other prompts."""
    fold = np.array([int(hashlib.sha256(row.prompt.encode()).hexdigest(), 16) % FOLDS for row in rows])
    result = np.zeros((len(rows), len(ACTS)))
    for k in range(FOLDS):
        apart, here = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        result[here] = probabilities(fit([rows[i] for i in apart], [names[i] for i in apart]), [names[i] for i in here])
    return result


def lowest_threshold(states: np.ndarray, claimed: np.ndarray) -> float:
    """The lowest probability from which enough of what is called a statement is one."""
    order = np.argsort(-states)
    precise = np.flatnonzero(np.cumsum(claimed[order]) >= PRECISION * np.arange(1, len(order) + 1))
    return round(float(states[order[precise[-1]]]), 3)


def figures(rows: Sequence[Labelled], p: np.ndarray, threshold: float) -> str:
    """Precision and recall of statements; sentences that may be taken either way count in neither."""
    called, yes = p[:, 0] >= threshold, np.array([row.claim == "yes" for row in rows])
    clear = np.array([row.claim != "either" for row in rows])
    acts = [(p[i].argmax() == ACTS.index(row.act)) for i, row in enumerate(rows) if row.act]
    right = int((called & yes).sum())
    return (
        f"{len(rows)} sentences: precision {right / max(1, (called & clear).sum()):.3f} ({right} of {(called & clear).sum()}), "
        f"recall {right / yes.sum():.3f} ({right} of {yes.sum()}), the likeliest act is right in {np.mean(acts):.3f}"
    )


def learn(rows: list[Labelled], of: Features, name: str, write: bool) -> float:
    """Fit one softmax, say how good it is, and keep it; its threshold."""
    kept = {row.prompt for row in rows if row.split not in FITTED}
    fitted = [row for row in rows if row.split in FITTED and row.act and row.prompt not in kept]
    names = [of(row) for row in fitted]
    p = by_folds(fitted, names)
    measured = np.array([row.split != "more" and row.reaches for row in fitted])
    threshold = lowest_threshold(p[measured, 0], np.array([row.claim == "yes" for row in fitted])[measured])
    print(
        f"{name}: threshold {threshold}; by folds, {figures([r for r, m in zip(fitted, measured, strict=True) if m], p[measured], threshold)}"
    )
    model = fit(fitted, names)
    for splits in (*((split,) for split in MEASURED), MEASURED):
        some = [row for row in rows if row.split in splits]
        for name, part in (("every sentence", some), ("what reaches it", [row for row in some if row.reaches])):
            print(
                f"  {' + '.join(splits)}, {name}: {figures(part, probabilities(model, [of(row) for row in part]), threshold)}"
            )
    if write:
        model.save(DATA / f"{name}.npz")
    return threshold


def main() -> None:
    rows, write = read(), "--check" not in sys.argv
    thresholds = {name: learn(rows, of, name, write) for name, of in (("acts", with_parse), ("plain", without_parse))}
    if write:
        path = DATA / "thresholds.json"
        old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        path.write_text(json.dumps(old | thresholds, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
