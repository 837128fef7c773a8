"""Perceived confidence where a model hedges by itself, or is given the Beta and no phrase, beside the template on the same answers (RALC figure 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks.data.answers import Answers, Columns, Floats, load_set
from benchmarks.evidence import direct_beta, plots
from benchmarks.evidence.holding_out import Estimate, bootstrap, held_out, metric
from benchmarks.evidence.reader import Reader
from benchmarks.evidence.wording import Writer, at, facts_lost, means, word
from hedgerow.proxy.types import Rewording

OWN = "SimpleQA, gpt-5-mini"
FD, GECE = "faithfulness_divergence", "generalised_ece"


@dataclass(frozen=True, slots=True)
class Heard:
    """One way of wording a set: outcomes, what is perceived, the confidence it should follow, and facts lost where the answers are the same."""

    name: str
    correct: Floats
    betas: Columns
    target: Columns | None = None
    facts_lost: int | None = None

    def estimate(self, name: str) -> Estimate:
        """A metric with its interval."""
        return bootstrap([self.correct.size], lambda rows: metric(name, at(self.betas, rows[0]), self.correct[rows[0]]))

    def follows(self) -> float | None:
        """Spearman correlation of the confidence it should follow and the one perceived."""
        return None if self.target is None else float(spearmanr(means(self.target), means(self.betas)).statistic)


def own_hedges(data: Path, reader: Reader, limit: int | None) -> tuple[list[Heard], str]:
    """gpt-5-mini asked to hedge, against its plain answers worded by us, on the questions that it attempted both ways; and a remark."""
    answers = load_set(data, OWN, limit)
    target = held_out(answers.raw("semantic"), answers.correct)
    both = np.array([i for i, case in enumerate(answers.cases) if case.row and case.row["hedged"]["grade"] != "C"])
    cases = tuple(answers.cases[i] for i in both)
    rows = [case.row for case in cases if case.row]
    ours = word(Answers(OWN, cases), at(target, both), reader, Writer())
    graded = np.array([r["hedged"]["grade"] == "A" for r in rows], np.float64)
    theirs = Heard(
        "its own hedges (hedged QA)", graded, reader.perceive([r["hedged"]["text"] for r in rows]), ours.target
    )
    wordings = [
        Heard("gpt-5-mini, plain", ours.correct, ours.before, None, 0),
        theirs,
        Heard("plain, worded by us", ours.correct, ours.after, ours.target, ours.facts_lost),
    ]
    gaps = ", ".join(
        f"{title} {_gap(name, wordings[2], theirs):+.3f}" for name, title in ((FD, "FD"), (GECE, "generalised ECE"))
    )
    return wordings, (
        f"Ours less its own, paired: {gaps}. Its answers to the two prompts are not the same, and each is graded for itself. {_agreement(rows, reader)}"
    )


def _gap(name: str, ours: Heard, theirs: Heard) -> Estimate:
    def difference(rows: list[np.ndarray]) -> float:
        first, second = (metric(name, at(h.betas, rows[0]), h.correct[rows[0]]) for h in (ours, theirs))
        return first - second

    return bootstrap([ours.correct.size], difference)


def _agreement(rows: Sequence[dict[str, dict[str, float | str]]], reader: Reader) -> str:
    """How the listener compares with the reader whose scores came with the data."""
    kinds = ("vanilla", "hedged")
    recorded = np.array([r[kind]["mapper_conf"] for r in rows for kind in kinds], np.float64)
    perceived = means(reader.perceive([str(r[kind]["text"]) for r in rows for kind in kinds]))
    rho = spearmanr(recorded, perceived).statistic
    return f"A trained confidence reader's scores of these {recorded.size:,} texts, which came with the data, agree with our listener's at Spearman {rho:.3f}."


def given_the_beta(data: Path, reader: Reader, limit: int | None) -> list[Heard]:
    """The embedded model given the Beta and no phrase, against the template at the same targets."""
    kept = {row["id"]: row for row in direct_beta.kept()}
    cases = tuple(case for case in load_set(data, direct_beta.SET, limit).cases if case.id in kept)
    rows = [kept[case.id] for case in cases]
    target = np.array([r["alpha"] for r in rows]), np.array([r["beta"] for r in rows])
    ours = word(Answers(direct_beta.SET, cases), target, reader, Writer())
    replies = [r["reply"].strip() or "(nothing)" for r in rows]
    done = [Rewording(reply, "hedged", None, None, "direct_beta") for reply in replies]
    lost = sum(facts_lost(case, one) for case, one in zip(cases, done, strict=True))
    return [
        Heard("LLaMA-13B, plain", ours.correct, ours.before, None, 0),
        Heard("direct Beta, SmolLM2-135M", ours.correct, reader.perceive(replies), target, lost),
        Heard("worded by us", ours.correct, ours.after, target, ours.facts_lost),
    ]


def table(wordings: Sequence[Heard]) -> list[str]:
    """One line a way of wording."""
    head = (
        "answers",
        "n",
        "accuracy",
        "mean perceived",
        "FD (95 %)",
        "generalised ECE (95 %)",
        "AUROC (95 %)",
        "Spearman with the calibrated signal",
        "facts kept",
    )
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for h in wordings:
        figures = " | ".join(str(h.estimate(name)) for name in (FD, GECE, "auroc"))
        rho = h.follows()
        kept = "" if h.facts_lost is None else f"{1 - h.facts_lost / h.correct.size:.1%}"
        lines.append(
            f"| {h.name} | {h.correct.size} | {h.correct.mean():.3f} | {means(h.betas).mean():.3f} | {figures} | {'' if rho is None else f'{rho:.3f}'} | {kept} |"
        )
    return lines


def draw(groups: Sequence[Sequence[Heard]]) -> None:
    """The paper's figure 3: four figures, the two comparisons below each other."""
    every = [h for group in groups for h in group]
    places = np.arange(len(every)) + np.repeat(np.arange(len(groups)) * 0.6, [len(group) for group in groups])
    panels: dict[str, Callable[[Heard], float | None]] = {
        "FD, nats (less is better)": lambda h: metric(FD, h.betas, h.correct),
        "generalised ECE (less is better)": lambda h: metric(GECE, h.betas, h.correct),
        "Spearman with the signal": Heard.follows,
        "facts kept": lambda h: None if h.facts_lost is None else 1 - h.facts_lost / h.correct.size,
    }
    colours = [plots.COLOURS[{"plain": 7, "worded by us": 0}.get(h.name.rpartition(", ")[2], 1)] for h in every]
    with plots.picture("linguistic-space-baselines", columns=len(panels), size=(4, 3.6), sharey=True) as axes:
        for axis, (title, figure) in zip(axes[0], panels.items(), strict=True):
            for place, h, colour in zip(places, every, colours, strict=True):
                value = figure(h)
                axis.barh(place, value or 0.0, color=colour)
                axis.text(value or 0.0, place, " -" if value is None else f" {value:.2f}", va="center")
            axis.set(xlabel=title)
            axis.margins(x=0.22)
            axis.set_yticks(places, [h.name for h in every])
        axes[0, 0].invert_yaxis()
