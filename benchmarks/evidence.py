"""Write docs/evidence.md, part by part: `python -m benchmarks.evidence [PART ...]`.

A part is a module `benchmarks/evidence_<part>.py` with `section(data: Path) -> str`, Markdown that starts with a second-level heading.
Each part stands in the document between two comments, so that one part can be recomputed without the others. Pictures go
to docs/evidence/. No number in the document is typed by hand.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data"
DOCUMENT = ROOT / "docs" / "evidence.md"
PARTS = ("calibration", "lexicon", "equivalence", "rewriting")
HEAD = """# Evidence

Every figure on this page is computed by `make evidence` from recorded answers and people's readings beside the checkout.
`make evidence PARTS="calibration"` recomputes one part.
"""


def _commit() -> str:
    """The commit the figures were computed at, marked where the tree had changes of its own."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude", "*"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return described.stdout.strip() or "unknown"


def _replace(document: str, part: str, text: str) -> str:
    """Put a part into the document, in place of its former text or at its place in the order of PARTS."""
    block = f"<!-- part: {part} -->\n{text.strip()}\n<!-- end: {part} -->"
    pattern = re.compile(rf"<!-- part: {part} -->.*?<!-- end: {part} -->", re.DOTALL)
    if pattern.search(document):
        return pattern.sub(lambda _: block, document)
    for later in PARTS[PARTS.index(part) + 1 :]:
        mark = f"<!-- part: {later} -->"
        if mark in document:
            return document.replace(mark, f"{block}\n\n{mark}")
    return f"{document.rstrip()}\n\n{block}\n"


def main(arguments: list[str] | None = None) -> int:
    """Recompute the named parts (all that exist, where none is named)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    known = [p for p in PARTS if (Path(__file__).parent / f"evidence_{p}.py").exists()]
    chosen = parser.parse_args(arguments).parts or known
    if unknown := set(chosen) - set(known):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if not DATA.is_dir():
        print(f"the recorded answers are not beside the checkout: {DATA.name} is missing", file=sys.stderr)
        return 2
    for part in chosen:
        print(f"== {part}", file=sys.stderr)
        text = importlib.import_module(f"benchmarks.evidence_{part}").section(DATA)
        stamp = f"*Computed by `make evidence PARTS={part}` at commit {_commit()}, {datetime.now(UTC):%Y-%m-%d}.*"
        document = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else HEAD
        DOCUMENT.parent.mkdir(exist_ok=True)
        DOCUMENT.write_text(_replace(document, part, f"{text.strip()}\n\n{stamp}"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
