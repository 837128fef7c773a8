"""What may pass: of a client's request to an upstream and to which one, and of an upstream's answer to a client.

Every door uses it. Where a request comes in, `clients_own` takes out what is the proxy's own; a call of another upstream than
the route's takes `harmless` headers only; the upstream itself sends `leaving`, with its key where it has one. Nothing here is a
list of what identifies a client: what is not ours and not of the connection goes to the upstream of the route.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, get_args

from ..config.upstreams import KeyHeader
from ..types import OUR_COOKIES

Pair = tuple[str, str]
RawPair = tuple[bytes, bytes]

KEY_HEADERS: tuple[str, ...] = get_args(KeyHeader)
"""Headers in which the protocols that are spoken here carry a key: one that is accepted, and one that an upstream's own replaces."""
OF_THE_CONNECTION = frozenset(
    [
        "connection",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)
NOT_SENT = OF_THE_CONNECTION | {"host", "content-length", "expect", "x-hedgerow-mode"}
HARMLESS = frozenset(
    [
        "accept",
        "anthropic-beta",
        "anthropic-version",
        "openai-beta",
        "traceparent",
        "tracestate",
        "user-agent",
    ]
)
"""Headers that say nothing of who the client is: all that another upstream than the route's sees."""
OF_A_BODY_AS_IT_CAME = frozenset(["accept-encoding", "content-encoding", "content-type"])
"""Headers that calls of our own (samples, models) do not take over from the client: their bodies are ours, in JSON."""
IDEMPOTENCY = "idempotency-key"
OWN_HEADERS = "x-hedgerow-"
"""Prefix of headers that only the proxy sets; an upstream's own are not passed on."""
OF_THE_HOST = (
    "access-control-",
    "accept-ch",
    "alt-svc",
    "clear-site-data",
    "nel",
    "origin-agent-cluster",
    "report-to",
    "reporting-endpoints",
    "service-worker-allowed",
    "strict-transport-security",
)
"""Beginnings of headers that speak for a whole host. To a browser that host is the proxy with its pages, for which no upstream speaks."""
SANDBOX = (b"content-security-policy", b"sandbox")
"""Keeps what an upstream calls a page from acting as one of the proxy's."""
SUBPROTOCOLS, BROWSERS_KEY = "sec-websocket-protocol", "insecure-api-key."
_LISTS = {"cookie": ";", SUBPROTOCOLS: ","}
"""Headers that carry several things, of which the others are kept; browsers put keys among the subprotocols of a WebSocket."""
_PARTS = re.compile(rb'[,;\s"]+')
_PERSISTENCE = ("keep-alive", "close", "upgrade")
_NONE = frozenset[str]()
_OUR_COOKIES = OUR_COOKIES.encode()
_CREDENTIAL = re.compile(r"auth|key|token|secret|password|credential")


class Ours(NamedTuple):
    """How to tell the proxy's own secrets among what clients send.

    Attributes:
        prefix: with which every secret of a named key begins; None where there are no named keys.
        admin_key: None where none is configured.
    """

    prefix: str | None
    admin_key: bytes | None

    def are_in(self, value: str) -> bool:
        """Whether one of them stands in a text, alone or behind a scheme, a name or a user."""
        if value[:6].lower() == "basic ":
            value += " " + _decoded(value[6:])
        if self.prefix is not None and self.prefix in value:
            return True
        if self.admin_key is None or len(value) < len(self.admin_key):
            return False
        data, size = value.encode("latin-1", "replace"), len(self.admin_key)
        return any(hmac.compare_digest(part[-size:], self.admin_key) for part in (data, *_PARTS.split(data)))


NOTHING = Ours(None, None)


def clients_own(pairs: Sequence[Pair], ours: Ours) -> list[Pair]:
    """A client's headers without what is the proxy's own (secrets of named keys, the admin key, cookies of the pages), wherever it
    stands, and without those that the client's `Connection` names: they end here.

    Args:
        pairs: all that came, with lower-case names.
        ours: as `access.ours_of` gives it.

    >>> clients_own([("cookie", "a=1; hedgerow_session=x"), ("x-key", "hgk_1"), ("x", "1")], Ours("hgk_", None))
    [('cookie', 'a=1'), ('x', '1')]
    """
    kept, ends_here, are_any = [], _NONE, ours != NOTHING
    for pair in pairs:
        name, value = pair
        if name in _LISTS:
            parts = (part.strip() for part in value.split(_LISTS[name]))
            value = f"{_LISTS[name]} ".join(p for p in parts if OUR_COOKIES not in p and not ours.are_in(p))
            if value:
                kept.append((name, value))
        elif not (are_any and ours.are_in(value)):
            kept.append(pair)
        if name == "connection":
            ends_here |= _nominated(value)
    return [pair for pair in kept if pair[0] not in ends_here] if ends_here else kept


def joined(pairs: Sequence[Pair]) -> dict[str, str]:
    """Headers by name; those that came several times as one list, as HTTP reads them.

    >>> joined([("x", "1"), ("cookie", "a=1"), ("cookie", "b=2"), ("x", "2")])
    {'x': '1, 2', 'cookie': 'a=1; b=2'}
    """
    headers = dict(pairs)
    if len(headers) == len(pairs):
        return headers
    values: dict[str, list[str]] = {name: [] for name in headers}
    for name, value in pairs:
        values[name].append(value)
    return {name: ("; " if name == "cookie" else ", ").join(several) for name, several in values.items()}


def apart(pairs: Sequence[Pair], who: str) -> list[Pair]:
    """Headers with an idempotency key that no other client has: to an account that clients share, two of them with the same key would be one."""
    return [(n, hashlib.sha256(f"{v}\n{who}".encode()).hexdigest()) if n == IDEMPOTENCY else (n, v) for n, v in pairs]


def harmless(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers for another upstream than the route's: a client's key is for the upstream of its route."""
    return {name: value for name, value in headers.items() if name in HARMLESS}


def of_a_sample(headers: Mapping[str, str]) -> list[Pair]:
    """The client's headers that every call for samples takes along."""
    return [pair for pair in headers.items() if pair[0] not in OF_A_BODY_AS_IT_CAME]


class UpstreamKey(NamedTuple):
    """The configured key of an upstream, and its header; None: the header in which the client sent its own, else `authorization`."""

    secret: str
    header: str | None = None


def leaving(pairs: Iterable[Pair], key: UpstreamKey | None = None) -> list[Pair]:
    """The headers that an upstream sees of these: not those of the client's connection, and its own key in place of the client's.

    >>> leaving([("connection", "close"), ("x-api-key", "theirs"), ("accept", "*/*")], UpstreamKey("ours"))
    [('accept', '*/*'), ('x-api-key', 'ours')]
    """
    kept = [pair for pair in pairs if pair[0] not in NOT_SENT]
    if key is None:
        return kept
    sent = [pair for pair in kept if pair[0] in KEY_HEADERS]
    name = key.header or (sent[0][0] if sent else "authorization")
    if sent:
        kept = apart(kept, "\n".join(value for _, value in sent))
    kept = [pair for pair in map(_without_key, kept) if pair[1] or pair[0] != SUBPROTOCOLS]
    return [
        *(pair for pair in kept if pair[0] not in KEY_HEADERS),
        (name, f"Bearer {key.secret}" if name == "authorization" else key.secret),
    ]


def key_of_a_browser(subprotocols: str) -> str | None:
    """The key among the subprotocols of a WebSocket, the only place where a browser can put one.

    >>> key_of_a_browser("realtime, openai-insecure-api-key.sk-1")
    'sk-1'
    """
    parts = (part.strip().partition(BROWSERS_KEY) for part in subprotocols.split(","))
    return next((key for _, mark, key in parts if mark), None)


def _without_key(pair: Pair) -> Pair:
    if pair[0] != SUBPROTOCOLS:
        return pair
    return pair[0], ", ".join(part.strip() for part in pair[1].split(",") if BROWSERS_KEY not in part)


def credentials(headers: Mapping[str, str]) -> list[Pair]:
    """The headers whose names speak of a key, a token or the like, whoever's they are. Only for what is harmless where the name says
    nothing: which arm a client gets, and whether a page can have sent them.
    """
    return [pair for pair in headers.items() if _is_credential(pair[0])]


@lru_cache(maxsize=1024)
def _is_credential(name: str) -> bool:
    is_told = _CREDENTIAL.search(name) is not None
    return is_told and not name.startswith(("sec-", "idempotency-"))


def passed_on(pairs: Iterable[RawPair]) -> list[RawPair]:
    """The headers of an upstream's answer that reach a client: not those of the connection, nor what would speak for the proxy or its
    pages. A page (and what a browser could take for one) is locked up.
    """
    kept, ends_here, kind = [], _NONE, b""
    for pair in pairs:
        treated = _treated(pair[0])
        if treated is None:
            kept.append(pair)
        elif treated == "content-type":
            kept.append(pair)
            kind = pair[1].lower()
        elif treated == "set-cookie":
            kept += [pair] * (_OUR_COOKIES not in pair[1])
        elif treated == "connection":
            ends_here |= _nominated(pair[1].decode("latin-1"))
    if ends_here:
        kept = [pair for pair in kept if pair[0].decode("latin-1").lower() not in ends_here]
    if not kind or b"html" in kind or b"xml" in kind:
        kept.append(SANDBOX)
    return kept


def leads_away(location: bytes) -> bool:
    """Whether an upstream sends a client to another host. Where the client's key is ours, its library would take it there."""
    return not location.startswith(b"/") or location[1:2] in (b"/", b"\\")


@lru_cache(maxsize=1024)
def _treated(header: bytes) -> str | None:
    """None for a header of an upstream's answer that passes; the name of one whose value decides, or "" if it is dropped."""
    name = header.decode("latin-1").lower()
    if name in ("connection", "content-type", "set-cookie"):
        return name
    return "" if name in OF_THE_CONNECTION or name.startswith((OWN_HEADERS, *OF_THE_HOST)) else None


@lru_cache(maxsize=256)
def _nominated(connection: str) -> frozenset[str]:
    """The headers that a `Connection` names as its own."""
    return frozenset(token.strip().lower() for token in connection.split(",")).difference(_PERSISTENCE)


def _decoded(user_and_password: str) -> str:
    """User and password of Basic authentication, apart; "" if they cannot be read."""
    try:
        return b64decode(user_and_password, validate=False).decode("latin-1").replace(":", " ")
    except binascii.Error:
        return ""
