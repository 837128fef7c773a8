"""`POST /v1/perceive`: how confident a text sounds to its readers."""

from __future__ import annotations

from typing import Annotated, Literal

import anyio.to_thread
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from ... import lexicon
from ...lexicon.text.language import language_of
from ..errors import BadRequest
from ..types import Json
from .access import Known

router = APIRouter(prefix="/v1/perceive", dependencies=[Known])


class Wording(BaseModel):
    """A text whose perceived confidence is requested."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(description="English, German, French or Spanish text.")]
    language: Annotated[
        Literal["en", "de", "fr", "es"] | None, Field(description="What it is written in; unset: what it seems to be.")
    ] = None


@router.post("")
async def perceive(wording: Wording) -> Json:
    """How confident a text sounds to readers, in total and sentence by sentence, whether or not it is true."""
    return await anyio.to_thread.run_sync(_perceive, wording)


def _perceive(wording: Wording) -> Json:
    language = wording.language or language_of(wording.text) or "und"
    try:
        perceived = lexicon.perceive(wording.text, language)
    except lexicon.LexiconError as error:
        raise BadRequest(str(error), param="text", code="unreadable_text") from error
    return {
        "mean": perceived.beta.mean,
        "alpha": perceived.beta.alpha,
        "beta": perceived.beta.beta,
        "language": language,
        "sentences": [
            {"text": s.text, "mean": s.beta.mean, "alpha": s.beta.alpha, "beta": s.beta.beta}
            for s in perceived.sentences
        ],
        "spans": [
            {"start": s.start, "end": s.end, "text": s.text, "kind": s.kind, "hedge": s.hedge} for s in perceived.spans
        ],
    }
