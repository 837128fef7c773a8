"""Does the local reader rank hedges that it never met as people do? `python -m benchmarks.evidence.decisive_ranks`.

The paper's figure 2 (Yona, Aharoni & Geva 2024) on fits of our own: the survey phrases that say how sure somebody is, in the order of people's means, are dealt to three
readers like cards, so that each reader gets some eleven from all over the scale. Each is fitted without its phrases and without any sentence that hedges by the same words,
and then reads them in a hundred real short answers.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks import DATA
from benchmarks.data.answers import load_set
from benchmarks.evidence.rewriting import signature
from benchmarks.fits.lexicon import Row, fit, rows, seen, survey

READERS = 3
ANSWERS = 100
HOW_OFTEN = frozenset(["never", "rarely", "not often", "often", "frequently", "usually", "always", "almost always", "more often than not"])  # fmt: skip
PLAIN = "will happen"
FRAMES = {
    "might happen": "It might be {}.", "could happen": "It could be {}.", "may happen": "It may be {}.", "probably not": "It is probably not {}.", "maybe": "Maybe it is {}.",
    "possibly": "It is possibly {}.", "probably": "It is probably {}.", "almost certainly": "It is almost certainly {}.", "certainly": "It is certainly {}.",
    "we believe": "We believe it is {}.", "we doubt": "We doubt that it is {}.", "about even": "The chances are about even that it is {}.",
    "better than even": "The chances are better than even that it is {}.", "chances are slight": "The chances are slight that it is {}.",
    "slam dunk": "It is a slam dunk that it is {}.",
}  # fmt: skip


def means_of_people(data: Path) -> dict[str, float]:
    """Mean score of each phrase that says how sure somebody is, over surveys, in [0, 1]."""
    scores: dict[str, list[float]] = {}
    for phrase, by_source in survey(data).items():
        scores.setdefault(phrase.lower(), []).extend(np.concatenate(list(by_source.values())).tolist())
    return {phrase: float(np.mean(of)) for phrase, of in scores.items() if phrase not in HOW_OFTEN | {PLAIN}}


def put(phrase: str, answer: str) -> str:
    """An answer with a hedge before it."""
    answer = answer.strip().rstrip(".")
    if phrase in FRAMES:
        return FRAMES[phrase].format(answer)
    if "chance" in phrase or phrase.endswith("possibility"):
        return f"There is a {phrase} that it is {answer}."
    return f"{phrase.capitalize()}, it is {answer}." if phrase.startswith("with") else f"It is {phrase} that it is {answer}."  # fmt: skip


def read_unmet(phrases: Sequence[str], answers: Sequence[str], every: Sequence[Row]) -> list[float]:
    """Mean perceived confidence of answers with each phrase, by a fit that met none of them."""
    unmet = {*phrases, *(signature(phrase) for phrase in phrases), *(signature(put(phrase, "x")) for phrase in phrases)}
    unmet.discard("")
    kept = [row for row in every if row.phrase.lower() not in unmet and signature(row.text) not in unmet]
    model = fit([seen(row.text) for row in kept], kept, (1.0, 0.0, 0.0))
    return [float(np.mean([model.mean(seen(put(phrase, answer))) for answer in answers])) for phrase in phrases]


def main() -> None:
    """Print each reader's rank beside people's."""
    people = means_of_people(DATA)
    order = sorted(people, key=lambda phrase: -people[phrase])
    drafts = [case.draft for case in load_set(DATA, "TriviaQA, LLaMA-13B").cases if len(case.draft.split()) < 6]
    answers, every = random.Random(0).sample(drafts, ANSWERS), rows(DATA)
    found = []
    for first in range(READERS):
        phrases = order[first::READERS]
        read = read_unmet(phrases, answers, every)
        found.append(float(spearmanr([people[phrase] for phrase in phrases], read).statistic))
        for phrase, mean in zip(phrases, read, strict=True):
            print(f"{phrase:28} people {people[phrase]:.2f}   reader {mean:.2f}")
        print(f"Spearman of {len(phrases)} phrases: {found[-1]:.3f}\n")
    print(f"mean of {READERS} readers: {np.mean(found):.3f}")


if __name__ == "__main__":
    main()
