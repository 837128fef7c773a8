"""Commands on a machine that has no secrets: those that use none just work, the others say which variable they need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from hedgerow.proxy.config import load
from hedgerow.proxy.errors import ConfigError
from tests.contract.test_routes import ASK, CHAT, UNSURE
from tests.support.upstream import Upstream, says

CONFIG = """
server: {{ admin_key: "${{ADMIN_KEY}}" }}
upstreams:
  there: {{ provider: openai, base_url: "${{UPSTREAM_URL}}", api_key: "${{OPENAI_KEY}}" }}
routes:
  - {{ name: test, upstream: there, mode: on }}
audit: {{ url: "{audit}", spool: "{folder}/spool", hash_key: "${{HASH_KEY}}" }}
maps: {{ folder: "{folder}/maps" }}
tracing: {{ headers: {{ x-key: "${{TRACE_KEY}}" }} }}
"""


@pytest.fixture
def config(tmp_path: Path, serve: Any, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration full of variables that are not set here, over a store with one answer."""
    import httpx

    for name in ("ADMIN_KEY", "UPSTREAM_URL", "OPENAI_KEY", "HASH_KEY", "TRACE_KEY", "STORE_URL"):
        monkeypatch.delenv(name, raising=False)
    upstream.default = says(*UNSURE)
    assert httpx.post(serve() + CHAT, json={"model": "m", "messages": ASK}).status_code == 200
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG.format(audit=f"sqlite:///{tmp_path}/audit.db", folder=tmp_path))
    return path


def run(*words: str) -> Any:
    """One command."""
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "list"),
        ("audit", "summary"),
        ("audit", "export", "OUT"),
        ("maps", "list"),
        ("routes", "list"),
        ("routes", "set-mode", "test", "shadow"),
        ("config", "check"),
    ],
    ids=" ".join,
)
def test_commands_that_use_no_secret_need_none(config: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """They read the store and the maps: neither the upstream's key, nor its address, nor ours."""
    done = run(*(str(tmp_path / "out.jsonl") if word == "OUT" else word for word in words), "--config", str(config))
    assert done.exit_code == 0, done.output


def test_a_check_names_what_serving_will_need(config: Path) -> None:
    """Each variable with its key, on standard error."""
    said = run("config", "check", "--config", str(config)).stderr
    for name, key in (("OPENAI_KEY", "upstreams.there.api_key"), ("ADMIN_KEY", "server.admin_key")):
        assert f"{name} ({key})" in said


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (("audit", "verify"), "audit.hash_key: the environment variable HASH_KEY is not set"),
        (("audit", "delete", "--user", "u"), "audit.hash_key: the environment variable HASH_KEY is not set"),
        (("audit", "purge"), "audit.hash_key: the environment variable HASH_KEY is not set"),
        (("ask", "Who?"), "upstreams.there.base_url: the environment variable UPSTREAM_URL is not set"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_that_needs_one_says_which(config: Path, words: tuple[str, ...], needed: str) -> None:
    """One sentence with the key and the variable, and nothing is done."""
    done = run(*words, "--config", str(config))
    assert done.exit_code == 2
    assert needed in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_store_itself_may_be_what_is_missing(tmp_path: Path, config: Path) -> None:
    """Not "there is no such store": its address is not known here."""
    config.write_text(CONFIG.format(audit="${STORE_URL}", folder=tmp_path))
    for words in (("audit", "list"), ("maps", "list"), ("routes", "list")):
        done = run(*words, "--config", str(config))
        assert (done.exit_code, done.stderr.strip()) == (
            2,
            "hedgerow: audit.url: the environment variable STORE_URL is not set, and this needs it",
        )


def test_a_server_needs_them_all(config: Path) -> None:
    """`hedgerow serve` would begin with a wrong key otherwise."""
    with pytest.raises(ConfigError, match=r"server.admin_key: the environment variable ADMIN_KEY is not set"):
        load(config)


def test_a_number_that_is_not_known_is_named(config: Path) -> None:
    """Text may wait for its variable, a number cannot."""
    config.write_text(config.read_text().replace("server: {", 'server: { port: "${PORT_OF_OURS}",'))
    done = run("audit", "list", "--config", str(config))
    assert done.exit_code == 2
    assert "server.port: the environment variable PORT_OF_OURS is not set" in done.stderr
