"""Describes a regime in words: characteristic terms, questions near its centre, and frequent groups."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ...calibration.regimes.discovery import Indices, Regime
from .regime_data import Questions

WORDS = 8
PROMPTS = 3
GROUPS = 3
READ_CHARS = 2000
"""Number of characters of a question that are searched for terms."""
SHOWN_CHARS = 160
"""Number of characters of a question in a description."""
_LEAST_LIFT = 1.3
"""How much more frequent than elsewhere a group must be to be mentioned."""
_WORD = re.compile(r"[^\W\d_]{3,30}")
_PRIOR = 500.0
"""Largest weight of all questions in the odds of a term, in documents: rare words need more than a few occurrences."""
_COMMON = frozenset(
    [
        "the",
        "and",
        "for",
        "are",
        "was",
        "were",
        "that",
        "this",
        "with",
        "from",
        "which",
        "what",
        "who",
        "how",
        "when",
        "where",
        "why",
        "not",
        "but",
        "you",
        "your",
        "they",
        "their",
        "them",
        "its",
        "has",
        "have",
        "had",
        "been",
        "being",
        "can",
        "could",
        "would",
        "should",
        "will",
        "may",
        "might",
        "than",
        "then",
        "there",
        "these",
        "those",
        "into",
        "over",
        "under",
        "about",
        "after",
        "before",
        "between",
        "each",
        "other",
        "such",
        "only",
        "one",
        "two",
        "three",
        "all",
        "any",
        "some",
        "most",
        "more",
        "does",
        "did",
        "following",
        "true",
        "false",
        "given",
        "using",
        "used",
        "use",
        "his",
        "her",
        "she",
        "him",
        "our",
        "out",
        "per",
        "let",
        "also",
        "if",
        "is",
        "it",
        "of",
        "on",
        "or",
        "to",
        "in",
        "as",
        "at",
        "by",
        "an",
        "be",
    ]
)


@dataclass(frozen=True, slots=True)
class Description:
    """A regime in words.

    Attributes:
        words: terms that are more frequent here than elsewhere, the most characteristic first.
        prompts: questions nearest to the centre, shortened.
        groups: share of each group that is more frequent here than elsewhere.
    """

    words: tuple[str, ...]
    prompts: tuple[str, ...]
    groups: Mapping[str, float]


def describe(questions: Questions, held: Indices, regime: Regime) -> Description:
    """A regime in words, from the held-out answers inside and outside it."""
    inside = held[regime.rows]
    outside = np.setdiff1d(held, inside)
    return Description(
        contrastive_terms(
            (questions.texts[i] for i in _once(questions, inside)),
            (questions.texts[i] for i in _once(questions, outside)),
        ),
        _nearest(questions, inside, regime),
        _groups(questions, inside, outside),
    )


def _once(questions: Questions, rows: Indices) -> Indices:
    """The first answer to each question."""
    _, first = np.unique(questions.columns.prompt[rows], return_index=True)
    return np.asarray(rows[np.sort(first)])


def contrastive_terms(inside: Iterable[str], outside: Iterable[str], most: int = WORDS) -> tuple[str, ...]:
    """Terms with clearly higher odds of occurring in a text inside the regime.

    Source: Monroe, Colaresi & Quinn 2008, log-odds with an informative Dirichlet prior, over documents in place of words.

    >>> contrastive_terms(["a court and a judge"] * 9 + ["a lens"], ["a lens and a mirror"] * 10, 2)
    ('court', 'judge')
    """
    here, n = _documents(inside)
    there, m = _documents(outside)
    total, weight = here + there, min(_PRIOR, 0.2 * (n + m))
    scores = []
    for word, count in here.items():
        prior = weight * total[word] / (n + m + 1)  # a word in every text is not certain either
        a, b = count + prior, there[word] + prior
        odds = np.log(a / (n + weight - a)) - np.log(b / (m + weight - b))
        scores.append((-odds / np.sqrt(1.0 / a + 1.0 / b), word))
    return tuple(word for score, word in sorted(scores)[:most] if score < -1.0)


def _documents(texts: Iterable[str]) -> tuple[Counter[str], int]:
    """For each term the number of texts with it, and the number of texts."""
    counts: Counter[str] = Counter()
    n = 0
    for text in texts:
        n += 1
        counts.update({word for word in _WORD.findall(text[:READ_CHARS].lower()) if word not in _COMMON})
    return counts, n


def _nearest(questions: Questions, rows: Indices, regime: Regime) -> tuple[str, ...]:
    rows = _once(questions, rows)
    away = ((questions.columns.x[rows] - regime.centre) ** 2).sum(axis=1)
    texts = [" ".join(questions.texts[i][:READ_CHARS].split()) for i in rows[np.argsort(away)][:PROMPTS]]
    return tuple(text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…" for text in texts if text)


def _groups(questions: Questions, inside: Indices, outside: Indices) -> dict[str, float]:
    here, there = Counter(questions.groups[inside].tolist()), Counter(questions.groups[outside].tolist())
    shares = {group: count / inside.size for group, count in here.most_common() if group}
    lifted = {g: s for g, s in shares.items() if s > _LEAST_LIFT * there[g] / max(outside.size, 1)}
    return dict(list(lifted.items())[:GROUPS])
