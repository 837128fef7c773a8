"""The programs of docs/clients.md: each stands under a comment that names its client and where that one shows the confidence."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.compat.environments import Environment
from tests.compat.running import Place, output

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
WRITTEN = "http://127.0.0.1:4000"
"""The address in the document."""
CONFIDENCE = 0.7
"""What the scripted provider's answers have: seven of ten agree."""
_BLOCK = re.compile(r"^<!-- ([\w.]+): (field|headers|audit) -->\n```\w+\n(.*?)^```$", flags=re.M | re.S)


@dataclass(frozen=True)
class Snippet:
    """One program: the file of its client, where the confidence stands, and the text."""

    client: str
    where: str
    text: str


def snippets() -> dict[str, Snippet]:
    """All programs of the document by client."""
    return {found[0]: Snippet(*found) for found in _BLOCK.findall(PAGE.read_text(encoding="utf-8"))}


def fault(snippet: Snippet, environment: Environment, place: Place) -> str | None:
    """What is wrong with a program: it fails, or prints something else than the confidence; None where nothing is."""
    place.provider.reset()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / f"snippet{Path(snippet.client).suffix}"
        program.write_text(snippet.text.replace(WRITTEN, place.address), encoding="utf-8")
        done = output(program, environment, place.address)
    if done.returncode:
        return done.stderr.strip()[-500:] or f"it ended with {done.returncode}"
    lines = done.stdout.split()
    if not lines or any(not line.startswith("0.7") or float(line) != CONFIDENCE for line in lines):
        return f"it printed {done.stdout.strip()[-300:]!r}; every line must be {CONFIDENCE}"
    return None
