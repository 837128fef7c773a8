"""Commands in an operator's terminal, over a store and files full of what clients and models wrote to give it orders."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from hedgerow.proxy.cli import COMMANDS, app
from hedgerow.proxy.monitoring.logs import _for_people, _json_line
from hedgerow.proxy.monitoring.visible import in_one_line, visible
from tests.support.keys import new_key
from tests.support.upstream import Upstream, completion
from tests.support.waiting import until

CLI = Path(__file__).parents[2] / "proxy" / "cli"
TITLE = "\x1b]0;pwned\x07"
ORDERS = [
    TITLE, "\x1b[35;1;4mRED", "\x1b[2J\x1b[H", "\x1b]52;c;cm0gLXJm\x07", "\x9b31mred", "\x9d0;t\x9c", "\x90q\x9c", "\x85", "\b\b\b", "\x00", "\x7f",
    "\ralright", "\u202eevil\u202c", "\u2066x\u2069", "\u2028", "\u200b", "\U000e0041", "\nforged: all rows are as they were written", "\t\v\f",
    "[bold red]red[/] [/nothing] [link=file:///etc/passwd]here[/link] :warning:",
]  # fmt: skip
EVIL = "".join(ORDERS)
SENT = EVIL.replace("\x00", "")
"""The same without what no argument of a command can hold."""
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
STYLE = re.compile(r"(?!\x1b\[35;1;4mRED)\x1b\[[0-9;]*m|\r?\x1b\[(?:\d*A|2K|\?25[lh])")
KEPT = {"id", "answer_id", "hash", "previous", "digest", "salt", "user_hash", "status", "mode", "arm", "signal", "content", "holder", "day", "name", "version", "role",
        "routes", "hash_key", "seal", "route", "path", "claims", "story", "kind", "alarm"}  # fmt: skip
"""Columns that name, prove or choose something: commands look for them, and nobody else writes them."""


@pytest.fixture
def config(serve: Any, upstream: Upstream, tmp_path: Path) -> Path:
    """A configuration over a store in which every text of clients, models and people holds orders for terminals."""
    from starlette.responses import JSONResponse

    said = [f"Canberra {EVIL}", f"Sydney {EVIL}", f"Canberra {EVIL}"]
    upstream.default = lambda _request, body: JSONResponse(
        completion(*(said * 4)[: body.get("n") or 1]) | {"model": f"m{EVIL}"}
    )
    url = f"sqlite:///{tmp_path}/audit.db"
    new_key(url, "search", team="web")
    address = serve(sampling={"n": 3, "min_n": 2}, settings={"access": {"require_key": False}})
    ask: dict[str, Any] = {
        "model": f"m{SENT}",
        "user": f"u{EVIL}",
        "messages": [{"role": "user", "content": f"What is the capital of Australia? {EVIL}"}],
    }
    for number in range(3):
        answer = httpx.post(address + "/v1/chat/completions", json=ask | {"seed": number}, timeout=60).json()
        verdict = {"id": answer["hedgerow"]["id"], "correct": number == 0, "note": f"n{SENT}"}
        assert httpx.post(address + "/v1/feedback", json=verdict).status_code == 200
    until(lambda: httpx.get(address + "/v1/admin/routes").status_code == 403)
    settings = {
        "upstreams": {"u": {"provider": "openai", "base_url": upstream.url, "retries": 0}},
        "routes": [{"name": "test", "upstream": "u", "mode": "on", "sampling": {"n": 3, "min_n": 2}}],
        "audit": {"url": url, "spool": str(tmp_path / "spool")},
        "maps": {"folder": str(tmp_path / "maps")},
    }
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(settings))
    for words in (("set-mode", "test", "shadow"), ("set-mode", "test", "on")):
        run("routes", *words, "--note", f"n{SENT}", "-c", path)
    with sqlite3.connect(tmp_path / "audit.db") as store:
        for (table,) in store.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'alembic%'"
        ).fetchall():
            for column in store.execute(f"PRAGMA table_info({table})").fetchall():
                if ("CHAR" in column[2].upper() or "TEXT" in column[2].upper()) and column[1] not in KEPT:
                    store.execute(
                        f"UPDATE {table} SET {column[1]} = {column[1]} || ? WHERE {column[1]} IS NOT NULL", (EVIL,)
                    )
    return path


def run(*words: Any, given: str | None = None) -> Any:
    return CliRunner(env={"FORCE_COLOR": "1", "COLUMNS": "200"}).invoke(app, [str(word) for word in words], input=given)


def obeyed(printed: str) -> list[str]:
    """What a terminal would obey in it, besides our own colours and progress bars."""
    return OBEYED.findall(STYLE.sub("", printed))


COMMANDS_OVER_THE_STORE: list[tuple[str, ...]] = [
    ("audit", "list"), ("audit", "list", "--json"), ("audit", "worst"), ("audit", "worst", "--json"), ("audit", "summary"), ("audit", "summary", "--json"),
    ("audit", "verify"), ("audit", "verify", "--json"), ("audit", "export", "OUT.csv"), ("audit", "delete", "--user", SENT), ("audit", "purge"),
    ("routes", "list"), ("routes", "list", "--json"), ("routes", "changes"), ("keys", "list"), ("keys", "list", "--json"), ("keys", "revoke", "search"),
    ("maps", "list"), ("maps", "list", "--json"), ("certify", "list"), ("regimes", "--route", "test", "--since", "7d"), ("fit", "--from-audit", "--route", "test"),
    ("ask", "What is the capital of Australia?"), ("ask", f"Who? {SENT}"), ("doctor",), ("config", "check", "--online"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS_OVER_THE_STORE, ids=lambda words: " ".join(words)[:30])
def test_nothing_that_is_stored_or_served_gives_orders(config: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Neither in colours nor as JSON; what stands in the middle of a line begins no other."""
    done = run(*(word.replace("OUT", str(tmp_path / "out")) for word in words), "--config", config)
    assert not isinstance(done.exception, Exception), done.exception
    assert obeyed(done.output) == []
    assert "\nforged" not in done.output
    if "--json" in words:
        json.loads(done.stdout)


def test_what_was_written_can_be_seen(config: Path) -> None:
    """Orders are not taken away: an operator sees that somebody tried."""
    shown = run("audit", "list", "--config", config).stdout
    assert "\\u001b]0;pwned\\u0007" in shown.replace("\n", "")
    assert "[bold red]red[/]" in STYLE.sub("", run("audit", "worst", "--config", config).stdout)
    listed = json.loads(run("audit", "list", "--json", "--config", config).stdout)
    assert all(SENT in row["model"].replace("\x00", "") for row in listed)


ROWS = [{"question": f"Q {EVIL}", "answer": f"Canberra {EVIL}.", "samples": [f"Canberra {EVIL}.", f"Sydney {EVIL}."], "model": f"m{EVIL}", "alpha": 8, "beta": 2,
         "correct": i % 2, "group": f"g{EVIL}", "dataset": f"d{EVIL}", "text": f"t{EVIL}", "confidence": 0.5} for i in range(40)]  # fmt: skip


COMMANDS_OVER_FILES: list[tuple[str, ...]] = [
    ("confidence", "--data", "FILE"), ("claims", "--data", "FILE"), ("rewrite", "--json"), ("rewrite", f"Canberra {EVIL}.", "--confidence", "0.4"),
    ("evaluate", "--data", "FILE"), ("evaluate", "--data", "FILE", "--json"), ("fit", "--data", "FILE", "--dry-run"), ("regimes", "--data", "FILE"),
    ("markers", "--data", "FILE"), ("faithfulness", "--data", "FILE"), ("grade", "FILE", "--out", "OUT"), ("lexicon", "read", SENT),
    ("lexicon", "read", SENT, "--json"), ("lexicon", "check", "MAP"), ("certify", "verify", "CERTIFICATE"), ("same-meaning",),
    ("config", "check", "--config", "CONFIG"), ("maps", "import", "MAP"),
]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS_OVER_FILES, ids=lambda words: " ".join(words)[:24])
def test_nothing_in_a_file_gives_orders(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Whether the command takes it, or refuses it with a sentence."""
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
    files = {"FILE": lines, "CERTIFICATE": json.dumps({"kind": EVIL, "id": EVIL, "promises": [{"line": EVIL}]}),
             "CONFIG": json.dumps({"upstreams": {"u": {"provider": EVIL}}, "routes": [{"name": EVIL, "upstream": EVIL}], EVIL: 1}), "MAP": json.dumps({"map": {"kind": EVIL}})}  # fmt: skip
    for name, text in files.items():
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    given = {"rewrite": lines, "same-meaning": json.dumps({"question": EVIL, "a": EVIL, "b": f"b{EVIL}"})}.get(words[0])
    done = run(*(str(tmp_path / f"{word}.jsonl") if word in {*files, "OUT"} else word for word in words), given=given)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert obeyed(done.output) == []


def test_the_log_gives_no_orders() -> None:
    """For people in one line, as JSON of ASCII where orders would stand."""
    *renderers, _ = _for_people(colours=True)
    line: Any = {"event": "request", "model": EVIL}
    for processor in renderers:
        line = processor(None, "info", line)
    assert obeyed(line) == []
    assert "\n" not in line
    written = _json_line(None, "info", {"event": "request", "model": EVIL})
    assert obeyed(written.decode()) == []
    assert json.loads(written)["model"] == EVIL


def test_commands_print_in_no_other_way() -> None:
    """What a new command prints passes through the same functions (`typer.echo` is refused by ruff), and each command is tried above."""
    others = re.compile(
        r"(?<![\w.])(print|Console|Progress|secho|prompt)\(|stdout\.(buffer\.)?write|Text\.from_(markup|ansi)"
    )
    own = {"showing.py", "progress.py", "init.py"}  # init asks for a name and a place; it has read nothing
    assert [
        path.name
        for path in CLI.rglob("*.py")
        if path.name not in own and others.search(path.read_text(encoding="utf-8"))
    ] == []
    tried = {words[0] for words in (*COMMANDS_OVER_THE_STORE, *COMMANDS_OVER_FILES)}
    assert set(COMMANDS) - tried == {
        "serve",
        "init",
        "demo",
        "collect",
    }  # they print what is ours, or ask for hours


@given(st.text())
def test_visible_text_is_the_same_json_and_shows_no_orders(text: str) -> None:
    """For any text: nothing is obeyed, JSON stays the same value, and doing it twice changes nothing."""
    assert obeyed(visible(text)) == []
    assert not set(in_one_line(text)) & {"\n", "\t"}
    assert visible(visible(text)) == visible(text)
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text


@pytest.fixture(scope="module", autouse=True)
def _logs_as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()
