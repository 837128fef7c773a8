"""Every regular expression of ours, how it is used, and the texts that its own structure finds hardest.

`python -m tests.support.patterns` imports all of our modules in a process of its own, reads some texts, and prints what `re` was asked to
compile; `patterns` reads that, and adds from the source what no import and no text reached.
"""

from __future__ import annotations

import ast
import importlib
import itertools
import json
import os
import pkgutil
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from re import _constants as code  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("hedgerow", "proxy", "lexicon", "calibration")
LENGTH = 20_000
"""Characters of a pumped text: the longest answer that is read."""
LIMIT_S = 0.05
"""Longest that one pattern may hold the interpreter on one text."""
_LENGTHS = (
    (160, 0.0),
    (LENGTH // 20, LIMIT_S / 20**2 * 0.8),
    (LENGTH // 5, LIMIT_S / 5**2 * 0.8),
    *3 * [(LENGTH, LIMIT_S)],
)
"""Lengths that are tried, each with the seconds below which a square cannot come to the limit at full length; what is over it there is tried again."""
_STUCK_S = 0.4
_REPEATS = {code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT}
_LOOKS = {code.ASSERT, code.ASSERT_NOT}
_LEAST_REPEAT = 16
"""A repetition of fewer is no repetition: it cannot be pumped."""
_ALIKE = 8
"""A list of phrases has the same repetition between all of their words: so many of those that are alike are pumped, from the first to the last."""
_CHARACTERS = "a A1.,\n-'\"*_(é:;?!ß”/|x\t"
"""Of what a class of characters takes, these are tried first."""
_ENDS = ("", "\0", "\n.?!x")
"""A text that ends in the repetition, and two at which whatever reads it fails."""
_READ = {
    "Where is the tower?": [
        "I think the tower is in Paris, though I am not sure.",
        "It may be in Rome, as far as I know.",
    ],
    "Wo steht der Turm?": ["Ich glaube, der Turm steht in Paris.", "Der Turm steht vielleicht in Rom."],
    "Où est la tour ?": ["Je crois que la tour est à Paris.", "La tour est peut-être à Rome."],
    "¿Dónde está la torre?": ["Creo que la torre está en París.", "La torre está quizás en Roma."],
}
"""Questions with answers: what is read of them compiles what no import does."""
_CALLS = {
    "compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split",
}  # fmt: skip
WAYS: dict[str, Callable[[re.Pattern[Any], Any], object]] = {
    "each": lambda pattern, text: [None for _ in pattern.finditer(text)],
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
}
"""How a pattern may be used; `search`, `findall`, `sub` and `split` do what `each` does, or less."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern, where it stands, and how it is used there: all ways where the source does not tell."""

    where: str
    compiled: re.Pattern[Any]
    ways: frozenset[str] = frozenset(WAYS)


class Pumped:
    """A pattern taken apart: each of its repetitions with a text that leads to it and with texts that it repeats, the last of them with
    what follows up to the next one.
    """

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        flags = pattern.flags if isinstance(pattern.pattern, str) else pattern.flags & ~re.UNICODE
        self._tree = parser.parse(pattern.pattern, flags)
        self._ignores_case = bool(flags & re.IGNORECASE)
        own = (chr(value) for op, value in _nodes(self._tree) if op is code.LITERAL)
        self._characters = tuple(dict.fromkeys((*_CHARACTERS, *own)))[:80]
        self._repetitions: list[tuple[str, tuple[str, ...]]] = []
        self._whole = self._look(self._tree, "")
        alike: dict[tuple[str, ...], list[str]] = {}
        for prefix, bodies in dict.fromkeys(self._repetitions):
            alike.setdefault(bodies, []).append(prefix)
        self._pumped = [
            (prefix, bodies) for bodies, all_ in alike.items() for prefix in all_[:: -(-len(all_) // _ALIKE)]
        ]

    @cached_property
    def texts(self) -> list[tuple[str, str, str]]:
        """Beginning, what is repeated, end."""
        made: dict[tuple[str, str, str], None] = {}
        for prefix, bodies in self._pumped:
            for body in filter(None, bodies):
                for end in _ENDS:
                    made |= dict.fromkeys([("", body, end), (prefix, body, end)])
                made |= dict.fromkeys([("", prefix + body, ""), ("", f"{body} ", ""), ("", prefix + 20 * body, "\0")])
            if prefix:
                made |= dict.fromkeys(("", prefix, end) for end in _ENDS)
        firsts = dict.fromkeys(body for _, bodies in self._pumped for body in bodies[:2] if body)
        made |= dict.fromkeys(("", one + other, "\0") for one, other in itertools.combinations(list(firsts)[:6], 2))
        return [*made, *([("", self._whole, "\0")] if self._whole else [])]

    def _look(self, nodes: Any, prefix: str) -> str:
        """Note the repetitions in nodes that follow a prefix; a text that leads past them."""
        for place, (op, value) in enumerate(nodes, 1):
            for inner in _inside(op, value):
                self._look(inner, prefix)
            if op in _REPEATS and value[1] >= _LEAST_REPEAT:
                bodies, rest = self._some(value[2], 6), list(nodes)[place:]
                ends = next((i for i, (other, _) in enumerate(rest, 1) if other in _REPEATS), len(rest))
                self._repetitions.append((prefix, (*bodies, bodies[0] + self._some(rest[:ends], 1)[0])))
            prefix += self._of(op, value, 1)[0]
        return prefix

    def _some(self, nodes: Any, most: int) -> list[str]:
        """Some texts that a sequence of nodes takes."""
        made = [""]
        for op, value in nodes:
            parts = self._of(op, value, most)
            size = max(len(made), len(parts))
            made = [made[i % len(made)] + parts[i % len(parts)] for i in range(size)]
        return list(dict.fromkeys(made))[:most]

    def _of(self, op: Any, value: Any, most: int) -> list[str]:
        """Some texts that a node takes, at least one."""
        if op is code.LITERAL:
            return [chr(value)]
        if op in (code.IN, code.ANY, code.NOT_LITERAL):
            return [c for c in self._characters if self._takes(op, value, c)][:most] or [_first(value)]
        if op is code.BRANCH:
            return list(dict.fromkeys(self._some(branch, 1)[0] for branch in value[1][:most]))
        if op in _REPEATS:
            return [max(1, value[0]) * text for text in self._some(value[2], most)]
        if op in (code.SUBPATTERN, code.ATOMIC_GROUP):
            return self._some(value[3] if op is code.SUBPATTERN else value, most)
        return [""]

    def _takes(self, op: Any, value: Any, character: str) -> bool:
        if op is code.ANY:
            return character != "\n"
        if op is code.NOT_LITERAL:
            return ord(character) != value
        forms = {character, *((character.lower(), character.upper()) if self._ignores_case else ())}
        items = [item for item in value if item[0] is not code.NEGATE]
        return any(_is_in(item, form) for item in items for form in forms) is (len(items) == len(value))


def _is_in(item: tuple[Any, Any], character: str) -> bool:
    op, value = item
    if op is code.CATEGORY:
        _, *negated, kind = str(value).split("_")
        is_kind = {
            "DIGIT": character.isdigit(),
            "SPACE": character.isspace(),
            "WORD": character.isalnum() or character == "_",
        }
        return is_kind[kind] is not bool(negated)
    low, high = value if op is code.RANGE else (value, value)
    return len(character) == 1 and bool(low <= ord(character) <= high)


def _first(items: Any) -> str:
    """A character of a class that takes none of those that are tried."""
    return next(
        (chr(value[0] if op is code.RANGE else value) for op, value in items if op in (code.RANGE, code.LITERAL)),
        "\u0101",
    )


def _inside(op: Any, value: Any) -> list[Any]:
    """The sequences within a node."""
    if op is code.BRANCH:
        return list(value[1])
    if op is code.ATOMIC_GROUP:
        return [value]
    if op in _REPEATS:
        return [value[2]]
    return [value[3]] if op is code.SUBPATTERN else [value[1]] if op in _LOOKS else []


def _nodes(nodes: Any) -> Iterator[tuple[Any, Any]]:
    for op, value in nodes:
        yield op, value
        for inner in _inside(op, value):
            yield from _nodes(inner)
        if op is code.IN:
            yield from value


def of_length(text: tuple[str, str, str], length: int) -> str:
    """A text with its middle repeated until it is that long."""
    start, repeated, end = text
    return start + repeated * (length // len(repeated)) + end


class Stuck(Exception):
    """Longer than anybody waits."""


def worst(pattern: Pattern) -> tuple[float, str]:
    """The most seconds that a pattern takes on a pumped text, and on which; the search ends at the first that is far over the limit.

    It is time of the thread, and the least of three where it is over the limit: what else runs on the machine does not count.
    """
    most = 0.0, ""
    texts, is_bytes = Pumped(pattern.compiled).texts, isinstance(pattern.compiled.pattern, bytes)
    for way in sorted(pattern.ways):
        for text in texts:
            seconds = 0.0
            for length, suspicious_s in _LENGTHS:
                subject = of_length(text, length)
                seconds = _seconds(
                    WAYS[way], pattern.compiled, subject.encode(errors="replace") if is_bytes else subject
                )
                if seconds < suspicious_s or seconds > (LIMIT_S if length < LENGTH else 4 * LIMIT_S):
                    break
            if seconds > most[0]:
                most = seconds, f"{way}: {text!r}"
            if seconds > 4 * LIMIT_S:
                return most
    return most


def _seconds(work: Callable[[re.Pattern[Any], Any], object], pattern: re.Pattern[Any], text: Any) -> float:
    def give_up(_number: int, _frame: object) -> None:
        raise Stuck

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, _STUCK_S)
    began = time.thread_time()
    try:
        work(pattern, text)
        return time.thread_time() - began
    except Stuck:
        return _STUCK_S
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@cache
def patterns() -> list[Pattern]:
    """Every pattern of ours.

    Raises:
        AssertionError: what stands at a place in the source is not known.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.patterns"],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    compiled: dict[tuple[str, int], list[re.Pattern[Any]]] = {}
    for path, line, text, flags in json.loads(done.stdout.splitlines()[-1]):
        pattern = re.compile(text, flags) if flags & re.UNICODE else re.compile(text.encode("latin-1"), flags)
        compiled.setdefault((path, line), []).append(pattern)
    sources = {path.relative_to(ROOT): path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    trees = {str(name): ast.parse(path.read_text(encoding="utf-8")) for name, path in sources.items()}
    uses: dict[tuple[str, str], set[str]] = {}
    for path, tree in trees.items():
        for name, its in _uses(tree):
            uses.setdefault((path, name), set()).update(its)
    found: dict[tuple[str, int, str, int], Pattern] = {}
    for path, tree in trees.items():
        for call, names, way in _sites(tree):
            ways = _ways(path, names, way, uses)
            last = call.end_lineno or call.lineno
            seen = [
                p
                for (where, line), made in compiled.items()
                if where == path and call.lineno <= line <= last
                for p in made
            ]
            for pattern in seen or [_written(path, call)]:
                found[(path, call.lineno, str(pattern.pattern), pattern.flags)] = Pattern(
                    f"{path}:{call.lineno}", pattern, ways
                )
    return list(found.values())


def _sites(tree: ast.Module) -> Iterator[tuple[ast.Call, tuple[str, ...], str]]:
    """Calls of `re`, each with how its result is used afterwards: the names that it has (an attribute's begins with a stop), or the way."""
    named: dict[int, tuple[str, ...]] = {}
    used: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets, values = (
                part.elts if isinstance(part, ast.Tuple) else [part] for part in (node.targets[0], node.value)
            )
            for target, value in zip(targets, values, strict=False):
                named[id(value)] = (_name(target), f".{_name(target)}".replace("..", "."))
        elif isinstance(node, ast.keyword):
            named[id(node.value)] = (f".{node.arg}",)
        elif isinstance(node, ast.FunctionDef):
            named |= {id(part.value): (f".{node.name}",) for part in node.body if isinstance(part, ast.Return)}
        elif isinstance(node, ast.Attribute) and node.attr in _CALLS:
            used[id(node.value)] = node.attr
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (called := ast.unparse(node.func)) in {f"re.{call}" for call in _CALLS}:
            way = used.get(id(node), "") if called == "re.compile" else called[3:]
            yield node, named.get(id(node), ()), way


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else f".{node.attr}" if isinstance(node, ast.Attribute) else ""


def _uses(tree: ast.Module) -> Iterator[tuple[str, frozenset[str]]]:
    """The names that a module says, each with what it does with it: one of our ways, or all of them where that cannot be seen."""
    asked = {id(node.value): node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    given = {
        id(value): (target, scope) for scope in ast.walk(tree) for target, values in _given(scope) for value in values
    }

    def ways(node: ast.AST) -> set[str]:
        if id(node) in asked:
            way = asked[id(node)]
            return {way if way in WAYS else "each"} if way in _CALLS else set(WAYS)
        if id(node) not in given:
            return set(WAYS)
        target, scope = given[id(node)]
        said = [
            n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == target and isinstance(n.ctx, ast.Load)
        ]
        return {way for name in said if name is not node for way in ways(name)}

    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield _name(node), frozenset(ways(node))


def _given(scope: ast.AST) -> Iterator[tuple[str, list[ast.expr]]]:
    """The names that a function or a comprehension gives to one of several things, with these things."""
    if isinstance(scope, ast.FunctionDef):
        for node in ast.walk(scope):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.IfExp):
                yield _name(node.targets[0]), [node.value.body, node.value.orelse]
    for part in getattr(scope, "generators", ()):
        if isinstance(part.iter, ast.Tuple):
            yield _name(part.target), part.iter.elts


def _ways(path: str, names: tuple[str, ...], way: str, uses: dict[tuple[str, str], set[str]]) -> frozenset[str]:
    """How the result of a call is used: by its names in its module, or in any if it is a public constant."""
    if way:
        return frozenset([way if way in WAYS else "each"])
    if not names:
        return frozenset(WAYS)
    everywhere = names[0].isupper() and not names[0].startswith(("_", "."))
    for name in names:
        if found := [ways for (where, said), ways in uses.items() if said == name and (everywhere or where == path)]:
            return frozenset().union(*found)
    return frozenset()


def _written(path: str, call: ast.Call) -> re.Pattern[Any]:
    """A pattern that nothing has compiled, from the source: where it is put together from words, `word` stands for each."""
    text, flags = call.args[0], next((k.value for k in call.keywords if k.arg == "flags"), None)
    position = {"compile": 1, "split": 3, "sub": 4, "subn": 4}.get(ast.unparse(call.func)[3:], 2)
    flags = flags or (call.args[position] if len(call.args) > position else None)
    names = vars(
        importlib.import_module("hedgerow." + path.removesuffix(".py").replace("/", ".").removeprefix("hedgerow."))
    )
    if isinstance(text, ast.JoinedStr):
        pattern = "".join(
            _value(part.value if isinstance(part, ast.FormattedValue) else part, names) or "word"
            for part in text.values
        )
    else:
        value = _value(text, names)
        assert value is not None, f"{path}:{call.lineno}: nothing compiles this pattern; let `read_everything` reach it"
        pattern = value
    return re.compile(pattern, eval(ast.unparse(flags), {"re": re}) if flags is not None else 0)


def _value(text: ast.expr, names: dict[str, Any]) -> str | None:
    """The value of an expression at the top of a module; None where it has none there."""
    try:
        return str(eval(ast.unparse(text), names))
    except NameError:
        return None


def read_everything() -> None:
    """Import all of our modules, and read texts in each language, so that what is compiled late is compiled."""
    import hedgerow
    from hedgerow.calibration import Beta
    from hedgerow.lexicon import Match
    from hedgerow.lexicon.hedges.phrases import read_phrases
    from hedgerow.proxy.api.routers import own_paths
    from hedgerow.proxy.rewriting import FactGuard
    from hedgerow.proxy.rewriting.strip import Strippers
    from hedgerow.proxy.types import Rewrite, RewriteRequest

    for module in pkgutil.walk_packages(hedgerow.__path__, "hedgerow."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for question, answers in _READ.items():
        hedgerow.confidence(question, answers)
        for answer in answers:
            hedgerow.word(answer, 0.5, question=question, languages=["en", "de", "fr", "es"])
    guard = FactGuard()
    strippers = Strippers(guard.hedges)
    for language in ("en", "de", "fr", "es"):
        strippers.of(language).pieces("It was 1912, I think. Perhaps it sank.")
    hedges = guard.hedges[:1]
    asked = RewriteRequest("Who?", "It was Ida.", Beta(5, 5), tuple(Match(hedge, 0.0) for hedge in hedges))
    guard.check_sync(asked, Rewrite("It was probably Ida.", None))
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "phrases.csv"
        table.write_text("phrase,confidence\nquite imaginably,65\n")
        read_phrases(table, "en", lambda _mean: 11.0)
    own_paths()


def _main() -> None:
    made: dict[tuple[str, int, str, int], None] = {}
    compile_ = re._compile  # type: ignore[attr-defined]

    def noting(text: Any, flags: int) -> re.Pattern[Any]:
        pattern: re.Pattern[Any] = compile_(text, flags)
        frame = sys._getframe(1)
        while frame.f_code.co_filename == re.__file__ and frame.f_back is not None:
            frame = frame.f_back
        path = Path(frame.f_code.co_filename).resolve()
        if path.is_relative_to(ROOT):
            source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
            made[(str(path.relative_to(ROOT)), frame.f_lineno, source, pattern.flags)] = None
        return pattern

    re._compile = noting  # type: ignore[attr-defined]
    read_everything()
    sys.stdout.write(json.dumps(list(made)))


if __name__ == "__main__":
    _main()
