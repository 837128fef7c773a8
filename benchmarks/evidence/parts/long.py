"""Evidence for answers in full sentences and for claims of long answers: what chat models really say."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks import ROOT
from benchmarks.data.equivalence import Row, contains, evouna, is_development
from benchmarks.data.equivalence import read as read_rows
from benchmarks.evidence import asked_claims
from benchmarks.evidence.claims import (
    COUNTS,
    KIND,
    OTHERS,
    RESAMPLES,
    SERVED,
    Measured,
    by_prompt,
    gap,
    measure,
    passages,
    precision_recall,
    ranking,
)
from benchmarks.evidence.goals import Goal, table
from benchmarks.evidence.holding_out import Estimate, bootstrap
from benchmarks.evidence.plots import COLOURS, MARKS, picture
from hedgerow.calibration.errors import NotEnoughData
from hedgerow.calibration.metrics import auroc
from hedgerow.proxy.clustering import likely
from hedgerow.proxy.clustering.agreement import WEIGHTS as CORE_WORDS
from hedgerow.proxy.clustering.clusterer import JudgedClusterer, cluster_by_rules
from hedgerow.proxy.clustering.normal import read_question
from hedgerow.proxy.clustering.rules import SHORT, compare_read, judge_pair, read
from hedgerow.proxy.clustering.support import support
from hedgerow.proxy.pipeline.sampling.early_stopping import LONG_SAMPLES
from hedgerow.proxy.signals.semantic import SemanticSignal
from hedgerow.proxy.types import Sample

CLAIMS_TIMED, ANSWERS_TIMED = 12, 5
BINS = 10
HOTPOT = "samples/hotpot_llama31_8b/hotpot_llama31_8b.jsonl.gz"
READ = ROOT / "benchmarks" / "data" / "hotpot_read.json"
"""Drafts that give the right answer in other words, drafts that hold its words and do not give it, and how many of the five answers say what each draft
says, as we read them; 0 where the draft gives no answer."""


def claims_table(measured: Sequence[Measured]) -> str:
    """AUROC of single claims, by set and model."""
    lines = ["| claims of | n | right | share of words | AUROC | other models | after the map |", "|---" * 7 + "|"]
    for of in measured:
        words, unseen, mapped = (ranking(values, of.correct) for values in (of.words, of.unseen, of.mapped))
        raw = by_prompt(of.raw, of.correct, of.prompt, ranking)
        lines.append(
            f"| {of.title} | {raw.n:,} | {of.correct.mean():.0%} | {words:.3f} | {raw} | {unseen:.3f} | {mapped:.3f} |"
        )
    return "\n".join(lines)


def calibration_table(measured: Sequence[Measured]) -> str:
    """Generalised ECE of single claims."""
    lines = [
        f"| claims of | right | mean before | before the map | after it, {SERVED:g} observations | after it, {OTHERS} observations |",
        "|---|---|---|---|---|---|",
    ]
    for of in measured:
        before = by_prompt(of.raw, of.correct, of.prompt, gap(SERVED))
        after = by_prompt(of.mapped, of.correct, of.prompt, gap(SERVED))
        counted = by_prompt(of.mapped, of.correct, of.prompt, gap(OTHERS))
        lines.append(
            f"| {of.title} | {of.correct.mean():.0%} | {of.raw.mean():.0%} | {before} | {after} | {counted.value:.3f} |"
        )
    return "\n".join(lines)


def curve_table(measured: Sequence[Measured]) -> str:
    """AUROC by number of other answers, and what stopping costs."""
    shown = [1, 2, 3, 4, LONG_SAMPLES - 1, OTHERS, COUNTS[-1]]
    lines = [f"| claims of | {' | '.join(map(str, shown))} |", "|---" * (len(shown) + 1) + "|"]
    for of in measured:
        lines.append(
            f"| {of.title} | " + " | ".join(f"{ranking(of.curve[n - 1], of.correct):.3f}" for n in shown) + " |"
        )
    return "\n".join(lines)


def stopping(measured: Sequence[Measured]) -> str:
    """Mean change of AUROC and Brier score by drawing fewer."""
    few, all_ = LONG_SAMPLES - 2, OTHERS - 1
    ranks = np.mean([ranking(of.curve[few], of.correct) - ranking(of.curve[all_], of.correct) for of in measured])
    squares = [
        ((of.curve[few] - of.correct) ** 2).mean() - ((of.curve[all_] - of.correct) ** 2).mean() for of in measured
    ]
    return f"AUROC {ranks:+.3f} and Brier score {np.mean(squares):+.4f}, mean over the {len(measured)} rows"


def draw_reliability(measured: Sequence[Measured]) -> None:
    """Share right by decile of confidence, before the map and after."""
    with picture("long-reliability", 2, sharey=True) as axes:
        for axis, title, values in (
            (axes[0][0], "before a map", [of.raw for of in measured]),
            (axes[0][1], "after the map of the same model and kind of question", [of.mapped for of in measured]),
        ):
            axis.plot([0, 1], [0, 1], color="#999999", linewidth=1)
            for of, value, colour, mark in zip(measured, values, COLOURS, MARKS, strict=False):
                points = [(v.mean(), y.mean()) for v, y in _deciles(value, of.correct)]
                axis.plot(*zip(*points, strict=True), color=colour, marker=mark, label=of.title, linewidth=1.2)
            axis.set(title=title, xlabel="confidence in a claim, mean of a decile", xlim=(0, 1), ylim=(0, 1))
        axes[0][0].set_ylabel("share right")
        axes[0][1].legend(fontsize=8, loc="upper left")


def _deciles(values: np.ndarray, correct: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    parts = np.array_split(np.argsort(values, kind="stable"), BINS)
    return [(values[part], correct[part]) for part in parts]


def draw_curve(measured: Sequence[Measured]) -> None:
    """AUROC over the number of other answers."""
    with picture("long-samples", size=(8, 4.5)) as axes:
        axis = axes[0][0]
        for of, colour, mark in zip(measured, COLOURS, MARKS, strict=False):
            figures = [ranking(values, of.correct) for values in of.curve]
            axis.plot(COUNTS, figures, color=colour, marker=mark, label=of.title)
        axis.axvline(LONG_SAMPLES - 1, color="#999999", linewidth=1)
        axis.set(xlabel="other answers", ylabel="AUROC of claims", xticks=COUNTS)
        axis.legend(fontsize=8, loc="lower right")


def cost(data: Path) -> float:
    """Milliseconds, median, for the claims of an answer against others, on real texts of usual length."""
    texts = [sample["text"] for row in read_rows(data / HOTPOT) for sample in row["samples"]]
    took = []
    for start in range(0, 3000, 75):
        claims = texts[start : start + CLAIMS_TIMED]
        others = [" ".join(texts[start + 12 * i : start + 12 * (i + 1)]) for i in range(ANSWERS_TIMED)]
        begun = time.process_time()
        support("Who was it?", claims, others)
        took.append(1000 * (time.process_time() - begun))
    return median(took)


class _Sentence(NamedTuple):
    """A question whose answers are sentences: how sure we are of its draft, and whether that is right.

    Attributes:
        share: of the largest cluster by the rules.
        served, judged: confidence as served by the rules, and with `equivalence: local`.
        agreeing: share of the answers that say what the first draft says, as we read them; 0 where it gives no answer.
        right, judged_right: whether the drafts of both contain a gold answer.
        read_right: whether the first draft is right by our reading.
        is_sentence: whether the first draft has more words than a short answer.
        chosen_on: whether it is of the half on which the figures were chosen.
    """

    share: float
    served: float
    judged: float
    agreeing: float
    right: float
    judged_right: float
    read_right: float
    is_sentence: bool
    chosen_on: bool


def sentences_table(data: Path) -> tuple[str, list[Goal]]:
    """Full-sentence answers: the share of the largest cluster, and the confidence that is served, by rules and with `equivalence: local`; and what an
    agreement that is read and not computed comes to.
    """
    rows = [row for row in read_rows(data / HOTPOT) if row.get("gold")]
    of = {
        name: np.array(values)
        for name, values in zip(_Sentence._fields, zip(*asyncio.run(_sentences(rows)), strict=True), strict=True)
    }
    columns = (
        ("largest cluster's share", of["share"], of["right"]),
        ("as served", of["served"], of["right"]),
        ("with `equivalence: local`", of["judged"], of["judged_right"]),
        ("agreement as we read it", of["agreeing"], of["right"]),
        ("as served, by our verdicts", of["served"], of["read_right"]),
        ("agreement as we read it, by our verdicts", of["agreeing"], of["read_right"]),
    )
    lines = [f"| answers | n | right | {' | '.join(name for name, *_ in columns)} |", "|---" * (3 + len(columns)) + "|"]
    goals = []
    kinds = {
        "all": np.ones(len(rows), bool),
        f"draft of more than {SHORT} words": of["is_sentence"],
        "half on which the figures were chosen": of["chosen_on"],
        "other half": ~of["chosen_on"],
    }
    for name, part in kinds.items():
        figures = [_estimate(values[part], outcomes[part]) for _, values, outcomes in columns]
        lines.append(f"| {name} | {part.sum()} | {of['right'][part].mean():.0%} | {' | '.join(map(str, figures))} |")
        if name == "all":
            goals = [
                _at_least("full-sentence answers: AUROC without a model >= .82", figures[1], 0.82),
                _at_least(
                    "full-sentence answers: AUROC with a judge >= .85 (`equivalence: local`)", figures[2], 0.85, _MORE
                ),
            ]
    return "\n".join(lines), goals


_MORE = "signals beside agreement, or verdicts by meaning: agreement as a reader counts it is below it too"


async def _sentences(rows: Sequence[Row]) -> list[_Sentence]:
    signal, judged = SemanticSignal(), JudgedClusterer(likely.LikelyPairs())
    ours = json.loads(READ.read_text(encoding="utf-8"))
    found = []
    for row in rows:
        question, samples = row["question"], [Sample(sample["text"]) for sample in row["samples"]]
        texts = [sample.text for sample in samples]
        clusters, by_judge = cluster_by_rules(question, texts), await judged.cluster(question, texts)
        draft = clusters.draft_index
        found.append(
            _Sentence(
                share=len(clusters.largest) / len(texts),
                served=(await signal.measure(question, samples, clusters)).mean,
                judged=(await signal.measure(question, samples, by_judge)).mean,
                agreeing=ours["agreeing"][_key(row, draft)] / len(texts),
                right=float(row["samples"][draft]["contains"]),
                judged_right=float(row["samples"][by_judge.draft_index]["contains"]),
                read_right=_outcome_read(row, draft, ours),
                is_sentence=len(texts[draft].split()) > SHORT,
                chosen_on=int(hashlib.sha256(row["id"].encode()).hexdigest(), 16) % 2 == 0,
            )
        )
    return found


def _key(row: Row, draft: int) -> str:
    """What stands for a draft in the file of our reading."""
    return hashlib.sha256(f"{row['id']}\n{row['samples'][draft]['text']}".encode()).hexdigest()[:12]


def _outcome_read(row: Row, draft: int, read_as: dict[str, Any]) -> float:
    """1 where a draft is right by our reading; one that was not read by us is right where it contains a gold answer."""
    key = _key(row, draft)
    return float(key in read_as["right"] or (row["samples"][draft]["contains"] and key not in read_as["wrong"]))


def _consensus() -> str:
    """What the fit left beside its weights."""
    of = json.loads(CORE_WORDS.read_text(encoding="utf-8"))["odd"]
    return f"{of['rules, then words']:.3f} ({of['rules']:.3f} by the rules alone; n = {of['n']:,})"


def core_table(data: Path) -> tuple[str, Estimate]:
    """People's verdicts on answers of all lengths: precision, recall and F1 by method, questions that no rule was written on."""
    rows = [row for row in evouna(data, words=None) if not is_development(row)]
    right = np.array([bool(row["correct"]) for row in rows])
    methods = {
        "containment": [any(contains(gold, row["answer"]) for gold in row["gold"]) for row in rows],
        "rules": [any(judge_pair(row["question"], gold, row["answer"]).same for gold in row["gold"]) for row in rows],
        "rules, then words (`equivalence: local`)": [_likely(row) for row in rows],
    }
    lines = ["| method | n | precision | recall | F1 |", "|---|---|---|---|---|"]
    for name, called in methods.items():
        call = np.array(called, dtype=bool)

        def f1(drawn: list[np.ndarray], call: np.ndarray = call) -> float:
            here, there = call[drawn[0]], right[drawn[0]]
            return float(2 * (here & there).sum() / (here.sum() + there.sum()))

        score, hit = bootstrap([len(rows)], f1, RESAMPLES), (call & right).sum()
        lines.append(f"| {name} | {len(rows):,} | {hit / call.sum():.3f} | {hit / right.sum():.3f} | {score} |")
    return "\n".join(lines), score


def _likely(row: Row) -> bool:
    """Whether any right answer is in a system's answer, by the rules or by the fitted logistic of words that serves `equivalence: local`."""
    asked = read_question(row["question"])
    answer, golds = read(row["answer"], asked), [read(gold, asked) for gold in row["gold"]]
    judged = [(gold, compare_read(gold, answer)) for gold in golds]
    left = [gold for gold, j in judged if j.same is None and likely.suits(gold, answer)]
    return any(j.same for _, j in judged) or any(likely.judge(gold, answer).same for gold in left)


def _estimate(values: np.ndarray, correct: np.ndarray) -> Estimate:
    def statistic(drawn: list[np.ndarray]) -> float:
        if len(set(correct[drawn[0]])) < 2:
            raise NotEnoughData("one outcome only")
        return float(auroc(values[drawn[0]], correct[drawn[0]]))

    return bootstrap([len(correct)], statistic, RESAMPLES)


def goals(measured: Sequence[Measured], milliseconds: float) -> list[Goal]:
    """What claims were to reach without a model."""
    spent = Estimate(milliseconds, milliseconds, milliseconds, 1)
    cost_goal = f"CPU for {CLAIMS_TIMED} claims x {ANSWERS_TIMED} answers without a judge <= 30 ms"
    return [
        *filter(None, map(_ranking_goal, measured)),
        *map(_calibration_goal, measured),
        *_wikibio_goals(measured[-1]),
        Goal(cost_goal, spent, 30.0, spec=".1f"),
    ]


def _ranking_goal(of: Measured) -> Goal | None:
    ranked, words = by_prompt(of.raw, of.correct, of.prompt, ranking), ranking(of.words, of.correct)
    if of.name.startswith("graph_uncertainty_bios"):
        return _at_least(f"{of.title}: AUROC without a model >= .80", ranked, 0.80)
    if of.name.startswith("graph_uncertainty_popqa"):
        return _at_least(f"{of.title}: AUROC without a model >= share of words ({words:.3f})", ranked, words)
    return None


def _calibration_goal(of: Measured) -> Goal:
    after = by_prompt(of.mapped, of.correct, of.prompt, gap(SERVED))
    return Goal(f"{of.title}: generalised ECE of claims after the map <= .06", after, 0.06)


def _wikibio_goals(wikibio: Measured) -> list[Goal]:
    with_judge = "(without a model; asked for with the judge)"
    area = by_prompt(wikibio.raw, wikibio.correct, wikibio.prompt, precision_recall)
    return [
        _at_least(f"WikiBio, wrong sentences: AUC-PR >= .93 {with_judge}", area, 0.93),
        _at_least(f"WikiBio, by passage: Pearson >= .78 {with_judge}", passages(wikibio, wikibio.wrongness), 0.78),
    ]


def _at_least(
    what: str, stands: Estimate, limit: float, closing: str = "a judge that reads better than words do"
) -> Goal:
    return Goal(what, stands, limit, True, closing)


def section(data: Path) -> str:
    """The part on sentences, lists and paragraphs."""
    measured = measure(data)
    of_sentences, sentence_goals = sentences_table(data)
    of_cores, core = core_table(data)
    core_goal = _at_least("answers of all lengths: F1 >= .93 at precision >= .96 (`equivalence: local`)", core, 0.93)
    rated, read_by_model = asked_claims.of_each()
    milliseconds = cost(data)
    of_asked = asked_claims.goals(measured, rated, read_by_model)
    draw_reliability(measured)
    draw_curve(measured)
    return "\n\n".join(
        [
            "## Sentences and claims",
            claims_part(measured),
            asked_part(asked_claims.table(measured, rated, read_by_model)),
            calibration_part(measured),
            samples_part(measured),
            answers_part(milliseconds, of_sentences, of_cores),
            table([*goals(measured, milliseconds), *of_asked, *sentence_goals, core_goal]),
        ]
    )


def claims_part(measured: Sequence[Measured]) -> str:
    """How claims are ranked, without the judge and with it."""
    return f"""### Single claims of long answers

Judged claims (long_form/) against {OTHERS} other answers to the same prompt; AUROC tells right claims from wrong ones (.5 is a coin). No model is asked. The
weights of the logistic were fitted on other prompts of the same sets, by folds of prompts; the features were chosen with all of these sets in
sight, so that the figures are slightly kind. Intervals draw prompts. *Share of words*: how much of the claim's words the others hold, without any fit.
*Other models*: by weights that were fitted on other prompts of other models, as those of a model that is not among these are.

{claims_table(measured)}

Wrong sentences of WikiBio (AUC-PR, chance {1 - measured[-1].correct.mean():.2f}): {by_prompt(measured[-1].raw, measured[-1].correct, measured[-1].prompt, precision_recall)};
passage by passage, Pearson of mean doubt and mean wrongness {passages(measured[-1], measured[-1].wrongness)}, a small inaccuracy counted as half a wrong sentence;
{passages(measured[-1], 1.0 - measured[-1].correct)} where it counts as wrong, as it does in every other figure here and in the fit."""


def asked_part(of_asked: str) -> str:
    """What a call to a language model adds."""
    return f"""### What a language model adds

AUROC with what a language model said of each claim beside the words (`judge.claims: stated` and `llm`), against {OTHERS} other answers, by weights fitted on other
prompts (`python -m benchmarks.fits.asked_claims`). Both were published with the claims (Jiang et al. 2024):

- *ratings*: the model that gave the answer rates each of its claims on six steps. It was asked once for each claim; Hedgerow asks once for all.
- *reading*: how many of four other answers say the claim, as a language model read them. The words are still those of {OTHERS}. It was published for two sets.

*Weights of other models*: fitted without any claim of this model.

{of_asked}

With ratings, four other answers rank claims better than nine do by words."""


def calibration_part(measured: Sequence[Measured]) -> str:
    """How right confidences in claims are, before the map and after."""
    return f"""### Calibrated

Every claim goes through a map (`{KIND}`) that was fitted on other prompts of the same model and kind of question, as a route's own verdicts would make it.
Before the map the error is a matter of base rates: the weights are common to all models, which are right more or less often. A claim's Beta has {SERVED / OTHERS:g}
observations for each other answer: with one, as the last column counts, a Beta is so broad that it spreads over the bins of the measure however right its mean is.

{calibration_table(measured)}

![Share of claims that are right by decile of confidence, before and after the map](long-reliability.svg)"""


def samples_part(measured: Sequence[Measured]) -> str:
    """What fewer samples cost."""
    return f"""### Fewer samples

AUROC by the number of other answers:

{curve_table(measured)}

![AUROC of claims over the number of other answers](long-samples.svg)

With `sampling.stop_early` a long answer is drawn {LONG_SAMPLES} times in place of ten ({LONG_SAMPLES - 1} others): {stopping(measured)}, three calls in ten saved."""


def answers_part(milliseconds: float, of_sentences: str, of_cores: str) -> str:
    """What it costs, and answers of one sentence and of any length."""
    return f"""### Cost

{CLAIMS_TIMED} claims against {ANSWERS_TIMED} answers of {CLAIMS_TIMED} sentences: {milliseconds:.1f} ms of CPU (median), in a worker thread.

### Answers in a full sentence

HotpotQA questions to llama-3.1-8b, five samples (samples/hotpot_llama31_8b, the questions with a gold answer): does the draft contain it? An answer of
another cluster counts by the probability that it says what the draft says, where one of the two is a sentence (`proxy/clustering/agreement.py`). Nothing was fitted on
these answers; which figures it weighs, and the limit of {SHORT} words, were chosen on one half of them.

{of_sentences}

The gold answer in the draft is a strict verdict: "Kirk Kerkorian" does not contain "Kerkor 'Kirk' Kerkorian", nor "they are operas" the word "opera". We read
all 346 drafts beside their gold answers, in random order and without their confidences (but for 20 of the half chosen on): 33 that do not contain it give it, 5 that
do contain it do not (`benchmarks/data/hotpot_read.json`): *our verdicts*. The goals below stay with containment.

How much can agreement say at all? We also read the five answers to each question and counted how many say what the draft says, 0 where the draft gives no
answer (of the half chosen on after some of its verdicts had been seen, of the other before). *Agreement as we read it* ranks by this count: what a
perfect judge of same meaning would make of five answers. What it lacks are verdicts that go by the letter, as the last columns show, and questions on
which the model is of one mind and wrong, or of several and right once. That a draft that gives no answer is no right one, and that a contrast answers
"both?" with no, was found in the same reading of both halves.

The fit is on people's verdicts on other systems' answers (EVOUNA, even questions). On its odd questions the mean agreement of the other systems' sentences tells
right sentences from wrong ones with an AUROC of {_consensus()}.

### The core of a long answer

EVOUNA (equivalence/): does a system's answer, of any length, give one of the right answers? People's verdicts, the questions with odd numbers, on which no rule was
written and nothing fitted. By rules a short answer and a long one are the same where one of the long one's first sentences is the same as the short one; `equivalence: local`
asks a logistic of words, fitted on the even questions, about the pairs that the rules leave open.

{of_cores}"""
