"""Linguistic signal: how confident the draft sounds, by the lexicon's own reader or by language models."""

from __future__ import annotations

from collections.abc import Sequence

from ...calibration import Beta
from ...lexicon import LexiconError, ModelReader, Reader, perceive
from ...lexicon.text.language import language_of
from ..computing import compute
from ..config import ReaderModel
from ..errors import StepFailed
from ..outcomes import Reason
from ..types import Clustering, Sample
from ..upstreams.asking import Prompting, RouteContext, SignalFactory

READING_TOKENS = 20
"""Token limit of a model's reply about how confident an answer sounds: a number and a few words."""


class LinguisticSignal:
    """The confidence that readers perceive in the draft's wording.

    Attributes:
        reader: rates the draft. None: the lexicon's local reader, for English, German, French and Spanish.
    """

    name = "linguistic"

    def __init__(self, reader: Reader | None = None) -> None:
        self.reader = reader

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Read the draft.

        Raises:
            StepFailed: `unreadable` if the draft has nothing to read or is too long, or the models reply without a
                number; `model_unreachable` if the call to a model fails.
        """
        text = samples[clustering.draft_index].text
        try:
            if self.reader is not None:
                return await self.reader.read(text)
            return (await compute(perceive, text, language_of(text, question) or "und")).beta
        except LexiconError as error:
            raise StepFailed("signal", Reason.UNREADABLE, str(error)) from error


def build(context: RouteContext) -> SignalFactory:
    """The signal with the route's reader: the lexicon's, or models."""
    settings = context.route.linguistic
    if settings.reader != "models":
        signal = LinguisticSignal()
        return lambda _asker, _spent: signal
    options = {"temperature": 1.0, "max_tokens": READING_TOKENS}
    asked = [
        Prompting(context.upstream(each.upstream), "signal", Reason.MODEL_UNREACHABLE, each.model, options)
        for each in settings.models or (ReaderModel(upstream=context.route.upstream),)
    ]
    return lambda asker, spent: LinguisticSignal(ModelReader([prompting.text(asker, spent) for prompting in asked]))
