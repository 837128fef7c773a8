"""The pages of the evidence: docs/evidence/<part>.md, one a part, and docs/evidence.md, which says what was to be reached and where it stands.

A part is a module `benchmarks/evidence/parts/<part>.py` with `section(data: Path) -> str`, Markdown that starts with a second-level heading and
may end with a table of goals (`benchmarks.evidence.goals`). No number on these pages is typed by hand.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import subprocess
from datetime import UTC, datetime

from benchmarks import DATA, ROOT
from benchmarks.evidence import goals

SUMMARY = ROOT / "docs" / "evidence.md"
PAGES = ROOT / "docs" / "evidence"
PARTS = (
    "signal_space", "linguistic_space", "samples", "choices", "divergence", "live", "calibration", "lexicon", "equivalence", "meaning", "rewriting",
    "signals", "drift", "watched", "long", "faithfulness", "markers", "promises", "regimes", "subjects", "intervals", "levels",
)  # fmt: skip
CODE = ("benchmarks", "calibration", "lexicon", "proxy")
HEAD = """# Evidence

Every figure here is computed by `make evidence` from recorded answers and people's readings beside the checkout.
`make evidence PARTS="calibration"` recomputes one part; without a name, the parts whose code has changed.
"""


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


def page(section: str, stamp: str) -> str:
    """A part as a page of its own: every heading one level up, the stamp at the end."""
    return re.sub(r"^#(#+ )", r"\1", section.strip(), flags=re.MULTILINE) + f"\n\n{stamp}\n"


def pages() -> dict[str, str]:
    """The pages that there are by the name of their part, in the order of the parts."""
    files = {part: PAGES / f"{part}.md" for part in PARTS}
    return {part: file.read_text(encoding="utf-8") for part, file in files.items() if file.exists()}


def summary(parts: dict[str, str]) -> str:
    """One page: each goal, where it stands, whether it is reached, and the page that computes it; then all pages."""
    titles = {part: text.partition("\n")[0].lstrip("# ") for part, text in parts.items()}
    rows = [
        goals.summary_row(row, f"[{part}](evidence/{part}.md)") for part in parts for row in goals.rows(parts[part])
    ]
    links = [f"- [{titles[part]}](evidence/{part}.md)" for part in parts]
    table = ["## Goals and where they stand", "", goals.SUMMARY_HEADER, *rows, ""] if rows else []
    return "\n".join([HEAD, *table, "## Pages", "", *links, ""])


def up_to_date() -> set[str]:
    """The parts whose page was computed by the present code from the present data."""
    mark = f"(source {source()})"
    return {part for part, text in pages().items() if mark in text}


def compute(part: str) -> None:
    """Compute one part, write its page and the summary."""
    code = source()
    section = importlib.import_module(f"benchmarks.evidence.parts.{part}").section(DATA)
    stamp = f"*Computed by `make evidence PARTS={part}` at commit {commit()} (source {code}), {datetime.now(UTC):%Y-%m-%d}.*"
    PAGES.mkdir(parents=True, exist_ok=True)
    (PAGES / f"{part}.md").write_text(page(section, stamp), encoding="utf-8")
    SUMMARY.write_text(summary(pages()), encoding="utf-8")
