"""The evidence's part on choices in retrieval: how many hedges, shortlist, distance, whose lexicon (RALC D.5, figure 8)."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.progress import track
from scipy.stats import spearmanr

from benchmarks.data.answers import Answers, Columns, Floats, load_set
from benchmarks.data.equivalence import read
from benchmarks.evidence import plots
from benchmarks.evidence.holding_out import RESAMPLES, Estimate, bootstrap, held_out, metric
from benchmarks.evidence.reader import Reader
from benchmarks.evidence.wording import SHORTLIST, K, Writer, means, some
from hedgerow.calibration import Beta
from hedgerow.calibration.distribution import kl_divergence
from hedgerow.calibration.scores import fit_likelihood
from hedgerow.calibration.wasserstein import w1_exact
from hedgerow.lexicon import NO_HEDGE, Hedge, Lexicon, LexiconError, Match, load, offered, perceive

SETS = ("TriviaQA, LLaMA-13B", "TriviaQA, gemma-2-2b", "SimpleQA, gpt-5-mini", "Maths, Llama-3.1-8B")
MOST = 100
"""Questions of a set."""
COUNTS, SHORTLISTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10), (5, 10, 30, 100, None)
READINGS = 4
"""Recorded model scores from which a phrase counts as measured."""
SCORED = "samples/simpleqa_gpt5mini/simpleqa_gpt5mini.jsonl.gz"


@dataclass(frozen=True, slots=True)
class Ground:
    """What every choice is tried on: cases by set, their targets, what readers perceive."""

    sets: tuple[Answers, ...]
    targets: tuple[Columns, ...]
    reader: Reader


class ByRank:
    """A retriever that ranks all sayable hedges by any distance, for comparison."""

    def __init__(self, lexicon: Lexicon, distance: Callable[[Floats, Floats, Beta], Floats]) -> None:
        self.hedges, self.distance = [h for h in offered(lexicon) if h.is_sayable], distance
        self.alpha, self.beta = (
            np.array([h.beta.alpha for h in self.hedges]),
            np.array([h.beta.beta for h in self.hedges]),
        )

    def nearest(self, target: Beta, k: int = K) -> tuple[Match, ...]:
        """The k nearest."""
        far = self.distance(self.alpha, self.beta, target)
        return tuple(Match(self.hedges[i], float(far[i])) for i in np.argsort(far, kind="stable")[:k])


def by_mean(alpha: Floats, beta: Floats, target: Beta) -> Floats:
    """Difference of the means alone."""
    return np.abs(alpha / (alpha + beta) - target.mean)


def by_kl(alpha: Floats, beta: Floats, target: Beta) -> Floats:
    """KL of the target from the hedge, as the bound that it sets on the total variation (Pinsker), to be on the scale of a distance."""
    return np.sqrt(kl_divergence(target.alpha, target.beta, alpha, beta) / 2)


def ground(data: Path, limit: int | None) -> Ground:
    """The same questions for every choice."""
    sets, targets = [], []
    for name in SETS:
        answers = load_set(data, name, limit)
        alpha, beta = held_out(answers.raw("semantic"), answers.correct)
        chosen, places = some(answers, MOST)
        sets.append(chosen)
        targets.append((alpha[places], beta[places]))
    return Ground(tuple(sets), tuple(targets), Reader(data))


def tried(on: Ground, writer: Writer) -> dict[str, Estimate | str]:
    """Linguistic-space figures of one choice."""
    done = [writer.write(a.cases, t, a.name) for a, t in zip(on.sets, on.targets, strict=True)]
    perceived = [on.reader.perceive([one.text for one in some_done]) for some_done in done]
    right = [a.correct for a in on.sets]
    sizes = [y.size for y in right]

    def mean_of(name: str, rows: list[np.ndarray]) -> float:
        return float(
            np.mean([metric(name, (h[0][r], h[1][r]), y[r]) for h, y, r in zip(perceived, right, rows, strict=True)])
        )

    far = [w1_exact(*h, *t) for h, t in zip(perceived, on.targets, strict=True)]
    every = [one for some_done in done for one in some_done]
    return {
        "FD": bootstrap(sizes, lambda rows: mean_of("faithfulness_divergence", rows)),
        "generalised ECE": bootstrap(sizes, lambda rows: mean_of("generalised_ece", rows)),
        "W1, target to perceived": bootstrap(
            sizes, lambda rows: float(np.mean([f[r].mean() for f, r in zip(far, rows, strict=True)]))
        ),
        "Spearman": bootstrap(
            sizes,
            lambda rows: float(np.mean([_rho(t, h, r) for t, h, r in zip(on.targets, perceived, rows, strict=True)])),
        ),
        "wordings": str(len({one.hedge for one in every if one.hedge})),
        "left unhedged": f"{np.mean([one.status == 'unhedged' for one in every]):.1%}",
    }


def _rho(target: Columns, perceived: Columns, rows: np.ndarray) -> float:
    """Spearman's correlation; nan where all answers sound equally sure, as on a few that stand as they were."""
    of_readers = means(perceived)[rows]
    return float(spearmanr(means(target)[rows], of_readers).statistic) if np.ptp(of_readers) else float("nan")


def table(title: str, by_choice: dict[str, dict[str, Estimate | str]]) -> list[str]:
    """One line a choice."""
    names = list(next(iter(by_choice.values())))
    lines = [f"| {title} | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    return [
        *lines,
        *(f"| {choice} | {' | '.join(str(figures[n]) for n in names)} |" for choice, figures in by_choice.items()),
    ]


def ranked(lexicon: Lexicon, distance: Callable[[Floats, Floats, Beta], Floats]) -> Writer:
    """A writer whose hedges are ranked by another distance."""
    writer = Writer(lexicon)
    writer.retriever = ByRank(lexicon, distance)  # type: ignore[assignment]
    return writer


def model_scores(data: Path) -> dict[str, list[float]]:
    """A trained confidence reader's recorded scores of gpt-5-mini's answers that are one sentence with one phrase of the lexicon, by phrase."""
    scores: dict[str, list[float]] = defaultdict(list)
    for row in read(data / SCORED):
        for kind in ("vanilla", "hedged", "verbal_numeric"):
            try:
                perceived = perceive(row[kind]["text"])
            except LexiconError:
                continue
            phrases = [span.hedge for span in perceived.spans] or [NO_HEDGE]
            if len(perceived.sentences) == 1 and len(phrases) == 1 and phrases[0]:
                scores[phrases[0]].append(row[kind]["mapper_conf"])
    return {phrase: by_choice for phrase, by_choice in scores.items() if len(by_choice) >= READINGS}


def lexica(data: Path) -> dict[str, Lexicon]:
    """The shipped lexicon; the phrases that a model has scored, with people's Betas and with the model's."""
    shipped, scores = load(), model_scores(data)
    common = [h for h in shipped if h.id in scores]
    built: list[Hedge] = [replace(h, beta=fit_likelihood(scores[h.id]), source="modelled", readers=0) for h in common]
    return {
        f"shipped ({len(shipped)} hedges)": shipped,
        f"the {len(common)} of them with model scores, Betas as shipped": replace(shipped, hedges=tuple(common)),
        f"the same {len(common)}, Betas from the model's scores": replace(shipped, hedges=tuple(built)),
    }


def _draw(counts: dict[str, dict[str, Estimate | str]]) -> None:
    numbers = [int(k) for k in counts]
    with plots.picture("choices-k", columns=2, size=(5, 4)) as axes:
        for axis, name, colour in zip(axes[0], ("FD", "generalised ECE"), plots.COLOURS, strict=False):
            by_choice = [f[name] for f in counts.values()]
            estimates = [e for e in by_choice if isinstance(e, Estimate)]
            axis.vlines(numbers, [e.low for e in estimates], [e.high for e in estimates], color=colour, linewidth=1.5)
            axis.plot(numbers, [e.value for e in estimates], color=colour, marker="o")
            axis.set(xlabel="hedges retrieved, k", ylabel=f"{name} in linguistic space", ylim=(0, None))
            axis.set_xticks(numbers)


def section(data: Path, limit: int | None = None) -> str:
    """The whole part; `limit` takes the first rows of every set only."""
    on, shipped = ground(data, limit), load()
    by_count = {str(k): tried(on, Writer(k=k)) for k in track(COUNTS, "k", disable=not sys.stderr.isatty())}
    by_shortlist = {
        "all, one search by W1" if n is None else str(n): tried(on, Writer(shortlist=n)) for n in SHORTLISTS
    }
    by_distance = {
        "W1": by_shortlist["all, one search by W1"],
        "means alone": tried(on, ranked(shipped, by_mean)),
        "KL": tried(on, ranked(shipped, by_kl)),
    }
    by_lexicon = {name: tried(on, Writer(lexicon)) for name, lexicon in lexica(data).items()}
    _draw(by_count)
    return "\n".join(
        [
            "## Choices in retrieval",
            "",
            f"{sum(len(a) for a in on.sets)} questions of {len(on.sets)} sets, semantic signal, held-out map, template, independent listener; means over sets. What is not varied is as shipped: k"
            f" = {K}, shortlist {SHORTLIST}, W1, people's readings. Intervals: 95 %, bootstrap over questions ({RESAMPLES} resamples).",
            "",
            *table("k", by_count),
            "",
            "![By k](choices-k.svg)",
            "",
            "With one hedge the template has to take it however it sits in the sentence; with more it takes the nearest that sits well. From two on, little depends on k but the"
            " variety of wordings.",
            "",
            *table("shortlist", by_shortlist),
            "",
            *table("ranked by", by_distance),
            "",
            "W1 and the difference of means differ only where a hedge and a target of like means have unlike concentrations. Routes rank by W1, which also carries the spread of what"
            " people perceive; KL is ruled by the tails and prefers flat hedges.",
            "",
            "### Whose lexicon",
            "",
            "The model-built one comes from recorded scores: a trained confidence reader's scores of gpt-5-mini's answers that are one sentence with one phrase of the lexicon, a Beta fitted by"
            f" likelihood to the scores of each phrase with {READINGS} or more. The listener was fitted on people, so it is on the side of people's Betas; people are who the answers are for.",
            "",
            *table("lexicon", by_lexicon),
        ]
    )
