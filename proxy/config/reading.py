"""Reading `config.yaml`: `${NAME}` inside a value is replaced by that variable."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_settings import SettingsError

from ...lexicon.text.plain_yaml import PlainLoader
from ..errors import ConfigError
from .faults import refused
from .sections import VARIABLE, check_known
from .settings import Settings


def _expand(value: Any, path: str, unset: dict[str, str]) -> Any:
    """Replace `${NAME}` in every string of the file; an unset variable is left and added to `unset` under its key.

    Raises:
        ConfigError: a variable is set to nothing, which is a secret store without the secret, or a line of an env file without its value.
    """
    if isinstance(value, str):

        def lookup(match: re.Match[str]) -> str:
            setting = os.environ.get(match[1])
            if setting is None:
                unset[path] = match[1]
            elif not setting.strip():
                raise ConfigError(f"{path}: the environment variable {match[1]} is empty; give it its value")
            return match[0] if setting is None else setting

        return VARIABLE.sub(lookup, value)
    if isinstance(value, dict):
        return {key: _expand(item, f"{path}.{key}" if path else str(key), unset) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand(item, f"{path}.{index}", unset) for index, item in enumerate(value)]
    return value


FIRST_CONFIG = "`hedgerow init` writes a first one, --config names another"
"""Advice if there is no configuration."""


def load(path: Path) -> Settings:
    """Read and check the configuration, for a process that needs all of it.

    Raises:
        ConfigError: the file cannot be read, a variable of the environment is not set, or a value cannot be used; one line a fault, each naming
            key, value and what is allowed.
    """
    settings, unset = load_known(path)
    for key, name in unset.items():
        raise ConfigError(f"{key}: the environment variable {name} is not set")
    check_known("", settings)  # what stands in a variable of the environment is not expanded
    return settings


def load_known(path: Path) -> tuple[Settings, Mapping[str, str]]:
    """The configuration with unset environment variables left in place, for commands that may not need them (see `known`); and these variables,
    by key.

    Raises:
        ConfigError: as `load`, except for unset variables in text values.
    """
    unset: dict[str, str] = {}
    try:
        return Settings(**_expand(read_mapping(path), "", unset)), unset
    except ValidationError as error:
        raise refused(path, error, Settings) from error
    except SettingsError as error:  # a section in a variable of the environment that is not JSON; it may hold secrets
        raise ConfigError(
            f"{str(error).partition(' from source')[0]}: a section in the environment must be JSON"
        ) from None


def read_mapping(path: Path, advice: str = FIRST_CONFIG) -> dict[str, Any]:
    """Read a YAML file of keys and values; `advice` says how to create a first one.

    Raises:
        ConfigError: it cannot be read, is not YAML, or holds something else.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=PlainLoader)  # noqa: S506 - a safe loader
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: there is no such file; {advice}") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text; save it as UTF-8") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that does not exist
        raise ConfigError(f"{path}: is not YAML ({_fault_of(error)})") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: is nested too deeply; at most some five levels are needed") from error
    if content is None:
        raise ConfigError(f"{path}: is empty; {advice}")
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: must hold keys and values at its top, found {type(content).__name__}")
    if wrong := [key for key in content if not isinstance(key, str)]:
        raise ConfigError(f"{path}: the key {wrong[0]!r} is not text; put it into quotes if it is meant")
    return content


def _fault_of(error: Exception) -> str:
    """The error of the YAML parser, with its position."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return str(error).splitlines()[0]
    problem = str(getattr(error, "problem", ""))
    return f"line {mark.line + 1}: {'a tab; indent with spaces' if chr(92) + 't' in problem else problem}"
