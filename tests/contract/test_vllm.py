"""The recipe "In front of vLLM" as it stands on its page, before a scripted vLLM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import yaml

from hedgerow.proxy.config import load
from tests.contract.test_recipes import CONFIGURATIONS
from tests.contract.test_routes import ASK, UNSURE
from tests.support.editing import worded_locally
from tests.support.upstream import Upstream
from tests.support.vllm import KEY, MODEL, Vllm, breaks_off

RECIPE = next(block for block in CONFIGURATIONS if "vllm" in block["upstreams"])


@pytest.fixture
def vllm(upstream: Upstream) -> Upstream:
    """The scripted upstream, as a vLLM that is not sure of its answer."""
    upstream.default = Vllm(*UNSURE)
    return upstream


@pytest.fixture
def before(serve: Any, vllm: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The proxy as the page configures it, but for the address and what a test says of the route; switched on."""

    def start(**route: Any) -> str:
        monkeypatch.setenv("VLLM_API_KEY", KEY)
        config = yaml.safe_load(yaml.safe_dump(RECIPE))
        config["upstreams"]["vllm"]["base_url"] = vllm.url
        config["routes"][0] |= worded_locally({"mode": "on"} | route)
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump(config))
        settings = load(path)
        address: str = serve(settings={"upstreams": settings.upstreams, "routes": settings.routes})
        return address

    return start


def test_ten_answers_come_of_one_call(before: Any, client_of: Any, vllm: Upstream) -> None:
    """With the route's sampling and the server's key; whole and streamed."""
    client = client_of(before())
    answer = client.chat.completions.create(model=MODEL, messages=ASK)
    field = answer.model_extra["hedgerow"]
    assert (field["status"], field["samples"]) == ("hedged", 10)
    assert [(call["n"], call["temperature"], call["top_p"]) for call in vllm.calls] == [(10, 1.0, 1.0)]
    assert vllm.headers[0]["authorization"] == f"Bearer {KEY}"
    stream = client.chat.completions.create(
        model=MODEL, messages=ASK, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == answer.choices[0].message.content
    assert chunks[-1].usage.prompt_tokens == 12


@pytest.mark.parametrize("mode", ["off", "shadow"])
def test_what_is_passed_on_is_vllms_own(before: Any, vllm: Upstream, mode: str) -> None:
    """Byte for byte: fields that only vLLM has, counts in every chunk, and an error after which the stream ends as if it were whole."""
    address, headers = before(mode=mode), {"authorization": f"Bearer {KEY}"}
    counted = {"stream": True, "stream_options": {"include_usage": True, "continuous_usage_stats": True}}
    asked: list[dict[str, Any]] = [{"prompt_logprobs": 1}, counted, {"temperature": 0, "n": 10}, {"model": "qwen-none"}]
    for more in asked:
        body = {"model": MODEL, "messages": ASK} | more
        vllm.default = Vllm(*UNSURE)
        direct = httpx.post(f"{vllm.url}/chat/completions", json=body, headers=headers)
        vllm.default = Vllm(*UNSURE)
        ours = httpx.post(f"{address}/v1/chat/completions", json=body, headers=headers)
        assert (ours.status_code, ours.content) == (direct.status_code, direct.content)


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        ({"model": "qwen-none"}, 404, "The model `qwen-none` does not exist."),
        ({"logprobs": True, "top_logprobs": 21}, 400, "greater than max allowed: 20"),
    ],
)  # fmt: skip
def test_its_refusals_reach_the_client(before: Any, vllm: Upstream, more: Any, status: int, said: str) -> None:
    """As vLLM words them."""
    refused = httpx.post(f"{before()}/v1/chat/completions", json={"model": MODEL, "messages": ASK} | more)
    assert refused.status_code == status
    assert said in refused.json()["error"]["message"]


def test_its_refusal_of_a_key_reaches_the_client(before: Any, vllm: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    """`error` is a string there."""
    address = before()
    monkeypatch.setattr("tests.support.vllm.KEY", "another")
    refused = httpx.post(f"{address}/v1/chat/completions", json={"model": MODEL, "messages": ASK})
    assert (refused.status_code, refused.json()) == (401, {"error": "Unauthorized"})


def test_a_clients_own_greedy_request_is_calibrated(before: Any, client_of: Any, vllm: Upstream) -> None:
    """The route's temperature stands in place of its 0, so that vLLM draws ten answers."""
    answer = client_of(before()).chat.completions.create(model=MODEL, messages=ASK, temperature=0)
    assert answer.model_extra["hedgerow"]["samples"] == 10
    assert len(vllm.calls) == 1


@pytest.mark.parametrize("by", ["the client", "the model's author"])
def test_greedy_answers_make_no_confidence(before: Any, client_of: Any, vllm: Upstream, by: str) -> None:
    """Where the route leaves the temperature alone vLLM refuses `n`; ten calls would bring one answer ten times."""
    vllm.default = Vllm(*UNSURE, greedy=by != "the client")
    more = {"temperature": 0} if by == "the client" else {}
    client = client_of(before(sampling={"n": 10, "temperature": None}))
    for _ in range(2):
        answer = client.chat.completions.create(model=MODEL, messages=ASK, **more)
        assert answer.choices[0].message.content in UNSURE
        field = answer.model_extra["hedgerow"]
        assert (field["status"], field.get("confidence")) == ("degraded", None)


@pytest.mark.parametrize(
    "bound",
    [
        {"guided_choice": ["Canberra.", "Sydney."]},
        {"guided_regex": r"\w+\."},
        {"guided_json": {"type": "string"}},
        {"guided_grammar": "root ::= [A-Za-z]+"},
        {"structured_outputs": {"choice": ["Canberra.", "Sydney."]}},
    ],
)
def test_an_answer_of_a_grammar_is_measured_and_left(before: Any, client_of: Any, vllm: Upstream, bound: Any) -> None:
    """The grammar goes with the sampling call."""
    answer = client_of(before()).chat.completions.create(model=MODEL, messages=ASK, extra_body=bound)
    field = answer.model_extra["hedgerow"]
    assert (field["status"], field["reason"], field["samples"]) == ("plain", "machine_read", 10)
    assert answer.choices[0].message.content in UNSURE
    assert [call[next(iter(bound))] for call in vllm.calls] == list(bound.values())


def test_log_probabilities_of_the_prompt_come_through(before: Any, client_of: Any, vllm: Upstream) -> None:
    """With the answer reworded; they are of the prompt alone."""
    answer = client_of(before()).chat.completions.create(model=MODEL, messages=ASK, extra_body={"prompt_logprobs": 1})
    assert answer.model_extra["hedgerow"]["status"] == "hedged"
    assert answer.model_extra["prompt_logprobs"][1]["9707"]["decoded_token"] == "Hello"


def test_the_token_signal_reads_its_log_probabilities(before: Any, client_of: Any) -> None:
    """One call, asked for log-probabilities: e^-.25 of a token each."""
    answer = client_of(before(signal="token")).chat.completions.create(model=MODEL, messages=ASK)
    field = answer.model_extra["hedgerow"]
    assert (field["signal"], field["samples"]) == ("token", 10)


def test_tools_and_log_probabilities_of_the_prompt(before: Any, client_of: Any, vllm: Upstream) -> None:
    """A first answer beside tools is asked for as a stream, which vLLM refuses with `prompt_logprobs`: it is asked for whole then."""
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}
    answer = client_of(before()).chat.completions.create(
        model=MODEL, messages=ASK, tools=[tool], extra_body={"prompt_logprobs": 1}
    )
    assert answer.model_extra["hedgerow"]["samples"] == 10


def test_a_stream_whose_engine_died_is_an_error(before: Any, client_of: Any, vllm: Upstream) -> None:
    """Passed on as it came: the client of vLLM raises at its event."""
    vllm.default = breaks_off
    with pytest.raises(openai.APIError, match="EngineCore"):
        list(client_of(before(mode="shadow")).chat.completions.create(model=MODEL, messages=ASK, stream=True))


def test_ready_and_listed(before: Any, client_of: Any, vllm: Upstream) -> None:
    """It is asked for its models with its key, and they are listed with what vLLM says of them."""
    address = before()
    assert httpx.get(f"{address}/health/ready").status_code == 200
    assert "/v1/models" in vllm.targets
    (model,) = client_of(address).models.list().data
    assert (model.id, model.owned_by, model.model_extra["max_model_len"]) == (MODEL, "vllm", 40_960)
