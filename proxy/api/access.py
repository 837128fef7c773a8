"""Who may do what on the proxy's own endpoints, and what these are given."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import Depends, Request

from hedgerow.proxy.errors import Forbidden, Unauthorized
from hedgerow.proxy.gateway.edge import authorise
from hedgerow.proxy.services.reload import Live
from hedgerow.proxy.services.services import Parts


def parts_of(request: Request) -> Parts:
    """The parts that were in use when the request came in."""
    parts: Parts = request.state.parts
    return parts


def live_of(request: Request) -> Live:
    """The process's parts over time."""
    live: Live = request.state.live
    return live


PartsOf = Annotated[Parts, Depends(parts_of)]
LiveOf = Annotated[Live, Depends(live_of)]


def known(request: Request, parts: PartsOf) -> None:
    """Only listed client keys get in, where any are listed; asked before the body is looked at.

    Raises:
        Unauthorized: the key is missing or unknown.
    """
    authorise(request.headers, parts)


def admitted(request: Request, parts: PartsOf) -> None:
    """Only the admin key opens the audit, where one is configured; else whoever may use the proxy.

    Raises:
        Unauthorized: the key is missing or wrong.
    """
    if parts.settings.server.admin_key is None:
        authorise(request.headers, parts)
    else:
        _check_admin_key(request, parts)


def administers(request: Request, parts: PartsOf) -> None:
    """Only the admin key changes how routes work; without one configured nobody does over HTTP.

    Raises:
        Forbidden: no admin key is configured.
        Unauthorized: the key is missing or wrong.
    """
    if parts.settings.server.admin_key is None:
        raise Forbidden(
            "`server.admin_key` is not configured; without it routes are changed by `hedgerow routes` alone"
        )
    _check_admin_key(request, parts)


def _check_admin_key(request: Request, parts: Parts) -> None:
    admin = parts.settings.server.admin_key
    assert admin is not None  # both callers looked  # noqa: S101
    sent = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
    if not hmac.compare_digest(sent, admin.get_secret_value().encode()):
        raise Unauthorized("this needs the admin key")


Known = Annotated[None, Depends(known)]
Admitted = Annotated[None, Depends(admitted)]
Administers = Annotated[None, Depends(administers)]
