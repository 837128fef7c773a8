"""The named keys in memory, by the hash of their secrets, read again when the store has changed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Literal

from ..audit.engine import Engine
from ..audit.keys import PREFIX, Secret, read_secrets
from ..errors import Unauthorized
from ..types import Key


class KeyRing:
    """The keys by hash, including keys that have ended.

    Attributes:
        has_clients, has_people: whether a key of a client, or of a person, exists or has existed.
    """

    def __init__(self) -> None:
        self.has_clients = self.has_people = False
        self._revision, self._is_read = 0, False
        self._by_hash: Mapping[str, Secret] = {}

    def __len__(self) -> int:
        return len(self._by_hash)

    def find(self, key_hash: str) -> Secret | None:
        """The key with this hash."""
        return self._by_hash.get(key_hash)

    @property
    def prefix(self) -> str | None:
        """With which every secret of these keys begins; None if it is known that there are none."""
        return PREFIX if self._by_hash or not self._is_read else None

    def named(self, name: str) -> Key | None:
        """The key with this name."""
        return next((secret.key for secret in self._by_hash.values() if secret.key.name == name), None)

    def hash_of(self, name: str) -> str | None:
        """The hash of a key's current secret."""
        return next((h for h, s in self._by_hash.items() if s.key.name == name and s.until is None), None)

    def refresh(self, engine: Engine, *, anew: bool = False) -> None:
        """Read the keys again if the store has changed. Blocks; requests see the old keys or the new ones, never a mixture. A revoked key stays
        revoked, also where the store was set back to before; then they are read `anew`.

        Raises:
            StoreError: the store cannot be read; the keys are unchanged.
        """
        if (read := read_secrets(engine, -1 if anew else self._revision)) is not None:
            revoked = {hash_: secret for hash_, secret in self._by_hash.items() if secret.key.revoked_at is not None}
            self._revision, self._by_hash = read[0], {**read[1], **revoked}
            roles = {secret.key.role for secret in self._by_hash.values()}
            self.has_clients, self.has_people = None in roles, bool(roles - {None})
        self._is_read = True


State = Literal["active", "expired", "revoked"]


def state_of(key: Key) -> State:
    """The present state of a key."""
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and time.time() >= key.expires_at else "active"


def check_usable(secret: Secret) -> None:
    """Check that a secret is still valid.

    Raises:
        Unauthorized: it was replaced, or its key is revoked or expired; the message says which.
    """
    name, state = secret.key.name, state_of(secret.key)
    if state != "active":
        raise Unauthorized(f"the key {name!r} " + ("was revoked" if state == "revoked" else "has expired"))
    if secret.until is not None and time.time() >= secret.until:
        raise Unauthorized(f"this secret of the key {name!r} was replaced; use the new one")
