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


HEAD = [
    "| client | version | what it does | " + " | ".join(MODES) + " | shows it in |",
    "|---" * (len(MODES) + 4) + "|",
]


def lines(rows: Rows) -> dict[tuple[str, str], str]:
    """The line of each client that was run, by the name and the version that stand in it."""
    shown, made = snippets(), {}
    for (client, version), seen in rows.items():
        cells = [verdict(mode, seen["direct"], seen[mode]) for mode in MODES]
        features = ", ".join(feature(name, seen["direct"]) for name in seen["direct"] if name != "status")
        where = shown[client].where if client in shown else ""
        name = KNOWN[client].name
        made[name, version] = f"| {name} | {version} | {features} | {' | '.join(cells)} | {where} |"
    return made


def write(rows: Rows) -> None:
    """Put what was run into the table of the document; the lines of clients that were not run stay as they are."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    kept = {} if HEAD[0] not in old else {_key(line): line for line in old.strip().splitlines()[2:]}
    order = [client.name for client in KNOWN.values()]
    merged = sorted((kept | lines(rows)).items(), key=lambda item: (order.index(item[0][0]), item[0][1]))
    PAGE.write_text(before + "\n".join([BEGIN, *HEAD, *(line for _, line in merged), END]) + after, encoding="utf-8")


def _key(line: str) -> tuple[str, str]:
    cells = [cell.strip() for cell in line.split("|")]
    return cells[1], cells[2]


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
                    f"{client} {version}: {' | '.join(cells)} | {wrong or ('the program of the document runs' if told else '')}",
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
        write(rows)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
