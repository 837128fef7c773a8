"""The source read as a graph: files, what they import and where, folders and their order. For the layout's tests and benchmarks.structure."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PARTS = ("proxy", "lexicon", "calibration")
"""The three packages, each of which may import those after it."""
VOCABULARY = "proxy/vocabulary"
"""The loose files at the bottom of proxy/ (types, protocols, errors, outcomes) count as one folder."""
ORDER = (
    "proxy/cli",
    "proxy/app",
    "proxy/dashboard",
    "proxy/api",
    "proxy/gateway",
    "proxy/lab",
    "proxy/services",
    "proxy/pipeline",
    "proxy/grading",
    "proxy/spending",
    "proxy/monitoring",
    "proxy/audit",
    "proxy/rewriting",
    "proxy/signals",
    "proxy/clustering",
    "proxy/upstreams",
    "proxy/config",
    VOCABULARY,
    "lexicon",
    "lexicon/reading",
    "lexicon/perception",
    "lexicon/hedges",
    "lexicon/text",
    "lexicon/errors",
    "calibration",
)
"""Folders from the top to the bottom: a file imports its own folder and those below."""
LOOSE = {"proxy/app.py": "proxy/app", "lexicon/__init__.py": "lexicon", "lexicon/errors.py": "lexicon/errors"}


@dataclass(frozen=True, slots=True)
class Import:
    """One import of a file of ours by another."""

    importer: str
    imported: str
    line: int
    in_function: bool
    typing_only: bool


@dataclass(frozen=True, slots=True)
class Function:
    """A function, with the lines that it takes."""

    file: str
    name: str
    lines: int


def folder_of(file: str) -> str:
    """The folder whose place in `ORDER` a file has: `proxy/gateway/edge.py` -> `proxy/gateway`."""
    if file in LOOSE:
        return LOOSE[file]
    part, *rest = file.split("/")
    if part == "calibration":
        return part
    return "/".join((part, rest[0])) if len(rest) > 1 else VOCABULARY if part == "proxy" else part


class Source:
    """The Python files of a checkout's three packages, parsed once. Migrations are left out: Alembic loads them as scripts."""

    def __init__(self, root: Path, parts: Iterable[str] = PARTS) -> None:
        paths = (path for part in parts for path in sorted((root / part).rglob("*.py")))
        self.root = root
        self.texts = {
            path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
            for path in paths
            if "migrations" not in path.parts
        }
        self.trees = {file: ast.parse(text) for file, text in self.texts.items()}
        self._modules = {_dotted(file): file for file in self.texts}

    def lines(self) -> dict[str, int]:
        """Lines of each file."""
        return {file: len(text.splitlines()) for file, text in self.texts.items()}

    def functions(self) -> Iterator[Function]:
        """Every function and method."""
        for file, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield Function(file, node.name, (node.end_lineno or node.lineno) - node.lineno + 1)

    @cached_property
    def imports(self) -> list[Import]:
        """Every import of one of our files by another, wherever it stands."""
        return [
            Import(file, target, line, in_function, typing_only)
            for file, tree in self.trees.items()
            for names, line, in_function, typing_only in _statements(tree, file)
            for target in sorted(set(filter(None, map(self._file, names))) - {file})
        ]

    def circles(self, *, typing_too: bool = True) -> list[list[str]]:
        """Groups of files that import each other, directly or through others."""
        edges: dict[str, set[str]] = {file: set() for file in self.texts}
        for link in self.imports:
            if typing_too or not link.typing_only:
                edges[link.importer].add(link.imported)
        return circles(edges)

    def _file(self, name: str) -> str | None:
        """The file that holds a dotted name, or None for another project's."""
        name = name.removeprefix("hedgerow.")
        while name and name not in self._modules:
            name = name.rpartition(".")[0]
        return self._modules.get(name)


def upward(imports: Iterable[Import]) -> list[Import]:
    """Imports of a folder by one that stands below it."""
    place: Mapping[str, int] = {folder: i for i, folder in enumerate(ORDER)}
    return [i for i in imports if place[folder_of(i.importer)] > place[folder_of(i.imported)]]


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Strongly connected groups of two nodes or more (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges[node]:
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[len(stack) - len(group) :]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in edges:
        if node not in index:
            visit(node)
    return sorted(groups)


def _dotted(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _statements(tree: ast.Module, file: str) -> Iterator[tuple[list[str], int, bool, bool]]:
    """Names, line, whether inside a function, whether for type checkers only, of each import statement."""

    def walk(node: ast.AST, inside: bool, typed: bool) -> Iterator[tuple[list[str], int, bool, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield [alias.name for alias in child.names], child.lineno, inside, typed
            elif isinstance(child, ast.ImportFrom):
                base = _base(child, file)
                yield [f"{base}.{alias.name}" for alias in child.names], child.lineno, inside, typed
            else:
                function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                guard = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
                yield from walk(child, inside or function, typed or guard)

    return walk(tree, False, False)


def _base(node: ast.ImportFrom, file: str) -> str:
    """The absolute package of a `from ... import`."""
    if not node.level:
        return node.module or ""
    package = file.split("/")[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])
