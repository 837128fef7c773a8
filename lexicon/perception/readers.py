"""Readers, which rate how confident a text sounds; here with language models in place of people.

`perceive` needs no model. RALC scores wordings by an ensemble of language models. The models are passed in as
callables.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...calibration import Beta
from ...calibration.scores import fit_likelihood
from ..errors import LexiconError
from ..hedges.build import Ask, parse_score, scoring_prompt
from .local_reader import check_readable
from .spotting import check_length


class Reader(Protocol):
    """Rates how confident a wording sounds, whether or not it is true."""

    async def read(self, text: str) -> Beta:
        """The confidence perceived in the text as a whole.

        Raises
        ------
        TextTooLong, LexiconError
            If the text cannot be read, or there is no usable reading.
        """
        ...


@dataclass(frozen=True, slots=True)
class ModelReader:
    """An ensemble of language models as a reader (RALC D.1).

    Attributes
    ----------
    models : sequence of callables, prompt -> answer
        Their exceptions are passed on.
    passes : int
        How often each is asked, >= 1.

    Notes
    -----
    An answer without a number from 0 to 100 does not count. At least half of the answers must have one: a Beta of a few
    parsed answers would be unreliable.
    """

    models: Sequence[Ask]
    passes: int = 3

    def __post_init__(self) -> None:
        if not self.models or self.passes < 1:
            raise LexiconError("a model reader needs at least one model and one pass")

    async def read(self, text: str) -> Beta:
        """Ask all models at once and fit a Beta to their scores by maximum likelihood."""
        check_length(text)
        check_readable(text)
        prompt = scoring_prompt(text)
        answers = await asyncio.gather(*(ask(prompt) for ask in self.models for _ in range(self.passes)))
        scores = [score for answer in answers if (score := parse_score(answer)) is not None]
        if 2 * len(scores) < len(answers) or not scores:
            raise LexiconError(f"{len(answers) - len(scores)} of {len(answers)} answers have no number from 0 to 100")
        return fit_likelihood(scores)
