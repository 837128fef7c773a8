"""What a start costs: `python -m benchmarks.performance.start [--repeats N] [--imports]`.

A server is started as `hedgerow serve` starts it once it is installed (its modules are compiled), on a port of the system's choice, and looked at when it says that it listens: processor time
(of all its threads; it follows the machine's load less than wall time does) and resident memory. `--imports` lists what it imported.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import yaml

from benchmarks import ROOT

OFF, ON = "every route off", "a calibrating route"


@dataclass(frozen=True)
class Start:
    """One start: seconds of processor and of the clock until it listens, and resident megabytes then."""

    processor_s: float
    clock_s: float
    resident_mb: float


def configuration(folder: Path, mode: str) -> Path:
    """One route with a committed audit; the upstream is never called."""
    settings = {
        "server": {"port": 0},
        "upstreams": {"nobody": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},
        "routes": [{"name": "bench", "upstream": "nobody", "mode": mode, "sampling": {"n": 20}}],
        "audit": {"url": f"sqlite:///{folder}/audit.db"},
    }
    path = folder / f"{mode}.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def processor_s(pid: int) -> float:
    """Processor time of a process and its threads, seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """Resident memory of a process, megabytes."""
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]) / 1024


def start(path: Path, *options: str) -> tuple[Start, list[str]]:
    """Start a server and end it as soon as it listens; with what it wrote until then."""
    command = [sys.executable, *options, "-m", "hedgerow.proxy.cli", "serve", "-c", str(path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(path.parent / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began, lines = time.perf_counter(), []
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as running:
        assert running.stderr is not None
        for line in running.stderr:
            lines.append(line)
            if line.startswith("{") and json.loads(line).get("event") == "listening":
                result = Start(processor_s(running.pid), time.perf_counter() - began, resident_mb(running.pid))
                running.terminate()
                running.communicate(timeout=30)
                return result, lines
    raise RuntimeError("the server ended: " + "".join(lines)[-1000:])


def table(repeats: int) -> list[str]:
    """Markdown rows: medians of starts that alternate between the two."""
    rows = ["| start without a model | seconds of processor | seconds | resident MB |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        paths = {OFF: configuration(Path(folder), "off"), ON: configuration(Path(folder), "on")}
        starts: dict[str, list[Start]] = {name: [] for name in paths}
        for path in paths.values():
            start(path)  # compiles the modules, as an installation does
        for _ in range(repeats):
            for name, path in paths.items():
                starts[name].append(start(path)[0])
    for name, times in starts.items():
        processor, clock, memory = (
            statistics.median(getattr(one, field) for one in times)
            for field in ("processor_s", "clock_s", "resident_mb")
        )
        rows.append(f"| {name} | {processor:.2f} | {clock:.2f} | {memory:.0f} |")
    return rows


def imports(mode: str) -> list[str]:
    """What a start imports, by top-level package: milliseconds of its own modules and how many they are, the slowest first."""
    with tempfile.TemporaryDirectory() as folder:
        path = configuration(Path(folder), mode)
        start(path)
        _, lines = start(path, "-X", "importtime")
    own_us: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for line in lines:
        if (match := re.match(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", line)) is not None:
            package = ".".join(match[2].split(".")[: 2 if match[2].startswith("hedgerow") else 1])
            own_us[package] += int(match[1])
            modules[package] += 1
    return [f"{own_us[name] / 1e3:7.1f} ms {modules[name]:4} modules  {name}" for name, _ in own_us.most_common(40)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument(
        "--imports", choices=["off", "on"], help="list the packages that a start with such a route imports"
    )
    arguments = parser.parse_args()
    print("\n".join(imports(arguments.imports) if arguments.imports else table(arguments.repeats)))


if __name__ == "__main__":
    main()
