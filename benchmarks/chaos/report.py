"""What `make chaos` found, as the page docs/reliability.md has it."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence

from benchmarks import ROOT
from benchmarks.chaos.abuse import ABUSES
from benchmarks.chaos.checks import HANG, STATUS, TEXT
from benchmarks.chaos.faults import FAULTS, Wire
from benchmarks.chaos.load import ABUSE, DESCRIPTORS, FAULT, LOST, TASKS, WHOLE, Tally
from benchmarks.chaos.memory import FIRST, Memory
from benchmarks.chaos.processes import AWAY, FULL, FULL_ALL, KILLED, REPLACED
from benchmarks.chaos.rules import WAYS
from benchmarks.chaos.troubles import CLOCK, FAILING, NO_GROWTH, READ_ONLY, REDIS, SET_BACK, SIGNALS

DOCUMENT = ROOT / "docs" / "reliability.md"
KINDS = {
    HANG: "hangs",
    STATUS: "wrong statuses",
    LOST: "lost rows",
    TEXT: "unchecked texts",
    TASKS: "leaked tasks",
    DESCRIPTORS: "leaked descriptors",
    FAULT: "faults of ours",
}
PROCESS_FAULTS = (
    KILLED,
    AWAY,
    FULL,
    FULL_ALL,
    REPLACED,
    FAILING,
    NO_GROWTH,
    READ_ONLY,
    SET_BACK,
    CLOCK,
    REDIS,
    SIGNALS,
)
SECTIONS = (*(way.name for way in WAYS), ABUSE, *PROCESS_FAULTS, WHOLE)


def of_store(tally: Tally, notes: Sequence[str], seconds: float) -> str:
    """What was found on one kind of store."""
    of_wire = (
        f"{len(FAULTS)} kinds of upstream fault, {len(ABUSES)} kinds of abuse and " if tally.requests[ABUSE] else ""
    )
    traced = "" if tally.requests[SIGNALS] else "; every request was traced"
    head = (
        f"{tally.requests.total():,} {'signals' if tally.requests[SIGNALS] else 'requests'} in {seconds / 60:.1f} minutes: {of_wire}"
        f"{sum(tally.requests[section] > 0 for section in PROCESS_FAULTS)} kinds of process fault, with Python {platform.python_version()}{traced}."
    )
    return "\n".join([head, "", *table(tally, SECTIONS, KINDS), *(["", *notes] if notes else [])])


def of_memory(memory: Memory) -> str:
    """How much a process holds."""
    return (
        f"Resident after {FIRST:,} requests {memory.after_first:.0f} MB, after {memory.off:,} passed on and {memory.calibrated:,} calibrated "
        f"{memory.after_all:.0f} MB: {memory.growth:+.1%} (goal: at most +5 %)."
    )


def kinds() -> str:
    """How many faults of each kind, and how many abuses."""
    counts = Counter(fault.wire for fault in FAULTS)
    faults = (f"- {wire.value}: {counts[wire]}" for wire in Wire if counts[wire])
    named = "By name in `benchmarks/chaos/faults.py` and `abuse.py`."
    return "\n".join([*faults, f"- abuse by clients: {len(ABUSES)}", "", named])


def table(tally: Tally, sections: Sequence[str], kinds: Mapping[str, str]) -> list[str]:
    """What was found, a line a section and a column a kind."""
    header = ["", "requests", *kinds.values()]
    rows = [
        [
            section,
            f"{tally.requests[section] or '':,}" if tally.requests[section] else "",
            *(str(tally.found[(section, kind)]) for kind in kinds),
        ]
        for section in sections
        if tally.requests[section] or section == WHOLE
    ]
    return [f"| {' | '.join(row)} |" for row in (header, ["---", *["---:"] * (len(header) - 1)], *rows)]


def write(part: str, text: str) -> None:
    """Put a measured part into its place on the page."""
    begin, end = f"<!-- measured by benchmarks.chaos: {part} -->", "<!-- end -->"
    head, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(begin)
    tail = rest.partition(end)[2]
    DOCUMENT.write_text(f"{head}{begin}\n\n{text}\n\n{end}{tail}", encoding="utf-8")
