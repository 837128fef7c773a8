"""The lexicon's part of the evidence: entries with fits and readers, perception on phrases it has not seen, spotting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, pearsonr, spearmanr

from benchmarks import ROOT
from benchmarks.evidence import assertiveness
from benchmarks.evidence.perception import levels, unseen, unseen_survey
from benchmarks.fits.lexicon import Floats, held_out_survey
from hedgerow.calibration.distribution import cdf
from hedgerow.lexicon import Lexicon, load
from hedgerow.lexicon.perception.model import model

FIGURE = ROOT / "docs" / "evidence" / "lexicon-betas.svg"


def interval(
    statistic: Callable[[Floats, Floats], float], p: Floats, y: Floats, groups: Floats
) -> tuple[float, float, float]:
    """A statistic with a 95 % bootstrap interval; whole phrases are drawn, not rows."""
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    drawn = []
    for _ in range(200):
        take = np.concatenate([members[i] for i in rng.integers(len(members), size=len(members))])
        drawn.append(statistic(p[take], y[take]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return statistic(p, y), float(low), float(high)


STATISTICS: dict[str, Callable[[Floats, Floats], float]] = {
    "Spearman": lambda p, y: float(spearmanr(p, y)[0]),
    "Pearson": lambda p, y: float(pearsonr(p, y)[0]),
    "Kendall": lambda p, y: float(kendalltau(p, y)[0]),
    "MAE": lambda p, y: float(np.abs(p - y).mean()),
}


def line(name: str, p: Floats, y: Floats, groups: Floats) -> str:
    """One row of the table of perception."""
    cells = [
        f"{value:.3f} [{low:.3f}, {high:.3f}]"
        for value, low, high in (interval(s, p, y, groups) for s in STATISTICS.values())
    ]
    return f"| {name} | {y.size} | {' | '.join(cells)} |"


def ordered(perceived: Floats, predicted: Floats) -> float:
    """Share of pairs of phrases that the model puts in the order of their means."""
    i, j = np.triu_indices(perceived.size, 1)
    apart = perceived[i] != perceived[j]
    return float(np.mean(((perceived[i] - perceived[j]) * (predicted[i] - predicted[j]) > 0)[apart]))


def by_level(perceived: Floats, level: NDArray[np.str_]) -> tuple[float, float]:
    """Spearman of a reader who knows the level a writer had been asked for: with ties inside a level, and with a random order there."""
    middle = {name: float(np.median(perceived[level == name])) for name in np.unique(level)}
    known = np.array([middle[name] for name in level])
    rng = np.random.default_rng(0)
    shuffled = [spearmanr(known + rng.uniform(0, 1e-6, known.size), perceived)[0] for _ in range(100)]
    return float(spearmanr(known, perceived)[0]), float(np.mean(shuffled))


def draw(lexicon: Lexicon) -> None:
    """The Betas by phrase, measured ones dark: the mass of each hundredth as a band."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "hedgerow"  # the same picture from the same figures
    from matplotlib import pyplot as plt

    hedges = [h for h in sorted(lexicon, key=lambda h: h.beta.mean) if h.source == "people"]
    edges = np.linspace(0, 1, 101)
    figure, axes = plt.subplots(figsize=(8, 0.26 * len(hedges) + 1))
    for row, hedge in enumerate(hedges):
        mass = np.diff(cdf(edges, hedge.beta.alpha, hedge.beta.beta))
        height = 0.9 * mass / mass.max()
        axes.fill_between((edges[1:] + edges[:-1]) / 2, row, row + height, color="#2a6f97", alpha=0.75, linewidth=0)
        axes.plot([hedge.beta.mean] * 2, [row, row + 0.9], color="#d1495b", linewidth=1)
    axes.set_yticks(
        np.arange(len(hedges)) + 0.3, [f"{h.phrase or '(no hedge)'}, n={h.readers}" for h in hedges], fontsize=7
    )
    axes.set_xlim(0, 1)
    axes.set_xlabel("confidence that people read; each row scaled to its own peak, the mean in red")
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(FIGURE, metadata={"Date": None})
    plt.close(figure)


def section(data: Path) -> str:
    """Markdown."""
    lexicon = load()
    draw(lexicon)
    return f"""## Lexicon

{len(lexicon)} English hedges: {sum(h.source == "people" for h in lexicon)} measured on people, the others modelled by what was measured.

![Betas by phrase](lexicon-betas.svg)

{_perception(data)}

{assertiveness.section(data)}

{_spotting()}

{_entries(lexicon)}
"""


def _perception(data: Path) -> str:
    perceived, predicted = np.array(list(held_out_survey(data, model().spread).values())).T
    perceived_by_rule, placed, by_rule = unseen_survey(data)
    seen = unseen(data)
    bench = seen.benchmark
    level = np.array(levels(data))[bench]
    tied, shuffled = by_level(seen.perceived[bench], level)
    return f"""### Perceived confidence, on phrases the model had not seen

All rows with the same words of confidence stay in one fold, and no benchmark row is in any training set. Intervals: 95 %, bootstrap over phrases.

*As shipped*: the vocabulary (which words count, and about where each stands) was set by hand by authors who had looked at these phrases; only
what is fitted on top had not seen them. *Words of the training set*: words and fixed phrases that the fold's training set does not hold are struck
out. *Nothing seen*: struck out, and every position estimated from the training set. What is left by hand then is the grammar and which words belong together.
Most words of the surveys stand in one or two phrases and nowhere else, so that without them nothing is perceived at all; *positions estimated* leaves the words
in their classes ("improbable" beside "unlikely") and takes back only where they stand.

| | n | Spearman | Pearson | Kendall | MAE |
|---|---|---|---|---|---|
{line("survey phrases, bare, as shipped", predicted, perceived, np.arange(perceived.size))}
{line("survey phrases, bare, positions estimated", placed, perceived_by_rule, np.arange(perceived_by_rule.size))}
{line("survey phrases, bare, nothing seen", by_rule, perceived_by_rule, np.arange(perceived_by_rule.size))}
{line("expressions (Tao et al.), all, as shipped", seen.by_shipped_words, seen.perceived, seen.phrase)}
{line("expressions, all, nothing seen", seen.by_nothing_seen, seen.perceived, seen.phrase)}
{line("expressions, benchmark rows, as shipped", seen.by_shipped_words[bench], seen.perceived[bench], seen.phrase[bench])}
{line("benchmark rows, words of the training set", seen.by_words_of_the_training_set[bench], seen.perceived[bench], seen.phrase[bench])}
{line("benchmark rows, nothing seen", seen.by_nothing_seen[bench], seen.perceived[bench], seen.phrase[bench])}
| *mark: the paper's ensemble of three models* | {bench.sum()} | .854 | .845 | .691 | |
| *mark: ridge on words and sentence embeddings* | {bench.sum()} | .743 | .881 | | |
| *mark: survey phrases* | {perceived.size} | | | | .060 |

**Not reached**: the ensemble's Spearman and Kendall. Of the {bench.sum()} benchmark rows {(level == "moderate").sum()} were written for one of five levels ("moderate"), and scores
far from the level asked for had been discarded. Inside a level hardly anything is left to predict: a reader who knew each level and nothing else would get
{tied:.3f} where ties count as ties and {shuffled:.3f} where it orders each level at random. A reader on a continuous scale orders every pair and pays for it; one that answers in
round numbers, as language models do, leaves ties. The mark for survey phrases is reached by the shipped vocabulary alone, which had seen them: whoever
cannot know where a word stands misses it by more.

Of two survey phrases the model puts {ordered(perceived, predicted):.1%} in the order of their means ({ordered(perceived_by_rule, placed):.1%} with positions estimated, {ordered(perceived_by_rule, by_rule):.1%} with nothing seen); single people agree with the majority's order 92.3 % of the time."""


def _spotting() -> str:
    from tests.unit.lexicon.test_spotting import measured

    spots = measured()
    return f"""### Spotting

Over 312 sentences written for the purpose and marked by hand (they were looked at while the rules were made): precision
{spots["precision"]:.3f}, recall {spots["recall"]:.3f}, exact boundaries {spots["exact"]:.3f}."""


def _entries(lexicon: Lexicon) -> str:
    table = "\n".join(
        f"| {h.phrase or '(no hedge)'} | {h.beta.mean:.3f} | {h.beta.concentration:.1f} | {h.readers:,} | {h.basis} |"
        for h in sorted(lexicon, key=lambda h: h.beta.mean) if h.source == "people"
    )  # fmt: skip
    return f"""### Entries measured on people

Moments by survey, pooled with a random source effect.

| phrase | mean | concentration | readings | surveys |
|---|---|---|---|---|
{table}"""
