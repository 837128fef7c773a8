"""docs/config.md, made from the settings' own descriptions: `python -m hedgerow.proxy.config.documents`."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
import types
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from . import Settings
from .kinds import UPSTREAMS

HEAD = """# Configuration

`config.yaml` is read at the start and again whenever it changes. `hedgerow config check` checks it and says nothing else. Every key can be overridden by an
environment variable: `server.port` by `HEDGEROW_SERVER__PORT`. `${NAME}` inside a value is replaced by the variable of that name, so that
keys need not stand in the file; `hedgerow serve` needs every one of them set, other commands only those whose values they use; a variable that is set to nothing is refused by all. So is a
secret that is blank, holds a line end, or is a placeholder such as `replace-me`, also as the password in an address. A wrong value stops the start with one line that names key, value and what is allowed.

*This page is generated: `python -m hedgerow.proxy.config.documents > docs/config.md`.*
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(_section(Settings, "")) + "".join(_upstreams())


def _upstreams() -> Iterator[str]:
    for provider, kind in UPSTREAMS.items():
        yield from _section(kind.load(), f"upstreams.NAME (provider: {provider})")


def _section(model: type[BaseModel], name: str) -> Iterator[str]:
    """One table for the plain keys of a section, then its sub-sections."""
    inner: list[tuple[str, type[BaseModel]]] = []
    rows = []
    described = _descriptions(model)
    for attribute, field in model.model_fields.items():
        description = described.get(attribute, "")
        key = field.alias or attribute
        section, repeated = _inner(field.annotation)
        if section is not None:
            if field.default is None:
                rows.append(f"| `{key}` | section | unset | {description} |\n")
            inner.append((f"{name}.{key}".lstrip(".") + "[]" * repeated, section))
        else:
            rows.append(f"| `{key}` | {_type(field)} | {_default(field)} | {description} |\n")
    if name:
        yield f"\n## {name}\n\n{' '.join((model.__doc__ or '').split())}\n"
    if rows:
        yield "\n| key | value | default | |\n|---|---|---|---|\n" + "".join(rows)
    for key, section in inner:
        yield from _section(section, key)


def _descriptions(model: type[BaseModel]) -> dict[str, str]:
    """By key, the docstring under it in the source. Pydantic could read it too, but would do so at every start of the proxy."""
    described: dict[str, str] = {}
    for part in reversed([part for part in model.__mro__ if part.__module__.startswith("hedgerow.")]):
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
        for line, below in pairwise(getattr(body, "body", ())):
            match line, below:
                case ast.AnnAssign(target=ast.Name(id=key)), ast.Expr(value=ast.Constant(value=str(text))):
                    described[key] = " ".join(text.split())
    return described


def _inner(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The section type of a key, and whether it is a list of sections."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    if type(None) in get_args(annotation):
        return _inner(get_args(annotation)[0])
    if get_origin(annotation) is tuple and (section := _inner(get_args(annotation)[0])[0]):
        return section, True
    return None, False


def _type(field: FieldInfo) -> str:
    limits = [f"{sign} {value}" for sign, value in _limits(field)]
    return _name(field.annotation) + (f", {', '.join(limits)}" if limits else "")


def _limits(field: FieldInfo) -> Iterator[tuple[str, Any]]:
    for limit in field.metadata:
        for attribute, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<")):
            if (value := getattr(limit, attribute, None)) is not None:
                yield sign, value


def _name(annotation: Any) -> str:
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in inside)
    if origin is Annotated:
        return _name(inside[0])
    if origin in (types.UnionType, Union):
        return " or ".join("null" if part is type(None) else _name(part) for part in inside)
    if origin is tuple:
        return f"list of {_name(inside[0])}"
    if origin is not None and issubclass(origin, Mapping):
        return "mapping"
    names = {SecretStr: "secret text", str: "text", int: "whole number", float: "number", bool: "true or false"}
    return names.get(annotation, "path")


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "required"
    if field.default is None:
        return "unset"
    if field.default in ((), {}):
        return "empty"
    value = field.default
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    sys.stdout.write(page())
