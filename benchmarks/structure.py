"""The shape of the source in figures: `python -m benchmarks.structure [--write] [--files]`.

Counts the files of ours that a request enters (the real application before the scripted upstream of the tests, every Python call of every
thread seen), arrows between folders, circles, imports inside functions and lines. `--write` puts the table into docs/architecture.md;
`--files` lists what each request enters. Branch coverage is read from `coverage.json` where `make coverage` left one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import openai
import structlog

from hedgerow.calibration import MapRegistry
from hedgerow.calibration.fitting import fit_map
from tests.support.imports import ORDER, PARTS, Source, folder_of, upward
from tests.support.servers import serving
from tests.support.upstream import Upstream, says, sse_response, stream_chunks

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs" / "architecture.md"
CONTRIBUTING = ROOT / "docs" / "contributing.md"
COVERAGE = ROOT / "coverage.json"
BEGIN, END = "<!-- measured by benchmarks.structure -->", "<!-- end -->"
PLACE = {folder: i for i, folder in enumerate(ORDER)}

REPEATS = 8
"""Requests of a kind that are looked at."""
SHORT = [*["Jupiter."] * 7, "Saturn.", "Venus.", "Mars."]
LONG = [
    f"The Atomium stands in Brussels. It was designed by André Waterkeyn. It is {height} metres tall. It was built in {year}."
    for height, year in zip((102, 165, 140, 99, 91, 80, 110, 120, 95, 77), range(1958, 1978, 2), strict=True)
]


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of request: the route's settings, what the upstream answers, how the client asks."""

    name: str
    route: dict[str, Any]
    answers: Callable[[], Any]
    stream: bool = False


def _append() -> Callable[..., Any]:
    """A streamed answer, then samples that agree in six of nine."""
    samples = says("Canberra.", "Sydney.", "Canberra.")

    def reply(request: Any, body: Any) -> Any:
        stream = [*stream_chunks("The capital of Australia is Canberra."), "[DONE]"]
        return sse_response(stream) if body.get("stream") else samples(request, body)

    return reply


CASES = (
    Case("pass-through", {"mode": "off"}, lambda: says("Jupiter.")),
    Case("calibrated, short answer", {"mode": "on"}, lambda: says(*SHORT)),
    Case("calibrated, long answer", {"mode": "on"}, lambda: says(*LONG)),
    Case("calibrated, `stream: append`", {"mode": "on", "stream": "append"}, _append, stream=True),
)


@dataclass(slots=True)
class Entered:
    """The files that a request entered, and the calls from a folder to one that stands above it (as `tests/support/imports.py` orders them)."""

    files: set[str] = field(default_factory=set)
    upward: set[tuple[str, str]] = field(default_factory=set)


class Recorder:
    """Sees each Python call of each thread that starts after it; counts those into our files while `into` is set."""

    def __init__(self) -> None:
        self.into: Entered | None = None
        self._known: dict[str, str] = {}

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """One event of `sys.setprofile`."""
        entered = self.into
        if entered is None or event != "call" or not (file := self._ours(frame)):
            return
        entered.files.add(file)
        caller = frame.f_back
        while caller is not None and not self._ours(caller):
            caller = caller.f_back
        if caller is not None and PLACE[folder_of(below := self._ours(caller))] > PLACE[folder_of(file)]:
            entered.upward.add((below, file))

    def _ours(self, frame: FrameType) -> str:
        """The file of a frame within the checkout; empty for other people's files."""
        name = frame.f_code.co_filename
        if name not in self._known:
            path = Path(name).resolve()
            inside = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in PARTS
            self._known[name] = path.relative_to(ROOT).as_posix() if inside else ""
        return self._known[name]


@contextlib.contextmanager
def _proxy(case: Case, folder: Path) -> Iterator[str]:
    """The real application on a real server, before a scripted upstream."""
    from hedgerow.proxy.app import application
    from hedgerow.proxy.config import Settings

    upstream = Upstream(default=case.answers())
    registry = MapRegistry(folder / "maps")
    agree = np.arange(1.0, 10.0).repeat(4)
    correct = (np.tile(np.arange(4), 9) < 0.4 * agree).astype(int)
    registry.add("claims", fit_map("platt", agree, 10.0 - agree, correct, signal="consistency"))
    registry.activate("claims")  # long answers stay plain without a map for their claims
    with serving(upstream) as address:
        settings = Settings(
            upstreams={"scripted": {"provider": "openai", "base_url": address + "/v1", "retries": 0}},
            routes=[{"name": "test", "upstream": "scripted"} | case.route],
            audit={"url": f"sqlite:///{folder}/audit.db", "spool": str(folder / "spool")},
            maps={"folder": str(folder / "maps")},
        )
        with serving(application(settings, address="benchmark"), lifespan="on") as served:
            yield served


def _ask(address: str, case: Case) -> None:
    with openai.OpenAI(base_url=address + "/v1", api_key="sk-benchmark", max_retries=0) as client:
        question = "Tell me about the Atomium." if case.answers is CASES[2].answers else "What is the largest planet?"
        reply = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": question}], stream=case.stream
        )
        status = [*reply][-1] if case.stream else reply
        if case.route["mode"] == "on":
            hedgerow = (status.model_extra or {})["hedgerow"]
            if hedgerow["status"] != "hedged":
                raise RuntimeError(f"{case.name}: expected a hedged answer, the proxy gave {hedgerow}")


def entered(case: Case) -> Entered:
    """What every one of several requests of a kind enters. The first has loaded what is loaded once; work beside the requests (the store
    is polled once a second) falls into some of the windows only. Rows that are written later are waited for.
    """
    recorder = Recorder()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    threading.setprofile(recorder)
    windows = []
    try:
        with tempfile.TemporaryDirectory() as folder, _proxy(case, Path(folder)) as address:
            _ask(address, case)
            for _ in range(REPEATS):
                time.sleep(0.23)
                recorder.into = seen = Entered()
                _ask(address, case)
                time.sleep(0.15)
                recorder.into = None
                windows.append(seen)
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]
    files = set.intersection(*(seen.files for seen in windows))
    return Entered(files, set.intersection(*(seen.upward for seen in windows)))


BEFORE = {
    "files of ours a request enters: pass-through": "15",
    "files of ours a request enters: calibrated, short answer": "60",
    "files of ours a request enters: calibrated, long answer": "59",
    "files of ours a request enters: calibrated, `stream: append`": "55",
    "arrows between folders": "321",
    "pairs of folders that import each other": "2",
    "circles between files (files in them)": "2 (12)",
    "first-party imports inside functions": "201",
    "source files": "223",
    "lines of source": "27,253",
}
"""The same figures at commit 77b0f74, the last one before the folders were drawn anew."""

CHANGES_BEFORE = {
    "A signal": "8",
    "A judge of same meaning": "6",
    "A rewriter": "6",
    "An upstream": "8",
    "A calibration map": "8",
    "A language": "13",
    "An endpoint": "3-4",
    "An audit column": "4-6",
    "A command": "3",
    "A chart of the dashboard": "6",
}
"""Files that a change touched at commit 77b0f74. Today's are those of docs/contributing.md, which tests/test_contributing.py makes."""


def changes() -> dict[str, list[str]]:
    """The files of each addition that docs/contributing.md walks through."""
    parts = re.split(r"^## (.*)$", CONTRIBUTING.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    first = (re.findall(r"^```\w+\n(?:#|---|\+\+\+) (\S+)$", text, flags=re.MULTILINE) for text in parts[1::2])
    return {name: list(dict.fromkeys(files)) for name, files in zip(parts[::2], first, strict=True) if files}


def figures(requests: dict[str, Entered]) -> dict[str, str]:
    """Every figure of the table, by its name."""
    source = Source(ROOT)
    nodes = {(_node(i.importer), _node(i.imported)) for i in source.imports}
    arrows = {(a, b) for a, b in nodes if a != b}
    groups = source.circles()
    table = {f"files of ours a request enters: {name}": str(len(seen.files)) for name, seen in requests.items()}
    calls = {(folder_of(a), folder_of(b)) for seen in requests.values() for a, b in seen.upward}
    table["folders that a request enters from one below"] = str(len({above for _, above in calls}))
    table["arrows between folders"] = str(len(arrows))
    table["arrows that point upwards"] = str(len(upward(source.imports)))
    table["pairs of folders that import each other"] = str(sum((b, a) in arrows for a, b in arrows) // 2)
    table["circles between files (files in them)"] = f"{len(groups)} ({sum(map(len, groups))})" if groups else "0"
    table["first-party imports inside functions"] = str(sum(i.in_function for i in source.imports))
    table["source files"] = f"{len(source.texts):,}"
    table["lines of source"] = f"{sum(source.lines().values()):,}"
    if COVERAGE.exists():
        totals = json.loads(COVERAGE.read_text(encoding="utf-8"))["totals"]
        table["branches that the tests take"] = f"{totals['covered_branches'] / totals['num_branches']:.1%}"
    return table


def _node(file: str) -> str:
    """The folder of a file; a loose file stands for itself."""
    parts = file.split("/")
    return file if len(parts) == 2 else "/".join(parts[:2])


def page(table: dict[str, str]) -> str:
    """Both tables in Markdown."""
    rows = ["| | before | now |", "|---|---:|---:|"]
    rows += [f"| {name} | {BEFORE.get(name, '–')} | {value} |" for name, value in table.items()]
    rows += ["", "| a change | files before | files now | which |", "|---|---:|---:|---|"]
    rows += [
        f"| {change} | {CHANGES_BEFORE.get(change, '–')} | {len(files)} | {', '.join(files)} |"
        for change, files in changes().items()
    ]
    return "\n".join(rows)


def write(text: str) -> None:
    """Put the tables between the markers of docs/architecture.md."""
    old = DOCUMENT.read_text(encoding="utf-8")
    head, _, rest = old.partition(BEGIN)
    _, _, tail = rest.partition(END)
    DOCUMENT.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}", encoding="utf-8")


def main() -> None:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/architecture.md")
    parser.add_argument("--files", action="store_true", help="list the files that each request enters")
    options = parser.parse_args()
    requests = {case.name: entered(case) for case in CASES}
    if options.files:
        for name, seen in requests.items():
            print(
                f"{name}: {len(seen.files)}",
                *sorted(seen.files),
                *(f"{below} calls {above}, which stands above it" for below, above in sorted(seen.upward)),
                sep="\n  ",
            )
    text = page(figures(requests))
    print(text)
    if options.write:
        write(text)


if __name__ == "__main__":
    main()
