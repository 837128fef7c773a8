"""Run every client direct and through the proxy, and every program of docs/clients.md: `python -m tests.compat .compat/openai-2 .compat/openai-3`.

Each folder is an environment: a virtual environment with node_modules. The tables go into docs/clients.md with `--write`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.compat.environments import BOTH, KNOWN, Environment
from tests.compat.running import MODES, Outcome, everywhere, faults, good, places, verdict
from tests.compat.snippets import PAGE, fault, snippets
from tests.support.manners import table

MADE, END = "made by python -m tests.compat --write -->", "<!-- end -->"
Rows = dict[tuple[str, str], dict[str, Outcome]]
Lines = dict[tuple[str, str], str]


def feature(name: str, seen: Outcome) -> str:
    """One thing that a client did, for readers."""
    if name != "standard tests":
        return name
    counts = {outcome: len(names) for outcome, names in sorted(seen[name].items())}
    return f"standard tests ({', '.join(f'{n} {outcome}' for outcome, n in counts.items())})"


def cells(seen: Mapping[str, Outcome], where: Iterable[str]) -> list[str]:
    """The cells of a client in the columns of a table; a dash where it was not run."""
    return [verdict(place, seen["direct"], seen[place]) if place in seen else "–" for place in where]


def in_modes(rows: Rows) -> Lines:
    """The lines of the first table, by the name and the version that stand in them."""
    shown, made = snippets(), {}
    for (client, version), seen in rows.items():
        features = ", ".join(feature(name, seen["direct"]) for name in seen["direct"] if name != "status")
        where = shown[client].where if client in shown else ""
        name = KNOWN[client].name
        made[name, version] = f"| {name} | {version} | {features} | {' | '.join(cells(seen, MODES))} | {where} |"
    return made


def beyond(rows: Rows) -> Lines:
    """The lines of the second table."""
    named = {(KNOWN[client].name, version): seen for (client, version), seen in rows.items() if KNOWN[client].beyond}
    return {key: f"| {' | '.join([*key, *cells(seen, BOTH)])} |" for key, seen in named.items()}


def write(rows: Rows) -> None:
    """Put what was run into the tables of the document; the lines of clients that were not run stay as they are."""
    _merge("modes", ["client", "version", "what it does", *MODES, "shows it in"], in_modes(rows))
    _merge("beyond", ["client", "version", *BOTH], beyond(rows))
    begin = f"<!-- providers: {MADE}"
    before, rest = PAGE.read_text(encoding="utf-8").split(begin)
    PAGE.write_text("\n".join([before + begin, table(), END]) + rest.partition(END)[2], encoding="utf-8")


def _merge(name: str, columns: Sequence[str], lines: Lines) -> None:
    head = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    begin = f"<!-- {name}: {MADE}"
    before, rest = PAGE.read_text(encoding="utf-8").split(begin)
    old, _, after = rest.partition(END)
    kept = {} if head[0] not in old else {_key(line): line for line in old.strip().splitlines()[2:]}
    order = [client.name for client in KNOWN.values()]
    merged = sorted((kept | lines).items(), key=lambda item: (order.index(item[0][0]), item[0][1]))
    PAGE.write_text(before + "\n".join([begin, *head, *(line for _, line in merged), END]) + after, encoding="utf-8")


def _key(line: str) -> tuple[str, str]:
    cells = [cell.strip() for cell in line.split("|")]
    return cells[1], cells[2]


def run(environments: list[Environment], only: list[str]) -> tuple[Rows, int]:
    """Every client of every environment, each version once; how many faults there were."""
    rows: Rows = {}
    wrongs = 0
    with faults() as logged, places() as found:
        for client in only:
            versions = {version: e for e in environments if (version := e.version(client)) is not None}
            if not versions:
                print(f"{client}: not run, it is not installed")
            for version, environment in versions.items():
                seen = rows[client, version] = everywhere(client, environment, found)
                said = cells(seen, [place for place in seen if place != "direct"])
                snippet = snippets().get(client)
                wrong = snippet and fault(snippet, environment, found["on"])
                wrongs += sum(not good(cell) for cell in said) + bool(wrong) + len(logged)
                program = wrong or ("the program of the document runs" if snippet else "")
                print(f"{client} {version}: {' | '.join(said)} | {program}", *logged, sep="\n  logged: ", flush=True)
                logged.clear()
    return rows, wrongs


def main() -> int:
    """Run them all; 1 where one of them saw what it must not see, or a proxy logged an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "environments", nargs="*", type=Path, help="folders that hold a virtual environment and node_modules"
    )
    parser.add_argument("--only", nargs="*", default=list(KNOWN), help="file names of clients")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/clients.md")
    chosen = parser.parse_args()
    environments = [Environment.at(folder.absolute()) for folder in chosen.environments] or [Environment.own()]
    rows, wrongs = run(environments, chosen.only)
    if chosen.write:
        write(rows)
    return 1 if wrongs else 0


if __name__ == "__main__":
    sys.exit(main())
