"""Linguistic signal: how sure the draft sounds."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread

from calibration import Beta
from lexicon import LexiconError, perceive
from proxy.errors import StepFailed
from proxy.values import Clustering, Sample


class LinguisticSignal:
    """The confidence that readers hear in the draft's wording, by the lexicon's local reader. It knows English."""

    name = "linguistic"

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Read the draft.

        Raises:
            StepFailed: `unreadable` where the draft holds nothing that can be read, or too much.
        """
        try:
            return (await anyio.to_thread.run_sync(perceive, samples[clustering.draft_index].text)).beta
        except LexiconError as error:
            raise StepFailed("signal", "unreadable", str(error)) from error
