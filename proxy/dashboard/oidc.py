"""Sign-in with an OpenID Connect provider. Authlib implements the protocol (state, nonce, PKCE, the ID token and its keys); name and role are
read from the ID token here.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any

import orjson
import structlog
from starlette.requests import Request
from starlette.responses import Response

from ..api.access import services_of
from ..config.access import Oidc
from ..gateway.access import RANKS
from ..strict_json import loads
from ..types import OUR_COOKIES, Role
from . import visitor as visitors
from .render import page
from .visitor import Who

log = structlog.get_logger(__name__)

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
        visitors.open_session(response, request, services, Who("oidc", name, role))
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
