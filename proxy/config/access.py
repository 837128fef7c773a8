"""Settings of access, and of the counters for limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from ..types import Role
from .secret import Address, OwnSecret
from .sections import Section


class Counting(Section):
    """Counters for the limits of named keys."""

    store: Literal["memory", "redis"] = "memory"
    """`memory` counts in each process separately, so that a key has its full limits in each. `redis` counts over all processes that use the
    same server (extra `redis`)."""
    url: Address | None = None
    """`redis`: address of the server, e.g. `redis://localhost:6379/0`."""


class Oidc(Section):
    """Sign-in to the pages with an OpenID Connect provider (extra `oidc`)."""

    issuer: Annotated[str, Field(pattern=r"^https?://")]
    """Address of the provider, below which `/.well-known/openid-configuration` lies."""
    client_id: str
    """Client id of this proxy at the provider. Its redirect address is `PUBLIC_URL/sign-in/oidc/back`."""
    client_secret: OwnSecret
    """Client secret of this proxy; it also signs sessions, so it has 16 characters or more."""
    public_url: Annotated[str, Field(pattern=r"^https?://[^/]+$")]
    """Where browsers reach the pages, e.g. `https://hedgerow.example.com`."""
    name: str = "your account"
    """Name on the button: "Sign in with ..."."""
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    """Requested scopes; some providers need a special scope to return groups."""
    name_claim: str = "email"
    """Claim of the ID token with the person's name for records; `sub` if it is missing."""
    roles_claim: str = "groups"
    """Claim of the ID token with the person's groups, as text or list; dots select fields of objects (`realm_access.roles`)."""
    roles: Mapping[str, Role] = {}
    """Role of each group: viewer, reviewer or operator. The highest one counts."""
    default_role: Role | None = None
    """Role of people in none of these groups. Null: they are refused."""


class Access(Section):
    """Access to the proxy (docs/keys.md). The named keys themselves are in the audit store."""

    require_key: bool | None = None
    """Whether to refuse requests without a known key. Null: as soon as a client has a named key. `false` also admits requests without one,
    anonymous and without limits, while clients migrate. If `keys` has hashes, other keys are always refused."""
    counting: Counting = Counting()
    """Counters for the limits of named keys."""
    oidc: Oidc | None = None
    """Sign-in with an OpenID Connect provider, besides the admin key and people's keys. Unset: keys only."""
    session_s: Annotated[float, Field(ge=60)] = 12 * 3600.0
    """Seconds after which a person must sign in to the pages again."""
