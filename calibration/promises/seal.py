"""The seal of a JSON object, over everything but itself: an HMAC with the audit's hash key, or a checksum without one."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any, Literal

SealState = Literal["valid", "altered", "needs_key"]


def sign(body: Mapping[str, Any], key: bytes) -> str:
    """The seal of a JSON object; its field "seal" is ignored.

    Returns
    -------
    str
        "hmac-sha256:..." with a key, "sha256:..." without one (empty).

    Raises
    ------
    TypeError, ValueError
        If the object has no JSON form.
    """
    covered = {name: value for name, value in body.items() if name != "seal"}
    data = json.dumps(covered, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    digest = hmac.digest(key, data, "sha256") if key else hashlib.sha256(data).digest()
    return ("hmac-sha256:" if key else "sha256:") + digest.hex()


def check(body: Mapping[str, Any], key: bytes) -> SealState:
    """Whether a JSON object is unchanged since it was sealed.

    With a key only an HMAC counts; a checksum shows accidental changes, not deliberate ones.

    Returns
    -------
    {"valid", "altered", "needs_key"}
        "needs_key": it has an HMAC, and no key was given.
    """
    seal = str(body.get("seal", ""))
    if not key and seal.startswith("hmac-"):
        return "needs_key"
    return "valid" if hmac.compare_digest(seal.encode(), sign(body, key).encode()) else "altered"
