"""Write the pages of the evidence: `python -m benchmarks.evidence [PART ...]`.

Named parts are recomputed; where none is named, those whose code has changed since. What is finished is kept, and a part that fails does not
lose the others.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence

from benchmarks import DATA, ROOT
from benchmarks.evidence.document import PARTS, compute, up_to_date


def compute_each(parts: Sequence[str]) -> list[str]:
    """Compute parts, each in a process of its own; those that failed."""
    failed = []
    for number, part in enumerate(parts, start=1):
        print(f"[{number}/{len(parts)}] {part}", file=sys.stderr, flush=True)
        if subprocess.run([sys.executable, "-m", "benchmarks.evidence", part], cwd=ROOT, check=False).returncode:
            failed.append(part)
    return failed


def main(arguments: list[str] | None = None) -> int:
    """Recompute the named parts (where none is named, all that are not up to date)."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evidence", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    chosen = list(dict.fromkeys(parser.parse_args(arguments).parts))
    if unknown := set(chosen) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if not DATA.is_dir():
        print(f"The recorded answers are not beside the checkout: {DATA} is missing.", file=sys.stderr)
        return 2
    if len(chosen) == 1:
        compute(chosen[0])
        return 0
    if not chosen:
        done = up_to_date()
        chosen = [part for part in PARTS if part not in done]
        print(f"up to date: {', '.join(sorted(done)) or 'none'}", file=sys.stderr)
    failed = compute_each(chosen)
    if failed:
        print(f"failed: {', '.join(failed)}; the other parts are written", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
