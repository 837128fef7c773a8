"""`GET /v1/models`: the models of every upstream. Below it (`/v1/models/{id}`) an upstream answers."""

from __future__ import annotations

from typing import Annotated, Literal

import anyio.to_thread
import structlog
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from ... import lexicon
from ...lexicon.text.language import language_of
from ..errors import BadRequest, ProxyError
from ..gateway.access import ours_of
from ..types import Json
from ..upstreams.egress import clients_own, harmless, joined
from .access import Known, ServicesOf

log = structlog.get_logger(__name__)
router = APIRouter(prefix="/v1/models", dependencies=[Known])


@router.get("")
async def models(request: Request, services: ServicesOf) -> Json:
    """The models of every upstream; an upstream that does not answer is left out and logged. The default upstream alone sees the client's key."""
    headers = joined(clients_own(request.headers.items(), ours_of(services.settings, services.keys)))
    default = services.settings.default
    trusted = services.settings.members(default) if default is not None else ()
    query = request.url.query
    models: dict[str, Json] = {}
    failures: list[ProxyError] = []
    for name, upstream in services.upstreams.items():
        try:
            is_trusted = name in trusted  # a query may hold a key too
            listed = await (upstream.models(headers, query) if is_trusted else upstream.models(harmless(headers)))
        except ProxyError as error:
            log.warning("models_unavailable", upstream=name, code=error.code, cause=error.cause)
            failures.append(error)
            continue
        models.update((str(model.get("id")), model) for model in listed)
    if failures and not models:
        raise failures[0]
    ends = {"first_id": next(iter(models)), "last_id": next(reversed(models))} if models else {}
    return {"object": "list", "data": list(models.values())} | ends | {"has_more": False}


# `POST /v1/perceive`: how confident a text sounds to its readers.

perceive_router = APIRouter(prefix="/v1/perceive", dependencies=[Known])


class TextToPerceive(BaseModel):
    """A text whose perceived confidence is requested."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(description="English, German, French or Spanish text.")]
    language: Annotated[
        Literal["en", "de", "fr", "es"] | None, Field(description="What it is written in; unset: what it seems to be.")
    ] = None


@perceive_router.post("")
async def perceive(wording: TextToPerceive) -> Json:
    """How confident a text sounds to readers, in total and sentence by sentence, whether or not it is true."""
    return await anyio.to_thread.run_sync(_perceive, wording)


def _perceive(wording: TextToPerceive) -> Json:
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
