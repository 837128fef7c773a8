"""A scripted OpenID Connect provider on a real server: it signs in whoever it is told to, and can be told to lie."""

from __future__ import annotations

import base64
import hashlib
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT, SECRET = "hedgerow", "the secret of the client"


@dataclass
class IdentityProvider:
    """`claims` go into the ID token; `lies` overrides them last, `key` signs in place of the published one, `refuses` is an error that it answers with, and `away` says
    that nothing stands behind its address."""

    claims: dict[str, Any] = field(default_factory=lambda: {"sub": "u1", "email": "anna@example.com", "groups": []})
    lies: dict[str, Any] = field(default_factory=dict)
    key: RSAKey | None = None
    refuses: str | None = None
    away: bool = False
    url: str = ""
    tokens: list[str] = field(default_factory=list)
    asked: dict[str, str] = field(default_factory=dict)
    published: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one"}, auto_kid=False))

    def __post_init__(self) -> None:
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._metadata),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/keys", self._keys),
            ]
        )

    async def _metadata(self, _request: Request) -> Response:
        if self.away:
            return PlainTextResponse("Bad Gateway", 502)
        places = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        addresses = {name: f"{self.url}/{place}" for name, place in places.items()}
        return JSONResponse(addresses | {"issuer": self.url, "id_token_signing_alg_values_supported": ["RS256"]})

    async def _authorize(self, request: Request) -> Response:
        """Whoever comes is signed in already, and is sent back at once."""
        self.asked = dict(request.query_params)
        back = {"state": self.asked["state"]} | ({"error": self.refuses} if self.refuses else {"code": "the code"})
        return RedirectResponse(f"{self.asked['redirect_uri']}?{urlencode(back)}", 302)

    async def _token(self, request: Request) -> Response:
        if self.away:
            return PlainTextResponse("Bad Gateway", 502)
        sent = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        known = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        challenge = base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"].encode()).digest()).rstrip(b"=")
        if (
            request.headers["authorization"] != f"Basic {known.replace('%20', ' ')}"
            and sent.get("client_secret") != SECRET
        ) or challenge.decode() != self.asked["code_challenge"]:
            return JSONResponse({"error": "invalid_client"}, 401)
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": self.asked["nonce"]}
        head = {"alg": "RS256", "kid": self.published.kid}
        token = jwt.encode(head, claims | self.claims | self.lies, self.key or self.published)
        self.tokens.append(token)
        return JSONResponse({"access_token": "a", "token_type": "Bearer", "id_token": token})

    async def _keys(self, _request: Request) -> Response:
        return JSONResponse(KeySet([self.published]).as_dict(private=False))
