"""Maps that read the question: where the active map is a local one, the question is embedded beside the loop and the map taken at its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import anyio.to_thread

from hedgerow.calibration import ActiveMap
from hedgerow.calibration.errors import RangeError
from hedgerow.proxy.clustering.embeddings import Encoder, OnnxEncoder, TorchEncoder
from hedgerow.proxy.errors import StepFailed

if TYPE_CHECKING:
    from hedgerow.calibration.maps.local import LocalMap, Place

LOCAL = "local"
"""The kind of map that reads questions."""


def encoder_of(model: str) -> Encoder:
    """The int8 MiniLM for "", else a sentence-transformers model by name or folder."""
    return TorchEncoder(model) if model else OnnxEncoder(step="calibrate")


@dataclass(frozen=True, slots=True)
class Placed:
    """The map for one question.

    Attributes:
        active: what the answer is calibrated with; its warnings say where the question could not be placed.
        place: where the question lies; None where the active map reads no questions, or could not read this one.
    """

    active: ActiveMap
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Placer:
    """Takes local maps at questions; one for all routes, so that each encoder is loaded once.

    Attributes:
        encoder: makes an encoder by name; it loads its model on first use.
    """

    encoder: Callable[[str], Encoder] = encoder_of
    _encoders: dict[str, Encoder] = field(default_factory=dict)

    async def placed(self, active: ActiveMap, question: str) -> Placed:
        """The active map, or, where it is a local one, that map at the question. What cannot be placed gets the map of the confidence alone."""
        if active.map.kind != LOCAL or not question.strip():
            return Placed(active)
        return await anyio.to_thread.run_sync(self._place, active, question)

    def _place(self, active: ActiveMap, question: str) -> Placed:
        local = cast("LocalMap", active.map)
        if not local.helps:
            warning = f"map {active.version} did not beat the map of the confidence alone, which is used in its place"
            return Placed(replace(active, warnings=(*active.warnings, warning)))
        encoder = self._encoders.setdefault(local.encoder, self.encoder(local.encoder))
        try:
            place = local.at(encoder([question])[0])
        except (StepFailed, RangeError) as error:
            why = (error.detail or error.reason) if isinstance(error, StepFailed) else str(error)
            warning = f"map {active.version} cannot read the question ({why}): the confidence alone is calibrated"
            return Placed(replace(active, warnings=(*active.warnings, warning)))
        warnings = active.warnings
        if not place.known:
            far = f"the question is far from what map {active.version} has seen: the confidence alone is calibrated"
            warnings = (*warnings, far)
        return Placed(replace(active, map=place.map, warnings=warnings), place)
