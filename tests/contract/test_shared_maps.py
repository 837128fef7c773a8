"""Maps in the audit store: a replica that never saw the folder serves the active one; a damaged one costs the calibration and no more."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
import yaml
from typer.testing import CliRunner

from hedgerow.calibration import FittedMap, MapRegistry, PlattMap, Provenance
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.cli import app
from hedgerow.proxy.config import Audit
from tests.support.upstream import Upstream, says
from tests.support.waiting import until

CHAT = "/v1/chat/completions"
BODY = {"model": "m", "messages": [{"role": "user", "content": "What is the capital of Australia?"}]}


def _map(slope: float = 1.0, signal: str = "semantic") -> FittedMap:
    return FittedMap(PlattMap(slope, -2.0), Provenance(500, 0.4, "0" * 64, signal, "m", datetime.now(UTC)))


def _config(tmp_path: Path, url: str) -> Path:
    settings = {
        "upstreams": {"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},
        "routes": [{"name": "test", "upstream": "u", "mode": "on"}],
        "audit": {"url": url},
        "maps": {"folder": str(tmp_path / "first")},
    }
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def _hedgerow(*command: str) -> str:
    done = CliRunner().invoke(app, list(command))
    assert done.exit_code == 0, done.output
    return done.output


def test_a_replica_with_an_empty_folder_serves_the_map_that_is_active(
    serve: Any, upstream: Upstream, store_url: str, tmp_path: Path
) -> None:
    """Imported and activated by the command line; a process that runs already follows, and one that starts later does as well."""
    upstream.default = says("Canberra.", "Sydney.", "Canberra.")
    settings = {"audit": {"url": store_url, "spool": str(tmp_path / "s")}, "maps": {"folder": str(tmp_path / "second")}}
    running = serve(settings=settings)
    file = Path(MapRegistry(tmp_path / "made").add("fitted-1", _map()))
    config = str(_config(tmp_path, store_url))
    _hedgerow("maps", "import", str(file), "--config", config)
    _hedgerow("maps", "activate", "fitted-1", "--route", "test", "--config", config)
    assert "route test" in _hedgerow("maps", "list", "--config", config)
    assert "auto: fitted-1" in _hedgerow("routes", "list", "--config", config)
    assert not (tmp_path / "first").exists()
    until(lambda: httpx.post(running + CHAT, json=BODY).json()["hedgerow"]["map"] == "fitted-1")
    later = httpx.post(serve(settings=settings) + CHAT, json=BODY).json()["hedgerow"]
    assert (later["map"], later["uncalibrated"]) == ("fitted-1", False)
    assert not (tmp_path / "second").exists()


def test_fit_writes_to_the_store(tmp_path: Path) -> None:
    """Where a configuration says which; no file is needed."""
    url = f"sqlite:///{tmp_path}/audit.db"
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        "\n".join(
            json.dumps({"alpha": 9 - i % 5, "beta": 1 + i % 5, "correct": i % 5 < 3 or i % 7 == 0}) for i in range(200)
        )
    )
    config = str(_config(tmp_path, url))
    _hedgerow("fit", "--data", str(rows), "--version", "mine", "--activate", "--config", config)
    assert "everything (the default)" in _hedgerow("maps", "list", "--config", config)
    assert not (tmp_path / "first").exists()


@pytest.mark.parametrize("damage", ["{", "[" * 200_000, '{"schema": 1}', '{"schema": 99}'])
def test_a_damaged_map_costs_the_calibration_and_no_more(
    serve: Any, upstream: Upstream, tmp_path: Path, damage: str, lines: Any
) -> None:
    """At the start as well as at run time: answers are uncalibrated, the route is yellow, the log and `/health` say why."""
    upstream.default = says("Canberra.", "Sydney.", "Canberra.")
    url = f"sqlite:///{tmp_path}/audit.db"
    config = str(_config(tmp_path, url))
    file = Path(MapRegistry(tmp_path / "made").add("bad", _map()))
    _hedgerow("maps", "import", str(file), "--config", config)
    _hedgerow("maps", "activate", "bad", "--config", config)
    engine = open_engine(Audit(url=url))
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE maps SET content = :damage"), {"damage": damage})
    engine.dispose()
    address = serve(settings={"audit": {"url": url, "spool": str(tmp_path / "spool")}})
    answer = httpx.post(address + CHAT, json=BODY)
    assert (answer.status_code, answer.json()["hedgerow"]["uncalibrated"]) == (200, True)
    assert "bad" in httpx.get(f"{address}/health").json()["maps"]["test"]
    assert [line["map"] for line in lines.of("map_unusable")] == ["bad"]


@pytest.mark.parametrize("replaced", ["folder", "active.json"])
def test_a_folder_that_breaks_while_serving_is_survived(
    serve: Any, upstream: Upstream, tmp_path: Path, replaced: str
) -> None:
    """The folder becomes a file, or its list of active maps deep brackets: the proxy answers, uncalibrated, and says so."""
    upstream.default = says("Canberra.", "Sydney.", "Canberra.")
    folder = tmp_path / "maps"
    registry = MapRegistry(folder)
    registry.add("one", _map())
    registry.activate("one")
    address = serve()
    assert httpx.post(address + CHAT, json=BODY).json()["hedgerow"]["map"] == "one"
    if replaced == "folder":
        folder.rename(tmp_path / "elsewhere")
        folder.write_text("not a folder")
    else:
        (folder / "active.json").write_text("[" * 200_000)
    health = until(lambda: httpx.get(f"{address}/health").json(), lambda health: "maps" in health)
    assert (health["status"], health["degraded"]) == ("ok", True)
    assert "background" not in health
    assert httpx.post(address + CHAT, json=BODY).json()["hedgerow"]["uncalibrated"] is True
