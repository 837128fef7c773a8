"""docs/recipes.md as it stands: its configurations are read, and LiteLLM's library asks the proxy; its proxy does in `tests/neighbours`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

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
    address: str = serve(settings={"upstreams": upstreams, "routes": [route]})
    return address


@pytest.mark.slow
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
