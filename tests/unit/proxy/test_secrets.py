"""Secrets of the settings: none is empty, blank, a placeholder or broken over lines, wherever it stands and however it got there."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr, TypeAdapter, ValidationError
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from hedgerow.proxy.config import Settings, load
from hedgerow.proxy.config.secret import fault_of
from hedgerow.proxy.config.upstreams import Upstream
from hedgerow.proxy.errors import ConfigError
from hedgerow.proxy.gateway.access import is_admin_key
from tests.support.tables import cases

ROOT = Path(__file__).parents[3]
REAL = "c2f0ee5b2cf64d1b9a7e"
SIGNING = ("server.admin_key", "audit.hash_key", "access.oidc.client_secret")
FULL: dict[str, Any] = {
    "server": {"admin_key": REAL},
    "access": {
        "oidc": {"issuer": "https://i", "client_id": "c", "client_secret": REAL, "public_url": "https://p"},
        "counting": {"store": "redis", "url": f"redis://:{REAL}@h/0"},
    },
    "upstreams": {
        "http": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": REAL},
        "lite": {"provider": "litellm", "api_key": REAL},
    },
    "routes": [
        {
            "name": "r",
            "upstream": "http",
            "sampling": {"cache": {"store": "redis", "url": f"redis://u:{REAL}@h/0"}},
        }
    ],
    "audit": {"url": f"postgresql://u:{REAL}@h/x", "hash_key": REAL},
    "tracing": {"headers": {"x-token": REAL}},
}
"""Every secret there is."""
BLANK = ["", " ", "\t", "\u00a0\u2003", "\u200b\u200d"]
BROKEN = [f"{REAL}\n", f"{REAL}\r\nx-other: y", f"\x00{REAL}", f"a\rb{REAL}"]
PLACEHOLDERS = [
    "replace-me", "changeme", "CHANGE_ME", "Change-This-Now-Please", "ChangeMeToSomethingSecure", "changeit", "please-change-me-in-production",
    "REPLACE_WITH_OPENSSL_RAND", "to-be-replaced", "set-me", "your-api-key", "YOUR_OPENAI_API_KEY", "yourapikeyyourapikey", "<your key>",
    "<secret-of-the-admin>", "[your key here, please]", "insert-key-here", "put-your-secret-here", "secret_goes_here", "xxxxxxxxxxxxxxxxxxxx",
    "sk-xxxxxxxxxxxxxxxx", "sk-...", "********************", "0000000000000000", "TODO", "fixme-before-release", "a-placeholder-of-a-key",
    "AKIAIOSFODNN7EXAMPLE", "{{ .Values.adminKey }}", "undefined", "null", "$OPENAI_API_KEY", "${OPENAI_API_KEY:-}", "%OPENAI_API_KEY%", "#{key}#", "@@KEY@@", "__API_KEY__",
    "(insert key)", "***REDACTED***", "please-change", "must-be-changed", "fake-key", "dummy-key-123456789", "sk-proj-...", "api_key",
]  # fmt: skip


def places(value: Any, path: str = "") -> Iterator[str]:
    """The keys of all secrets in settings."""
    if isinstance(value, SecretStr):
        yield path
    elif isinstance(value, BaseModel | Mapping | tuple):
        items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, tuple) else value
        for name, item in items:
            yield from places(item, f"{path}.{name}" if path else str(name))


def models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The settings classes below a type, each with those below it."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for hint in get_type_hints(annotation, include_extras=True).values():
            yield from models(hint)
    for inner in get_args(annotation):
        yield from models(inner)


def secret_types(annotation: Any) -> Iterator[Any]:
    """The types of secrets within a type: as annotated, or bare."""
    if annotation is SecretStr or (get_origin(annotation) is Annotated and get_args(annotation)[0] is SecretStr):
        yield annotation
    else:
        for inner in get_args(annotation):
            yield from secret_types(inner)


SECRETS = [
    pytest.param(kind, id=f"{model.__name__}.{name}")
    for model in dict.fromkeys((*models(Settings), *models(Upstream)))
    for name, hint in get_type_hints(model, include_extras=True).items()
    for kind in secret_types(hint)
]
PLACES = sorted(places(Settings(**FULL)))
ADDRESSES = ["access.counting.url", "audit.url", "routes.0.sampling.cache.url"]


def changed(place: str, value: Any) -> dict[str, Any]:
    """The settings with another value in one place."""
    content: Any = yaml.safe_load(yaml.safe_dump(FULL))
    inner, parts = content, place.split(".")
    for part in parts[:-1]:
        inner = inner[int(part) if isinstance(inner, list) else part]
    old = inner[parts[-1]]
    inner[parts[-1]] = old.replace(REAL, value) if place in ADDRESSES else value
    return dict(content)


def written(tmp_path: Path, content: Mapping[str, Any]) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(dict(content), allow_unicode=False), encoding="utf-8")
    return path


def test_the_settings_above_have_every_secret() -> None:
    """A new key for a secret belongs into `FULL`."""
    assert len(PLACES) == len(SECRETS) == 6
    assert len({model for model in models(Settings) if "SecretStr" in str(model.model_fields)}) >= 5


@cases("kind", SECRETS)
def test_no_field_of_the_settings_takes_a_bare_secret(kind: Any) -> None:
    """Whoever adds a key with `SecretStr` alone is told here."""
    adapter: TypeAdapter[SecretStr] = TypeAdapter(kind)
    for wrong in (*BLANK, *BROKEN, *PLACEHOLDERS):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)
    assert adapter.validate_python(REAL).get_secret_value() == REAL


@pytest.mark.parametrize("place", [*PLACES, *ADDRESSES])
@pytest.mark.parametrize("wrong", ["", " ", "replace-me", "changeme-changeme"])
def test_a_check_refuses_it_by_its_key(tmp_path: Path, place: str, wrong: str) -> None:
    """And by nothing else: the file is fine with a real one."""
    done = CliRunner().invoke(app, ["config", "check", "-c", str(written(tmp_path, changed(place, wrong)))])
    assert done.exit_code == 2
    assert f"{place}" in done.stderr
    assert done.stderr.count("\n") == 1
    assert ("is a placeholder" if wrong.strip() else "must not be empty") in done.stderr
    load(written(tmp_path, FULL))


@pytest.mark.parametrize("place", PLACES)
def test_an_empty_variable_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """A secret store without the secret, a line `NAME=` in an env file; also where it is only a part of a value, or no secret at all."""
    monkeypatch.setenv("OURS_EMPTY", " ")
    for text in ("${OURS_EMPTY}", "prefix-of-a-long-key-${OURS_EMPTY}"):
        with pytest.raises(ConfigError, match=f"{place}: the environment variable OURS_EMPTY is empty"):
            load(written(tmp_path, changed(place, text)))
    with pytest.raises(ConfigError, match=r"upstreams.http.base_url: the environment variable OURS_EMPTY is empty"):
        load(written(tmp_path, changed("upstreams.http.base_url", "http://${OURS_EMPTY}/v1")))


@pytest.mark.parametrize("place", PLACES)
def test_no_secret_is_repeated(tmp_path: Path, place: str) -> None:
    """Whatever is wrong with it: its sign, its length, its type, or that of what holds it."""
    for wrong in (f"{REAL}\n", ["hunter2"], {"a": "hunter2"}, 7734):
        with pytest.raises(ConfigError) as caught:
            load(written(tmp_path, changed(place, wrong)))
        assert place in str(caught.value)
        assert not any(part in str(caught.value) for part in (REAL, "hunter2", "7734"))
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, changed("tracing.headers", "x-token: hunter2")))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("place", SIGNING)
def test_what_signs_cannot_be_guessed(tmp_path: Path, place: str) -> None:
    """16 characters at least: an admin key, a key of the chain, and the client secret, which signs sessions of people."""
    with pytest.raises(ConfigError, match=f"{place}: must be at least 16 characters long"):
        load(written(tmp_path, changed(place, REAL[:15])))
    load(written(tmp_path, changed(place, REAL[:16])))


@pytest.mark.parametrize("wrong", ["", "changeme-changeme", "short", "${NEVER_SET_HERE}"])
def test_a_variable_that_overrides_the_file_is_no_way_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """Text in the environment is not expanded: `${NAME}` would be a key that everybody can read in the documentation."""
    monkeypatch.setenv("HEDGEROW_SERVER__ADMIN_KEY", wrong)
    with pytest.raises(ConfigError, match=r"server\.admin_key"):
        load(written(tmp_path, FULL))


def test_a_section_in_the_environment_that_is_not_json_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_TRACING", "{hunter2")
    with pytest.raises(ConfigError, match="must be JSON") as caught:
        load(written(tmp_path, FULL))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("upstreams.http.base_url", "http://127.0.0.1:9/v1\r\nx: y"),
        ("upstreams.http.base_url", "http://h\0/v1"),
        ("tracing.headers", {"x-a\r\nx-b": REAL}),
        ("upstreams", FULL["upstreams"] | {"a\r\nb": FULL["upstreams"]["http"]}),
    ],
)
def test_nothing_that_is_sent_as_a_header_holds_a_line_end(tmp_path: Path, place: str, value: Any) -> None:
    """Also the name of an upstream, which `x-hedgerow-upstream` tells, and an address, whose host is sent."""
    with pytest.raises(ConfigError, match=place):
        load(written(tmp_path, changed(place, value)))


@given(st.binary().map(lambda data: hashlib.sha256(data).digest()))
def test_random_secrets_are_taken(data: bytes) -> None:
    """As `openssl rand` writes them, in hex or base 64."""
    assert fault_of(data.hex()) is fault_of(base64.urlsafe_b64encode(data).decode()) is None


@cases(
    "used", ["unused", "none", "EMPTY", "sk-own", "ollama", "azure-key", "token-abc123", "correct horse battery staple"]
)
def test_what_local_servers_are_given_is_taken(used: str) -> None:
    """A server that wants any key gets any; passphrases are text."""
    assert fault_of(used) is None


@cases("sent", ["", " ", REAL])
def test_nothing_is_never_the_admin_key(sent: str) -> None:
    """Neither nothing sent, nor nothing configured: they would be equal."""
    assert not is_admin_key(sent, None)
    assert not is_admin_key(sent, SecretStr(""))
    assert is_admin_key(sent, SecretStr(REAL)) is (sent == REAL)


@cases("pattern", ["", "*", "?*", "secret"])
def test_a_missing_header_matches_no_route(pattern: str) -> None:
    """A pattern that matches everything still wants the header to be there."""
    route = Settings(**FULL | {"routes": [{"name": "r", "upstream": "http", "match": {"headers": {"X-Team": pattern}}}]}).routes[0]  # fmt: skip
    assert not route.takes("m", {}, None)
    assert route.takes("m", {"x-team": "secret"}, None) is (pattern != "")


def test_the_examples_make_their_reader_set_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The cluster's example does not start as it is, and compose asks for each secret."""
    read = {name: (ROOT / "deploy" / name).read_text(encoding="utf-8") for name in ("kubernetes/secret.yaml", "kubernetes/configmap.yaml", "compose.yaml")}  # fmt: skip
    secrets = yaml.safe_load(read["kubernetes/secret.yaml"])["stringData"]
    monkeypatch.setenv("HEDGEROW_UPSTREAM_URL", "http://127.0.0.1:9/v1")
    (tmp_path / "config.yaml").write_text(yaml.safe_load(read["kubernetes/configmap.yaml"])["data"]["config.yaml"])
    real = {"HEDGEROW_ADMIN_KEY": REAL, "HEDGEROW_AUDIT_URL": f"postgresql://u:{REAL}@h/x"}
    assert set(secrets) == set(real)
    for shipped in secrets:
        for name in secrets:
            monkeypatch.setenv(name, secrets[name] if name == shipped else real[name])
        with pytest.raises(ConfigError, match=shipped):
            load(tmp_path / "config.yaml")
    environments = [service["environment"] for service in yaml.safe_load(read["compose.yaml"])["services"].values() if "environment" in service]  # fmt: skip
    asked = {name: value for environment in environments for name, value in environment.items() if "PASSWORD" in name or "KEY" in name or "AUDIT_URL" in name}  # fmt: skip
    assert len(asked) == 4
    assert all(":?" in value for value in asked.values())
