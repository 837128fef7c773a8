"""The seams: what the pipeline needs of its parts, and nothing of how they do it.

`build.py` is the one place that knows both these protocols and their implementations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from calibration import Beta
from proxy.values import Clustering, Rewrite, RewriteRequest, Sample, Verdict


class Equivalence(Protocol):
    """Groups answers by meaning."""

    async def cluster(self, question: str, answers: Sequence[str]) -> Clustering:
        """Partition the answers; index i of the result is answers[i]. `answers` is not empty.

        Raises:
            StepFailed: where a judge was asked and could not answer, and no fallback is configured.
        """
        ...


class ConfidenceSignal(Protocol):
    """Turns samples and their clusters into a raw Beta of confidence in the draft."""

    name: str

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Raw confidence that the draft (`samples[clustering.draft_index]`) is right.

        Raises:
            StepFailed: where the samples do not carry what this signal needs (no log-probabilities, say).
        """
        ...


class Rewriter(Protocol):
    """Words a draft at a confidence."""

    name: str

    async def rewrite(self, request: RewriteRequest) -> Rewrite:
        """Reword the draft.

        Raises:
            StepFailed: where no rewrite could be made (no frame fits, the editor failed).
        """
        ...


class Guard(Protocol):
    """Says whether a rewrite changed anything but the confidence."""

    async def check(self, request: RewriteRequest, rewrite: Rewrite) -> Verdict:
        """Compare the rewrite with the draft. Never raises for bad text: bad text is a refusal."""
        ...
