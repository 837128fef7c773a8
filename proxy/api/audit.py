"""`/v1/audit/{id}`: one audit row with its verdicts, and erasing its texts."""

from __future__ import annotations

from typing import Annotated

import structlog
from fastapi import APIRouter, Path

from ..errors import NotFound
from ..types import Json
from .access import OperatorOf, ReadsOf, ReloaderOf, StoreOf

log = structlog.get_logger(__name__)
router = APIRouter(prefix="/v1/audit")

AnswerId = Annotated[str, Path(alias="id", description="Audit id, or the completion's own id.")]


@router.get("/{id}")
async def audit(name: AnswerId, store: StoreOf, owner: ReadsOf) -> Json:
    """One audit row with its verdicts; with a named key one of its own."""
    row = await store.get(name)
    if row is None or owner not in (None, row["key"]):
        raise unknown(name)
    return row


@router.delete("/{id}")
async def erase(name: AnswerId, store: StoreOf, reloader: ReloaderOf, operator: OperatorOf) -> Json:
    """Erase the texts of one answer, also from the cache of samples; its figures stay. Only for operators."""
    if not await store.erase(name, actor=operator.name or "admin"):
        raise unknown(name)
    await reloader.look()
    log.info("erased", id=name)
    return {"id": name, "erased": True}


def unknown(name: str, param: str | None = None) -> NotFound:
    """The error for an id that no answer has."""
    message = f"no answer has the id {name!r}; take `hedgerow.id` of an answer, or the completion's own `id`"
    return NotFound(message, code="unknown_id", param=param)
