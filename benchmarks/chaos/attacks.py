"""`make chaos`, its second part: `python -m benchmarks.chaos.attacks [--identity 50000] [--mutated 25000] [--store sqlite] [--write]`.

Clients that want what is another's, requests with changed bytes, answers that are hard to read, and clients that leave before they are counted; on SQLite
and on PostgreSQL. Ends with 1 where anything was found.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.chaos.checks import HANG, STATUS
from benchmarks.chaos.early import LEAVING, OVERSPENT, run_early
from benchmarks.chaos.hostile import HOSTILE_ANSWERS, run_hostile
from benchmarks.chaos.identity import CLIENTS, DIMENSIONS, DOORS, FOREIGN, MODES, WRONG_UPSTREAM, at_once, run_identity
from benchmarks.chaos.load import DESCRIPTORS, FAULT, TASKS, WHOLE, Tally, count_faults, count_leaks, held, tags, warm
from benchmarks.chaos.mutated import AT_ONCE, MUTATED, run_mutated
from benchmarks.chaos.report import table, write
from benchmarks.chaos.serving import Watch, proxy
from benchmarks.chaos.upstream import Upstream, listening
from tests.support.postgres import Cluster, Missing, cluster

STORES = ("SQLite", "PostgreSQL")
KINDS = {
    FOREIGN: "foreign answers",
    WRONG_UPSTREAM: "credentials at the wrong upstream",
    OVERSPENT: "limits missed",
    HANG: "hangs",
    STATUS: "wrong statuses",
    TASKS: "leaked tasks",
    DESCRIPTORS: "leaked descriptors",
    FAULT: "faults of ours",
}
SECTIONS = (*(mode.name for mode in MODES), DOORS, MUTATED, HOSTILE_ANSWERS, LEAVING, WHOLE)


async def mutated(folder: Path, store: str, tally: Tally, *, count: int, seed: int = 0) -> Watch:
    """Mutated requests to a fresh proxy; how well it answered meanwhile."""
    async with listening(Upstream()) as upstream, proxy(folder, upstream.url, store) as running:
        await warm(running, tags())
        before = await held(running)
        watch = await run_mutated(running, upstream, tally, count=count, seed=seed)
        await count_leaks(running, tally, before)
        count_faults(running, tally)
    return watch


async def attack(address: Callable[[str], str], folder: Path, identity: int, requests: int) -> tuple[Tally, list[str]]:
    """All attacks on stores at the addresses that are given for names; what was found, and what was measured besides."""
    tally, began = Tally(), time.monotonic()

    def place(name: str) -> tuple[Path, str, Tally]:
        print(f"  {time.strftime('%H:%M:%S')} {name}", flush=True)
        (folder / name).mkdir()
        return folder / name, address(name), tally

    await run_identity(*place("identity"), count=identity)
    changed = await mutated(*place("mutated"), count=requests)
    watches = await run_hostile(*place("hostile"))
    worst = max(watches, key=lambda name: watches[name].held_s)
    error = await run_early(*place("early"))
    return tally, [
        f"- {tally.requests.total():,} requests in {(time.monotonic() - began) / 60:.0f} minutes. {len(DIMENSIONS)} dimensions in {len(MODES)} modes, "
        f"{at_once(identity)} clients at once.",
        f"- While mutated requests came, {AT_ONCE} at once, `/health` took at most {changed}.",
        f"- While each of {len(watches)} hostile answers was read, it took at most {max(watch.worst_s for watch in watches.values()):.2f} s; the event loop "
        f"was held up for at most {1e3 * watches[worst].held_s:.0f} ms of processor time ({worst}), half of the time for less than "
        f"{1e3 * sorted(watch.held_s for watch in watches.values())[len(watches) // 2]:.0f} ms.",
        f"- {CLIENTS} clients of one key that leave early got at most {max(0.0, error):.2f} requests more than its limit allows.",
    ]


def _fresh(server: Cluster | None, folder: str, part: str) -> str:
    """The address of a fresh store."""
    return server.database() if server is not None else f"sqlite:///{folder}/{part}/audit.db"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--identity", type=int, default=50_000, help="requests of the attack on identity, on each store"
    )
    parser.add_argument("--mutated", type=int, default=25_000, help="mutated requests, on each store")
    parser.add_argument("--store", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--write", action="store_true", help="put what was measured into docs/reliability.md")
    options = parser.parse_args()
    found = False
    for store in (store for store in STORES if options.store in ("both", store.lower())):
        print(store, flush=True)
        with tempfile.TemporaryDirectory(prefix="hedgerow-attack-") as name, contextlib.ExitStack() as stack:
            Path(name).chmod(0o755)  # PostgreSQL runs as a user of its own
            try:
                server = stack.enter_context(cluster()) if store == "PostgreSQL" else None
            except Missing as missing:
                sys.exit(f"{missing}; `--store sqlite` does without")
            work = attack(partial(_fresh, server, name), Path(name), options.identity, options.mutated)
            tally, notes = asyncio.run(work)
        text = "\n".join([*table(tally, SECTIONS, KINDS), "", *notes])
        print(text, *tally.examples, sep="\n", flush=True)
        found = found or bool(tally.found)
        if options.write:
            write(f"attacks on {store}", text)
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
