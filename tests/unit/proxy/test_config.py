"""Configuration: a wrong value names key, value and what is allowed; what is right is read as written."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import ValidationError
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from hedgerow.proxy.config import Route, Settings, load
from hedgerow.proxy.config.documents import page
from hedgerow.proxy.config.kinds import REMOVED
from hedgerow.proxy.config.settings import ReviewSettings
from hedgerow.proxy.errors import ConfigError
from hedgerow.proxy.services import services
from tests.support.tables import cases
from tests.support.upstream import Upstream, fails, raw

ROOT = Path(__file__).parent.parent.parent.parent
GOOD = """
upstreams:
  here: {provider: openai, base_url: "http://127.0.0.1:1/v1"}
routes:
  - {name: a, upstream: here, mode: on}
"""


def _load(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    return load(path)


def test_bare_on_and_off_are_words(tmp_path: Path) -> None:
    """YAML 1.1 reads them as booleans; nobody who writes `mode: on` means true."""
    assert _load(tmp_path, GOOD).routes[0].mode == "on"
    assert _load(tmp_path, GOOD.replace("mode: on", "mode: off")).routes[0].mode == "off"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("mode: on", "mode: loud", ["routes.0.mode", "'loud'", "'off', 'shadow' or 'on'"]),
        ("mode: on", "mood: on", ["routes.0.mood", "no such key"]),
        (
            "mode: on",
            "mode: on, rewriting: {rewriter: llm}",
            ["routes.0.rewriting.rewriter was removed", "is now `rewriting.by`", "editor"],
        ),
        ("upstream: here", "upstream: there", ["routes.0.upstream", "'there'", "here"]),
        ("name: a", "name: A b", ["routes.0.name", "'A b'"]),
        ("mode: on", "sampling: {n: 1}", ["routes.0.sampling.n", "1", "must be at least 2"]),
        ("mode: on", "sampling: {n: 2, min_n: 3}", ["routes.0.sampling.min_n", "3", "at most"]),
        ("mode: on", "policy: {low_confidence: escalate}", ["routes.0.policy.escalate_to", "unset", "stronger model"]),
        ("mode: on", "sampling: {cache: {store: redis}}", ["routes.0.sampling.cache.url", "unset", "address"]),
        (
            "mode: on",
            "signal: consistency, sampling: {probe: short}",
            ["routes.0.sampling.probe", "'short'", "consistency"],
        ),
        ("mode: on", "stream: append, signal: token", ["routes.0.stream", "'append'", "token", "semantic, linguistic"]),
        ("mode: on", "judge: {upstream: there}", ["routes.0.judge.upstream", "'there'", "here"]),
        ("mode: on}", "mode: on}\n  - {name: a, upstream: here}", ["two routes are called 'a'"]),
        ("provider: openai", "provider: magic", ["upstreams.here", "'openai', 'litellm', 'embedded'"]),
        ("routes:", "routes: []\nroots:", ["routes", "at least 1"]),
        ("routes:", "server: {port: 99999}\nroutes:", ["server.port", "99999", "65535"]),
        ("http://127.0.0.1:1/v1", "${NO_SUCH_VARIABLE}", ["upstreams.here.base_url", "NO_SUCH_VARIABLE"]),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, old: str, new: str, words: list[str]) -> None:
    """Key, value, and what is allowed, in one line."""
    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, GOOD.replace(old, new))
    for word in words:
        assert word in str(caught.value)


def test_a_secret_is_never_shown(tmp_path: Path) -> None:
    """Not even where its type is wrong."""
    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, GOOD.replace("provider: openai", "provider: openai, api_key: [sk-secret]"))
    assert "api_key" in str(caught.value)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a: [", "is not YAML"),
        (b"- 1", "must hold keys"),
        (b"\xff\xfe", "save it as UTF-8"),
        (b"a:\n\tb: 1", r"line 2: a tab; indent with spaces"),
        (b"", "is empty"),
        (None, "there is no such file; `hedgerow init`"),
    ],
)
def test_a_file_that_is_not_a_configuration(tmp_path: Path, content: bytes | None, words: str) -> None:
    """One sentence that names the file."""
    path = tmp_path / "broken.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=words):
        load(path)


def test_the_environment_overrides_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By section and key."""
    monkeypatch.setenv("HEDGEROW_SERVER__PORT", "4321")
    monkeypatch.setenv("THE_KEY", "sk-from-environment")
    settings = _load(tmp_path, GOOD.replace("provider: openai", 'provider: openai, api_key: "${THE_KEY}"'))
    assert settings.server.port == 4321
    assert settings.upstreams["here"].api_key.get_secret_value() == "sk-from-environment"  # type: ignore[union-attr]
    assert "sk-from" not in repr(settings)


def test_the_committed_configuration_is_fine() -> None:
    """`hedgerow config check` says so, and names the routes."""
    done = CliRunner().invoke(app, ["config", "check", "--config", str(ROOT / "config.yaml")])
    assert done.exit_code == 0, done.output
    assert "default (on)" in done.output


def test_check_exits_with_2_and_one_line(tmp_path: Path) -> None:
    """A lexicon that is not there, a model file that is not there."""
    path = tmp_path / "config.yaml"
    path.write_text(GOOD.replace("mode: on", "mode: on, lexicon: nowhere.yaml"))
    done = CliRunner().invoke(app, ["config", "check", "--config", str(path)])
    assert done.exit_code == 2
    assert "nowhere.yaml" in done.stderr
    path.write_text(
        GOOD.replace('provider: openai, base_url: "http://127.0.0.1:1/v1"', "provider: embedded, model_path: no.gguf")
    )
    done = CliRunner().invoke(app, ["config", "check", "--config", str(path)])
    assert done.exit_code == 2
    assert "no.gguf does not exist" in done.stderr


def test_hash_key_reads_standard_input() -> None:
    """The hash of the key without its line end; the value is from `printf %s sk-1 | sha256sum`."""
    done = CliRunner().invoke(app, ["config", "hash-key"], input="sk-1\n")
    assert done.stdout.strip() == "0f2c10bf3d128c719c6bfa4ecbae94b7fceebaea6e4438fef38a90e5acc326f3"


def test_the_page_of_the_documentation_is_current() -> None:
    """docs/config.md is generated from the settings: `python -m hedgerow.proxy.config.documents > docs/config.md`."""
    assert (ROOT / "docs" / "config.md").read_text(encoding="utf-8") == page()


def bomb(value: str) -> str:
    """Thirty lines, each of which names the one before it nine times."""
    names = [f"a{number}" for number in range(30)]
    return "".join(f"{b}: &{b} {value.format(', '.join([f'*{a}'] * 9))}\n" for a, b in pairwise(["a", *names]))


def test_aliases_spare_repetition(tmp_path: Path) -> None:
    """Within bounds they are what YAML says."""
    shared = '&shared {provider: openai, base_url: "http://127.0.0.1:1/v1", timeout_s: 7}'
    routes = "routes: [{name: a, upstream: here}, {name: b, upstream: there}]"
    settings = _load(tmp_path, f"upstreams:\n  here: {shared}\n  there: {{<<: *shared, retries: 0}}\n{routes}\n")
    assert [settings.upstreams[name].timeout_s for name in ("here", "there")] == [7, 7]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1: 2\n", "the key 1 is not text"),
        ("x: 2024-13-45\n", "is not YAML (month must be in 1..12)"),
        ("[" * 5000, "nested too deep"),
        ("a: &a [*a]\n", "line 1: the alias *a stands for a value that it is part of"),
        ("a: &a\n  <<: *a\n", "line 2: the alias *a stands for a value that it is part of"),
        ("a: &a [lol]\n" + bomb("[{}]"), "makes aliases stand for more than 10,000 values"),
        ("a: &a {lol: 1}\n" + bomb("{{<<: [{}]}}"), "makes aliases stand for more than 10,000 values"),
        (b"\xff\xfe\x00", "save it as UTF-8"),
    ],
)
def test_files_that_broke_the_reader_are_refused_with_a_sentence(tmp_path: Path, text: Any, sentence: str) -> None:
    """A running proxy reads its file again and again: whatever it holds is a ConfigError."""
    path = tmp_path / "config.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        load(path)


@pytest.mark.parametrize("key", ["wrong", "needless_abstention"])
def test_infinite_costs_are_refused(tmp_path: Path, key: str) -> None:
    """Costs are finite."""
    policy = {"wrong": 1.0, "needless_abstention": 1.0, key: float("inf")}
    with pytest.raises(ConfigError, match=rf"policy\.{key} is inf"):
        load(_written(tmp_path, {"routes": [{"name": "r", "upstream": "u", "policy": policy}]}))


@pytest.mark.parametrize("url", ["http://[::1", "http://h:99999/v1", "ftp://h/v1", "h/v1", "http:///v1"])
def test_addresses_that_cannot_be_called_are_refused(tmp_path: Path, url: str) -> None:
    """At the start and at a reload, not by the first request."""
    with pytest.raises(ConfigError, match="base_url"):
        load(_written(tmp_path, {"upstreams": {"u": {"provider": "openai", "base_url": url}}}))


def test_an_address_with_a_password_is_refused_and_not_repeated(tmp_path: Path) -> None:
    """It cannot be sent beside a key; the sentence says where keys belong."""
    url = "https://user:hunter2@h/v1"
    with pytest.raises(ConfigError, match="put the key into api_key") as refused:
        load(_written(tmp_path, {"upstreams": {"u": {"provider": "openai", "base_url": url}}}))
    assert "hunter2" not in str(refused.value)


def _written(tmp_path: Path, changed: dict[str, Any]) -> Path:
    content: dict[str, Any] = {
        "upstreams": {"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},
        "routes": [{"name": "r", "upstream": "u"}],
    }
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(content | changed))
    return path


def test_check_online_asks_the_store_and_every_upstream(tmp_path: Path, upstream: Upstream) -> None:
    """A line each; what does not answer is told on standard error, and the exit status is 1."""
    upstream.default = raw(b'{"object":"list","data":[{"id":"m-1","object":"model"}]}')
    changed = {"upstreams": {"u": {"provider": "openai", "base_url": upstream.url}}}
    changed["audit"] = {"url": f"sqlite:///{tmp_path}/a.db"}  # type: ignore[dict-item]
    command = ["config", "check", "--online", "-c"]
    done = CliRunner().invoke(app, [*command, str(_written(tmp_path, changed))])
    assert done.exit_code == 0, done.output
    assert "upstream u: lists 1 model" in done.stdout
    assert "does not exist yet" in done.stdout
    upstream.default = fails(401, {"error": {"message": "no key"}})
    assert "it wants the client's key" in CliRunner().invoke(app, [*command, str(tmp_path / "config.yaml")]).stdout
    dead = {"audit": {"url": "postgresql://u:secret@127.0.0.1:1/x"}}
    done = CliRunner().invoke(app, [*command, str(_written(tmp_path, dead))])
    assert done.exit_code == 1
    assert "upstream u: the upstream 'u' cannot be reached (ConnectionRefusedError: Connection refused)" in done.stderr
    assert "audit store: audit.url is postgresql://u:***@127.0.0.1:1/x" in done.stderr
    assert "secret" not in done.output


@pytest.mark.parametrize("url", ["nonsense", "mysql://h/x", "sqlite:////tmp", "sqlite:////dev/null/a.db"])
def test_check_finds_a_store_that_cannot_be(tmp_path: Path, url: str) -> None:
    """Without opening it."""
    done = CliRunner().invoke(app, ["config", "check", "-c", str(_written(tmp_path, {"audit": {"url": url}}))])
    assert (done.exit_code, "audit.url is" in done.stderr) == (2, True)


NEEDING: dict[str, dict[str, Any]] = {
    "psycopg": {"audit": {"url": "postgresql://h/x"}},
    "authlib": {
        "access": {
            "oidc": {
                "issuer": "https://i",
                "client_id": "c",
                "client_secret": "secret-of-the-client",
                "public_url": "https://p",
            }
        }
    },
    "redis": {"access": {"counting": {"store": "redis", "url": "redis://h"}}},
    "opentelemetry.exporter": {"tracing": {"endpoint": "http://h/v1/traces"}},
}


@pytest.mark.parametrize("library", NEEDING)
def test_check_finds_a_library_that_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    """Of sections outside the routes too: the sentence that `hedgerow serve` would end with, and how it is installed."""

    def find(name: str) -> object:
        return None if name == library else object()

    path = str(_written(tmp_path, NEEDING[library]))
    monkeypatch.setattr(services, "find_spec", find)
    done = CliRunner().invoke(app, ["config", "check", "-c", path])
    assert done.exit_code == 2
    assert f"needs the library {library}, which is not installed: pip install 'hedgerow[" in done.stderr
    monkeypatch.setattr(services, "find_spec", lambda _: object())
    assert CliRunner().invoke(app, ["config", "check", "-c", path]).exit_code == 0


def test_check_finds_a_spool_that_cannot_be_written(tmp_path: Path) -> None:
    """Without making its folder; one that can be written is not made either."""
    for spool, status in (("/dev/null/spool", 2), (str(tmp_path / "deep" / "spool"), 0)):
        written = _written(tmp_path, {"audit": {"url": f"sqlite:///{tmp_path}/audit.db", "spool": spool}})
        done = CliRunner().invoke(app, ["config", "check", "-c", str(written)])
        assert (done.exit_code, f"audit.spool is {spool}" in done.stderr) == (status, status == 2), done.output
    assert not (tmp_path / "deep").exists()


def test_check_finds_a_missing_map(tmp_path: Path) -> None:
    """The proxy would start without it: exit status 1."""
    route = {"name": "r", "upstream": "u", "mode": "on", "map": "nosuch"}
    changed = {"routes": [route], "maps": {"folder": str(tmp_path)}}
    done = CliRunner().invoke(app, ["config", "check", "-c", str(_written(tmp_path, changed))])
    assert (done.exit_code, done.output.count("nosuch")) == (1, 1), done.output  # said, and not logged as well
    assert "routes: r: map:" in done.stderr


def test_what_was_removed_is_said_with_what_to_use_instead(tmp_path: Path) -> None:
    """All at once, a line each, which names the route; of unknown keys the list of keys is printed once."""
    path = tmp_path / "config.yaml"
    path.write_text(
        "upstreams: {e: {provider: embedded}}\n"
        "review: {order: spread}\n"
        "routes:\n  - {name: a, upstream: e, map: adaptive, equivalence: nli, sampling: {batch: 3},\n"
        "     judge: {claims: auto}, rewriting: {by: hedged_qa, boosters: true, mood: x, blue: y}}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load(path)
    lines = str(caught.value).splitlines()
    for place in (
        "routes.0.map: adaptive", "routes.0.equivalence: nli", "routes.0.sampling.batch", "routes.0.judge.claims: auto",
        "routes.0.rewriting.by: hedged_qa", "routes.0.rewriting.boosters", "review.order: spread",
    ):  # fmt: skip
        told = next(line for line in lines if line.startswith(f"{path}: {place} was removed: "))
        assert told.endswith(" (route a)") == place.startswith("routes")
    assert len(lines) == 9
    assert str(caught.value).count("the keys here are") == 1


def test_nothing_that_was_removed_is_a_key_or_kind_again() -> None:
    """The table would hide it."""
    routes = {name: field.annotation for name, field in Route.model_fields.items()}
    for entry in REMOVED:
        place, _, kind = entry.partition(": ")
        section, _, key = place.rpartition(".")
        fields = getattr({**routes, "review": ReviewSettings}.get(section), "model_fields", Route.model_fields)
        assert kind not in get_args(fields[key].annotation) if kind else key not in fields, entry


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("lexicon: {file: x}", "lexicon: there is no such key here; there is one in `routes`"),
        ("serevr: {port: 3}", "serevr: there is no such key; did you mean `server`?"),
        ("prices: {gpt: 3}", "prices.gpt: there is no such key; the keys here are models, tables"),
        ("routes: 3", "routes is 3: expected a list"),
        ("routes: {a: 1}", "routes: expected a list, found keys with their values"),
        ("routes:", "routes is empty: expected a list"),
        ("routes: [support]", "routes.0 is 'support': expected keys with their values"),
        ("upstreams: {o: 'https://h/v1'}", "upstreams.o is 'https://h/v1': expected keys with their values"),
        ("upstreams: {o: {base_url: 'https://h/v1'}}", "upstreams.o.provider: this key is needed"),
        ("upstreams: {o: {provider: openai, timeout: 3}}", "upstreams.o.timeout: there is no such key; did you mean `timeout_s`?"),
        ("routes: [{name: Support Team}]", "routes.0.name is 'Support Team': expected lower-case letters, digits, - and _"),
        ("routes: [{sampling: {n: ten}}]", "routes.0.sampling.n is 'ten': expected a whole number"),
        ("routes: [{model: 4}]", "routes.0.model is 4: expected text; put it into quotes"),
        ("server: {port: 70000}", "server.port is 70000: must be at most 65535"),
        ("keys: [hunter2]", "keys.0: expected the SHA-256 of a key"),
        ("api_key_env: X", "api_key_env: there is no such key"),
        ("upstreams: {o: {provider: llama}}", "upstreams.o.provider is 'llama': allowed are"),
        ("upstreams: {o: {provider: embedded, modell: x}}", "upstreams.o.modell: there is no such key"),
        ("upstreams: {o: {provider: openai, base_url: 'http://bob:hunter2@h:99999/v1'}}", "upstreams.o.base_url is 'http://***@h:99999/v1'"),
    ],
)  # fmt: skip
def test_a_fault_names_the_key_as_it_is_written_and_no_password(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"{text}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert sentence in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_faulty_route_is_one_line(tmp_path: Path) -> None:
    """And not also a complaint that there are no routes."""
    path = tmp_path / "config.yaml"
    path.write_text(
        "upstreams: {e: {provider: embedded}}\nroutes: [{name: a, upstream: e, calibration: {}}]\n", encoding="utf-8"
    )
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value).splitlines() == [
        f"{path}: routes.0.calibration: there is no such key; docs/config.md has every key (route a)"
    ]


def test_check_warns_of_requests_that_no_route_takes(tmp_path: Path) -> None:
    """Two upstreams, each for its models: a list of files has nowhere to go. A default that no route uses is a fault."""
    one = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}
    routes = [{"name": name, "upstream": name, "match": {"model": f"{name}-*"}} for name in ("a", "b")]
    changed: dict[str, Any] = {"upstreams": {"a": one, "b": one, "c": one}, "routes": routes}
    command = ["config", "check", "-c"]
    done = CliRunner().invoke(app, [*command, str(_written(tmp_path, changed))])
    assert done.exit_code == 0, done.output
    assert "set default_upstream" in done.stderr
    done = CliRunner().invoke(app, [*command, str(_written(tmp_path, changed | {"default_upstream": "b"}))])
    assert (done.exit_code, done.stderr) == (0, "")
    done = CliRunner().invoke(app, [*command, str(_written(tmp_path, changed | {"default_upstream": "c"}))])
    assert done.exit_code == 2
    assert "default_upstream is 'c'; the upstreams of routes are: a, b" in done.stderr


@cases(
    ("route", "fault"),
    [
        ({"policy": {"calls": "ask"}}, "policy.calls is 'ask', which needs `tool_calls: measure`"),
        ({"tool_calls": "measure", "policy": {"calls": "escalate"}}, "`calls: escalate` needs the upstream"),
        ({"policy": {"low_confidence": "escalate"}}, "`low_confidence: escalate` needs the upstream"),
    ],
)
def test_a_policy_that_could_do_nothing_is_refused(route: dict[str, Any], fault: str) -> None:
    """With the key that is missing."""
    named = {"name": "test", "upstream": "up"} | route
    with pytest.raises(ValidationError, match=re.escape(fault)):
        Settings(upstreams={"up": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}}, routes=[named])
