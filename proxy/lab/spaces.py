"""The confidence of graded answers before and after a map, in the signal and in the wording that readers perceive.

The map is applied to drafts that it was not fitted on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...calibration import Beta
from ...calibration.evaluation import Evaluation
from ...calibration.metrics.correlation import spearman
from ...calibration.summary import paired_metrics, summarise
from ...lexicon.reading.local import read
from ...lexicon.reading.reading import Reading
from ...lexicon.text.language import language_of
from ..clustering.clusterer import RuleClusterer
from ..computing import compute
from ..pipeline.editing import edited
from ..pipeline.job import Job
from ..pipeline.steps import RoutePipeline
from ..protocols import ConfidenceSignal
from ..rewriting import perceived_confidence, reword
from ..types import Json, Rewording, RewriteRequest
from .evaluating import figures_of
from .ledger import Ledger
from .rows import Sampled, parse_row
from .spreading import HERE, Place, nothing


@dataclass(frozen=True, slots=True)
class Draft:
    """A graded answer: the draft, its raw confidence, and whether it is right."""

    key: str
    question: str
    text: str
    raw: Beta
    correct: bool


async def measure_drafts(rows: Sequence[Json], signal: ConfidenceSignal, place: Place = HERE) -> list[Draft]:
    """The drafts of graded rows, in order; rows without an outcome are left out. `place`: where answers are grouped.

    Raises:
        StepFailed: the answers lack what the signal needs.
    """
    async with place.workers(nothing) as workers:
        return [draft async for draft in workers.each(partial(_draft, signal), rows) if draft is not None]


async def _draft(signal: ConfidenceSignal, _: None, content: Json) -> Draft | None:
    row = parse_row(content)
    if not isinstance(row, Sampled) or row.correct is None:
        return None
    clustering = await RuleClusterer().cluster(row.question, [sample.text for sample in row.samples])
    raw = await signal.measure(row.question, row.samples, clustering)
    return Draft(content["key"], row.question, row.samples[clustering.draft_index].text, raw, row.correct)


async def word_drafts(
    drafts: Sequence[Draft],
    targets: Sequence[Beta],
    steps: RoutePipeline,
    job_of: Callable[[Draft], Job],
    ledger: Ledger,
    on_done: Callable[[], None],
) -> None:
    """Reword every draft that is not in the ledger at its calibrated confidence, with the route's own services."""
    for draft, target in zip(drafts, targets, strict=True):
        if draft.key not in ledger.done:
            job = job_of(draft)
            hedges = steps.retriever.nearest(target, job.route.rewriting.k)
            request = RewriteRequest(draft.question, draft.text, target, hedges)
            reading = await compute(read, draft.text, draft.question)
            tried = await edited(job, steps, request, reading)
            done = tried.rewording or await _worded(job, steps, request, reading)
            row: Json = {
                "question": draft.question,
                "draft": draft.text,
                "target": [target.alpha, target.beta],
                "text": done.text,
            }
            row |= {
                "status": done.status,
                "hedge": done.hedge,
                "rewriter": done.rewriter,
                "refused": list(done.attempts),
            }
            ledger.finish(draft.key, row)
        on_done()


async def _worded(job: Job, steps: RoutePipeline, request: RewriteRequest, reading: Reading) -> Rewording:
    """A draft as the route words it where no editor does."""
    if (baseline := steps.baseline(job)) is not None:
        return await reword(request, rewriter=baseline, guard=steps.guard, reader=steps.reader)
    return await compute(steps.local.word, request, reading)


def linguistic_space(
    drafts: Sequence[Draft], worded: Sequence[Json], targets: Sequence[Beta], *, resamples: int, seed: int
) -> dict[str, Any]:
    """Perceived confidence before and after against the labels, shares of statuses, rank agreement with the targets."""
    languages = [language_of(draft.text, draft.question) for draft in drafts]
    perceived = [
        (perceived_confidence(draft.text, language), perceived_confidence(row["text"], language))
        for draft, row, language in zip(drafts, worded, languages, strict=True)
    ]
    kept = [i for i, pair in enumerate(perceived) if pair[0] is not None and pair[1] is not None]
    correct = np.array([float(drafts[i].correct) for i in kept])
    status = Counter(row["status"] for row in worded)
    document: dict[str, Any] = {
        "n": len(kept),
        "unreadable": len(drafts) - len(kept),
        "reworded": {name: count / len(worded) for name, count in status.most_common()},
    }
    if not kept:
        return document
    columns = []
    for side in (0, 1):
        betas = [beta for i in kept if (beta := perceived[i][side]) is not None]
        columns.append((np.array([b.alpha for b in betas]), np.array([b.beta for b in betas]), correct))
    means = [a / (a + b) for a, b, _ in columns]
    wanted = np.array([targets[i].mean for i in kept])
    if (agreement := spearman(wanted, means[1])) is not None:
        document["spearman"] = agreement
    return document | before_and_after(columns[0], columns[1], resamples=resamples, seed=seed)


Columns = tuple[Any, Any, Any]


def before_and_after(before: Columns, after: Columns, *, resamples: int, seed: int) -> dict[str, Any]:
    """Every metric of two sets of Betas for the same answers, with intervals if requested."""
    summaries = summarise(*before), summarise(*after)
    names = [name for name in summaries[0] if name in summaries[1]] if resamples else []
    rng = np.random.default_rng(seed)
    changes = paired_metrics(before[:2], after[:2], before[2], names, resamples=resamples, rng=rng)
    return figures_of(*summaries, changes)


def calibrated_betas(evaluation: Evaluation) -> list[Beta]:
    """The calibrated confidences of the measured answers."""
    return [Beta(float(a), float(b)) for a, b in zip(*evaluation.calibrated, strict=True)]
