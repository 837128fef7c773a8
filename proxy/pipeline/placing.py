"""Maps that depend on the question: for a local map, the question is embedded in a worker thread and the map is evaluated there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import exp
from typing import TYPE_CHECKING, cast

from ...calibration import ActiveMap, Beta
from ...calibration.errors import RangeError
from ...calibration.maps.counts import Tokens
from ...calibration.maps.local import Place, ShiftedMap
from ...calibration.regimes.plain import plain_features
from ..clustering.embeddings import Encoder, OnnxEncoder, TorchEncoder, Vectors
from ..computing import compute
from ..errors import StepFailed
from ..types import Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...calibration.maps.adaptive import AdaptiveMap
    from ...calibration.maps.local import LocalMap

Embeddings = dict[str, Vectors]
"""Embeddings of one question, by name of the encoder."""

LOCAL = "local"
"""The kind of map that depends on the question."""
ADAPTIVE = "adaptive"
"""The kind of map that depends on counts and question."""


def encoder_of(model: str) -> Encoder:
    """The int8 MiniLM for "", else the sentence-transformers model with this name or in this folder."""
    return TorchEncoder(model) if model else OnnxEncoder(step="calibrate")


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
class Answered:
    """Input of an adaptive map: the answers that agree.

    Attributes:
        draft: the first of them.
        tokens: their token probabilities; None where the upstream gave none.
        raw: the counts; None while answers are still drawn.
    """

    draft: str
    tokens: Tokens | None
    raw: Beta | None = None

    @classmethod
    def of(cls, agreeing: Sequence[Sample], raw: Beta | None = None) -> Answered:
        """From the agreeing answers, at least one."""
        sums = [s.logprob_sum for s in agreeing if s.logprob_sum is not None]
        means = [s.logprob_mean for s in agreeing if s.logprob_mean is not None]
        tokens = None
        if len(sums) == len(means) == len(agreeing):
            mean = sum(exp(min(0.0, value)) for value in means) / len(means)
            tokens = Tokens(exp(min(0.0, max(sums))), mean)
        return cls(agreeing[0].text, tokens, raw)

    def context(
        self, made: AdaptiveMap, question: str, embedding: NDArray[np.float32] | None
    ) -> NDArray[np.float64] | None:
        """The map's input besides the counts; None if there is none."""
        if embedding is None:
            return None
        return made.context(made.seen(embedding, plain_features(question, self.draft)), self.tokens)


@dataclass(frozen=True, slots=True)
class Placer:
    """Evaluates maps at questions. All routes share one `Placer`, so that each encoder is loaded once. `known` holds the embeddings of one
    request's question by encoder. Missing ones are added, so that a question is embedded once for all maps and forgotten with its request.

    Attributes:
        encoder: makes an encoder by name; it loads its model on first use.
    """

    encoder: Callable[[str], Encoder] = encoder_of
    _encoders: dict[str, Encoder] = field(default_factory=dict)

    async def placed(
        self, active: ActiveMap, question: str, known: Embeddings, answered: Answered | None = None
    ) -> Placed:
        """The active map, evaluated at the question if it depends on one. A question that cannot be placed gets the map of the confidence alone."""
        if active.map.kind == ADAPTIVE and answered is not None and answered.raw is not None:
            return await self._adapted(active, question, known, answered, answered.raw)
        if active.map.kind != LOCAL or not question.strip():
            return Placed(active)
        return await compute(self._place, active, question, known)

    def _place(self, active: ActiveMap, question: str, known: Embeddings) -> Placed:
        local = cast("LocalMap", active.map)
        if not local.helps:
            warning = f"map {active.version} did not beat the map of the confidence alone, which is used in its place"
            return Placed(replace(active, warnings=(*active.warnings, warning)))
        try:
            place = local.at(self._embedded(local.encoder, question, known))
        except (StepFailed, RangeError) as error:
            why = (error.detail or error.reason) if isinstance(error, StepFailed) else str(error)
            warning = f"map {active.version} cannot read the question ({why}): the confidence alone is calibrated"
            return Placed(replace(active, warnings=(*active.warnings, warning)))
        warnings = active.warnings
        if not place.known:
            far = f"the question is far from what map {active.version} has seen: the confidence alone is calibrated"
            warnings = (*warnings, far)
        return Placed(replace(active, map=place.map, warnings=warnings), place)

    def _embedded(self, encoder: str, question: str, known: Embeddings) -> NDArray[np.float32]:
        if encoder not in known:
            known[encoder] = self._encoders.setdefault(encoder, self.encoder(encoder))([question])[0]
        return known[encoder]

    async def embedding(
        self, active: ActiveMap, question: str, known: Embeddings
    ) -> tuple[NDArray[np.float32] | None, str | None]:
        """The question's embedding for an adaptive map. Without one: None and the reason; (None, None) for a map that reads counts only."""
        made = cast("AdaptiveMap", active.map)
        if not made.helps:
            return None, f"map {active.version} reads no questions: they did not help when it was fitted"
        if not question.strip():
            return None, None
        try:
            return await compute(self._near, active.version, made, question, known), None
        except StepFailed as error:
            why = error.detail or error.reason
            return None, f"map {active.version} cannot read the question ({why}): the counts alone decide"
        except RangeError as error:
            return None, f"{error}: the counts alone decide"

    def _near(self, version: str | None, made: AdaptiveMap, question: str, known: Embeddings) -> NDArray[np.float32]:
        embedding = self._embedded(made.encoder, question, known)
        if not made.is_known(embedding)[0]:
            raise RangeError(f"the question is far from what map {version} has seen")
        return embedding

    async def _adapted(
        self, active: ActiveMap, question: str, known: Embeddings, answered: Answered, raw: Beta
    ) -> Placed:
        made = cast("AdaptiveMap", active.map)
        embedding, why = await self.embedding(active, question, known)
        context = answered.context(made, question, embedding)
        if embedding is not None and context is None:
            why = f"map {active.version} reads token probabilities, which the upstream did not give: the counts alone decide"
        if embedding is None or context is None:
            return Placed(active if why is None else replace(active, warnings=(*active.warnings, why)))
        shift = made.shift(raw, context)
        place = Place(ShiftedMap(made, shift), True, made.is_known(embedding)[1], shift, None)
        return Placed(replace(active, map=place.map), place)
