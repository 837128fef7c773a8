"""The law of growth: the figures of `tests/house.yaml` do not rise."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from hedgerow.proxy import outcomes
from hedgerow.proxy.cli import COMMANDS
from tests.support.tables import cases

ROOT = Path(__file__).parent.parent
LAW = yaml.safe_load((ROOT / "tests" / "house.yaml").read_text(encoding="utf-8"))
SLACK = 0.01
"""How far a limit may stand above what is measured before it has to be lowered: a law with room in it is none."""


def product() -> list[Path]:
    """The Python files of the four packages; the links in hedgerow/ are not followed."""
    return [path for part in ("calibration", "lexicon", "proxy", "hedgerow") for path in (ROOT / part).rglob("*.py")]


def _options(command: Any) -> Iterator[str]:
    for parameter in command.params:
        if parameter.param_type_name == "option":
            yield parameter.opts[0]
    for inner in getattr(command, "commands", {}).values():
        yield from _options(inner)


def _lines() -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in product())


def _keys() -> int:
    return len(re.findall(r"^\| `\w+` \|", (ROOT / "docs" / "config.md").read_text(encoding="utf-8"), re.M))


def _codes() -> int:
    kinds = [kind for _, kind in inspect.getmembers(outcomes, inspect.isclass) if issubclass(kind, StrEnum)]
    return sum(len(kind) for kind in kinds)


def _words() -> int:
    return sum(len(path.read_text(encoding="utf-8").split()) for path in [*ROOT.glob("docs/*.md"), ROOT / "README.md"])


MEASURES = {
    "lines": _lines,
    "files": lambda: len(product()),
    "keys": _keys,
    "options": lambda: sum(len(list(_options(command.load(name)))) for name, command in COMMANDS.items()),
    "codes": _codes,
    "words": _words,
}


@cases("figure", sorted(MEASURES))
def test_the_house_does_not_grow(figure: str) -> None:
    """Measured, the figure is at most its limit, and the limit is no wider than `SLACK`."""
    limit, measured = LAW["limits"][figure], MEASURES[figure]()
    assert measured <= limit, (
        f"{figure}: {measured}, {limit} allowed: take something out, or say in tests/house.yaml why"
    )
    assert limit <= measured * (1 + SLACK) + 1, f"{figure}: {measured}; lower the limit of {limit} in tests/house.yaml"


def test_every_rise_says_why() -> None:
    """Each entry of `raised` names the figure, from, to, and the reason in a sentence."""
    for rise in LAW["raised"]:
        assert set(rise) == {"figure", "from", "to", "why"}
        assert rise["figure"] in MEASURES
        assert len(rise["why"].split()) >= 8
