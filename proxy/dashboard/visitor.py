"""Who may see the pages: whoever has signed in with the admin key, or, where none is configured, whoever sits at this machine.

A session is a signed cookie (HttpOnly, SameSite=Strict), so several workers agree on it without a table. Every post carries a token
that only a page of ours could have read, and must come from the same origin.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import Response

from hedgerow.proxy.types import SESSION_COOKIE

SESSION_S = 12 * 3600
"""Seconds after which a visitor signs in again."""
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
"""Headers of a proxy before us: such a request does not come from this machine, whatever its socket says."""


class Refused(Exception):
    """The visitor may not see the page. `may_sign_in` is False where no key would help."""

    def __init__(self, message: str, *, may_sign_in: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.may_sign_in = may_sign_in


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who was let in.

    Attributes:
        token: the value of the session cookie.
        known: whether the browser sent it; a new one must be given its cookie.
        signed_in: whether it stands for the admin key.
    """

    token: str
    known: bool
    signed_in: bool

    @property
    def csrf(self) -> str:
        """What a post must carry: only who reads our pages knows it."""
        return hmac.new(self.token.encode(), b"csrf", hashlib.sha256).hexdigest()


def admit(request: Request, admin_key: SecretStr | None) -> Visitor:
    """Let a visitor in.

    Raises:
        Refused: it has not signed in, or no key is configured to sign in with and it is not at this machine.
    """
    token = request.cookies.get(SESSION_COOKIE, "")
    if admin_key is not None:
        if not _is_session(token, admin_key):
            raise Refused("Sign in with the admin key.", may_sign_in=True)
        return Visitor(token, known=True, signed_in=True)
    if not is_at_this_machine(request):
        raise Refused("These pages are open to this machine only, because no server.admin_key is configured.")
    return Visitor(token, True, False) if len(token) >= 32 else Visitor(secrets.token_hex(32), False, False)


def is_at_this_machine(request: Request) -> bool:
    """Whether the connection comes from this machine and names it so; a name that only leads here could be a page's trick."""
    if any(name in request.headers for name in FORWARDED):
        return False
    named = _hostname(request.headers.get("host", ""))
    return _is_loopback(request.client.host if request.client else "") and (named == "localhost" or _is_loopback(named))


def _hostname(host: str) -> str:
    """Without its port; "" where it is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def open_session(response: Response, request: Request, admin_key: SecretStr) -> None:
    """Sign the visitor in."""
    head = f"{int(time.time()) + SESSION_S}.{secrets.token_hex(16)}"
    _set_cookie(response, request, f"{head}.{_signature(head, admin_key)}", SESSION_S)


def remember(response: Response, request: Request, visitor: Visitor) -> None:
    """Give a new visitor its cookie, which its posts are checked against."""
    if not visitor.known:
        _set_cookie(response, request, visitor.token, SESSION_S)


def close_session(response: Response, request: Request) -> None:
    """Sign the visitor out."""
    _set_cookie(response, request, "", 0)


def _set_cookie(response: Response, request: Request, value: str, max_age: int) -> None:
    secure = request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"
    response.set_cookie(
        SESSION_COOKIE, value, max_age=max_age, path="/", httponly=True, samesite="strict", secure=secure
    )


def _signature(head: str, admin_key: SecretStr) -> str:
    return hmac.new(admin_key.get_secret_value().encode(), b"session " + head.encode(), hashlib.sha256).hexdigest()


def _is_session(token: str, admin_key: SecretStr) -> bool:
    head, _, signature = token.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _signature(head, admin_key).encode()):
        return False
    return int(head.partition(".")[0]) > time.time()


def check_post(request: Request, visitor: Visitor, token: str) -> None:
    """See that a post comes from a page of ours.

    Raises:
        Refused: it does not.
    """
    if not is_same_origin(request) or not hmac.compare_digest(token.encode(), visitor.csrf.encode()):
        raise Refused("This was not sent from a page of this server. Reload the page and try again.")


def is_same_origin(request: Request) -> bool:
    """Whether the browser says that the page it posts from is ours; one that says nothing is left to the token."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    return origin is None or origin.partition("://")[2] == request.headers.get("host")
