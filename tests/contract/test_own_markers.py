"""The marker of a draft's own words, as the audit keeps it where no text is kept."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from tests.support.traffic import ask
from tests.support.upstream import Upstream


def test_the_audit_keeps_the_one_marker_of_an_english_draft(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """Its name alone; several are said to be several, and other languages are not read."""
    address = serve(store_text="none")
    for question, answer in (
        ("Who painted it?", "I'm fairly sure it was Monet."),
        ("Who painted it then?", "It was Monet."),
        ("Who painted that?", "It may be Monet, or perhaps it is Manet."),
        ("Wer hat das Bild gemalt?", "Vielleicht hat es der Maler Claude Monet gemalt."),
    ):
        ask(address, upstream, question, (answer,) * 5)
    with sqlite3.connect(tmp_path / "audit.db") as store:
        kept = [marker for (marker,) in store.execute("SELECT own_marker FROM answers ORDER BY created_at")]
    assert kept == ["fairly sure", "<no_hedge>", "<several>", None]
