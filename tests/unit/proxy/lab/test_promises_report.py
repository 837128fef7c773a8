"""The report on promises: one page that an auditor can verify without a database, and that nobody can alter unseen."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from hedgerow.calibration.promises.certificate import sign
from hedgerow.proxy.audit.rows import Entry
from hedgerow.proxy.audit.store import open_store
from hedgerow.proxy.audit.verdicts import Verdict, write_verdicts
from hedgerow.proxy.cli import app
from hedgerow.proxy.config import Audit
from hedgerow.proxy.lab.promises_report import BLOCK, page
from tests.support.promises import certificate, stored

PLAIN = "plain_wrong <= 5 %"


async def fill(audit: Audit, outcomes: list[float]) -> None:
    """Plain answers under the certificate, each with a person's verdict."""
    store = await open_store(audit, lambda _: None)
    names = [f"hr_{i:011x}{i:016x}" for i in range(len(outcomes))]
    rows: list[dict[str, Any]] = [
        {
            "id": name, "created_at": time.time(), "path": "/v1/chat/completions", "status": "plain", "duration_ms": 1.0,
            "route": "test", "mode": "on", "model": "m", "signal": "semantic", "raw_alpha": 9.5, "raw_beta": 0.5,
            "alpha": 9.5, "beta": 0.5, "certificate": "cert-1", "promised": {"covered": [PLAIN], "language": "en"},
        }
        for name in names
    ]  # fmt: skip
    await asyncio.gather(*(store.write(Entry(row)) for row in rows))
    judged = [Verdict(n, y, kind="human", source="review") for n, y in zip(names, outcomes, strict=True)]
    write_verdicts(store.engine, judged)
    await store.aclose()


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, Path]:
    """A configuration with a key, and the report on 200 labels, of which four are wrong."""
    audit = {"url": f"sqlite:///{tmp_path}/a.db", "spool": str(tmp_path / "spool"), "hash_key": "secret of the chain"}
    config = tmp_path / "config.yaml"
    settings = {
        "upstreams": {"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},
        "routes": [{"name": "test", "upstream": "u", "mode": "on", "map": "identity", "promises": {}}],
        "audit": audit,
        "maps": {"folder": str(tmp_path / "maps")},
    }
    config.write_text(yaml.safe_dump(settings))
    stored(audit["url"], certificate(wishes=(PLAIN,), data="<b>verdicts</b> of the spring"), key=b"secret of the chain")
    asyncio.run(fill(Audit(**audit), ([1.0] * 49 + [0.0]) * 4))  # type: ignore[arg-type]
    out = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["certify", "report", "-o", str(out), "--config", str(config)])
    assert done.exit_code == 0, done.output
    assert "Promise 'plain answers wrong at most 5 %'" in done.output
    assert "signed" in done.output
    assert f"Report written to {out}" in done.stderr
    return out, config


def verify(file: Path, config: Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["certify", "verify", str(file), "--config", str(config)])
    return done.exit_code, done.output


def block(file: Path) -> dict[str, Any]:
    text = file.read_text()
    start = text.index(BLOCK) + len(BLOCK)
    return json.loads(text[start : text.index("</script>", start)])


def test_it_is_verified_without_a_database(written: tuple[Path, Path], tmp_path: Path) -> None:
    out, config = written
    (tmp_path / "a.db").unlink()
    code, said = verify(out, config)
    assert code == 0, said
    assert "as it was issued" in said
    assert "checksum" not in said
    assert "200 labels" in said
    assert not (tmp_path / "a.db").exists()


def test_the_page_says_what_is_promised_on_what_data_since_when_and_how_it_held(written: tuple[Path, Path]) -> None:
    text = written[0].read_text()
    for wanted in (
        "200 labels",
        "cert-1",
        "2.00\N{NO-BREAK SPACE}%",
        "800",
        "exchangeability",
        "200 plain",
        "0 others do not count",
        "&lt;b&gt;verdicts",
    ):
        assert wanted in text, wanted
    assert "<b>verdicts" not in text
    assert "://" not in text.replace("audit.db", ""), "the page loads nothing"


@pytest.mark.parametrize(
    ("altered", "said"),
    [
        (("Promise &#39;plain", "Promise &#39;all"), "the page says something else"),
        (('"labels":200', '"labels":400'), "altered"),
        ((BLOCK, "<p>"), "no report"),
    ],
)
def test_a_page_that_was_altered_is_refused(written: tuple[Path, Path], altered: tuple[str, str], said: str) -> None:
    out, config = written
    text = out.read_text()
    assert altered[0] in text
    out.write_text(text.replace(*altered))
    code, output = verify(out, config)
    assert code != 0
    assert said in output


def test_a_page_that_was_written_anew_without_the_key_is_refused(written: tuple[Path, Path]) -> None:
    """Whoever has the file and the program, but not the key, can make a page that fits its block; the seal does not fit."""
    out, config = written
    content = block(out)
    content["promises"][0]["limit"] = 0.04
    out.write_text(page(content))
    code, output = verify(out, config)
    assert code == 1
    assert "altered" in output


def test_figures_that_do_not_follow_from_the_verdicts_are_refused_whoever_sealed_them(
    written: tuple[Path, Path],
) -> None:
    out, config = written
    content = block(out)
    content["promises"][0]["high"] = 0.01
    content["seal"] = sign(content, b"secret of the chain")
    out.write_text(page(content))
    code, output = verify(out, config)
    assert code != 0
    assert "do not follow from the verdicts" in output


def test_a_certificate_that_was_altered_within_is_refused(written: tuple[Path, Path]) -> None:
    out, config = written
    content = block(out)
    content["certificate"]["n"] = 8000
    content["seal"] = sign(content, b"secret of the chain")
    out.write_text(page(content))
    code, output = verify(out, config)
    assert code != 0
    assert "cert-1 in it is not" in output


def test_a_route_that_promises_nothing_has_no_report(written: tuple[Path, Path], tmp_path: Path) -> None:
    _, config = written
    settings = yaml.safe_load(config.read_text())
    del settings["routes"][0]["promises"]
    config.write_text(yaml.safe_dump(settings))
    done = CliRunner().invoke(app, ["certify", "report", "-o", str(tmp_path / "x.html"), "--config", str(config)])
    assert done.exit_code == 2
    assert "promises nothing" in done.output
    assert not (tmp_path / "x.html").exists()


def test_a_report_that_cannot_be_written_says_so(written: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "no" / "report.html"
    done = CliRunner().invoke(app, ["certify", "report", "-o", str(out), "--config", str(written[1])])
    assert (done.exit_code, type(done.exception)) == (2, SystemExit)
    assert f"{out}: cannot be written: No such file or directory" in done.output
