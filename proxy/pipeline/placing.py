"""Maps that depend on the question: for a local map, the question is embedded in a worker thread and the map is evaluated there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from ...calibration import ActiveMap
from ...calibration.errors import RangeError
from ...calibration.maps.local import Place
from ..clustering.embeddings import Encoder, OnnxEncoder
from ..computing import compute
from ..errors import StepFailed

if TYPE_CHECKING:
    from ...calibration.maps.local import LocalMap

LOCAL = "local"
"""The kind of map that depends on the question."""


@dataclass(frozen=True, slots=True)
class Placed:
    """The map for one question.

    Attributes:
        active: the map that calibrates the answer, with a warning if the question could not be placed.
        place: where the question lies; None where the active map reads no questions, or could not read this one.
    """

    active: ActiveMap
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Placer:
    """Evaluates maps at questions. All routes share one `Placer`, so that the encoder is loaded once.

    Attributes:
        encoder: of questions; it loads its model on first use.
    """

    encoder: Encoder = field(default_factory=lambda: OnnxEncoder(step="calibrate"))

    async def placed(self, active: ActiveMap, question: str) -> Placed:
        """The active map, evaluated at the question if it depends on one. A question that cannot be placed gets the map of the confidence alone."""
        if active.map.kind != LOCAL or not question.strip():
            return Placed(active)
        return await compute(self._place, active, question)

    def _place(self, active: ActiveMap, question: str) -> Placed:
        local = cast("LocalMap", active.map)
        if not local.helps:
            warning = f"map {active.version} did not beat the map of the confidence alone, which is used in its place"
            return Placed(replace(active, warnings=(*active.warnings, warning)))
        try:
            place = local.at(self.encoder([question])[0])
        except (StepFailed, RangeError) as error:
            why = (error.detail or error.reason) if isinstance(error, StepFailed) else str(error)
            warning = f"map {active.version} cannot read the question ({why}): the confidence alone is calibrated"
            return Placed(replace(active, warnings=(*active.warnings, warning)))
        warnings = active.warnings
        if not place.known:
            far = f"the question is far from what map {active.version} has seen: the confidence alone is calibrated"
            warnings = (*warnings, far)
        return Placed(replace(active, map=place.map, warnings=warnings), place)
