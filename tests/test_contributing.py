"""docs/contributing.md works: what it adds is added to a copy of the checkout as it stands there, and used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "contributing.md"
COPIED = ("proxy", "lexicon", "calibration", "tests/support")

CHECKS = {
    "A calibration map": """
        import json, pathlib
        from typer.testing import CliRunner
        from hedgerow.calibration import Beta, MapRegistry
        from hedgerow.proxy.cli import app
        rows = [{"id": i, "alpha": 9 - i % 5, "beta": 1 + i % 5, "correct": i % 5 < 2} for i in range(200)]
        pathlib.Path("rows.jsonl").write_text("\\n".join(map(json.dumps, rows)))
        words = ["fit", "--data", "rows.jsonl", "--folder", "maps", "--version", "v1", "--map", "shrinkage"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        stored = MapRegistry(pathlib.Path("maps")).load("v1").map
        assert stored.kind == "shrinkage"
        assert stored.apply(Beta(9.0, 1.0)).mean < 0.9
    """,
    "An endpoint": """
        import httpx
        from tests.support.contributing import asked
        with asked(mode="off") as address:
            reply = httpx.get(address + "/v1/version", timeout=60)
            assert (reply.status_code, list(reply.json())) == (200, ["version"]), reply.text
            assert httpx.get(address + "/v1/version/x").json()["error"]["code"] == "unknown_path"
    """,
    "A command": """
        from typer.testing import CliRunner
        from hedgerow.proxy.cli import app
        assert "nearest to a confidence" in CliRunner().invoke(app, ["--help"]).output
        done = CliRunner().invoke(app, ["nearest", "0.2", "-n", "2"])
        assert done.exit_code == 0, done.output
        assert len(done.output.splitlines()) == 2
        assert CliRunner().invoke(app, ["nearest", "7"]).exit_code == 2
    """,
    "A metric": """
        import json, pathlib
        from typer.testing import CliRunner
        from hedgerow.proxy.cli import app
        rows = [{"id": i, "alpha": 9 - i % 5, "beta": 1 + i % 5, "correct": i % 5 < 2} for i in range(200)]
        pathlib.Path("rows.jsonl").write_text("\\n".join(map(json.dumps, rows)))
        words = ["evaluate", "--data", "rows.jsonl", "--fail-if", "sharpness.after > 0.2"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        assert CliRunner().invoke(app, [*words[:-1], "sharpness.after >= 0"]).exit_code == 1
    """,
    "A language": """
        from typer.testing import CliRunner
        from hedgerow.lexicon import perceive
        from hedgerow.lexicon.text.language import known_language_of
        from hedgerow.proxy.cli import app
        text = "Het boek werd door Harry Mulisch geschreven."
        assert known_language_of(text) == "nl"
        doubtful = perceive("Het boek werd misschien door Harry Mulisch geschreven.", "nl")
        assert [span.hedge for span in doubtful.spans] == ["misschien"]
        assert doubtful.beta.mean < perceive(text, "nl").beta.mean
        row = '{"question": "Wie heeft het boek geschreven?", "answer": "%s", "alpha": 4.5, "beta": 5.5}' % text
        done = CliRunner().invoke(app, ["rewrite", "--json", "--languages", "nl"], input=row)
        assert '"hedged"' in done.output, done.output
        assert "misschien" in done.output, done.output
    """,
    "An audit column": """
        import httpx, sqlite3, time
        from tests.support.contributing import asked
        with asked(mode="on") as address:
            found = [v for (v,) in sqlite3.connect("audit.db").execute("SELECT answer_chars FROM answers")]
        assert len(found) == 1 and found[0] >= len("Jupiter."), found
        from typer.testing import CliRunner
        from hedgerow.proxy.cli import app
        done = CliRunner().invoke(app, ["audit", "verify", "-c", "config.yaml"])
        assert done.exit_code == 0, done.output
        assert CliRunner().invoke(app, ["audit", "export", "out.jsonl", "-c", "config.yaml"]).exit_code == 0
        assert '"answer_chars":' in open("out.jsonl").read()
    """,
    "A chart of the dashboard": """
        import httpx
        from tests.support.contributing import asked
        with asked(mode="on") as address:
            page = httpx.get(address + "/dashboard", timeout=60).text
        assert "Share hedged" in page
    """,
    "A signal": """
        import sqlite3
        from hedgerow.proxy.config.documents import page
        from tests.support.contributing import asked
        with asked(mode="on", signal="brevity"):
            rows = sqlite3.connect("audit.db").execute("SELECT signal, raw_alpha / (raw_alpha + raw_beta) FROM answers")
            ((signal, mean),) = rows
        assert signal == "brevity" and abs(mean - 1 / 1.1) < 1e-6, (signal, mean)
        assert "`brevity`" in page()
    """,
    "A judge of same meaning": """
        import sqlite3
        from tests.support.contributing import asked
        answers = ("A heart attack", "Myocardial infarction", "A harsh ailment")
        with asked(answers=answers, mode="on", equivalence="initials", sampling={"n": 3}):
            ((clusters,),) = sqlite3.connect("audit.db").execute("SELECT clusters FROM answers")
        assert clusters == 2, clusters
    """,
    "An upstream": """
        import httpx
        from hedgerow.proxy.app import application
        from hedgerow.proxy.config import Settings
        from tests.support.servers import serving
        settings = Settings(
            upstreams={"parrot": {"provider": "echo", "suffix": "!"}},
            routes=[{"name": "r", "upstream": "parrot", "mode": "on", "claims_only": False}],
            audit={"url": "sqlite:///audit.db", "spool": "spool"},
        )
        body = {"model": "echo", "messages": [{"role": "user", "content": "Jupiter is the largest planet"}]}
        with serving(application(settings, address="test"), lifespan="on") as address:
            reply = httpx.post(address + "/v1/chat/completions", json=body, timeout=60).json()
        assert "Jupiter is the largest planet!" in reply["choices"][0]["message"]["content"], reply
    """,
}
"""By section of the page: what uses the part that it adds."""


def sections() -> dict[str, list[str]]:
    """The code blocks of each section, in order."""
    parts = re.split(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    blocks = (re.findall(r"^```\w+\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL) for text in parts[1::2])
    return dict(zip(parts[::2], blocks, strict=True))


def apply(block: str, checkout: Path) -> str:
    """Make a new file, or change one, as a block says; gives the file's path."""
    first, _, body = block.partition("\n")
    path = first.removeprefix("# ").removeprefix("--- ").removeprefix("+++ ").strip()
    file = checkout / path
    if first.startswith("--- "):
        text = file.read_text(encoding="utf-8")
        old = "".join(line[1:] for line in body.splitlines(keepends=True) if not line.startswith("+"))
        new = "".join(line[1:] for line in body.splitlines(keepends=True) if not line.startswith("-"))
        assert text.count(old) == 1, f"{path} does not hold, just once:\n{old}"
        file.write_text(text.replace(old, new), encoding="utf-8")
    else:
        assert not file.exists(), f"{path} is there already"
        added = body if first.startswith("# ") else "".join(line[1:] for line in body.splitlines(keepends=True))
        file.write_text(added, encoding="utf-8")
    return path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the source, importable as `hedgerow`."""
    for folder in COPIED:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests" / "__init__.py").touch()
    (tmp_path / "hedgerow").mkdir()
    shutil.copy(ROOT / "hedgerow" / "__init__.py", tmp_path / "hedgerow")
    for part in COPIED[:3]:
        (tmp_path / "hedgerow" / part).symlink_to(tmp_path / part)
    return tmp_path


def test_every_walk_through_is_tried() -> None:
    assert {name for name, blocks in sections().items() if blocks} == set(CHECKS)


@pytest.mark.nightly
@pytest.mark.parametrize("section", CHECKS)
def test_a_part_is_added_as_documented(section: str, checkout: Path) -> None:
    """The blocks of the page, and then the new part at work, in a process of its own."""
    for block in sections()[section]:
        apply(block, checkout)
    code = "\n".join(line[8:] for line in CHECKS[section].splitlines())
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    environment = kept | {"PYTHONPATH": str(checkout)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
