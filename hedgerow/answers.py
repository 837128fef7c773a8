"""From texts to a confidence, and from a confidence to a wording, in one call each: the proxy's method without a proxy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from html import escape
from numbers import Real
from typing import Any, Literal, TypeVar, get_args

import anyio
from pydantic import ValidationError
from scipy import stats

from .calibration import Beta, FittedMap
from .proxy.config import Route
from .proxy.config.reading import described
from .proxy.lab import reading, rewording
from .proxy.lab.rewording import GivenAnswer, Reworder

T = TypeVar("T")
Judge = Literal["none", "local"]
OBSERVATIONS = 10.0
"""Number of samples assumed behind a plain number: as many as the proxy draws by default."""


@dataclass(frozen=True, slots=True)
class Confidence:
    """How sure a model is of an answer, as a Beta distribution.

    Attributes
    ----------
    question : str
    draft : str
        The representative sample: the first of the largest group.
    groups : tuple[tuple[str, ...], ...]
        The samples grouped by meaning, largest group first.
    alpha, beta : float
        Samples that agree with the draft and that do not, or what a map makes of them.
    calibrated : bool
        Whether a map was applied.
    """

    question: str
    draft: str
    groups: tuple[tuple[str, ...], ...]
    alpha: float
    beta: float
    calibrated: bool = False

    @property
    def mean(self) -> float:
        """Mean confidence, in [0, 1]."""
        return self.alpha / (self.alpha + self.beta)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The central interval of the Beta distribution with probability `level`."""
        tails = (1.0 - level) / 2.0, (1.0 + level) / 2.0
        low, high = (float(stats.beta.ppf(share, self.alpha, self.beta)) for share in tails)
        return low, high

    def through(self, fitted: FittedMap) -> Confidence:
        """The confidence corrected by a calibration map of a `Calibrator` or a registry: the mean changes, the concentration stays."""
        beta = fitted.map.apply(Beta(self.alpha, self.beta))
        return replace(self, alpha=beta.alpha, beta=beta.beta, calibrated=True)

    def __float__(self) -> float:
        return self.mean

    def _repr_html_(self) -> str:
        size = sum(map(len, self.groups))
        rows = "".join(_row(group[0], len(group), size) for group in self.groups)
        low, high = self.interval()
        kind = "calibrated" if self.calibrated else "raw"
        return (
            f"<div><p><b>{escape(self.question)}</b></p><table>{rows}</table>"
            f"<p>{kind} confidence <b>{self.mean:.2f}</b> ({low:.2f} to {high:.2f}), "
            f"Beta({self.alpha:.3g}, {self.beta:.3g})</p></div>"
        )


def _row(text: str, count: int, of: int) -> str:
    bar = f'<div style="background:#4a7d5c;height:.8em;width:{12 * count / of:.2f}em"></div>'
    return f'<tr><td style="text-align:left">{escape(text)}</td><td>{bar}</td><td>{count} of {of}</td></tr>'


@dataclass(frozen=True, slots=True)
class Wording:
    """An answer worded by its confidence; `str()` gives the text.

    Attributes
    ----------
    text : str
    status : str
        `hedged`; `plain` where the confidence calls for no hedge; `unhedged` where no wording passed the guard; `passed` where the answer is
        not one to hedge; `degraded` where a step failed.
    reason : str or None
        Why an answer was left as it is; docs/api.md lists them.
    hedges : tuple[str, ...]
        Names of the hedges in the text.
    perceived : float or None
        The confidence that people read in the text, in [0, 1].
    """

    text: str
    status: str
    reason: str | None
    hedges: tuple[str, ...]
    perceived: float | None

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        note = ", ".join(self.hedges) or (self.reason or "").replace("_", " ")
        return f"<blockquote>{escape(self.text)}<br><small>{escape(self.status)}: {escape(note)}</small></blockquote>"


def confidence(question: str, samples: Sequence[str], *, judge: Judge = "none") -> Confidence:
    """How sure a model is, from several answers to one question: the share of answers in the largest group of equal meaning.

    Parameters
    ----------
    question : str
        What was asked; it decides what counts as the same answer.
    samples : sequence of str
        Independent answers of one model at a temperature near 1, at least one; ten are usual.
    judge : {"none", "local"}
        Who settles what rules leave open of a short answer and a long one: nobody, or fitted weights of words (English; no model).

    Returns
    -------
    Confidence
        Raw: `Calibrator.calibrate` corrects it.

    Raises
    ------
    ValueError
        If there is no sample, one is not a text, or the judge is another.

    Notes
    -----
    **Source**: RALC 4.1, the semantic signal: Beta(size of the largest group, samples outside it). Where one of two answers is a full
    sentence, a sample outside the group counts by the probability that it says the same (docs/signals.md).

    Examples
    --------
    >>> sure = confidence("Who wrote Emma?", ["Jane Austen", "It was Jane Austen.", "Austen", "Charlotte Brontë"])
    >>> sure.draft, sure.mean
    ('Jane Austen', 0.75)
    """
    if judge not in get_args(Judge):
        raise ValueError(f"judge must be one of {', '.join(get_args(Judge))}, got {judge!r}")
    texts = [] if isinstance(samples, str) else list(samples)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"samples must be a list of texts, at least one, got {samples!r}")
    judging = reading.by_local_judge() if judge == "local" else reading.by_rules_and_words()
    row = {"question": question, "samples": texts}
    measured, _ = _finish(partial(reading.confidence, row, judging))
    groups = tuple(tuple(texts[i] for i in group) for group in measured["groups"])
    return Confidence(question, measured["draft"], groups, measured["alpha"], measured["beta"])


def word(
    answer: str,
    confidence: float | Confidence,
    *,
    question: str = "",
    observations: float = OBSERVATIONS,
    **rewriting: Any,
) -> Wording:
    """Word an answer so that people read this confidence; unchanged if it needs no hedge or none fits.

    Parameters
    ----------
    answer : str
        A short answer. Long ones are worded claim by claim, which takes a confidence for each: `hedgerow rewrite --json`.
    confidence : float or Confidence
        In [0, 1], calibrated where that is possible.
    question : str
        What was asked; taken from a `Confidence` that has one.
    observations : float
        What a bare number rests on, > 0.
    **rewriting
        Settings of a route's `rewriting`: `voice`, `register`, `wordings`, ... (docs/config.md).

    Returns
    -------
    Wording

    Raises
    ------
    ValueError
        If the answer is not a text, the confidence is not a number in [0, 1], or a setting does not exist.

    Examples
    --------
    >>> print(word("Emma was written by Charlotte Brontë.", 0.5, question="Who wrote Emma?").status)
    hedged
    >>> print(word("Emma was written by Jane Austen.", 0.97))
    Emma was written by Jane Austen.
    """
    if not isinstance(answer, str):
        raise ValueError(f"answer must be a text, got {answer!r}")
    if isinstance(confidence, Confidence):
        beta, question = Beta(confidence.alpha, confidence.beta), question or confidence.question
    else:
        beta = Beta.from_mean(_probability(confidence), observations)
    given = GivenAnswer(question=question, answer=answer, alpha=beta.alpha, beta=beta.beta)
    figures = rewording.figures(_finish(partial(_reworder(**rewriting).reword, given)))
    perceived = figures["perceived"]
    return Wording(
        figures["text"] if figures["text"] is not None else answer,
        str(figures["status"]),
        figures["reason"],
        tuple(figures["hedges"]),
        perceived["mean"] if perceived else None,
    )


def _probability(confidence: object) -> float:
    if not isinstance(confidence, Real) or not 0.0 <= float(confidence) <= 1.0:
        raise ValueError(f"confidence must be a number in [0, 1] or a Confidence, got {confidence!r}")
    return float(confidence)


def _reworder(**settings: Any) -> Reworder:
    if not settings:
        return _plain_reworder()
    try:
        route = Route.model_validate({"name": "word", "upstream": "none", "mode": "on", "rewriting": settings})
    except ValidationError as error:
        raise ValueError("; ".join(described(error, Route))) from error
    return rewording.default_reworder(route)


@cache
def _plain_reworder() -> Reworder:
    return rewording.default_reworder()


def _finish(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of a coroutine, also inside a notebook, which already runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return anyio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, work).result()
