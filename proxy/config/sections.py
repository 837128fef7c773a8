"""The base class of settings: frozen, described, without unknown keys; and values with unset environment variables."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, SecretStr

from ..errors import ConfigError

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""An environment variable inside a value."""


class Section(BaseModel):
    """A part of the settings: unknown keys are refused, values never change after the start."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def known(key: str, value: str) -> str:
    """Check a value before use. Commands keep a value whose environment variable is unset, until they need it.

    Raises:
        ConfigError: its variable is not set.
    """
    if (missing := VARIABLE.search(value)) is not None:
        raise ConfigError(f"{key}: the environment variable {missing[1]} is not set, and this needs it")
    return value


def check_known(key: str, value: object) -> None:
    """Check that no text of a section, or of whatever it holds, has an unset variable.

    Raises:
        ConfigError: a variable is not set.
    """
    match value:
        case str():
            known(key, value)
        case SecretStr():
            known(key, value.get_secret_value())
        case BaseModel() | Mapping() | tuple():
            items = (
                value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, tuple) else value
            )
            for name, item in items:
                check_known(f"{key}.{name}" if key else str(name), item)
