"""Make a client of the Redis server in a section of the configuration, without connecting to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ConfigError

if TYPE_CHECKING:
    from redis.asyncio import Redis

TIMEOUT_S = 1.0
"""Seconds to wait for an answer."""
DOWN_S = 1.0
"""Seconds for which a server that did not answer is not called again, so that requests do not wait for it one after the other."""


def redis_client(section: str, url: str) -> Redis:
    """The client for `section`, such as "sampling.cache".

    Raises:
        ConfigError: the client library is not installed, or the address is not valid.
    """
    try:
        from redis.asyncio import from_url
    except ImportError as error:
        raise ConfigError(f"{section}.store is 'redis', which needs the library redis (extra `redis`)") from error
    try:
        client: Redis = from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
    except ValueError as error:
        raise ConfigError(f"{section}.url: {error}") from error
    return client
