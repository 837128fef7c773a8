"""docs/recipes.md with LiteLLM's proxy, whose command HEDGEROW_TEST_LITELLM names, as `make neighbours` does."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import yaml

from tests.contract.test_recipes import LITELLM_CONFIG, address
from tests.contract.test_routes import ASK
from tests.support.upstream import Upstream

__all__ = ["address"]
START_S = 240
MASTER_KEY = f"sk-{secrets.token_hex(32)}"


@pytest.fixture
def litellm_proxy(address: str, tmp_path: Path) -> Iterator[str]:
    """LiteLLM's proxy with the page's configuration, before Hedgerow."""
    config = json.loads(json.dumps(LITELLM_CONFIG))
    config["model_list"][0]["litellm_params"]["api_base"] = address + "/v1"
    path = tmp_path / "litellm.yaml"
    path.write_text(yaml.safe_dump(config))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HEDGEROW_KEY": "unused", "NO_PROXY": "*"}
    environment |= {"LITELLM_MASTER_KEY": MASTER_KEY}
    command = str(Path(os.environ["HEDGEROW_TEST_LITELLM"]).absolute())
    words = [command, "--config", str(path), "--host", "127.0.0.1", "--port", str(port)]
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
