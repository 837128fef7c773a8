"""Claims of long answers with what a language model says of them beside the words: the model's own ratings, or its reading of other answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.evidence.claims import OTHERS, SERVED, Measured, by_other_prompts, by_prompt, gap, ranking
from benchmarks.evidence.goals import Goal
from benchmarks.evidence.holding_out import Estimate
from benchmarks.fits.asked_claims import READ, all_words, held_out, measured, said, stated
from benchmarks.fits.claims import Beside, Claims

OVER_WORDS = 0.05
"""What the ranking of facts was to gain over the share of words."""
LEAST_OF_BIOGRAPHIES = 0.82
CLOSES = "a stronger reader: with a language model's reading gpt-4's biographies stand at .82"


@dataclass(frozen=True)
class Asked:
    """What a call adds on the claims of one set and model: AUROC with so many other answers, and generalised ECE after a map.

    Attributes:
        ranked, few: against `OTHERS` and against `READ` other answers, by weights fitted on other prompts.
        unseen: by weights of other prompts and other models.
        gap: generalised ECE after a map fitted on other prompts of the same model and set.
    """

    ranked: Estimate
    few: float
    unseen: float
    gap: float


def asked(beside: Beside, words: Claims) -> dict[str, Asked]:
    """By set and model, where it was published."""
    claims, known = measured(beside)
    raw, unseen = held_out(claims, known, words), held_out(claims, known, words, other_models=True)
    return {group: _of(claims, raw, unseen, claims.group == group) for group in sorted(set(claims.group))}


def _of(claims: Claims, raw: np.ndarray, unseen: np.ndarray, group: np.ndarray) -> Asked:
    at, few = group & (claims.count == OTHERS), group & (claims.count == READ)
    correct, prompt = claims.correct[at], claims.prompt[at]
    mapped = by_other_prompts(raw[at], correct, prompt)
    return Asked(
        by_prompt(raw[at], correct, prompt, ranking),
        ranking(raw[few], claims.correct[few]),
        ranking(unseen[at], correct),
        gap(SERVED)(mapped, correct),
    )


def of_each() -> tuple[dict[str, Asked], dict[str, Asked]]:
    """With the model's own ratings, and with a language model's reading."""
    words = all_words()
    return asked(stated, words), asked(said, words)


def table(measured: Sequence[Measured], rated: dict[str, Asked], read: dict[str, Asked]) -> str:
    """Words alone, with ratings, with a reading; against nine other answers and against four."""
    lines = [
        f"| claims of | words | words and ratings | weights of other models | {READ} others: words | words and ratings | after the map: ECE | words and reading | weights of the other model |",
        "|---" * 9 + "|",
    ]
    for of in measured:
        if (ratings := rated.get(of.name)) is None:
            continue
        alone, few = ranking(of.raw, of.correct), ranking(of.curve[READ - 1], of.correct)
        reading = read.get(of.name)
        of_reading = f"{reading.ranked} | {reading.unseen:.3f}" if reading else "not published |"
        lines.append(
            f"| {of.title} | {alone:.3f} | {ratings.ranked} | {ratings.unseen:.3f} | {few:.3f} | {ratings.few:.3f} | {ratings.gap:.3f} | {of_reading} |"
        )
    return "\n".join(lines)


def goals(measured: Sequence[Measured], rated: dict[str, Asked], read: dict[str, Asked]) -> list[Goal]:
    """What two kinds of calls are asked for."""
    kinds = {"its model's ratings": rated, "a language model's reading": read}
    return [
        _goal(of, what, by_group[of.name])
        for what, by_group in kinds.items()
        for of in measured
        if of.name in by_group and of.name in rated
    ]


def _goal(of: Measured, what: str, stands: Asked) -> Goal:
    if "popqa" in of.name:
        least, why = ranking(of.words, of.correct) + OVER_WORDS, "the share of words + .05"
    else:
        least, why = LEAST_OF_BIOGRAPHIES, "the least asked for; the goal was .86"
    return Goal(f"{of.title}: AUROC with {what} >= {least:.3f}, {why}", stands.ranked, least, True, CLOSES)
