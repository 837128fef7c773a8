"""The shape of the project: imports go one way, heavy libraries come late, versions and documents agree."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {"calibration": {"calibration"}, "lexicon": {"calibration", "lexicon"}}
HEAVY = {
    "torch",
    "litellm",
    "llama_cpp",
    "sentence_transformers",
    "sklearn",
    "faiss",
    "matplotlib",
    "alembic",
    "onnxruntime",
    "pyarrow",
}
LIBRARIES = {
    "aiohttp": {"proxy/upstreams/http.py"},
    "sqlalchemy": {"proxy/audit/"},
    "llama_cpp": {"proxy/upstreams/llama.py"},
    "litellm": {"proxy/upstreams/litellm.py"},
    "fastapi": {"proxy/api/", "proxy/app.py"},
}
"""Which files may know a library."""


def _imports(path: Path) -> set[str]:
    """Every module that a file names in an import, anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def _files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", ["calibration", "lexicon"])
def test_imports_go_one_way(package: str) -> None:
    """proxy -> lexicon -> calibration, never back."""
    ours = {"calibration", "lexicon", "proxy"}
    for path in _files(package):
        wrong = {
            name
            for name in _imports(path)
            if name.startswith("hedgerow.") and name.split(".")[1] in ours - ALLOWED[package]
        }
        assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}"


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_a_foreign_library_is_known_in_one_place(library: str) -> None:
    """So that its exceptions can be turned into ours there."""
    users = {
        path.relative_to(ROOT).as_posix()
        for path in _files("proxy")
        if any(name.split(".")[0] == library for name in _imports(path))
    }
    assert users
    assert all(any(user.startswith(place) for place in LIBRARIES[library]) for user in users), users


@pytest.mark.parametrize(
    "module", ["hedgerow.calibration", "hedgerow.lexicon", "hedgerow.proxy.app", "hedgerow.proxy.cli"]
)
def test_heavy_libraries_are_not_imported_before_they_are_needed(module: str) -> None:
    """Importing the packages, or starting the command, brings none of them in."""
    code = f"import sys, {module}; print(*sorted(set(sys.modules) & {HEAVY!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_passing_on_needs_no_mathematics() -> None:
    """A proxy whose routes are all off starts without numpy, scipy and the pages: they are loaded with the first route that needs them."""
    code = "import sys, hedgerow.proxy.app; print(*sorted(set(sys.modules) & {'numpy', 'scipy', 'jinja2', 'hedgerow.proxy.pipeline.short'}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_changelog_names_the_version() -> None:
    """A released version has a section; an unreleased one is under `[Unreleased]`."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{version}]" in text or "## [Unreleased]" in text


def test_links_in_the_documents_lead_somewhere() -> None:
    """Every relative link of README and docs points at a file."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if not target.startswith(("http://", "https://", "mailto:")):
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_every_command_is_named_in_the_documents() -> None:
    """A command that nobody can read about is a command that nobody finds."""
    from hedgerow.proxy.cli import app

    text = "".join(p.read_text(encoding="utf-8") for p in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    names = [c.name or c.callback.__name__.replace("_", "-") for c in app.registered_commands if c.callback]
    names += [group.name for group in app.registered_groups if group.name]
    missing = [name for name in names if f"hedgerow {name}" not in text and f"make {name}" not in text]
    assert not missing
