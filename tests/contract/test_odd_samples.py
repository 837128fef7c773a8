"""Samples as no one would wish for them: each kind has a defined outcome that the client can see."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.responses import JSONResponse

from tests.support.upstream import Upstream, completion

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]


def _text_and_field(address: str, client_of: Any, upstream: Upstream, *choices: Any) -> tuple[Any, Any]:
    """The client's text and the extra field, where the upstream answers with these choices: texts, or changes to a choice."""
    answer = completion(*(choice if isinstance(choice, str) else "Canberra." for choice in choices))
    for choice, change in zip(answer["choices"], choices, strict=True):
        if isinstance(change, dict):
            choice.update(change)
    upstream.default = lambda _request, _body: JSONResponse(answer)
    got = client_of(address).chat.completions.create(model="m", messages=ASK)
    return got.choices[0].message.content, got.model_extra["hedgerow"]


def _message(**fields: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": None} | fields}


BROKEN = {"finish_reason": "error", "message": {"role": "assistant", "content": "Can"}}
"""How some providers send what an error of theirs cut off."""
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("choices", "outcome", "clusters"),
    [
        (["Canberra."] * 4, ("plain", "no_hedge_needed"), [4]),
        (["", "", "Canberra.", "Canberra.", "Sydney."], ("hedged", None), [2, 1]),
        (["", "", "", "Canberra."], ("degraded", "too_few_samples"), None),
        (["Canberra.", "Sydney. " + "x" * 100_000, "Canberra.", "Perth."], ("passed", "too_long"), None),
        (["Canberra.", "C'est Canberra.", "堪培拉", "Sydney."], ("hedged", None), [2, 1, 1]),
        (["\U0001f600"] * 4, ("passed", "not_a_claim"), [4]),
        ([_message(refusal="I can't help.")] * 4, ("passed", "refusal"), [4]),
        ([_message(tool_calls=[CALL]), "Canberra.", "Canberra.", "Canberra."], ("passed", "tool_calls"), None),
        (["Canberra.", "Sydney."], ("hedged", None), [2, 1]),
        ([BROKEN, BROKEN, BROKEN, "Canberra.", "Canberra.", "Sydney."], ("hedged", None), [2, 1]),
        ([BROKEN] * 4, ("degraded", "too_few_samples"), None),
    ],
    ids=[
        "identical",
        "some empty",
        "most empty",
        "100 kB",
        "languages",
        "emoji",
        "refusals",
        "tool call",
        "fewer than asked",
        "some cut off by an error",
        "all cut off by an error",
    ],
)
def test_each_kind_has_its_outcome(
    serve: Any, client_of: Any, upstream: Upstream, choices: Any, outcome: Any, clusters: Any
) -> None:
    """Status and reason in the extra field; the answer is the upstream's wherever nothing could be measured."""
    address = serve(sampling={"n": max(len(choices), 3), "min_n": 3})
    _, field = _text_and_field(address, client_of, upstream, *choices)
    assert (field["status"], field.get("reason")) == outcome
    assert field.get("clusters") == clusters


def test_a_truncated_answer_is_not_the_draft_where_a_whole_one_came(
    serve: Any, client_of: Any, upstream: Upstream
) -> None:
    """The first, cut off, says the same in fewer words; the draft is the whole one, and the field says how many were cut off."""
    short = {"finish_reason": "length", "message": {"role": "assistant", "content": "Canberra"}}
    text, field = _text_and_field(
        serve(sampling={"n": 4}), client_of, upstream, short, short, "Canberra, Australia.", "Sydney."
    )
    assert "Canberra, Australia" in text
    assert field["truncated"] == 2
    text, field = _text_and_field(serve(sampling={"n": 4}), client_of, upstream, short, short, short, "Sydney.")
    assert "Canberra" in text
    assert field["truncated"] == 3
