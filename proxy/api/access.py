"""What an endpoint may ask for in its arguments: the process's services, and who is let in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request

from hedgerow.proxy.audit.store import AuditStore
from hedgerow.proxy.gateway import access
from hedgerow.proxy.gateway.access import Person
from hedgerow.proxy.services.reload import ConfigReloader
from hedgerow.proxy.services.services import Services
from hedgerow.proxy.types import Role


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
    """Only known client keys get in, where any are asked for; asked before the body is looked at."""
    access.caller_of(request.headers, services.settings, services.keys).check()


def reads(request: Request, services: ServicesOf) -> str | None:
    """Whose rows of the audit are open: of the caller's named key, or everybody's (None)."""
    return access.owner_of(request.headers, services.settings, services.keys, "viewer")


def judges(request: Request, services: ServicesOf) -> str | None:
    """Whose answers the caller may judge: its named key's, or everybody's (None)."""
    return access.owner_of(request.headers, services.settings, services.keys, "reviewer")


def _with_role(needed: Role) -> Callable[[Request, ServicesOf], Person]:
    def admitted(request: Request, services: ServicesOf) -> Person:
        return access.check_person(request.headers, services.settings, services.keys, needed)

    return admitted


Known = Depends(known)
Views = Depends(_with_role("viewer"))
Reviews = Depends(_with_role("reviewer"))
Administers = Depends(_with_role("operator"))
"""For `dependencies=[...]` of a router or an endpoint. `Administers` is for what changes anything."""
ReadsOf = Annotated[str | None, Depends(reads)]
JudgesOf = Annotated[str | None, Depends(judges)]
ReviewerOf = Annotated[Person, Reviews]
OperatorOf = Annotated[Person, Administers]
"""For arguments of an endpoint that asks who it is."""
