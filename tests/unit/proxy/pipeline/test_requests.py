"""What the pipeline never rewrites, what it takes for a question, and laws over arbitrary requests."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.errors import BadRequest, UpstreamError
from hedgerow.proxy.gateway.shadow import served_answer, served_text
from hedgerow.proxy.pipeline.eligibility import draft_reason, request_reason
from hedgerow.proxy.pipeline.job import check, last_message, new_id
from hedgerow.proxy.rewriting import natural_pieces
from hedgerow.proxy.types import Sample
from hedgerow.proxy.upstreams import sse
from hedgerow.proxy.upstreams.dialects import chat
from hedgerow.proxy.upstreams.dialects.table import DIALECTS
from hedgerow.proxy.upstreams.thoughts import cut
from tests.support.tables import cases
from tests.support.upstream import completion, stream_chunks

CHAT = "/chat/completions"
scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8)
jsons = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)


@given(body=st.dictionaries(st.sampled_from(["messages", "prompt", "model", "n", "stream", "stop"]), jsons))
def test_any_json_is_either_refused_or_understood(body: Any) -> None:
    """A body that passes the check can be asked for its question and its reason; nothing else is raised."""
    for path in (CHAT, "/completions"):
        try:
            checked = json.loads(json.dumps(body))
            check(path, checked, 100)
        except BadRequest:
            continue
        assert checked == body
        assert isinstance(last_message(DIALECTS[path].as_chat(checked), "user"), str)
        assert request_reason(path, checked) is None or request_reason(path, checked)


def test_the_question_is_the_last_message_of_the_user() -> None:
    """Parts in words are joined, pictures are left out."""
    parts = [
        {"type": "text", "text": "Which city?"},
        {"type": "image_url", "image_url": {}},
        {"type": "text", "text": "Now."},
    ]
    body: Any = {
        "messages": [
            {"role": "user", "content": "first"},
            {"role": "user", "content": parts},
            {"role": "assistant", "content": "Oslo."},
        ]
    }
    assert last_message(body, "user") == "Which city?\nNow."
    assert last_message(body, "assistant") == "Oslo."
    assert last_message({"messages": []}, "assistant") == ""


@cases(
    ("sample", "reason"),
    [
        (Sample("I can't.", refusal="I can't."), "refusal"),
        (Sample("x", finish_reason="content_filter"), "content_filter"),
        (Sample("```\nx\n```"), "code"),
        (Sample("~~~\nx\n~~~"), "code"),
        (Sample('{"a": 1}'), "structured_output"),
        (Sample("[1, 2]"), "structured_output"),
        (Sample("[sic] Paris."), None),
        (Sample("{curly} words"), None),
        (Sample("Paris."), None),
    ],
)
def test_which_drafts_stand_as_they_are(sample: Sample, reason: str | None) -> None:
    """A bracket alone makes no JSON."""
    assert draft_reason(sample) == reason


@given(text=st.text(max_size=200), finish=st.sampled_from(["stop", "length"]))
def test_a_stream_says_what_the_object_says(text: str, finish: str) -> None:
    """Encoding an answer as a stream and reading it back gives its text; what is empty in the object has no chunk."""
    answer = completion(text)
    answer["choices"][0]["finish_reason"] = finish
    answer["choices"][0]["message"] |= {"annotations": [], "refusal": None, "tool_calls": []}
    stream = b"".join(chat.events(answer, natural_pieces, True))
    events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith(b"data: {")]
    deltas = [event["choices"][0]["delta"] for event in events if event["choices"]]
    assert "".join(delta.get("content", "") for delta in deltas) == text
    assert deltas[0]["role"] == "assistant"
    assert not any(delta.keys() - {"role", "content"} for delta in deltas)
    assert [e["choices"][0]["finish_reason"] for e in events if e["choices"]][-1] == finish
    assert events[-1]["usage"] == answer["usage"]
    assert served_text(served_answer(CHAT, stream)) == (cut(text)[1] or None)


@cases(
    "data",
    [b"", b"nonsense", b"[]", b'{"choices": []}', b'{"choices": [{}]}', b"\xff", b'{"choices": [5]}'],
)
def test_a_copy_that_holds_no_text_is_not_an_answer(data: bytes) -> None:
    """Shadow then says `no_text` instead of comparing with nothing."""
    assert served_text(served_answer(CHAT, data)) is None


@cases("data", [b"data: {", b"data: [DONE]", b'data: {"choices": [{"delta": {"content": "a"}}]}'])
def test_a_copy_of_a_broken_stream_is_said_to_be_one(data: bytes) -> None:
    """It is not taken for an answer without text."""
    with pytest.raises(UpstreamError):
        served_answer(CHAT, data)


def test_a_relayed_stream_is_read_back() -> None:
    """As an upstream sends it."""
    data = b"".join(sse.event(chunk) for chunk in stream_chunks("It is Oslo.")) + sse.DONE
    answer = served_answer(CHAT, b": keep-alive\n\n" + data)
    assert answer is not None
    assert (served_text(answer), answer["id"]) == ("It is Oslo.", "chatcmpl-streamed")


def test_event_loops_in_several_threads_get_ids_of_their_own() -> None:
    """No id twice and nothing raised, however often the threads take turns."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            ids = [each for part in threads.map(lambda _: [new_id() for _ in range(3_000)], range(8)) for each in part]
    finally:
        sys.setswitchinterval(before)
    assert len(set(ids)) == 24_000
