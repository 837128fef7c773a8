"""`/v1/audit/{id}`: one audit row with its verdicts, and erasing its texts."""

from __future__ import annotations

import structlog
from fastapi import APIRouter

from hedgerow.proxy.api.access import Administers, Admitted, StoreOf
from hedgerow.proxy.errors import NotFound
from hedgerow.proxy.types import Json

log = structlog.get_logger(__name__)
router = APIRouter(prefix="/v1/audit")


@router.get("/{name}", dependencies=[Admitted])
async def audit(name: str, store: StoreOf) -> Json:
    """One audit row with its verdicts."""
    row = await store.get(name)
    if row is None:
        raise unknown(name)
    return row


@router.delete("/{name}", dependencies=[Administers])
async def erase(name: str, store: StoreOf) -> Json:
    """Drop the texts of one answer; its figures stay. Only with the admin key, which must be configured."""
    if not await store.erase(name, actor="admin"):
        raise unknown(name)
    log.info("erased", id=name)
    return {"id": name, "erased": True}


def unknown(name: str, param: str | None = None) -> NotFound:
    """The error for an id that no answer has."""
    return NotFound(f"no answer has the id {name!r}", code="unknown_id", param=param)
