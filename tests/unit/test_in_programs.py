"""The method inside a program: LiteLLM's callback before a real server, and a LangChain Runnable."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from hedgerow.calibration.fitting import fit_map
from hedgerow.hedging import Hedging
from tests.support.servers import serving
from tests.support.upstream import Upstream, says

ASK = [{"role": "user", "content": "What is the capital of Australia?"}]
LITELLM = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
"""LiteLLM's own."""
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")


@pytest.fixture
def litellm() -> Iterator[Any]:
    import litellm

    before = litellm.callbacks
    yield litellm
    litellm.callbacks = before


def answered(litellm: Any, address: str, **more: Any) -> Any:
    call = {"model": "openai/m", "messages": ASK, "api_base": f"{address}/v1", "api_key": "k"} | more
    return asyncio.run(litellm.acompletion(**call))


@LITELLM
def test_litellm_words_an_answer(litellm: Any) -> None:
    from hedgerow.litellm import HedgingCallback

    litellm.callbacks = [HedgingCallback(Hedging(samples=5))]
    upstream = Upstream(default=says(*UNSURE))
    with serving(upstream) as address:
        reply = answered(litellm, address)
        assert reply.hedgerow["status"] == "hedged"
        assert (reply.hedgerow["agreeing"], reply.hedgerow["samples"]) == (3, 5)
        assert "Canberra" in reply.choices[0].message.content
        assert reply.choices[0].message.content != "Canberra."
        assert len(upstream.calls) == 5
        assert [call.get("temperature") for call in upstream.calls] == [None, 1.0, 1.0, 1.0, 1.0]
        plain = answered(litellm, address, n=2)
        assert not hasattr(plain, "hedgerow")
        assert plain.choices[0].message.content in UNSURE


def test_langchain_words_an_answer() -> None:
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages import SystemMessage
    from langchain_core.prompts import ChatPromptTemplate

    from hedgerow.langchain import Hedged

    hedged = Hedged(FakeListChatModel(responses=list(UNSURE)), Hedging(samples=5))
    chain = ChatPromptTemplate([SystemMessage("Be brief."), ("user", "{question}")]) | hedged
    for message in (chain.invoke({"question": ASK[0]["content"]}), asyncio.run(hedged.ainvoke(ASK[0]["content"]))):
        field = message.response_metadata["hedgerow"]
        assert (field["status"], field["agreeing"]) == ("hedged", 3)
        assert "Canberra" in message.content
        assert message.content not in UNSURE
    sure = Hedged(FakeListChatModel(responses=["Canberra."]), Hedging(samples=5)).invoke(ASK[0]["content"])
    assert sure.content == "Canberra."


def test_a_map_corrects_and_one_sample_is_refused() -> None:
    fitted = fit_map("platt", [9.0] * 40 + [3.0] * 40, [1.0] * 40 + [7.0] * 40, [1] * 20 + [0] * 20 + [0] * 40)
    _, confidence = Hedging(map=fitted).word(ASK[0]["content"], ["Canberra."] * 9 + ["Sydney."])
    assert confidence["confidence"]["calibrated"]
    assert confidence["confidence"]["mean"] == pytest.approx(0.5, abs=0.05)
    with pytest.raises(ValueError, match="at least 2"):
        Hedging(samples=1)
