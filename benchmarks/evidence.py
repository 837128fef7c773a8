"""Write docs/evidence.md, part by part: `python -m benchmarks.evidence [PART ...]`.

A part is a module `benchmarks/evidence_<part>.py` with `section(data: Path) -> str`, Markdown that starts with a second-level heading and may end
with a table of goals (`benchmarks.goals`). Each part stands in the document between two comments, so that one part can be recomputed
without the others. Named parts are recomputed; where none is named, those whose code has changed since: what is finished is kept, and a part
that fails does not lose the others. Pictures go to docs/evidence/. No number in the document is typed by hand.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data"
DOCUMENT = ROOT / "docs" / "evidence.md"
PARTS = (
    "signal_space", "linguistic_space", "samples", "choices", "divergence", "live", "calibration", "lexicon", "equivalence", "rewriting",
    "signals", "drift",
)  # fmt: skip
CODE = ("benchmarks", "calibration", "lexicon", "proxy")
HEAD = """# Evidence

Every figure on this page is computed by `make evidence` from recorded answers and people's readings beside the checkout.
`make evidence PARTS="calibration"` recomputes one part; without a name, the parts whose code has changed.
"""
_BLOCK = re.compile(r"<!-- part: (\S+) -->\n(.*?)\n<!-- end: \1 -->", re.DOTALL)


def commit() -> str:
    """The commit the figures were computed at, marked where the tree had changes of its own outside docs/."""
    described = _git("rev-parse", "--short", "HEAD")
    changed = _git("status", "--porcelain", "--", ".", ":!docs")
    return (described or "unknown") + ("-dirty" if changed else "")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def source() -> str:
    """A fingerprint of the code and of the names and sizes of the data: a part that bears it is up to date."""
    digest = hashlib.sha256()
    for folder in CODE:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes())
    for file in sorted(DATA.rglob("*")):
        digest.update(f"{file.relative_to(DATA).as_posix()} {file.stat().st_size}".encode())
    return digest.hexdigest()[:12]


def blocks(document: str) -> dict[str, str]:
    """The parts of a document by name."""
    return dict(_BLOCK.findall(document))


def assemble(parts: Mapping[str, str]) -> str:
    """The document: head, summary of all goals, parts in their order."""
    order = [part for part in PARTS if part in parts] + sorted(set(parts) - set(PARTS))
    body = "\n\n".join(f"<!-- part: {part} -->\n{parts[part].strip()}\n<!-- end: {part} -->" for part in order)
    return f"{HEAD}\n{_summary({part: parts[part] for part in order})}{body}\n"


def _summary(parts: Mapping[str, str]) -> str:
    from benchmarks.goals import HEADER, rows

    told = [f"| [{part}](#{_anchor(text)}) {row}" for part, text in parts.items() for row in rows(text)]
    first, rule = HEADER.split("\n")
    return (
        "\n".join(["## Goals and where they stand", "", f"| part {first}", f"|---{rule}", *told, "", ""])
        if told
        else ""
    )


def _anchor(part: str) -> str:
    heading = part.lstrip().splitlines()[0].lstrip("# ").lower()
    return re.sub(r"[^\w -]", "", heading).replace(" ", "-")


def compute(part: str) -> None:
    """Compute one part and put it into the document."""
    code = source()
    text = importlib.import_module(f"benchmarks.evidence_{part}").section(DATA).strip()
    stamp = f"*Computed by `make evidence PARTS={part}` at commit {commit()} (source {code}), {datetime.now(UTC):%Y-%m-%d}.*"
    document = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else ""
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(assemble(blocks(document) | {part: f"{text}\n\n{stamp}"}), encoding="utf-8")


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    known = [p for p in PARTS if (Path(__file__).parent / f"evidence_{p}.py").exists()]
    chosen = list(dict.fromkeys(parser.parse_args(arguments).parts))
    if unknown := set(chosen) - set(known):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if not DATA.is_dir():
        print(f"the recorded answers are not beside the checkout: {DATA.name} is missing", file=sys.stderr)
        return 2
    if len(chosen) == 1:
        compute(chosen[0])
        return 0
    if not chosen:
        mark, done = f"(source {source()})", blocks(DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else "")
        chosen = [part for part in known if mark not in done.get(part, "")]
        print(f"up to date: {', '.join(p for p in known if p not in chosen) or 'none'}", file=sys.stderr)
    failed = compute_each(chosen)
    if failed:
        print(f"failed: {', '.join(failed)}; the other parts are written", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
