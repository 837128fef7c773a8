"""The recorded answers in one shape: question, draft, outcome, and the raw confidence by each signal. Every part of the evidence on the
method starts here.

Clusters, drafts and signals are the proxy's own, except where a set holds no texts of its samples (their cluster ids are taken then) or
was grouped by its authors' judge (the share that they recorded is taken). Outcomes belong to the draft that is worded; how each set is
graded stands in `SETS`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from benchmarks.data.equivalence import read
from hedgerow.calibration import Beta
from hedgerow.lexicon import LexiconError, perceive
from hedgerow.proxy.clustering.clusterer import cluster_by_rules
from hedgerow.proxy.clustering.rules import judge_pair
from hedgerow.proxy.grading.rules import alias_grade
from hedgerow.proxy.lab.measuring import cluster_by_key
from hedgerow.proxy.signals.semantic import SemanticSignal
from hedgerow.proxy.signals.token import TokenSignal
from hedgerow.proxy.types import Clustering, Sample

Floats = NDArray[np.float64]
Columns = tuple[Floats, Floats]
Row = dict[str, Any]
SIGNALS = ("semantic", "token", "linguistic")


@dataclass(frozen=True, slots=True)
class Case:
    """One question: the draft, whether it is right, the raw Beta by signal, and the samples where they are recorded."""

    id: str
    question: str
    draft: str
    correct: bool
    raw: dict[str, Beta]
    samples: tuple[Sample, ...] = ()
    row: Row | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """One model's answers to one set of questions."""

    name: str
    cases: tuple[Case, ...]

    def __len__(self) -> int:
        return len(self.cases)

    @property
    def correct(self) -> Floats:
        """Outcomes, 0 or 1."""
        return np.array([case.correct for case in self.cases], dtype=np.float64)

    def measured(self, signal: str) -> Answers:
        """The cases that carry this signal."""
        return Answers(self.name, tuple(case for case in self.cases if signal in case.raw))

    def raw(self, signal: str) -> Columns:
        """Raw alphas and betas by this signal."""
        return columns([case.raw[signal] for case in self.cases])


def columns(betas: Sequence[Beta]) -> Columns:
    """Alphas and betas as arrays."""
    return np.array([b.alpha for b in betas], np.float64), np.array([b.beta for b in betas], np.float64)


def _samples(row: Row) -> tuple[Sample, ...]:
    return tuple(Sample(s["text"], logprob_mean=s.get("logprob_mean")) for s in row["samples"])


def _linguistic(text: str) -> dict[str, Beta]:
    try:
        return {"linguistic": perceive(text).beta}
    except LexiconError:  # an answer without a word in it, or in another script
        return {}


def signals(question: str, samples: Sequence[Sample], clusters: Clustering) -> dict[str, Beta]:
    """Every signal that these samples carry."""
    draft = samples[clusters.draft_index].text
    by_signal = {"semantic": asyncio.run(SemanticSignal().measure(question, samples, clusters)), **_linguistic(draft)}
    if all(sample.logprob_mean is not None for sample in samples):
        by_signal["token"] = asyncio.run(TokenSignal().measure(question, samples, clusters))
    return by_signal


def _sampled(row: Row, grade: Callable[[Row, Clustering], bool]) -> Case:
    samples = _samples(row)
    clusters = cluster_by_rules(row["question"], [s.text for s in samples])
    draft = samples[clusters.draft_index].text
    raw = signals(row["question"], samples, clusters)
    return Case(row["id"], row["question"], draft, grade(row, clusters), raw, samples, row)


def _gives_gold(row: Row, clusters: Clustering) -> bool:
    draft = row["samples"][clusters.draft_index]["text"]
    return alias_grade(row["question"], draft, row["gold"]).correct == 1.0


def _says_gold(row: Row, clusters: Clustering) -> bool:
    draft = row["samples"][clusters.draft_index]["text"]
    return any(judge_pair(row["question"], gold, draft).same for gold in row["gold"])


def _recorded(row: Row, clusters: Clustering) -> bool:
    return bool(row["samples"][clusters.draft_index]["correct"])


def _given_ids(row: Row, kind: str = "vanilla") -> Case | None:
    """gpt-5-mini: a plain answer beside the cluster ids of ten others; unattempted ones are left out."""
    answer = row[kind]
    if answer["grade"] == "C":
        return None
    clusters = cluster_by_key(row["semantic_ids"], "given")
    largest = len(clusters.largest)
    raw = {"semantic": Beta.floored(largest, len(row["semantic_ids"]) - largest), **_linguistic(answer["text"])}
    return Case(row["id"], row["question"], answer["text"], answer["grade"] == "A", raw, (), row)


def _given_share(row: Row) -> Case | None:
    """LLaDA: one graded answer and the share of ten that a judge found to say the same."""
    if row["label"] == "C" or not isinstance(row["graded_response"], str):
        return None
    n, text = len(row["samples"]), row["graded_response"]
    raw = {"semantic": Beta.from_mean(row["upstream_confidence"], n), **_linguistic(text)}
    return Case(row["id"], row["question"], text, row["label"] == "A", raw, (), row)


SETS: dict[str, tuple[str, Callable[[Row], Case | None], str]] = {
    "TriviaQA, LLaMA-13B": ("triviaqa_llama13b/samples.jsonl.gz", partial(_sampled, grade=_gives_gold), "alias rule"),
    "TriviaQA, gemma-2-2b": ("triviaqa_gemma2_2b/train.jsonl.gz", partial(_sampled, grade=_gives_gold), "alias rule"),
    "SimpleQA, gpt-5-mini": ("simpleqa_gpt5mini/simpleqa_gpt5mini.jsonl.gz", _given_ids, "recorded model grade of the plain answer"),
    "Maths, Llama-3.1-8B": ("answerable_math/llama.jsonl.gz", partial(_sampled, grade=_says_gold), "the gold number, by the proxy's rules"),
    "Maths, Mistral-7B": ("answerable_math/mistral.jsonl.gz", partial(_sampled, grade=_says_gold), "the gold number, by the proxy's rules"),
    "NQ-open, Qwen2.5-1.5B": ("nq_qwen25_1_5b/nq_open.jsonl", partial(_sampled, grade=_recorded), "recorded grade of the sample"),
    "TruthfulQA, LLaDA-8B": ("truthfulqa_llada8b/truthfulqa.jsonl.gz", _given_share, "recorded model grade of the graded answer"),
}  # fmt: skip
"""File, how a row becomes a case, and what counts as right, by name."""


@cache
def load_set(data: Path, name: str, limit: int | None = None) -> Answers:
    """One set; `limit` takes its first rows only."""
    file, case_of, _ = SETS[name]
    rows = read(data / "samples" / file)[:limit]
    made = [case_of(row) for row in track(rows, name, disable=not sys.stderr.isatty())]
    return Answers(name, tuple(case for case in made if case is not None))


def load_all(data: Path, limit: int | None = None) -> list[Answers]:
    """Every set."""
    return [load_set(data, name, limit) for name in SETS]
