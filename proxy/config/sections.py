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


def check_known(key: str, section: BaseModel) -> None:
    """Check that no text of a section has an unset variable.

    Raises:
        ConfigError: a variable is not set.
    """
    for name, value in section:
        for part in value.values() if isinstance(value, Mapping) else (value,):
            text = part.get_secret_value() if isinstance(part, SecretStr) else part
            if isinstance(text, str):
                known(f"{key}.{name}", text)
