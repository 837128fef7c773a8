"""Run every client direct and through the proxy, and every program of docs/clients.md: `python -m tests.compat .compat/openai-2 .compat/openai-3`.

Each folder is an environment: a virtual environment with node_modules. The table goes into docs/clients.md with `--write`.
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

import structlog

from tests.compat.environments import CLIENTS, KNOWN, Environment
from tests.compat.running import MODES, Outcome, everywhere, good, places, verdict
from tests.compat.snippets import PAGE, fault, snippets

BEGIN, END = "<!-- made by python -m tests.compat --write -->", "<!-- end -->"
Rows = dict[tuple[str, str], dict[str, Outcome]]


def feature(name: str, seen: Outcome) -> str:
    """One thing that a client did, for readers."""
    if name != "standard tests":
        return name
    counts = {outcome: len(names) for outcome, names in sorted(seen[name].items())}
    return f"standard tests ({', '.join(f'{n} {outcome}' for outcome, n in counts.items())})"


def table(rows: Rows) -> list[str]:
    """The lines of the table."""
    shown = snippets()
    lines = [
        "| client | version | what it does | " + " | ".join(MODES) + " | shows it in |",
        "|---" * (len(MODES) + 4) + "|",
    ]
    for (client, version), seen in rows.items():
        cells = [verdict(mode, seen["direct"], seen[mode]) for mode in MODES]
        features = ", ".join(feature(name, seen["direct"]) for name in seen["direct"] if name != "status")
        where = shown[client].where if client in shown else ""
        lines.append(f"| {KNOWN[client].name} | {version} | {features} | {' | '.join(cells)} | {where} |")
    return lines


def run(environments: list[Environment], only: list[str]) -> tuple[Rows, int]:
    """Every client of every environment, each version once; how many faults there were."""
    rows: Rows = {}
    faults = 0
    with places() as found:
        for client in only:
            versions = {version: e for e in environments if (version := e.version(client)) is not None}
            if not versions:
                print(f"{client}: not run, it is not installed")
            for version, environment in versions.items():
                seen = rows[client, version] = everywhere(CLIENTS / client, environment, found)
                cells = [verdict(mode, seen["direct"], seen[mode]) for mode in MODES]
                told = snippets().get(client)
                wrong = told and fault(told, environment, found["on"])
                faults += sum(not good(cell) for cell in cells) + bool(wrong)
                print(
                    f"{client} {version}: {' | '.join(cells)} | {wrong or 'the program of the document runs'}",
                    flush=True,
                )
    return rows, faults


def main() -> int:
    """Run them all; 1 where one of them saw what it must not see."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "environments", nargs="*", type=Path, help="folders that hold a virtual environment and node_modules"
    )
    parser.add_argument("--only", nargs="*", default=list(KNOWN), help="file names of clients")
    parser.add_argument("--write", action="store_true", help="write the table into docs/clients.md")
    chosen = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    environments = [Environment.at(folder) for folder in chosen.environments] or [Environment.own()]
    rows, faults = run(environments, chosen.only)
    if chosen.write:
        text = PAGE.read_text(encoding="utf-8")
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        PAGE.write_text(before + "\n".join([BEGIN, *table(rows), END]) + after, encoding="utf-8")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
