"""What the image installs: everything that the proxy needs, by version and hash, from nowhere in particular."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.tables import cases

ROOT = Path(__file__).parents[3]
LOCK = (ROOT / "deploy" / "requirements.txt").read_text(encoding="utf-8")
LOCKED = {
    canonicalize_name(name): (version, rest)
    for name, version, rest in re.findall(r"^([\w.-]+)==([^\s;]+)((?:.*\\\n)+.*)$", LOCK, re.M)
}


def pins(name: str) -> dict[str, str]:
    """Version by package in a file of pins."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return {
        canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines) if version
    }


def needed(extras: tuple[str, ...]) -> set[str]:
    """All that the proxy and these extras need here, as far as it is installed."""
    todo, found = [Requirement(f"hedgerow[{','.join(extras)}]")], {}
    while todo:
        asked = todo.pop()
        name, wanted = canonicalize_name(asked.name), asked.extras | {""}
        if wanted <= found.setdefault(name, set()):
            continue
        found[name] |= wanted
        try:
            below = map(Requirement, requires(name) or ())
        except PackageNotFoundError:
            pytest.skip(f"{name} is not installed here")
        environments = [default_environment() | {"extra": extra} for extra in wanted]
        todo += [
            each
            for each in below
            if each.marker is None or any(each.marker.evaluate(dict(where)) for where in environments)
        ]
    return set(found) - {"hedgerow"}


def test_everything_that_is_needed_is_locked() -> None:
    """With the extras that the Dockerfile names, and what builds the wheel."""
    assert needed(("judge", "postgres", "litellm", "tracing")) - set(LOCKED) == set()
    assert "setuptools" in LOCKED


def test_every_package_has_hashes_and_the_version_that_is_tested() -> None:
    """What was run by the tests is what is installed."""
    assert len(LOCKED) == LOCK.count("==") - LOCK.count(" == '")
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", rest) for _, rest in LOCKED.values())
    tested = pins("constraints.txt")
    assert {name: version for name, (version, _) in LOCKED.items() if tested.get(name, version) != version} == {}


@cases("name", ["constraints.txt", "deploy/requirements.txt", "deploy/Dockerfile"])
def test_no_file_names_where_packages_come_from(name: str) -> None:
    """That is for whoever installs to say."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(
        r"--(extra-)?index-url|--find-links|\b(?!127\.)[a-z0-9-]+(\.[a-z0-9-]+)*\.(org|com|io|net)\b", text
    )


def test_the_image_takes_nothing_else() -> None:
    """By hash first, then ourselves without dependencies and without a build of its own."""
    steps = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    assert "--require-hashes --requirement requirements.txt" in steps
    assert "install --no-deps --no-build-isolation ." in steps
    assert "NOTICE" in steps
