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
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args
from urllib.parse import parse_qsl, quote, urlsplit

import orjson
import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..api.access import services_of
from ..config import Settings
from ..config.settings import Oidc
from ..errors import BadRequest, Forbidden, StoreError
from ..gateway.access import ADMIN, RANKS, Person
from ..services.keyring import KeyRing, state_of
from ..services.services import Services
from ..strict_json import loads
from ..types import OUR_COOKIES, Role
from .render import page

log = structlog.get_logger(__name__)

SESSION_COOKIE = f"{OUR_COOKIES}session"
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
"""Headers of a proxy in front: such a request does not come from this machine, even if its connection does."""


class VisitRefused(Exception):
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
            raise VisitRefused("Sign in first.", may_sign_in=True)
        visitor = Visitor(token, known=True, signed_in=True, person=person)
        if not visitor.may(needed):
            message = f"This needs the role {needed}. You are signed in as {person.name}, whose role is {person.role}."
            raise VisitRefused(message, visitor=visitor)
        return visitor
    if not is_at_this_machine(request):
        raise VisitRefused("These pages are open to this machine only, because no server.admin_key is configured.")
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
        raise VisitRefused(
            "This was not sent from a page of this server. Reload the page and try again.", code="cross_site"
        )


def is_same_origin(request: Request) -> bool:
    """Whether the browser's headers name the same origin; without these headers the token decides."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    return origin is None or origin.partition("://")[2] == request.headers.get("host")


# Sign-in with an OpenID Connect provider. Authlib implements the protocol (state, nonce, PKCE, the ID token and its
# keys); name and role are read from the ID token here.

STATE_COOKIE = f"{OUR_COOKIES}sign_in"
"""Cookie with the state of a sign-in until the visitor returns from the provider; it is sent to no other address."""
STATE_S = 600
TIMEOUT_S = 10.0
"""Seconds that the provider may take to answer."""
PROVIDER_FAILED = "The identity provider did not answer as it should. Try again; the log says what happened."
TURNED_DOWN = (
    "The identity provider did not let you in. Try again, or ask whoever runs it; the log has the reason that it gave."
)
NOT_BEGUN_HERE = "This sign-in was not begun in this browser, was begun more than ten minutes ago, or has been used already. Sign in again."
_OURS = re.compile(r"/(?!/)[^\x00-\x20\\]*")
"""An address on this server."""
_CODE = re.compile(r"[a-z_]{1,64}")
"""An error of OAuth as its specifications spell them; anybody may call our address with another."""


class Provider:
    """The configured provider with its metadata, until the configuration changes."""

    def __init__(self) -> None:
        self._settings: Oidc | None = None
        self._client: Any = None

    async def go(self, request: Request) -> Response:
        """Redirect a visitor to the provider."""
        settings = services_of(request).settings.access.oidc
        if settings is None:
            return page("missing.html", status=404, visitor=None, here="", what="No identity provider is configured.")
        request.scope["session"] = {"next": target_of(request.query_params.get("next"))}
        try:
            response: Response = await self._of(settings).authorize_redirect(
                request, f"{settings.public_url}/sign-in/oidc/back"
            )
        except Exception as error:  # noqa: BLE001 # of three libraries and a network: each says what could not be had
            return _failed(error, PROVIDER_FAILED, 502)
        _remember(response, settings, request.scope["session"])
        return response

    async def back(self, request: Request) -> Response:
        """Sign in a visitor who returns from the provider."""
        services = services_of(request)
        if (settings := services.settings.access.oidc) is None:
            return page("missing.html", status=404, visitor=None, here="", what="No identity provider is configured.")
        session = request.scope["session"] = _remembered(request, settings)
        try:
            token = await self._of(settings).authorize_access_token(request)
        except Exception as error:  # noqa: BLE001 # as above, and whatever is wrong with an ID token
            return _failed(error, *_why(error, request))
        claims: Mapping[str, Any] = token.get("userinfo") or {}
        name, role = _name(claims, settings), role_of(claims, settings)
        if not name or role is None:
            log.warning("sign_in_refused", name=name)
            message = f"You are signed in as {name or 'nobody'}, who has no role here. Ask an operator for one."
            return page("refused.html", status=403, message=message, visitor=None, again=True)
        log.info("signed_in", name=name, role=role)
        response = page("signed_in.html", visitor=None, target=target_of(session.get("next")))
        open_session(response, request, services, Who("oidc", name, role))
        response.delete_cookie(STATE_COOKIE, path="/sign-in")
        return response

    def _of(self, settings: Oidc) -> Any:
        """Authlib's client of the provider."""
        if self._settings != settings:
            from authlib.integrations.starlette_client import OAuth

            self._settings, self._client = (
                settings,
                OAuth().register(
                    "provider",
                    client_id=settings.client_id,
                    client_secret=settings.client_secret.get_secret_value(),
                    server_metadata_url=settings.issuer.rstrip("/") + "/.well-known/openid-configuration",
                    client_kwargs={
                        "scope": " ".join(settings.scopes),
                        "code_challenge_method": "S256",
                        "timeout": TIMEOUT_S,
                    },
                ),
            )
        return self._client


async def provider_state(settings: Oidc) -> tuple[str, bool]:
    """The provider's answer when it is asked for its endpoints, and whether that is good."""
    try:
        found = await Provider()._of(settings).load_server_metadata()
    except Exception as error:  # noqa: BLE001 # of three libraries and a network
        status = _asked(error).get("status")
        why = f"status {status}" if status is not None else type(error).__name__
        return f"access.oidc.issuer is {settings.issuer}: its OpenID configuration cannot be read ({why})", False
    if "authorization_endpoint" not in found:
        return (
            f"access.oidc.issuer is {settings.issuer}: its OpenID configuration names no authorization_endpoint",
            False,
        )
    return "answers", True


def target_of(wanted: str | None) -> str:
    """Where to go after signing in: one of the proxy's own pages. Browsers ignore tabs and line ends in an address, and read a backslash as a slash."""
    return wanted if wanted is not None and _OURS.fullmatch(wanted) else "/dashboard"


def role_of(claims: Mapping[str, Any], settings: Oidc) -> Role | None:
    """The highest role of a person's groups; None without one."""
    held: Any = claims
    for part in settings.roles_claim.split("."):
        held = held.get(part) if isinstance(held, Mapping) else None
    groups = [held] if isinstance(held, str) else held if isinstance(held, list) else []
    roles = [settings.roles[group] for group in groups if isinstance(group, str) and group in settings.roles]
    return max(roles, key=RANKS.index, default=settings.default_role)


def _name(claims: Mapping[str, Any], settings: Oidc) -> str:
    """A person's name in records; "" if the provider gives none."""
    name = claims.get(settings.name_claim) or claims.get("sub")
    return name[:64] if isinstance(name, str) else ""


def _why(error: Exception, request: Request) -> tuple[str, int]:
    """What somebody who came back without being let in is told, and the status."""
    if "error" in request.query_params:
        return TURNED_DOWN, 403
    if getattr(error, "error", None) == "mismatching_state":
        return NOT_BEGUN_HERE, 400
    return PROVIDER_FAILED, 502


def _failed(error: Exception, message: str, status: int) -> Response:
    code = getattr(error, "error", None)
    why = code if isinstance(code, str) and _CODE.fullmatch(code) else None
    log.error("sign_in_failed", error=type(error).__name__, why=why, **_asked(error))
    return page("refused.html", status=status, message=message, visitor=None, again=True)


def _asked(error: Exception) -> Mapping[str, Any]:
    """Which address of the provider failed, and with which status; nothing where the error is not one of HTTP."""
    try:
        url = error.request.url  # type: ignore[attr-defined]
    except (AttributeError, RuntimeError):  # not of HTTP; of HTTP, and no request belongs to it
        return {}
    status = getattr(getattr(error, "response", None), "status_code", None)
    return {"address": str(url.copy_with(query=None)), "status": status}


def _remember(response: Response, settings: Oidc, session: Mapping[str, Any]) -> None:
    """Set the state cookie. It is sent on the redirect from the provider's site, so it cannot be SameSite=Strict."""
    packed = base64.urlsafe_b64encode(orjson.dumps(session)).decode()
    value, secure = f"{packed}.{_sign(packed, settings)}", settings.public_url.startswith("https:")
    response.set_cookie(
        STATE_COOKIE, value, max_age=STATE_S, path="/sign-in", httponly=True, samesite="lax", secure=secure
    )


def _remembered(request: Request, settings: Oidc) -> dict[str, Any]:
    """The state in the cookie; empty if the proxy did not write it."""
    packed, _, signature = request.cookies.get(STATE_COOKIE, "").rpartition(".")
    if not hmac.compare_digest(signature.encode(), _sign(packed, settings).encode()):
        return {}
    session: dict[str, Any] = loads(base64.urlsafe_b64decode(packed))
    return session


def _sign(packed: str, settings: Oidc) -> str:
    key = settings.client_secret.get_secret_value().encode()
    return hmac.new(key, b"sign-in " + packed.encode(), hashlib.sha256).hexdigest()


# Access to pages: visitors with the right role, and posts that come from the proxy's own pages.

MAX_POST_BYTES = 100_000

Handler = Callable[[Request, Services, Visitor], Awaitable[Response]]
Fields = Mapping[str, Any]
PostHandler = Callable[[Request, Services, Visitor, Fields], Awaitable[Response]]


def shown(handler: Handler, needed: Role = "viewer") -> Callable[[Request], Awaitable[Response]]:
    """A page for visitors with a sufficient role; visitors who are not signed in are redirected to the sign-in page."""

    async def endpoint(request: Request) -> Response:
        services = services_of(request)
        try:
            visitor = admit(request, services, needed)
        except VisitRefused as refusal:
            if refusal.may_sign_in:
                return RedirectResponse(f"/sign-in?next={quote(_address(request))}", 303)
            return page("refused.html", status=403, message=refusal.message, visitor=refusal.visitor)
        try:
            response = await handler(request, services, visitor)
        except StoreError as error:
            response = page("refused.html", status=503, message=str(error), visitor=visitor)
        remember(response, request, visitor)
        return response

    return endpoint


def posted(handler: PostHandler, needed: Role = "operator") -> Callable[[Request], Awaitable[Response]]:
    """A post from one of the proxy's own pages, form or JSON, by a visitor with a sufficient role; the handler receives its fields."""

    async def endpoint(request: Request) -> Response:
        services = services_of(request)
        fields = await fields_of(request)
        if fields is None:
            raise BadRequest("The request body is too large, holds a NUL, or is neither a form nor a JSON object.")
        try:
            visitor = admit(request, services, needed)
            check_post(request, visitor, str(fields.get("csrf", "")))
        except VisitRefused as refusal:
            raise Forbidden(refusal.message, code=refusal.code) from refusal
        return await handler(request, services, visitor, fields)

    return endpoint


async def fields_of(request: Request) -> Fields | None:
    """The fields of a post; None where it is too large, not an object, or holds a NUL, which PostgreSQL takes in no text."""
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MAX_POST_BYTES:
            return None
    try:
        if request.headers.get("content-type", "").startswith("application/json"):
            fields = loads(data)
        else:
            fields = dict(parse_qsl(data.decode()))
    except ValueError:
        return None
    if not isinstance(fields, dict) or any("\0" in value for value in fields.values() if isinstance(value, str)):
        return None
    return fields


def _address(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")
