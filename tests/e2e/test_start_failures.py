"""What keeps a proxy from starting is one sentence on standard error that says what to change, and exit status 1: the real command."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
URL = "http://127.0.0.1:9/v1"


def _start(tmp_path: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "config.yaml").write_text(text)
    command = [sys.executable, "-m", "hedgerow.proxy.cli", "serve", *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)


def _settings(route: Any = None, **sections: Any) -> str:
    content = {
        "server": {"port": 0},
        "upstreams": {"u": {"provider": "openai", "base_url": URL}},
        "routes": [{"name": "r", "upstream": "u", "mode": "on"} | (route or {})],
        "audit": {"url": "sqlite:///audit.db"},
    }
    return yaml.safe_dump(content | sections)


def _embedded(path: str) -> Any:
    return {"u": {"provider": "embedded", "model_path": path}}


FAILURES = {
    "dead store": (_settings(audit={"url": "postgresql://u:secret@127.0.0.1:1/x"}), "audit.url is postgresql://u:***@"),
    "unwritable store": (_settings(audit={"url": "sqlite:////proc/nosuch/audit.db"}), "audit.url is sqlite:"),
    "folder as store": (_settings(audit={"url": "sqlite:////tmp"}), "audit.url is sqlite:////tmp: unable to open"),
    "no address": (_settings(audit={"url": "nonsense"}), "audit.url is not an address such as"),
    "unwritable spool": (
        _settings(audit={"url": "sqlite:///audit.db", "spool": "/dev/null/spool"}),
        "audit.spool is /dev/null/spool",
    ),
    "lexicon": (_settings({"lexicon": "nosuch.yaml"}), "nosuch.yaml"),
    "empty lexicon": (_settings({"lexicon": "empty.yaml"}), "empty.yaml"),
    "model file": (_settings(upstreams=_embedded("nosuch.gguf")), "nosuch.gguf"),
    "damaged model file": (_settings(upstreams=_embedded("config.yaml")), "config.yaml cannot be loaded"),
    "proxy": (
        _settings(upstreams={"u": {"provider": "openai", "base_url": "https://api.example.com/v1"}}),
        "HTTPS_PROXY must name a proxy as http://",
    ),
    "key": (_settings(server={"admin_key": "${HEDGEROW_TEST_NOSUCH}"}), "HEDGEROW_TEST_NOSUCH is not set"),
    "empty key": (_settings(server={"admin_key": ""}), "server.admin_key: must not be empty or blank"),
    "placeholder": (_settings(audit={"hash_key": "replace-me"}), "audit.hash_key: is a placeholder"),
}


@pytest.mark.parametrize(("text", "sentence"), FAILURES.values(), ids=FAILURES)
def test_one_sentence_and_exit_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, sentence: str
) -> None:
    """Nothing else on standard error: no traceback, no password."""
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:9")
    (tmp_path / "empty.yaml").write_text("{schema: 1, name: empty, version: '1', language: en, hedges: []}\n")
    done = _start(tmp_path, text)
    assert done.returncode == 1, done.stderr
    assert sentence in done.stderr
    assert done.stderr.startswith("hedgerow: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert "secret" not in done.stderr


def test_said_once_by_several_workers(tmp_path: Path) -> None:
    """The first process starts alone; what keeps it from starting would keep the others."""
    text, sentence = FAILURES["dead store"]
    done = _start(tmp_path, text, "--workers", "3")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert sentence in done.stderr


def test_a_port_in_use(tmp_path: Path) -> None:
    """Said before anything slow is opened."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = _start(tmp_path, _settings(), "--port", str(taken.getsockname()[1]))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "cannot listen on 127.0.0.1" in done.stderr
    assert "server.port" in done.stderr
