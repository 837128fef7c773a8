"""Authentication: the only place where named keys, listed client keys and the admin key are looked up."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from ..audit.keys import Secret, hash_of
from ..config import Route, Settings
from ..errors import Forbidden, Unauthorized
from ..services.keyring import KeyRing, check_usable
from ..types import Role
from ..upstreams.egress import KEY_HEADERS, SUBPROTOCOLS, Ours, key_of_a_browser


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request.

    Attributes:
        secret: what it was known by; None for a caller without a named key.
        key_hash: of the key that routes are matched by; None where no key is asked for, or none was sent.
    """

    secret: Secret | None = None
    key_hash: str | None = None

    def may_use(self, route: str) -> bool:
        """Whether the sender may use a route."""
        return self.secret is None or self.secret.key.may_use(route)

    def is_limited(self, routes: Iterable[Route]) -> bool:
        """Whether a route is closed to the sender: then the model that it names decides what it may use."""
        return any(
            not self.may_use(route.name) or (route.match.keys and self.key_hash not in route.match.keys)
            for route in routes
        )

    def check(self) -> None:
        """Check that a named key is still valid for models.

        Raises:
            Unauthorized: it was replaced or revoked, has expired, or is a person's.
        """
        if self.secret is None:
            return
        check_usable(self.secret)
        if self.secret.key.role is not None:
            raise Unauthorized(f"the key {self.secret.key.name!r} signs a person in; models need a client's key")


ANYBODY = Caller()


def caller_of(headers: Mapping[str, str], settings: Settings, ring: KeyRing) -> Caller:
    """The sender of a request with these headers. A named key may have ended; `Caller.check` raises then, after its name is recorded.

    Keys are looked up by their SHA-256, so that the time this takes reveals nothing about a secret.

    Raises:
        Unauthorized: a key is asked for, and none that is known was sent.
    """
    closed = bool(settings.keys) or (
        ring.has_clients if settings.access.require_key is None else settings.access.require_key
    )
    if not closed and not len(ring) and not any(route.match.keys for route in settings.routes):
        return ANYBODY
    sent = [hash_of(key) for key in _keys(headers)]
    for key_hash in sent:
        if (secret := ring.find(key_hash)) is not None:
            return Caller(secret, key_hash)
    listed = next((key_hash for key_hash in sent if key_hash in settings.keys), None)
    if closed and listed is None:
        raise Unauthorized("this API key is not known here" if sent else "no API key was sent")
    return Caller(key_hash=listed or next(iter(sent), None))


def is_known(headers: Mapping[str, str], settings: Settings, ring: KeyRing) -> bool:
    """Whether a request carries a key that is known here, which no web page can guess."""
    admin_key = settings.server.admin_key
    return any(
        (key_hash := hash_of(key)) in settings.keys
        or ring.find(key_hash) is not None
        or (admin_key is not None and is_admin_key(key, admin_key))
        for key in _keys(headers)
    )


def ours_of(settings: Settings, ring: KeyRing) -> Ours:
    """How to tell the secrets of this proxy in what clients send."""
    admin_key = settings.server.admin_key
    return Ours(ring.prefix, admin_key.get_secret_value().encode() if admin_key is not None else None)


def _keys(headers: Mapping[str, str]) -> Iterator[str]:
    """The keys that a request carries, in each of the headers in which clients send them (`KEY_HEADERS`)."""
    for name in KEY_HEADERS:
        value = headers.get(name, "").strip()
        if name == "authorization":
            kind, _, value = value.partition(" ")
            value = value.strip() if kind.lower() == "bearer" else ""
        if value:
            yield value
    if (key := key_of_a_browser(headers.get(SUBPROTOCOLS, ""))) is not None:
        yield key


def is_admin_key(sent: str, admin_key: SecretStr | None) -> bool:
    """Whether this is the admin key, compared in constant time. Nothing sent, or nothing configured, is never it."""
    own = admin_key.get_secret_value() if admin_key is not None else ""
    return bool(sent and own) and hmac.compare_digest(sent.encode(), own.encode())


@dataclass(frozen=True, slots=True)
class Person:
    """A person who operates the proxy.

    Attributes:
        name: of their key or account; None for the holder of the admin key, who may say who they are.
        role: what they may do.
    """

    name: str | None
    role: Role

    def may(self, needed: Role) -> bool:
        """Whether their role is sufficient."""
        return RANKS.index(self.role) >= RANKS.index(needed)

    def check(self, needed: Role) -> None:
        """Check that their role is sufficient.

        Raises:
            Forbidden: it is not.
        """
        if not self.may(needed):
            raise Forbidden(f"{self.name} is {self.role}; this needs the role {needed}", code="role_too_low")


RANKS: tuple[Role, ...] = ("viewer", "reviewer", "operator")
ADMIN = Person(None, "operator")


def person_of(sent: str, settings: Settings, ring: KeyRing) -> Person | None:
    """Who signs in with a key: the admin key, or a person's; None for any other.

    Raises:
        Unauthorized: a person's key that opens nothing any more.
    """
    if is_admin_key(sent, settings.server.admin_key):
        return ADMIN
    secret = ring.find(hash_of(sent)) if len(ring) else None
    if secret is None or secret.key.role is None:
        return None
    check_usable(secret)
    return Person(secret.key.name, secret.key.role)


def check_person(headers: Mapping[str, str], settings: Settings, ring: KeyRing, needed: Role) -> Person:
    """Let in whoever has the admin key, or a person's key with at least this role; where neither is configured, nobody.

    Raises:
        Forbidden: there is no such key, or the role is not enough.
        Unauthorized: the key is missing or wrong.
    """
    person = person_of(_bearer(headers), settings, ring)
    if person is None and settings.server.admin_key is None and not ring.has_people:
        raise Forbidden("This needs `server.admin_key`, which is not configured. Set it, or use `hedgerow routes`.")
    if person is None:
        raise Unauthorized(
            "this needs the admin key" + (f", or the key of a person who is {needed}" if ring.has_people else "")
        )
    person.check(needed)
    return person


def owner_of(headers: Mapping[str, str], settings: Settings, ring: KeyRing, needed: Role) -> str | None:
    """Whose answers a request may speak of: those of its named key, or everybody's (None). Everybody's are for whoever has the admin key or a person's key
    with the role; where no admin key is configured, also for whoever may use the proxy without a named key.

    Raises:
        Forbidden: a person's role is not enough.
        Unauthorized: the key is missing or wrong.
    """
    if (person := person_of(_bearer(headers), settings, ring)) is not None:
        person.check(needed)
        return None
    if settings.server.admin_key is not None:
        named = next((secret for key in _keys(headers) if (secret := ring.find(hash_of(key))) is not None), None)
        if named is None:
            raise Unauthorized("this needs the admin key, or a named key for its own answers")
        caller = Caller(named)
    else:
        caller = caller_of(headers, settings, ring)
    caller.check()
    return None if caller.secret is None else caller.secret.key.name


def _bearer(headers: Mapping[str, str]) -> str:
    return headers.get("authorization", "").removeprefix("Bearer ")
