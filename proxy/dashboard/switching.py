"""Switch a route's mode from its page, for operators, with name and reason for the record."""

from __future__ import annotations

from functools import partial
from typing import get_args
from urllib.parse import quote

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..audit import operators
from ..config import Mode
from ..errors import StoreError
from ..services.reload import ConfigReloader
from ..services.services import Services
from .guards import Fields
from .render import page
from .visitor import Visitor

CONFIGURED = "configured"
"""Form value that returns a route's mode to the configuration."""


async def mode_changed(request: Request, _services: Services, visitor: Visitor, fields: Fields) -> Response:
    """Set the mode of the page's route; this process follows at once, the others within two seconds."""
    reloader: ConfigReloader = request.state.reloader
    name, mode, note = request.path_params["route"], str(fields.get("mode", "")), str(fields.get("note", "")).strip()
    problem = None
    if all(route.name != name for route in reloader.configured.routes):
        problem = f"The configuration has no route called {name}."
    elif mode not in (*get_args(Mode), CONFIGURED):
        problem = "Choose one of the modes."
    elif not 0 < len(note) <= operators.LONGEST_NOTE:
        problem = f"Say why, in at most {operators.LONGEST_NOTE:,} characters: it goes into the record."
    if problem is not None:
        return page("missing.html", status=400, visitor=visitor, here="", what=problem)
    actor = visitor.person.name or str(fields.get("actor", "")).strip()[:64] or "admin"
    wish = None if mode == CONFIGURED else mode
    switch = partial(operators.set_state, reloader.audit.engine, name, "mode", wish, actor=actor, note=note)
    try:
        await anyio.to_thread.run_sync(switch)
    except StoreError as error:
        return page("refused.html", status=503, message=str(error), visitor=visitor)
    await reloader.look()
    return RedirectResponse(f"/dashboard/routes/{quote(name, safe='')}#mode", 303)
