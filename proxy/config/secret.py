"""Secrets of the settings: text that is really there, is meant, and can be sent as a header; those that sign are too long to guess."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, Field, SecretStr

from .sections import VARIABLE

LEAST = 16
"""Characters of a secret that signs or opens something here."""
_PLACEHOLDER = re.compile(
    r"(?:change|replace)\W*(?:me(?!n)|this|it|with|before)|(?:fill|set)\W*me\b|(?:fill|insert|enter|put|set|add|paste)\b.{0,80}\bhere\b"  # asks
    r"|(?:please|be)\W*(?:change|replace)d?$|^(?:change|replace)d?$|insert\W*(?:an?\W*)?(?:api\W*)?(?:key|secret|token)"
    r"|\byours?\b|your(?:own|api|key|secret|token|password)|(?:key|secret|token|password|goes)\W*here\b"  # speaks to the reader
    r"|placeholder|redacted|\b(?:todo|tbd|fixme)\b|example\b|\b(?:dummy|fake|sample)\W*(?:api\W*)?(?:key|secret|token|password)"  # is marked
    r"|^<.*>$|^#\{.*\}#?$|^(--|[@%]{1,2})[\w.-]+\1$|^\$\{.*\}$|^\$(?-i:[A-Z][A-Z0-9-]+)$|\{\{.{0,99}\}\}|^(?:null|nil|undefined)$"  # is what a template leaves
    r"|^api\W*(?:key|secret|token)$"  # names what it stands for
    r"|(?:\.\.\.|…)$|^(?:sk\W++)?\W*+(?:(?:[x0]\W*+){3,})?$",  # a row of signs
    re.IGNORECASE,
)
"""Text that stands where a secret belongs; read with hyphens for underscores."""

Line = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$")]
"""Text that is sent as a header, or as a part of one."""
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]
"""Name of a header that is sent."""


def fault_of(text: str) -> str | None:
    """Why a text cannot be a secret; None if it can. What holds an unset variable is not known yet (see `known`)."""
    if VARIABLE.search(text):
        return None
    if not any(sign.isprintable() and not sign.isspace() for sign in text):
        return "must not be empty or blank; leave the key out where there is none"
    if any(unicodedata.category(sign) == "Cc" for sign in text):
        return "must hold no line end, NUL or other control character (a secret that was read from a file may end with a line end)"
    if _PLACEHOLDER.search(text.replace("_", "-")):
        return "is a placeholder; put one of your own in its place (`openssl rand -hex 32` makes one)"
    return None


def _usable(secret: SecretStr) -> SecretStr:
    if (fault := fault_of(secret.get_secret_value())) is not None:
        raise ValueError(fault)
    return secret


def _long(secret: SecretStr) -> SecretStr:
    text = secret.get_secret_value()
    if len(text) < LEAST and not VARIABLE.search(text):
        raise ValueError(f"must be at least {LEAST} characters long (`openssl rand -hex 32` makes one)")
    return secret


def _with_real_password(address: str) -> str:
    try:
        password = urlsplit(address).password
    except ValueError:  # not an address; whoever opens it says so
        return address
    if password is not None and (fault := fault_of(unquote(password))) is not None:
        raise ValueError(f"the password in it {fault}")
    return address


Secret = Annotated[SecretStr, AfterValidator(_usable)]
"""A secret that others made, such as a provider's key."""
OwnSecret = Annotated[SecretStr, AfterValidator(_usable), AfterValidator(_long)]
"""A secret that signs or opens something here."""
Address = Annotated[str, AfterValidator(_with_real_password)]
"""Address of a store, which may hold a password."""
