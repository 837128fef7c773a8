"""Who is who: client keys and the admin key, compared here and nowhere else."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Mapping

from pydantic import SecretStr

from hedgerow.proxy.config import Settings
from hedgerow.proxy.errors import Forbidden, Unauthorized
from hedgerow.proxy.types import KEY_HEADERS


def client_key_hash(headers: Mapping[str, str], settings: Settings) -> str | None:
    """The hash of the client's key; None where no key is asked for, or none was sent.

    Raises:
        Unauthorized: keys are listed in the configuration and this one is not among them.
    """
    if not settings.keys and not any(route.match.keys for route in settings.routes):
        return None
    sent = [hashlib.sha256(key.encode()).hexdigest() for key in _keys(headers)]
    listed = next((key_hash for key_hash in sent if key_hash in settings.keys), None)
    if settings.keys and listed is None:
        raise Unauthorized("this API key is not known here" if sent else "no API key was sent")
    return listed or next(iter(sent), None)


def _keys(headers: Mapping[str, str]) -> Iterator[str]:
    """The keys that a request carries, in each of the headers in which clients send them (`KEY_HEADERS`)."""
    for name in KEY_HEADERS:
        value = headers.get(name, "").strip()
        if name == "authorization":
            kind, _, value = value.partition(" ")
            value = value.strip() if kind.lower() == "bearer" else ""
        if value:
            yield value


def is_admin_key(sent: str, admin_key: SecretStr) -> bool:
    """Whether this is the admin key; takes as long either way."""
    return hmac.compare_digest(sent.encode(), admin_key.get_secret_value().encode())


def check_admin_or_client(headers: Mapping[str, str], settings: Settings) -> None:
    """Let in whoever has the admin key; where none is configured, whoever may use the proxy.

    Raises:
        Unauthorized: the key is missing or wrong.
    """
    if settings.server.admin_key is None:
        client_key_hash(headers, settings)
    else:
        _check(headers, settings.server.admin_key)


def check_admin(headers: Mapping[str, str], settings: Settings) -> None:
    """Let in whoever has the admin key; where none is configured, nobody.

    Raises:
        Forbidden: no admin key is configured.
        Unauthorized: the key is missing or wrong.
    """
    if settings.server.admin_key is None:
        raise Forbidden("This needs `server.admin_key`, which is not configured. Set it, or use `hedgerow routes`.")
    _check(headers, settings.server.admin_key)


def _check(headers: Mapping[str, str], admin_key: SecretStr) -> None:
    if not is_admin_key(headers.get("authorization", "").removeprefix("Bearer "), admin_key):
        raise Unauthorized("this needs the admin key")
