"""The plainest equivalence, equal texts after folding, and the plainest grading, "contains a gold answer".

Both are what papers usually mean by exact match; they make figures comparable. The proxy itself uses `hedgerow.proxy.clustering`.
"""

from __future__ import annotations

import re
import string
from collections.abc import Hashable, Sequence

from hedgerow.proxy.types import Clustering

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION_BUT_STOPS = re.compile(r"[^\w\s.]")
_TRIVIAQA_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation + "‘’´", " "))


def fold(text: str) -> str:
    """Lower case, without articles and punctuation but full stops inside ("3.5" is not "35"), spaces folded."""
    return " ".join(_ARTICLES.sub(" ", _PUNCTUATION_BUT_STOPS.sub(" ", text.lower())).split()).strip(". ")


def contains_gold(text: str, gold: Sequence[str]) -> bool:
    """Whether one of the gold answers stands in the text as whole words, both normalised as TriviaQA's grader does."""
    words = f" {_words(text)} "
    return any(f" {answer} " in words for answer in map(_words, gold) if answer)


def _words(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_TRIVIAQA_PUNCTUATION)).split())


def cluster_by_key(keys: Sequence[Hashable], decided_by: str) -> Clustering:
    """Equal keys together; largest cluster first, ties by the earliest sample."""
    members: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        members.setdefault(key, []).append(index)
    ordered = sorted(members.values(), key=lambda cluster: (-len(cluster), cluster[0]))
    return Clustering(tuple(tuple(cluster) for cluster in ordered), {decided_by: len(keys) * (len(keys) - 1) // 2})


class ExactEquivalence:
    """Groups answers that are equal after folding."""

    async def cluster(self, question: str, answers: Sequence[str]) -> Clustering:
        """Partition the answers by their folded texts."""
        return cluster_by_key([fold(answer) for answer in answers], "exact")
