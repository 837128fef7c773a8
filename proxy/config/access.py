"""Settings of who may use the proxy, and of where their use is counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, SecretStr

from hedgerow.proxy.config.sections import Section
from hedgerow.proxy.types import Role


class Counting(Section):
    """Where the use of named keys is counted against their limits."""

    store: Literal["memory", "redis"] = "memory"
    """`memory` counts in each process alone: with several, a key has its limits in each of them. `redis` counts over all processes that use the same
    server (extra `redis`)."""
    url: str | None = None
    """`redis`: address of the server, e.g. `redis://localhost:6379/0`."""


class Oidc(Section):
    """Signing people in to the pages at an OpenID Connect provider (extra `oidc`)."""

    issuer: Annotated[str, Field(pattern=r"^https?://")]
    """Address of the provider, below which `/.well-known/openid-configuration` lies."""
    client_id: str
    """What the provider calls this proxy. Its redirect address is `PUBLIC_URL/sign-in/oidc/back`."""
    client_secret: SecretStr
    """What the provider knows it by; sessions are signed with it too."""
    public_url: Annotated[str, Field(pattern=r"^https?://[^/]+$")]
    """Where browsers reach the pages, e.g. `https://hedgerow.example.com`."""
    name: str = "your account"
    """What the button says: "Sign in with ..."."""
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    """What is asked for; some providers give groups only for a scope of their own."""
    name_claim: str = "email"
    """Claim of the ID token by which a person is recorded; `sub` where it is missing."""
    roles_claim: str = "groups"
    """Claim of the ID token that holds a person's groups, as a text or a list; dots lead into objects (`realm_access.roles`)."""
    roles: Mapping[str, Role] = {}
    """Role of each group: viewer, reviewer or operator. Of several the highest counts."""
    default_role: Role | None = None
    """Role of people in none of these groups. Null: they are turned away."""


class Access(Section):
    """Who may use the proxy (docs/keys.md). Named keys themselves lie in the audit store."""

    require_key: bool | None = None
    """Whether requests without a key that is known here are refused. Null: as soon as there is a named key of a client. `false` lets them through
    beside named keys, nameless and without limits, while clients change over. Hashes in `keys` refuse all others either way."""
    counting: Counting = Counting()
    """Where the use of named keys is counted against their limits."""
    oidc: Oidc | None = None
    """Signing people in at an OpenID Connect provider, beside the admin key and people's keys. Unset: with keys alone."""
    session_s: Annotated[float, Field(ge=60)] = 12 * 3600.0
    """Seconds after which somebody who signed in to the pages signs in again."""
