"""Reading `config.yaml`: `${NAME}` inside a value is replaced by that variable."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_settings import SettingsError

from ...lexicon.text.plain_yaml import PlainLoader
from ..errors import ConfigError
from .kinds import REMOVED
from .sections import VARIABLE, check_known
from .settings import Settings

# Error messages for invalid values of a file: each names the key, the value and what is allowed.

_LISTED_KEYS = 14
"""Number of keys of a section that are listed if none is similar to an unknown one."""
_WORDS = (
    ("this key is needed", ["missing"]),
    ("expected text", ["string_type"]),
    ("expected a list", ["list_type", "tuple_type"]),
    ("expected keys with their values", ["dict_type", "mapping_type", "model_type", "model_attributes_type"]),
    ("expected a whole number", ["int_type", "int_parsing", "int_from_float"]),
    ("expected a number", ["float_type", "float_parsing"]),
    ("expected true or false", ["bool_type", "bool_parsing"]),
    ("must be a finite number", ["finite_number"]),
    ("must be at least {ge}", ["greater_than_equal"]),
    ("must be at most {le}", ["less_than_equal"]),
    ("must be greater than {gt}", ["greater_than"]),
    ("must be less than {lt}", ["less_than"]),
    ("allowed are {expected}", ["literal_error"]),
    ("there is no such key", ["extra_forbidden"]),
    ("must be at most {max_length} characters long", ["string_too_long"]),
    ("must be {min_length} or more characters long", ["string_too_short"]),
    ("needs at least {min_length}, has {actual_length}", ["too_short"]),
)
_MESSAGES = {kind: message for message, kinds in _WORDS for kind in kinds}
"""Our messages in place of the validator's, by its error type."""
_PATTERNS = {
    r"^[a-z0-9][a-z0-9_-]*$": "expected lower-case letters, digits, - and _, such as support-2",
    r"^[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}$": "expected up to 64 letters, digits and any of _ . @ + -, a letter or digit first",
    r"^[a-z0-9_-]{1,32}$": "expected up to 32 lower-case letters, digits, - and _",
    r"^[^\x00]*$": "must hold no NUL character",
    r"^[^\x00-\x1f\x7f]*$": "must hold no line end, tab or other control character",
    r"^(0|[1-9][0-9]{0,3})$": "expected the place of a claim, 0 for the first",
    r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$": "expected the name of a header: letters, digits and hyphens",
    r"^[a-z]{2}$": "expected the two letters of a language, such as en",
    r"^https?://": "expected an address that begins with https:// or http://",
    r"^https?://[^/]+$": "expected an address without a path, such as https://hedgerow.example.com",
    r"^[0-9a-f]{64}$": "expected the SHA-256 of a key, 64 hexadecimal digits; `hedgerow config hash-key` prints it",
    r"^(conversation|user|key|header:[A-Za-z0-9-]+)$": "allowed are conversation, user, key and header:NAME",
}
"""Descriptions of text formats, by the regular expression that checks them."""


def described(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """One line for each fault; without "list too short" if faults of its items are listed. A list of keys is printed once."""
    faults, lines, told = error.errors(), list[str](), set[str]()
    for fault in faults:
        if fault["type"] == "too_short" and _has_faulty_items(fault, faults):
            continue
        what, semicolon, keys = _describe(fault, model).partition("; the keys here are")
        lines.append(what if keys in told else f"{what}{semicolon}{keys}")
        told.add(keys)
    return lines


def _route_of(line: str, given: Mapping[str, Any]) -> str:
    """The name of the route that a fault is in, as the end of its line: the file has no numbers."""
    section, _, place = line.partition(".")
    try:
        return f" (route {given['routes'][int(place.partition('.')[0])]['name']})" if section == "routes" else ""
    except (LookupError, TypeError, ValueError):  # the fault is of the whole list, or the route has no name
        return ""


def _has_faulty_items(fault: Any, faults: Sequence[Any]) -> bool:
    where = fault["loc"]
    return any(other is not fault and other["loc"][: len(where)] == where for other in faults)


def _describe(fault: Any, model: type[BaseModel]) -> str:
    """One fault as key, value and what is allowed. Secrets are never shown."""
    where = [str(part) for part in fault["loc"]]
    if where[:1] == ["upstreams"] and len(where) > 2:
        del where[2]  # the validator inserts the provider between an upstream and its key
    key, kind, value = ".".join(where), fault["type"], fault.get("input")
    if removed := _removed(where, value):
        return removed
    if kind == "union_tag_invalid":
        return f"{key}.provider is {fault['ctx']['tag']!r}: allowed are {fault['ctx']['expected_tags']}"
    if kind == "union_tag_not_found":
        return f"{key}.provider: this key is needed; `provider: openai` is any server that speaks the OpenAI protocol"
    if kind == "extra_forbidden":
        return f"{key}: there is no such key{_meant(model, fault['loc'])}"
    message = in_words(fault)
    if not key:
        return message
    if isinstance(value, str) and (missing := VARIABLE.search(value)):
        return f"{key}: the environment variable {missing[1]} is not set"
    if value is None:
        return f"{key} is empty: {message}"
    if kind == "missing" or _is_secret(model, fault["loc"]) or isinstance(value, dict | list):
        return f"{key}: {message}"
    shown = _without_credentials(value) if isinstance(value, str) else value
    return f"{key} is {shown!r}: {message}"


def _removed(where: Sequence[str], value: object) -> str | None:
    """The fault of a key or value that earlier versions had: what to do instead."""
    key, named = ".".join(where), [part for part in where if not part.isdecimal()]
    for place in (".".join(named[-2:]), ".".join(named[-1:])):
        if place in REMOVED:
            return f"{key} was removed: {REMOVED[place]}"
        if f"{place}: {value}" in REMOVED:
            return f"{key}: {value} was removed: {REMOVED[f'{place}: {value}']}"
    return None


def _without_credentials(value: str) -> str:
    """A text without the name and password of an address in it."""
    before, slashes, address = value.partition("//")
    return f"{before}//***@{address.rpartition('@')[2]}" if slashes and "@" in address else value


def _is_secret(model: type[BaseModel], where: Sequence[int | str]) -> bool:
    """Whether what stands there is a secret, holds some, or is a client's key written where its hash belongs."""
    return any(
        part == "keys" or (part == name and _holds_secret(field.annotation))
        for depth, part in enumerate(where)
        for section in _sections_at(model, where[:depth])
        for name, field in _fields(section).items()
    )


def _holds_secret(annotation: Any) -> bool:
    return annotation is SecretStr or any(_holds_secret(inner) for inner in get_args(annotation))


def in_words(fault: Any) -> str:
    """What is allowed at the place of the fault."""
    kind, value, given = fault["type"], fault.get("input"), fault.get("ctx", {})
    if kind == "string_pattern_mismatch":
        return _PATTERNS.get(given["pattern"], f"must match {given['pattern']}")
    if kind not in _MESSAGES:
        return str(fault["msg"]).removeprefix("Value error, ")
    message = _MESSAGES[kind].format_map(given)
    if kind == "string_type" and not isinstance(value, dict | list | None):
        return f"{message}; put it into quotes"
    if message.startswith("expected") and isinstance(value, dict | list):
        return f"{message}, found {'a list' if isinstance(value, list) else 'keys with their values'}"
    return message


def _meant(model: type[BaseModel], where: Sequence[int | str]) -> str:
    """The existing keys that may be meant, as the end of a sentence."""
    key, keys = str(where[-1]), _keys_at(model, where[:-1])
    if near := get_close_matches(key, keys, n=1):
        return f"; did you mean `{near[0]}`?"
    if elsewhere := sorted(set(_places_of(key, model))):
        return f" here; there is one in {' and in '.join(elsewhere)}"
    return (
        f"; the keys here are {', '.join(keys)}" if 0 < len(keys) <= _LISTED_KEYS else "; docs/config.md has every key"
    )


def _places_of(key: str, section: type[BaseModel], place: str = "") -> Iterator[str]:
    """The sections below this one that have such a key, by their keys from the top."""
    for name, field in _fields(section).items():
        for inner in _sections_in(field.annotation):
            if key in _fields(inner):
                yield f"`{place}{name}`"
            yield from _places_of(key, inner, f"{place}{name}.")


def _keys_at(model: type[BaseModel], where: Sequence[int | str]) -> list[str]:
    """The keys of the section at a place of the settings; none if unknown."""
    return [name for section in _sections_at(model, where) for name in _fields(section)]


def _sections_at(model: type[BaseModel], where: Sequence[int | str]) -> list[type[BaseModel]]:
    """What the section at a place may be, by its `provider` where the place names one; the last known one where it is none."""
    sections = [model]
    for part in where:
        named = [field for section in sections for name, field in _fields(section).items() if name == part]
        if named:
            sections = [inner for field in named for inner in _sections_in(field.annotation)]
        elif tagged := [section for section in sections if part in _providers(section)]:
            sections = tagged
    return sections


def _fields(section: type[BaseModel]) -> Mapping[str, Any]:
    return {field.alias or name: field for name, field in section.model_fields.items()}


def _providers(section: type[BaseModel]) -> tuple[Any, ...]:
    field = section.model_fields.get("provider")
    return get_args(field.annotation) if field else ()


def _sections_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The section types that a key may hold, also inside lists and unions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _sections_in(inner)


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
    given = _expand(read_mapping(path), "", unset)
    try:
        return Settings(**given), unset
    except ValidationError as error:
        lines = (f"{path}: {line}{_route_of(line, given)}" for line in described(error, Settings))
        raise ConfigError("\n".join(lines)) from error
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
