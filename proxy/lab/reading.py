"""The confidence in recorded answers, and in the claims of a long one, measured as the proxy measures them: no server, no upstream.

Rows come as JSON; what is wrong with one is said with the names of the fields that were looked for.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hedgerow.calibration import Beta
from hedgerow.lexicon.text.sentences import sentences
from hedgerow.proxy.clustering.clusterer import RuleClusterer
from hedgerow.proxy.clustering.support import support
from hedgerow.proxy.rewriting.claims import is_claim
from hedgerow.proxy.signals.semantic import SemanticSignal
from hedgerow.proxy.types import Json, Sample

Model = TypeVar("Model", bound=BaseModel)
Texts = Annotated[list[str], Field(min_length=1)]


class BadInput(ValueError):
    """A row cannot be measured; the message says why."""


class SampledAnswers(BaseModel):
    """A question and several answers to it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    question: str = ""
    samples: Texts


class LongAnswer(SampledAnswers):
    """A long answer, and other answers to the same question; `claims` where they are known already."""

    answer: str
    claims: Texts | None = None


async def confidence(row: object) -> Json:
    """The representative sample, its raw confidence, and the groups of samples by meaning (indices into `samples`).

    Raises:
        BadInput: the row has not the form of `SampledAnswers`.
    """
    read = _read(SampledAnswers, row)
    clustering = await RuleClusterer().cluster(read.question, read.samples)
    beta = await SemanticSignal().measure(read.question, [Sample(text) for text in read.samples], clustering)
    draft = read.samples[clustering.draft_index]
    return {"draft": draft, **_figures(beta), "groups": [list(cluster) for cluster in clustering.clusters]}


def claims(row: object) -> Json:
    """Each claim of an answer with its raw confidence, one observation a sample. Claims that are given are measured as they are; otherwise
    they are the answer's sentences and list items that claim something (English).

    Raises:
        BadInput: the row has not the form of `LongAnswer`.
    """
    read = _read(LongAnswer, row)
    texts = read.claims or [text for text in sentences(read.answer) if is_claim(text)]
    betas = [
        Beta.from_mean(mean, len(read.samples)) for mean in support(read.question, texts, read.samples, read.answer)
    ]
    return {"claims": [{"text": text, **_figures(b), "by": "lexical"} for text, b in zip(texts, betas, strict=True)]}


def _figures(beta: Beta) -> dict[str, Any]:
    return {"mean": round(beta.mean, 6), "alpha": round(beta.alpha, 6), "beta": round(beta.beta, 6)}


def _read(model: type[Model], row: object) -> Model:
    try:
        return model.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the line"
        wanted = ", ".join(f"'{name}'" for name, field in model.model_fields.items() if field.is_required())
        raise BadInput(f"{where}: {first['msg']}. Each line is an object with {wanted}.") from error
