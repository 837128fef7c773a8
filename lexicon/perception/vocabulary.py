"""The hand-set words that say how sure a speaker is, by the part they play (`data/hearing/vocabulary.json`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from hedgerow.lexicon.hedges.loading import DATA


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The hand-set words, by role. Built once from the data file."""

    negations: frozenset[str]
    factors: Mapping[str, tuple[str, float]]
    quantities: Mapping[str, tuple[str, float]]
    quantified: frozenset[str]
    bases: Mapping[str, tuple[str, float | None, float | None]]
    subjects: Mapping[str, frozenset[str]]
    followers: Mapping[str, frozenset[str]]
    idioms: Mapping[str, tuple[tuple[tuple[str, ...], float | str | None], ...]]
    glue: frozenset[str]

    def knows(self, word: str) -> bool:
        """Whether the word may stand inside a feature."""
        return word in self.glue or self.cues(word)

    def cues(self, word: str) -> bool:
        """Whether the word itself says something about confidence."""
        return word in self.bases or word in self.quantified or word in self.negations or word in self.factors


@cache
def vocabulary() -> Vocabulary:
    """The English vocabulary."""
    raw: dict[str, Any] = json.loads((DATA / "hearing" / "vocabulary.json").read_text(encoding="utf-8"))
    idioms: dict[str, list[tuple[tuple[str, ...], float | str | None]]] = {}
    for phrase, value in raw["idioms"].items():
        words = tuple(phrase.split())
        idioms.setdefault(words[0], []).append((words, value))
    return Vocabulary(
        negations=frozenset(raw["negations"].split()),
        factors={w: (name, factor) for name, (factor, words) in raw["factors"].items() for w in words.split()},
        quantities={w: (name, value) for name, (value, words) in raw["quantities"].items() for w in words.split()},
        quantified=frozenset(raw["quantified"].split()),
        bases={w: (name, said, negated) for name, (said, negated, words) in raw["bases"].items() for w in words.split()},
        subjects={name: frozenset(words.split()) for name, words in raw["subjects"].items()},
        followers={name: frozenset(words.split()) for name, words in raw["followers"].items()},
        idioms={first: tuple(sorted(found, key=lambda entry: -len(entry[0]))) for first, found in idioms.items()},
        glue=frozenset(raw["glue"].split()) | {word for phrase in raw["idioms"] for word in phrase.split()},
    )  # fmt: skip
