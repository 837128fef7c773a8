"""The examples in docstrings are run: they are documentation that must stay true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import hedgerow.calibration
import hedgerow.lexicon
import hedgerow.proxy
from tests.support.tables import cases


def _modules_with_examples() -> list[str]:
    names = ["hedgerow.answers", "hedgerow.calibrator"]
    for package in (hedgerow.calibration, hedgerow.lexicon, hedgerow.proxy):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            spec = module.module_finder.find_spec(module.name, None)  # type: ignore[call-arg]
            source = spec.loader.get_source(module.name) if spec and spec.loader else None  # type: ignore[attr-defined]
            if source and ">>> " in source:
                names.append(module.name)
    return names


@cases("module", _modules_with_examples())
def test_examples_give_what_they_show(module: str) -> None:
    """Every `>>>` example prints the result that stands under it."""
    assert doctest.testmod(importlib.import_module(module)).failed == 0
