"""Fit proxy/clustering/judged_support.json: what the shipped judge reads of claims, beside the figures of `benchmarks.fits.claims`.

`python -m benchmarks.fits.judged_claims [--check]`. Judged claims of four chat models' answers, each read against up to nine samples; fitted with
four and with nine of them. What was read is kept in `var/judge/claims.npz`. Reported by folds of whole prompts, beside what words alone give on
the same rows; a claim's weights never saw its prompt.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import DATA, ROOT
from benchmarks.evidence.claims import by_prompt, ranking
from benchmarks.fits.asked_claims import COUNTS, WORDS, all_words, joined, probabilities
from benchmarks.fits.claims import SETS, Claims, fit, folds, keep, subject
from hedgerow.proxy.clustering.judged_support import NAMES, WEIGHTS, ClaimReading, columns, pairs_of, reading_of
from hedgerow.proxy.clustering.local import FOLDER, LocalJudge

CACHE = ROOT / "var" / "judge" / "claims.npz"
MOST = 9
SEVERITY = {"accurate": 0.0, "minor_inaccurate": 0.5, "major_inaccurate": 1.0}


@dataclass(frozen=True)
class Answer:
    """One answer: its question, its decided claims, the samples that they were read against, and what was read, (samples, claims, 3)."""

    group: str
    prompt: str
    question: str
    claims: list[dict]
    others: list[str]
    read: np.ndarray

    @property
    def texts(self) -> list[str]:
        """The claims' texts."""
        return [claim["text"] for claim in self.claims]

    def readings(self, count: int) -> list[ClaimReading]:
        """What the first samples say of each claim."""
        return [reading_of(self.read[:count, i]) for i in range(len(self.claims))]


def answers(data: Path) -> list[Answer]:
    """Every judged answer, read."""
    rows = []
    for name in SETS:
        with lzma.open(data / "long_form" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
            rows += [(name, json.loads(line)) for line in lines]
    asked = []
    for name, row in rows:
        claims = [claim for claim in row["claims"] if claim.get("from_answer", True) and claim["label"] is not None]
        others = random.Random(row["id"]).sample(row["samples"], len(row["samples"]))[:MOST]
        question = row["question"] or f"Tell me about {subject(row)}."
        if claims:
            asked.append((f"{name} {row['model']}", row["prompt_id"], question, claims, others))
    read = _read([(question, [c["text"] for c in claims], others) for *_, question, claims, others in asked])
    return [Answer(*of, of_pairs) for of, of_pairs in zip(asked, read, strict=True)]


def _read(asked: list[tuple[str, list[str], list[str]]]) -> list[np.ndarray]:
    """What the judge says of every claim and sample; from the cache where it was made by these weights."""
    pairs = [pairs_of(*one) for one in asked]
    key = hashlib.sha256((FOLDER / "model.onnx").read_bytes() + repr(pairs).encode()).hexdigest()
    if CACHE.is_file() and str(np.load(CACHE)["key"]) == key:
        flat = np.load(CACHE)["read"]
    else:
        flat = LocalJudge().probabilities([pair for some in pairs for pair in some])
        CACHE.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(CACHE, read=flat, key=key)
    ends = np.cumsum([len(some) for some in pairs])[:-1]
    parts = np.split(flat, ends)
    return [part.reshape(len(others), len(claims), 3) for part, (_, claims, others) in zip(parts, asked, strict=True)]


@dataclass(frozen=True)
class Table:
    """What the logistic weighs of each claim at each count, with its outcome, group, prompt, answer and count."""

    features: np.ndarray
    correct: np.ndarray
    severity: np.ndarray
    group: np.ndarray
    prompt: np.ndarray
    count: np.ndarray


def measured(read: list[Answer], counts: tuple[int, ...] = COUNTS) -> Table:
    """All claims at all counts."""
    rows = []
    for answer in read:
        for count in sorted({min(count, len(answer.others)) for count in counts}):
            others, texts = answer.others[:count], answer.texts
            figures = columns(answer.question, texts, others, answer.readings(count))
            for claim, figure in zip(answer.claims, figures, strict=True):
                severity = SEVERITY.get(str(claim.get("raw")), float(not claim["label"]))
                rows.append((figure, bool(claim["label"]), severity, answer.group, answer.prompt, count))
    return Table(*(np.array(column) for column in zip(*rows, strict=True)))


def held_out(table: Table, words: Claims) -> tuple[np.ndarray, np.ndarray]:
    """Each claim's confidence by judge and words, and by words alone, from weights fitted on other prompts."""
    fold, of_words = folds(table.prompt), folds(words.prompt)
    judged, by_words = np.zeros(len(fold)), np.zeros(len(fold))
    for k in range(fold.max() + 1):
        here, seen = fold == k, words.where(of_words != k)
        alone = fit(seen.features, seen.correct)
        both = joined(table.features[~here], table.correct[~here], alone)
        judged[here] = probabilities(table.features[here], both)
        by_words[here] = probabilities(table.features[here, :WORDS], alone)
    return judged, by_words


def report(table: Table, confidence: np.ndarray, count: int) -> dict[str, dict[str, float]]:
    """AUROC by group at a number of samples, with its 95 % interval over prompts; for WikiBio the two figures that are published for it."""
    figures = {}
    for group in dict.fromkeys(table.group):
        rows = (table.group == group) & (table.count == count)
        value, correct = confidence[rows], table.correct[rows].astype(float)
        stands = by_prompt(value, correct, table.prompt[rows], ranking)
        names = {"auroc": stands.value, "low": stands.low, "high": stands.high}
        figures[str(group)] = {"n": stands.n} | {name: round(figure, 3) for name, figure in names.items()}
        if group.startswith("wikibio"):
            figures[str(group)] |= wikibio(1.0 - value, 1.0 - correct, table.severity[rows], table.prompt[rows])
    return figures


def wikibio(doubt: np.ndarray, wrong: np.ndarray, severity: np.ndarray, prompt: np.ndarray) -> dict[str, float]:
    """Area under the precision-recall curve of wrong sentences; Pearson's r of mean doubt and mean severity by passage."""
    order = np.argsort(-doubt, kind="stable")
    hits = wrong[order]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    passages = [prompt == p for p in dict.fromkeys(prompt)]
    r = np.corrcoef([doubt[p].mean() for p in passages], [severity[p].mean() for p in passages])[0, 1]
    return {"auc_pr": round(float((precision * hits).sum() / hits.sum()), 3), "pearson": round(float(r), 3)}


def main() -> None:
    table = measured(answers(DATA))
    of_words = all_words()
    confidence, by_words = held_out(table, of_words)
    by_count = {str(count): report(table, confidence, count) for count in COUNTS}
    words = {str(count): report(table, by_words, count) for count in COUNTS}
    for name, figures in (("judge and words", by_count), ("words alone", words)):
        print(name, json.dumps(figures[str(MOST)], indent=1))
    weights = joined(table.features, table.correct, fit(of_words.features, of_words.correct))
    keep(
        WEIGHTS,
        dict(zip(("constant", *NAMES), weights, strict=True)),
        fitted_on="judged claims of " + ", ".join(SETS),
        claims=int((table.count == MOST).sum()),
        model_sha256=hashlib.sha256((FOLDER / "model.onnx").read_bytes()).hexdigest(),
        on_other_prompts=by_count,
        words_alone_on_other_prompts=words,
    )


if __name__ == "__main__":
    main()
