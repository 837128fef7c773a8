"""What an endpoint may ask for in its arguments: the process's services, and who is let in."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from hedgerow.proxy.audit.store import AuditStore
from hedgerow.proxy.gateway import access
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


def store_of(request: Request) -> AuditStore:
    """The process's audit store."""
    return reloader_of(request).audit


ServicesOf = Annotated[Services, Depends(services_of)]
ReloaderOf = Annotated[ConfigReloader, Depends(reloader_of)]
StoreOf = Annotated[AuditStore, Depends(store_of)]


def known(request: Request, services: ServicesOf) -> None:
    """Only listed client keys get in, where any are listed; asked before the body is looked at."""
    access.client_key_hash(request.headers, services.settings)


def admitted(request: Request, services: ServicesOf) -> None:
    """Only the admin key opens the audit, where one is configured; else whoever may use the proxy."""
    access.check_admin_or_client(request.headers, services.settings)


def administers(request: Request, services: ServicesOf) -> None:
    """Only the admin key changes how routes work; without one configured nobody does over HTTP."""
    access.check_admin(request.headers, services.settings)


Known = Depends(known)
Admitted = Depends(admitted)
Administers = Depends(administers)
"""For `dependencies=[...]` of a router or an endpoint."""
