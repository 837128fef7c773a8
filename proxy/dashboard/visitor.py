"""Who may see the pages: people who signed in (with the admin key, a person's key, or an identity provider), or, if none of these is
configured, anybody on this machine.

A session is a signed cookie (HttpOnly, SameSite=Strict), so that workers need no shared table. Every post carries a token that only the
proxy's own pages can read, and must come from the same origin.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import secrets
import time
from dataclasses import dataclass
from typing import cast, get_args
from urllib.parse import urlsplit

import orjson
from starlette.requests import Request
from starlette.responses import Response

from ..config import Settings
from ..gateway.access import ADMIN, Person
from ..services.keyring import KeyRing, state_of
from ..services.services import Services
from ..strict_json import loads
from ..types import OUR_COOKIES, Role

SESSION_COOKIE = f"{OUR_COOKIES}session"
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
"""Headers of a proxy in front: such a request does not come from this machine, even if its connection does."""


class Refused(Exception):
    """The visitor may not see the page. `may_sign_in` is False if no key would help; `visitor` is the visitor, if known; `code` the error's."""

    def __init__(
        self, message: str, *, may_sign_in: bool = False, visitor: Visitor | None = None, code: str = "role_too_low"
    ) -> None:
        super().__init__(message)
        self.message = message
        self.may_sign_in, self.code = may_sign_in, code
        self.visitor = visitor


@dataclass(frozen=True, slots=True)
class Visitor:
    """An admitted visitor.

    Attributes:
        token: the value of the session cookie.
        known: whether the browser sent it; a new visitor must get the cookie.
        signed_in: whether it belongs to a signed-in person.
        person: that person; without sign-in, a visitor on this machine has the admin's rights.
    """

    token: str
    known: bool
    signed_in: bool
    person: Person = ADMIN

    def may(self, needed: Role) -> bool:
        """Whether the visitor's role is sufficient."""
        return self.person.may(needed)

    @property
    def csrf(self) -> str:
        """The token that a post must carry, known only to readers of the proxy's own pages."""
        return hmac.new(self.token.encode(), b"csrf", hashlib.sha256).hexdigest()


def asks_for_sign_in(settings: Settings, ring: KeyRing) -> bool:
    """Whether sign-in is configured; otherwise the pages are open to this machine."""
    return settings.server.admin_key is not None or ring.has_people or settings.access.oidc is not None


def admit(request: Request, services: Services, needed: Role) -> Visitor:
    """Admit a visitor.

    Raises:
        Refused: it has not signed in, its role is not sufficient, or sign-in is not configured and it is not on this machine.
    """
    token = request.cookies.get(SESSION_COOKIE, "")
    if asks_for_sign_in(services.settings, services.keys):
        person = _person(token, services.settings, services.keys)
        if person is None:
            raise Refused("Sign in first.", may_sign_in=True)
        visitor = Visitor(token, known=True, signed_in=True, person=person)
        if not visitor.may(needed):
            message = f"This needs the role {needed}. You are signed in as {person.name}, whose role is {person.role}."
            raise Refused(message, visitor=visitor)
        return visitor
    if not is_at_this_machine(request):
        raise Refused("These pages are open to this machine only, because no server.admin_key is configured.")
    return Visitor(token, True, False) if len(token) >= 32 else Visitor(secrets.token_hex(32), False, False)


def is_at_this_machine(request: Request) -> bool:
    """Whether the connection comes from this machine and its host name is a local one; another name that resolves here may be a DNS rebinding attack."""
    if any(name in request.headers for name in FORWARDED):
        return False
    named = _hostname(request.headers.get("host", ""))
    return _is_loopback(request.client.host if request.client else "") and (named == "localhost" or _is_loopback(named))


def _hostname(host: str) -> str:
    """The host without its port; "" if invalid."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def open_session(response: Response, request: Request, services: Services, who: Who) -> None:
    """Sign a person in."""
    lasts = services.settings.access.session_s
    head = f"{int(time.time() + lasts)}.{secrets.token_hex(16)}.{_packed(who)}"
    key = _signing_key(who, services.settings, services.keys)
    if key is not None:
        _set_cookie(response, request, f"{head}.{_signature(head, key)}", int(lasts))


def remember(response: Response, request: Request, visitor: Visitor) -> None:
    """Set the cookie of a new visitor, against which its posts are checked."""
    if not visitor.known:
        _set_cookie(response, request, visitor.token, 12 * 3600)


def close_session(response: Response, request: Request) -> None:
    """Sign the visitor out."""
    _set_cookie(response, request, "", 0)


def _set_cookie(response: Response, request: Request, value: str, max_age: int) -> None:
    secure = request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"
    response.set_cookie(
        SESSION_COOKIE, value, max_age=max_age, path="/", httponly=True, samesite="strict", secure=secure
    )


@dataclass(frozen=True, slots=True)
class Who:
    """The person of a session, and how they signed in.

    Attributes:
        by: "admin" (the admin key), "key" (a person's key) or "oidc" (the identity provider).
        role: from the identity provider; the role of a key is read again for each request.
    """

    by: str = "admin"
    name: str | None = None
    role: Role = "operator"


def _packed(who: Who) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([who.by, who.name, who.role])).decode().rstrip("=")


def _unpacked(packed: str) -> Who | None:
    """The person that a session names; None where it names nobody: anybody may send anything in a cookie."""
    try:
        said = loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
    except ValueError:
        return None
    match said:
        case [str(by), str() | None as name, str(role)] if role in get_args(Role):
            return Who(by, name, cast(Role, role))
    return None


def _signing_key(who: Who, settings: Settings, ring: KeyRing) -> bytes | None:
    """The key that signs a session: changing it ends the session. None if this way to sign in is no longer configured."""
    admin_key, oidc = settings.server.admin_key, settings.access.oidc
    own = admin_key.get_secret_value() if admin_key is not None else ""
    if who.by == "admin":
        return own.encode() or None
    if who.by == "oidc":
        return f"oidc {own} {oidc.client_secret.get_secret_value()}".encode() if oidc is not None else None
    key_hash = ring.hash_of(who.name or "")
    return f"key {own} {key_hash}".encode() if key_hash is not None else None


def _signature(head: str, key: bytes) -> str:
    return hmac.new(key, b"session " + head.encode(), hashlib.sha256).hexdigest()


def _person(token: str, settings: Settings, ring: KeyRing) -> Person | None:
    """The person of a session; None if it is invalid or has ended."""
    head, _, signature = token.rpartition(".")
    until, _, rest = head.partition(".")
    who = _unpacked(rest.rpartition(".")[2])
    key = _signing_key(who, settings, ring) if who is not None else None
    if who is None or key is None or not hmac.compare_digest(signature.encode(), _signature(head, key).encode()):
        return None
    if int(until) <= time.time():
        return None
    if who.by != "key":
        return Person(who.name, who.role)
    named = ring.named(who.name or "")
    if named is None or named.role is None or state_of(named) != "active":
        return None
    return Person(named.name, named.role)


def check_post(request: Request, visitor: Visitor, token: str) -> None:
    """Check that a post comes from the proxy's own page.

    Raises:
        Refused: it does not.
    """
    if not is_same_origin(request) or not hmac.compare_digest(token.encode(), visitor.csrf.encode()):
        raise Refused("This was not sent from a page of this server. Reload the page and try again.", code="cross_site")


def is_same_origin(request: Request) -> bool:
    """Whether the browser's headers name the same origin; without these headers the token decides."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    return origin is None or origin.partition("://")[2] == request.headers.get("host")
