"""The named keys as requests meet them: in memory, by the hash of their secrets, read again when the store's have changed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Literal

from hedgerow.proxy.audit.engine import Engine
from hedgerow.proxy.audit.keys import Secret, read_secrets
from hedgerow.proxy.errors import Unauthorized
from hedgerow.proxy.types import Key


class KeyRing:
    """What each known hash stands for, also those of keys that have ended.

    Attributes:
        has_clients, has_people: whether there is, or ever was, a key of a client, and of a person.
    """

    def __init__(self) -> None:
        self.has_clients = self.has_people = False
        self._revision = 0
        self._by_hash: Mapping[str, Secret] = {}

    def __len__(self) -> int:
        return len(self._by_hash)

    def find(self, key_hash: str) -> Secret | None:
        """What a hash stands for."""
        return self._by_hash.get(key_hash)

    def named(self, name: str) -> Key | None:
        """The key of a name."""
        return next((secret.key for secret in self._by_hash.values() if secret.key.name == name), None)

    def hash_of(self, name: str) -> str | None:
        """The hash of a key's present secret."""
        return next((h for h, s in self._by_hash.items() if s.key.name == name and s.until is None), None)

    def refresh(self, engine: Engine) -> None:
        """Take over what has changed in the store. Blocks; requests meet the old keys or the new ones, never some of both.

        Raises:
            StoreError: the store cannot be read; the keys stay as they were.
        """
        if (read := read_secrets(engine, self._revision)) is not None:
            self._revision, self._by_hash = read
            roles = {secret.key.role for secret in self._by_hash.values()}
            self.has_clients, self.has_people = None in roles, bool(roles - {None})


State = Literal["active", "expired", "revoked"]


def state_of(key: Key) -> State:
    """What has become of a key by now."""
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and time.time() >= key.expires_at else "active"


def check_usable(secret: Secret) -> None:
    """See that a secret still opens something.

    Raises:
        Unauthorized: it was replaced, or its key is revoked or expired; whoever has it may know which.
    """
    name, state = secret.key.name, state_of(secret.key)
    if state != "active":
        raise Unauthorized(f"the key {name!r} " + ("was revoked" if state == "revoked" else "has expired"))
    if secret.until is not None and time.time() >= secret.until:
        raise Unauthorized(f"this secret of the key {name!r} was replaced; use the new one")
