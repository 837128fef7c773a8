"""Linguistic signal: how sure the draft sounds, to the lexicon's own reader or to language models."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread

from hedgerow.calibration import Beta
from hedgerow.lexicon import LexiconError, Reader, perceive
from hedgerow.lexicon.text.language import language_of
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.types import Clustering, Sample


class LinguisticSignal:
    """The confidence that readers hear in the draft's wording.

    Attributes:
        reader: who reads. None: the lexicon's local reader, which knows English, German, French and Spanish.
    """

    name = "linguistic"

    def __init__(self, reader: Reader | None = None) -> None:
        self.reader = reader

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Read the draft.

        Raises:
            StepFailed: `unreadable` where the draft holds nothing that can be read, or too much, or where the models that were asked
                said no number; `reader_unreachable` where a model cannot be asked.
        """
        text = samples[clustering.draft_index].text
        try:
            if self.reader is not None:
                return await self.reader.read(text)
            return (await anyio.to_thread.run_sync(perceive, text, language_of(text, question) or "und")).beta
        except LexiconError as error:
            raise StepFailed("signal", "unreadable", str(error)) from error
