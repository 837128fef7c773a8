"""Who may do what on the proxy's own endpoints, and what these are given."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import Depends, Request

from hedgerow.proxy.errors import Forbidden, Unauthorized
from hedgerow.proxy.gateway.edge import authorise
from hedgerow.proxy.services.reload import ConfigReloader
from hedgerow.proxy.services.services import Services


def services_of(request: Request) -> Services:
    """The services that were in use when the request came in."""
    services: Services = request.state.services
    return services


def reloader_of(request: Request) -> ConfigReloader:
    """The process's services over time."""
    reloader: ConfigReloader = request.state.reloader
    return reloader


ServicesOf = Annotated[Services, Depends(services_of)]
ReloaderOf = Annotated[ConfigReloader, Depends(reloader_of)]


def known(request: Request, services: ServicesOf) -> None:
    """Only listed client keys get in, where any are listed; asked before the body is looked at.

    Raises:
        Unauthorized: the key is missing or unknown.
    """
    authorise(request.headers, services)


def admitted(request: Request, services: ServicesOf) -> None:
    """Only the admin key opens the audit, where one is configured; else whoever may use the proxy.

    Raises:
        Unauthorized: the key is missing or wrong.
    """
    if services.settings.server.admin_key is None:
        authorise(request.headers, services)
    else:
        _check_admin_key(request, services)


def administers(request: Request, services: ServicesOf) -> None:
    """Only the admin key changes how routes work; without one configured nobody does over HTTP.

    Raises:
        Forbidden: no admin key is configured.
        Unauthorized: the key is missing or wrong.
    """
    if services.settings.server.admin_key is None:
        raise Forbidden(
            "`server.admin_key` is not configured; without it routes are changed by `hedgerow routes` alone"
        )
    _check_admin_key(request, services)


def _check_admin_key(request: Request, services: Services) -> None:
    admin = services.settings.server.admin_key
    assert admin is not None  # both callers looked  # noqa: S101
    sent = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
    if not hmac.compare_digest(sent, admin.get_secret_value().encode()):
        raise Unauthorized("this needs the admin key")


Known = Annotated[None, Depends(known)]
Admitted = Annotated[None, Depends(admitted)]
Administers = Annotated[None, Depends(administers)]
