"""What is decided of every request before anything else: the path that it names, and whether a web page may send it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from urllib.parse import quote, unquote_to_bytes

from ..errors import BadRequest, NotFound
from ..outcomes import Reason
from ..upstreams.dialects.table import DIALECTS
from ..upstreams.egress import credentials

ANY = "*"
"""Allows every origin."""
_SAFE = "/:@!$&'()*+,=-._~"
_PLAIN = re.compile(rb"(?:/(?:[\w:@!$&'()*+,=~-][\w:@!$&'()*+,=.~-]*)?)+", re.ASCII)
_ODD = re.compile(r"(?P<dots>/\.{1,2}(?=/|$))|(?P<sign>[%\\;\x00-\x1f\x7f])")
_AZURE = re.compile(r"/openai(?:/+v1|/+deployments/+([^/]+))?(?=/)", re.IGNORECASE)
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_.-]+))(?::[0-9]*)?")
_NEAR = ("localhost", "local", "internal")
"""Top-level names that no public name server answers for."""
_BY_THEMSELVES = ("basic ", "digest ", "negotiate ", "ntlm ")
"""Schemes of credentials that browsers send by themselves, once somebody has signed in to a proxy in front."""
_UNASKED = ("", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
"""Content types that a page may send to another origin without a preflight."""


def path_of(raw: bytes) -> str:
    """The path that a request names, decoded once. What is sent upstream is made of it (`encoded`), so that nobody behind the proxy reads another.

    Raises:
        BadRequest: others may read another path: it is encoded twice, or holds a backslash, a semicolon or a control sign.
        NotFound: it has segments of dots.
    """
    if _PLAIN.fullmatch(raw):
        return raw.decode()
    try:
        path = unquote_to_bytes(raw).decode()
    except UnicodeDecodeError as error:
        raise BadRequest("the address is not UTF-8") from error
    if (odd := _ODD.search(path)) is not None:
        if odd["dots"]:
            raise NotFound(
                "there is nothing at a path with segments of dots, which others would resolve", code=Reason.UNKNOWN_PATH
            )
        raise BadRequest(
            f"the path holds {odd['sign']!r}, plain or encoded, which others may read as another path; leave it out"
        )
    return path


def encoded(path: str) -> str:
    """A path as it is sent.

    >>> encoded(path_of(b"/v1/%66iles/a%20b%2Fc"))
    '/v1/files/a%20b/c'
    """
    return quote(path, safe=_SAFE)


def place(path: str) -> tuple[str, str | None]:
    """The path of a request relative to `/v1`, and the deployment that an Azure path names. Slashes too many and another case lead away from no
    endpoint that generates text: some servers read over them.

    >>> place("/v1//chat/completions"), place("/openai/deployments/gpt-5/chat/completions"), place("/v1/Chat//completions/")
    (('/chat/completions', None), ('/chat/completions', 'gpt-5'), ('/chat/completions', None))
    """
    azure = _AZURE.match(path) if path.startswith("/openai") else None
    rest = path[azure.end() :] if azure is not None else path[len("/v1") :]
    if rest not in DIALECTS:
        meant = re.sub("/+", "/", rest).rstrip("/").lower()
        rest = meant if meant in DIALECTS else f"/{rest.lstrip('/')}"
    return rest, azure[1] if azure is not None else None


@lru_cache(maxsize=256)
def is_near(host: str) -> bool:
    """Whether a host, with or without its port, is an address, or a name that means something on this machine or in its network alone. Any other
    name belongs to somebody, who may let it resolve to this machine (DNS rebinding).

    >>> [is_near(host) for host in ("localhost:4000", "[::1]:4000", "hedgerow", "host.docker.internal", "evil.example:4000")]
    [True, True, True, True, False]
    """
    if (found := _HOST.fullmatch(host)) is None:
        return False
    try:
        ipaddress.ip_address(found[1] or found[2])
    except ValueError:
        name = found[2].rstrip(".").lower() if found[2] else ""
        return bool(name) and ("." not in name or name.rpartition(".")[2] in _NEAR)
    return True


@lru_cache(maxsize=256)
def is_loopback(address: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


def _host_of(origin: str) -> str:
    return origin.partition("://")[2]


def foreign_page(
    method: str, headers: Mapping[str, str], address: str, origins: Collection[str], *, upgrades: bool
) -> str | None:
    """Why a request without a known key may be a web page's that has no business here; None if it is none.

    Args:
        method: of the request.
        headers: of the request.
        address: of this machine to which the request came.
        origins: whose pages may use the proxy.
        upgrades: whether a WebSocket is asked for, for which no browser asks leave.
    """
    origin, host = headers.get("origin"), headers.get("host")
    if ANY in origins or origin in origins:
        return None
    if host is not None and is_loopback(address) and not is_near(host) and host not in map(_host_of, origins):
        return (
            f"the request names the host {host[:100]!r}, which is not this machine's, so that any page could send it; "
            f"use localhost, send a key that is known here, or list the host's origin in server.allowed_origins"
        )
    if origin is None or _host_of(origin) == host:
        return None
    if not upgrades:
        if method in ("GET", "HEAD", "OPTIONS"):
            return None
        if any(not value.lower().startswith(_BY_THEMSELVES) for _, value in credentials(headers)):
            return None
        if headers.get("content-type", "").partition(";")[0].strip().lower() not in _UNASKED:
            return None
    instead = "send a key that is known here" if upgrades else "send the body as JSON"
    return f"a page of another origin sent this request; list its origin in server.allowed_origins, or {instead}"
