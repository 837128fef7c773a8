"""Tables of cases: one test that tries every row and reports each that fails, by name. An item of pytest a row costs more than most rows."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Body = Callable[..., None]
Name = Callable[[Any], object] | str | None
Ids = Callable[[Any], object] | Iterable[str] | None
PARAM = type(pytest.param())
FAILURES = (Exception, pytest.fail.Exception, pytest.skip.Exception)


def cases(names: str | tuple[str, ...], rows: Iterable[Any], ids: Ids = None) -> Callable[[Body], Body]:
    """As `pytest.mark.parametrize`, in one test. Rows share its fixtures, so it is for tests that have none which a row changes.

    Two of them over each other make a table of all pairs.
    """
    columns = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else tuple(names)
    listed = list(rows)
    named = [ids] * len(listed) if ids is None or callable(ids) else ids
    table = [_row(columns, row, name) for row, name in zip(listed, named, strict=True)]
    assert table, "a table without rows tests nothing"

    def decorate(test: Body) -> Body:
        body: Body = getattr(test, "body", test)
        tables = [table, *getattr(test, "tables", ())]
        taken = {column for each in tables for column in each[0][1]}

        @functools.wraps(test)
        def run(subtests: pytest.Subtests, **fixtures: Any) -> None:
            for row in itertools.product(*tables):
                values = {column: value for _name, given in row for column, value in given.items()}
                try:
                    body(**values, **fixtures)
                except FAILURES:
                    with subtests.test("-".join(name() for name, _given in row)):
                        raise

        others = [each for name, each in inspect.signature(body).parameters.items() if name not in taken]
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter("subtests", inspect.Parameter.POSITIONAL_OR_KEYWORD), *others]
        )
        run.body, run.tables = body, tables  # type: ignore[attr-defined]
        return run

    return decorate


def _row(columns: tuple[str, ...], row: Any, name: Name) -> tuple[Callable[[], str], dict[str, Any]]:
    """What makes its name, and its values; `pytest.param(..., id=...)` names itself."""
    own = str(row.id) if type(row) is PARAM and row.id is not None else name
    values = tuple(row.values) if type(row) is PARAM else (row,) if len(columns) == 1 else tuple(row)
    assert len(values) == len(columns), f"{values!r} is no row of {columns}"
    return functools.partial(_named, own, values), dict(zip(columns, values, strict=True))


def _named(name: Name, values: tuple[Any, ...]) -> str:
    """A row's name, made where it is needed: some values are long."""
    if isinstance(name, str):
        return name
    chosen = [None if name is None else name(value) for value in values]
    return "-".join(ascii(value)[:120] if one is None else str(one) for value, one in zip(values, chosen, strict=True))
