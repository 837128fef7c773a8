"""The evidence's part on faithful words: cMFG of plain answers, of what we serve and of a model's own hedges, and the reader of decisiveness itself."""

from __future__ import annotations

import csv
import gzip
import random
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.progress import track
from scipy.stats import spearmanr

from benchmarks.data.answers import Answers, Floats, load_all, load_set
from benchmarks.evidence import goals, plots
from benchmarks.evidence.baselines import OWN
from benchmarks.evidence.holding_out import Estimate, bootstrap, held_out
from benchmarks.evidence.parts.signal_space import mappable, pairs
from benchmarks.evidence.reader import Reader
from benchmarks.evidence.wording import Writer, at, means, some
from hedgerow.calibration.metrics import FaithfulnessFigures, Interval, cmfg, decisiveness_curve, faithfulness_figures
from hedgerow.proxy.lab.faithfulness.assertions import Unread, assertions
from hedgerow.proxy.lab.faithfulness.contradiction import by_words

MOST = 600
"""Questions of a set that are worded."""
HEDGES = (
    "almost certainly", "highly likely", "very good chance", "probably", "likely", "we believe", "better than even", "about even",
    "unlikely", "almost no chance",
)  # fmt: skip
"""The rank of ten, of the survey phrases, that is put into answers."""
ANSWERS = 100
"""Answers that each of them is put into, as in the paper's figure 2."""


@dataclass(frozen=True, slots=True)
class Voice:
    """One way of saying the answers of a set: decisiveness (NaN for a punt) and confidence."""

    name: str
    decisiveness: Floats
    confidence: Floats

    @property
    def asserting(self) -> tuple[Floats, Floats]:
        """Decisiveness and confidence of the answers that assert something."""
        there = ~np.isnan(self.decisiveness)
        return self.decisiveness[there], self.confidence[there]

    def figures(self) -> FaithfulnessFigures:
        """Every figure, with intervals."""
        d, c = self.asserting
        return faithfulness_figures(d, c, 1 - np.abs(d - c), rng=np.random.default_rng(0))


def decisive(text: str, question: str) -> float:
    """Mean decisiveness of an answer's assertions; NaN where it punts or cannot be read."""
    try:
        found = assertions(text, question)
    except Unread:
        return float("nan")
    return float(np.mean([one.decisiveness for one in found])) if found else float("nan")


@dataclass(frozen=True, slots=True)
class Said:
    """A set: what is said plainly, by us, and by the model where it hedged by itself; each held against confidences by name."""

    name: str
    texts: Mapping[str, Sequence[str]]
    decisiveness: Mapping[str, Floats]
    confidence: Mapping[str, Floats]

    def voice(self, who: str, confidence: str) -> Voice:
        """One way of saying it against one confidence."""
        return Voice(who, self.decisiveness[who], self.confidence[confidence])


CALIBRATED, RAW, EQUATION = "calibrated", "share of the largest group", "equation 2"
PLAIN, OURS, OTHER, OWN_WORDS = "plain", "ours", "ours, read apart", "its own hedges"
EXACTLY = {CALIBRATED: "the calibrated confidence itself", RAW: "the largest group's share itself"}
"""What words would get that said a confidence exactly: how far equation 2 is from that confidence, whatever the words."""


def said(answers: Answers, writer: Writer, reader: Reader) -> Said:
    """Word a set by the semantic signal at its held-out calibrated confidence, and listen."""
    target = held_out(answers.raw("semantic"), answers.correct)
    chosen, places = some(answers, MOST)
    target = at(target, places)
    done = writer.write(chosen.cases, target, answers.name)
    texts = {PLAIN: [case.draft for case in chosen.cases], OURS: [one.text for one in done]}
    if answers.name == OWN:
        texts[OWN_WORDS] = [str(case.row["hedged"]["text"]) for case in chosen.cases if case.row]
    perceived = {who: _decisive(of, chosen) for who, of in texts.items()}
    apart = means(reader.perceive(texts[OURS]))
    hedged = np.array([one.status == "hedged" for one in done])
    perceived[OTHER] = np.where(hedged, apart, perceived[OURS])
    confidence = {CALIBRATED: means(target), RAW: means(chosen.raw("semantic"))}
    if all(case.samples for case in chosen.cases):
        confidence[EQUATION] = np.array(
            [_not_contradicted(case.question, case.draft, [s.text for s in case.samples]) for case in chosen.cases]
        )
    perceived |= {name: np.where(np.isnan(perceived[OURS]), np.nan, confidence[of]) for of, name in EXACTLY.items()}
    return Said(answers.name, texts, perceived, confidence)


def _decisive(texts: Sequence[str], chosen: Answers) -> Floats:
    return np.array([decisive(text, case.question) for text, case in zip(texts, chosen.cases, strict=True)])


def _not_contradicted(question: str, draft: str, samples: Sequence[str]) -> float:
    """Equation 2 by words; the draft itself is not among the answers that it is held against."""
    others = list(samples)
    others.remove(draft)
    try:
        found = assertions(draft, question)
    except Unread:
        return float("nan")
    return 1 - float(np.mean(by_words(question, found, others))) if found and others else float("nan")


def everything(data: Path, limit: int | None) -> list[Said]:
    """Every set that the semantic signal can be calibrated on."""
    writer, reader = Writer(), Reader(data)
    by_name = {answers.name: answers for answers in load_all(data, limit)}
    wanted = [pair for pair in pairs(list(by_name.values())) if pair.signal == "semantic" and mappable(pair)]
    shown = track(wanted, "sets", disable=not sys.stderr.isatty())
    return [said(by_name[pair.name].measured("semantic"), writer, reader) for pair in shown]


def _table(sets: Sequence[Said], confidence: str) -> list[str]:
    lines = [
        "| answers | words | n | punts | bins | cMFG (95 %) | MFG | too sure | too unsure | Spearman |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    voices = (PLAIN, OWN_WORDS, OURS, OTHER, *(EXACTLY.values() if confidence == EQUATION else ()))
    for one in sets:
        for who in voices:
            if who not in one.decisiveness or confidence not in one.confidence:
                continue
            voice = _known(one.voice(who, confidence))
            f = voice.figures()
            rho = "" if f.spearman is None else f"{f.spearman.estimate:.3f}"
            punts = int(np.isnan(voice.decisiveness).sum())
            lines.append(
                f"| {one.name} | {who} | {f.n} | {punts} | {f.bins_filled} | {_interval(f.cmfg)} | {f.mfg.estimate:.3f} | "
                f"{f.overstated.estimate:.3f} | {f.understated.estimate:.3f} | {rho} |"
            )
    return lines


def _known(voice: Voice) -> Voice:
    """Without the answers whose confidence is not known."""
    there = ~np.isnan(voice.confidence)
    return Voice(voice.name, voice.decisiveness[there], voice.confidence[there])


def _interval(held: Interval) -> str:
    return f"{held.estimate:.3f} ({held.low:.3f} to {held.high:.3f})"


def over_sets(sets: Sequence[Said], who: str, confidence: str = CALIBRATED) -> Estimate:
    """Mean cMFG over sets."""
    columns = [
        _known(one.voice(who, confidence)).asserting
        for one in sets
        if who in one.decisiveness and confidence in one.confidence
    ]
    return bootstrap(
        [d.size for d, _ in columns],
        lambda rows: float(np.mean([cmfg(d[r], c[r]) for (d, c), r in zip(columns, rows, strict=True)])),
    )


def draw(sets: Sequence[Said]) -> None:
    """Decisiveness by calibrated confidence: plain, its own hedges where there are any, ours."""
    columns = 4
    rows = -(-len(sets) // columns)
    with plots.picture("faithfulness", columns=columns, rows=rows, size=(3.4, 3.4), sharex=True, sharey=True) as axes:
        for axis in axes.flat[len(sets) :]:
            axis.set_visible(False)
        for axis, one in zip(axes.flat, sets, strict=False):
            axis.plot([0, 1], [0, 1], color="#999999", linewidth=1)
            for who, colour, mark in ((PLAIN, 7, "s"), (OWN_WORDS, 1, "^"), (OURS, 0, "o")):
                if who not in one.decisiveness:
                    continue
                curve = decisiveness_curve(*one.voice(who, CALIBRATED).asserting)
                axis.errorbar(
                    curve.confidence, curve.decisiveness, 1.96 * np.nan_to_num(curve.spread), color=plots.COLOURS[colour], marker=mark, linewidth=1.5,
                    label=f"{who}: cMFG {cmfg(*one.voice(who, CALIBRATED).asserting):.2f}",
                )  # fmt: skip
            axis.set(title=one.name, xlim=(0, 1), ylim=(0, 1.05))
            axis.legend(loc="lower right", fontsize=9)
        axes[0, 0].figure.supxlabel("calibrated confidence")
        axes[0, 0].figure.supylabel("decisiveness of the words")


def ranked(data: Path) -> tuple[list[str], list[Floats], Floats, Floats, Floats]:
    """The ten hedges in random answers: names, people's scores, their means, and what the shipped and the held-out reader perceive on average."""
    with gzip.open(data / "hedges" / "probability_phrases.csv.gz", "rt", encoding="utf-8", newline="") as file:
        scores = defaultdict(list)
        for row in csv.DictReader(file):
            scores[row["phrase"].lower()].append(float(row["value_0_100"]) / 100)
    drafts = [case for case in load_set(data, "TriviaQA, LLaMA-13B").cases if len(case.draft.split()) < 6]
    chosen = random.Random(0).sample(drafts, ANSWERS)
    reader, shipped, apart = Reader(data), [], []
    for hedge in HEDGES:
        texts = [put(hedge, case.draft) for case in chosen]
        shipped.append(
            float(np.nanmean([decisive(text, case.question) for text, case in zip(texts, chosen, strict=True)]))
        )
        apart.append(float(means(reader.perceive(texts)).mean()))
    people = [np.array(scores[hedge]) for hedge in HEDGES]
    mean = np.array([p.mean() for p in people])
    order = np.argsort(-mean)
    return (
        [HEDGES[i] for i in order],
        [people[i] for i in order],
        mean[order],
        np.array(shipped)[order],
        np.array(apart)[order],
    )


def put(hedge: str, answer: str) -> str:
    """An answer with a hedge before it, as a person would write it."""
    answer = answer.strip().rstrip(".")
    forms = {
        "very good chance": f"There is a very good chance that it is {answer}.",
        "we believe": f"We believe it is {answer}.",
        "better than even": f"The chances are better than even that it is {answer}.",
        "about even": f"The chances are about even that it is {answer}.",
        "almost no chance": f"There is almost no chance that it is {answer}.",
        "almost certainly": f"It is almost certainly {answer}.",
        "probably": f"It is probably {answer}.",
    }
    return forms.get(hedge, f"It is {hedge} that it is {answer}.")


def draw_ranked(names: Sequence[str], people: Sequence[Floats], shipped: Floats) -> None:
    """The paper's figure 2: people's scores of each hedge, and the mean decisiveness of answers with it."""
    with plots.picture("faithfulness-hedges", size=(8, 4.6)) as axes:
        axis = axes[0, 0]
        axis.boxplot(
            list(reversed(people)), vert=False, whis=(5, 95), showfliers=False, patch_artist=True, widths=0.6,
            boxprops={"facecolor": "#e8eef4", "edgecolor": "#8fa3b5"}, medianprops={"color": "#8fa3b5"}, whiskerprops={"color": "#8fa3b5"}, capprops={"color": "#8fa3b5"},
        )  # fmt: skip
        axis.scatter(
            list(reversed(shipped)),
            range(1, len(names) + 1),
            color=plots.COLOURS[1],
            marker="D",
            s=60,
            zorder=3,
            label="mean decisiveness of 100 answers",
        )
        axis.set_yticks(range(1, len(names) + 1), list(reversed(names)))
        axis.set(xlabel="probability", xlim=(0, 1))
        axis.legend(loc="lower right")


def section(data: Path, limit: int | None = None) -> str:
    """The whole part; `limit` takes the first rows of every set only."""
    sets = everything(data, limit)
    draw(sets)
    names, people, mean, shipped, apart = ranked(data)
    draw_ranked(names, people, shipped)
    rho, rho_apart = (float(spearmanr(mean, found).statistic) for found in (shipped, apart))
    own = [one for one in sets if one.name == OWN]
    lines = [
        "## Faithful words",
        "",
        f"Up to {MOST} drafts of each set: as they are, worded by the template at the confidence that a held-out map gives them (semantic signal), and, of gpt-5-mini, its own answers to a prompt"
        " that asks for hedges. cMFG after Yona, Aharoni & Geva 2024, ten equal bins; 1 is perfect, answers without a hedge get about .5 where all bins hold answers. Decisiveness by the lexicon's"
        " reader; *read apart*: hedged answers by the reader of the evidence in linguistic space, which has no part in the proxy. Intervals: 95 %, bootstrap over answers.",
        "",
        "### Against the calibrated confidence: what the words are to say",
        "",
        *_table(sets, CALIBRATED),
        "",
        "![Decisiveness by confidence](faithfulness.svg)",
        "",
        "### Against the share of samples in the largest group: before any map",
        "",
        "A calibrated wording says what is right as often as it says so, not what the model would repeat: where a model repeats falsehoods, it stands below this confidence on purpose.",
        "",
        *_table(sets, RAW),
        "",
        "### Against the paper's equation 2: share of the other samples that do not contradict, by words",
        "",
        "*Itself*: what words would get that said a confidence exactly. The share itself is near equation 2; the calibrated confidence is as far from it as these models are from being right as often"
        " as they agree with themselves, and our words are about as far from it as the confidence that they say.",
        "",
        *_table([one for one in sets if EQUATION in one.confidence], EQUATION),
        "",
        "### The reader of decisiveness",
        "",
        f"Ten hedges of people's surveys, each put into {ANSWERS} short answers, as in the paper's figure 2. Spearman of mean decisiveness and people's mean: **{rho:.3f}** by the shipped reader, "
        f"whose lexicon was fitted on these surveys, {rho_apart:.3f} by the one apart, which is fitted on other phrases than the one it reads.",
        "",
        "| hedge | people, mean | scores | decisiveness | read apart |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {m:.2f} | {p.size:,} | {s:.2f} | {a:.2f} |"
            for name, p, m, s, a in zip(names, people, mean, shipped, apart, strict=True)
        ),
        "",
        "![Hedges: people's scores and decisiveness](faithfulness-hedges.svg)",
        "",
        goals.table(aims(sets, own, rho, len(names))),
    ]
    return "\n".join(lines)


def aims(sets: Sequence[Said], own: Sequence[Said], rho: float, hedges: int) -> list[goals.Goal]:
    """Where the goals stand."""
    why = "answers whose calibrated confidence has no hedge that is perceived as sure; sets whose confidences fill few bins"
    plain = over_sets(sets, PLAIN)
    found = [
        goals.Goal(
            f"cMFG of what we serve ≥ .85 (mean over {len(sets)} sets, semantic signal, held-out map; plain answers {plain.value:.2f})",
            over_sets(sets, OURS), 0.85, at_least=True, closes=why,
        ),
        goals.Goal("the same, read by a reader that has no part in the proxy", over_sets(sets, OTHER), 0.85, at_least=True, closes=why),
    ]  # fmt: skip
    if own:
        theirs = over_sets(own, OWN_WORDS)
        found.append(
            goals.Goal(
                f"cMFG on gpt-5-mini's answers above its own hedges' {theirs.value:.2f}", over_sets(own, OURS), theirs.value, at_least=True,
                closes="see the curve",
            )
        )  # fmt: skip
    found.append(
        goals.Goal(
            "decisiveness ranks ten hedges as people do: Spearman ≥ .95", Estimate(rho, rho, rho, hedges), 0.95, at_least=True,
            closes="the lexicon's Betas of the phrases that stand apart",
        )
    )  # fmt: skip
    return found
