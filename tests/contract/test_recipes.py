"""docs/recipes.md as it stands: its configurations are read, and LiteLLM is run in front of the proxy."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import yaml

from hedgerow.proxy.config import load
from tests.contract.test_routes import ASK, UNSURE
from tests.support.upstream import Upstream, says

PAGE = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")
BLOCKS = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
LITELLM_CONFIG = next(block for block in BLOCKS if "model_list" in block)
CONFIGURATIONS = [block for block in BLOCKS if "upstreams" in block]
BEHIND_LITELLM = CONFIGURATIONS[0]
START_S = 240
MASTER_KEY = f"sk-{secrets.token_hex(32)}"


def _proxy_command() -> list[str] | None:
    """How LiteLLM's proxy is started: the command in HEDGEROW_TEST_LITELLM, or the library's own with what it needs."""
    if named := os.environ.get("HEDGEROW_TEST_LITELLM"):
        return [named]
    command = shutil.which("litellm", path=str(Path(sys.executable).parent))
    needed = ("litellm", "websockets", "fastapi_sso", "apscheduler")
    return [command] if command and all(find_spec(name) for name in needed) else None


@pytest.mark.parametrize("number", range(len(CONFIGURATIONS)))
def test_each_configuration_of_the_page_is_one(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its variables set, as in production."""
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(CONFIGURATIONS[number]))
    for name in re.findall(r"\$\{(\w+)\}", path.read_text()):
        monkeypatch.setenv(name, "a-value")
    settings = load(path)
    assert settings.routes[0].upstream in settings.upstreams


@pytest.fixture
def address(serve: Any, upstream: Upstream) -> str:
    """Hedgerow as the recipe has it, before the scripted upstream, with its route switched on."""
    upstream.default = says(*UNSURE)
    route = BEHIND_LITELLM["routes"][0] | {"mode": "on"}
    upstreams = {"openai": {"provider": "openai", "base_url": upstream.url, "api_key": "sk-own", "retries": 0}}
    found: str = serve(settings={"upstreams": upstreams, "routes": [route]})
    return found


@pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning")  # of its own types
def test_litellms_library_in_front(address: str, upstream: Upstream) -> None:
    """The model's name without its prefix reaches the upstream; text and field come through, whole and streamed."""
    litellm = pytest.importorskip("litellm")
    params = LITELLM_CONFIG["model_list"][0]["litellm_params"]
    asked = {"model": params["model"], "api_base": address + "/v1", "api_key": "unused", "messages": ASK}
    answer = litellm.completion(**asked, num_retries=0)
    assert answer.hedgerow["status"] == "hedged"
    assert {call["model"] for call in upstream.calls} == {params["model"].removeprefix("openai/")}
    chunks = list(litellm.completion(**asked, num_retries=0, stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == answer.choices[0].message.content


@pytest.fixture
def litellm_proxy(address: str, tmp_path: Path) -> Iterator[str]:
    """LiteLLM's proxy with the page's configuration, before Hedgerow."""
    command = _proxy_command()
    if command is None:
        pytest.skip("LiteLLM's proxy is not installed (pip install 'litellm[proxy]')")
    config = json.loads(json.dumps(LITELLM_CONFIG))
    config["model_list"][0]["litellm_params"]["api_base"] = address + "/v1"
    path = tmp_path / "litellm.yaml"
    path.write_text(yaml.safe_dump(config))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HEDGEROW_KEY": "unused", "NO_PROXY": "*"}
    environment |= {"LITELLM_MASTER_KEY": MASTER_KEY}
    words = [*command, "--config", str(path), "--host", "127.0.0.1", "--port", str(port)]
    with open(tmp_path / "litellm.log", "wb") as log:
        process = subprocess.Popen(words, env=environment, stdout=log, stderr=log, cwd=tmp_path)
    try:
        deadline = time.monotonic() + START_S
        while not _lives(port):
            assert process.poll() is None, (tmp_path / "litellm.log").read_text()[-2000:]
            assert time.monotonic() < deadline, "LiteLLM's proxy did not start"
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _lives(port: int) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"http://127.0.0.1:{port}/health/liveliness", timeout=2).status_code == 200
    return False


def test_litellms_proxy_in_front(litellm_proxy: str, client_of: Any, upstream: Upstream) -> None:
    """A client of LiteLLM reads the reworded answer, whole and streamed, with the field and with our headers under LiteLLM's prefix."""
    client: openai.OpenAI = client_of(litellm_proxy, api_key=MASTER_KEY)
    name = LITELLM_CONFIG["model_list"][0]["model_name"]
    raw = client.chat.completions.with_raw_response.create(model=name, messages=ASK)  # type: ignore[arg-type]
    answer = raw.parse()
    assert raw.headers["llm_provider-x-hedgerow-status"] == "hedged"
    assert raw.headers["llm_provider-x-hedgerow-audit-id"] == answer.model_extra["hedgerow"]["id"]
    chunks = client.chat.completions.create(model=name, messages=ASK, stream=True)  # type: ignore[call-overload]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == answer.choices[0].message.content
    assert {call["model"] for call in upstream.calls if call} == {"gpt-5-mini"}  # lists of models are asked for too
