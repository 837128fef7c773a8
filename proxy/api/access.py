"""Dependencies of endpoints: the process's services, and access checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request

from ..audit.store import AuditStore
from ..gateway import access
from ..gateway.access import Person
from ..services.reload import ConfigReloader
from ..services.services import Services
from ..types import Role


def services_of(request: Request) -> Services:
    """The services in use when the request arrived."""
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
    """Require a known client key, if keys are configured; checked before the body is read."""
    access.caller_of(request.headers, services.settings, services.keys).check()


def reads(request: Request, services: ServicesOf) -> str | None:
    """The named key whose audit rows the caller may read; None for all rows."""
    return access.owner_of(request.headers, services.settings, services.keys, "viewer")


def judges(request: Request, services: ServicesOf) -> str | None:
    """The named key whose answers the caller may judge; None for all answers."""
    return access.owner_of(request.headers, services.settings, services.keys, "reviewer")


def _with_role(needed: Role) -> Callable[[Request, ServicesOf], Person]:
    def admitted(request: Request, services: ServicesOf) -> Person:
        return access.check_person(request.headers, services.settings, services.keys, needed)

    return admitted


Known = Depends(known)
Views = Depends(_with_role("viewer"))
Reviews = Depends(_with_role("reviewer"))
Administers = Depends(_with_role("operator"))
"""For `dependencies=[...]` of a router or an endpoint. `Administers` is for endpoints that change something."""
ReadsOf = Annotated[str | None, Depends(reads)]
JudgesOf = Annotated[str | None, Depends(judges)]
ReviewerOf = Annotated[Person, Reviews]
OperatorOf = Annotated[Person, Administers]
"""For arguments of an endpoint that needs the person."""
