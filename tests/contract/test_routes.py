"""Routes, keys, modes, the audit and feedback: what an operator configures and relies on."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx
import openai
import pytest

from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream, fails, raw, says, sse_response, stream_chunks

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
CHAT = "/v1/chat/completions"
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")


def test_off_forwards_byte_for_byte(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """Request and answer are the same bytes on both sides, unknown fields and white space included."""
    sent = b'{"model":"m",  "messages":[{"role":"user","content":"x"}], "x_own": [1,2]}'
    back = b'{"id": "y",\n "choices": [],  "more": true}'
    upstream.default = raw(back)
    reply = httpx.post(
        serve(mode="off") + CHAT, content=sent, headers={"authorization": "Bearer sk-1", "x-own": "kept"}
    )
    assert upstream.raw_bodies == [sent]
    assert reply.content == back
    assert upstream.headers[0]["authorization"] == "Bearer sk-1"
    assert upstream.headers[0]["x-own"] == "kept"
    assert not [name for name in reply.headers if name.startswith("x-hedgerow")]
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"], row["mode"]) == ("passed", "mode_off", "off")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/embeddings", b'{"model": "e", "input": "x"}'),
        ("POST", "/v1/responses/input_tokens", b'{"model": "m", "input": "x"}'),
        ("POST", "/v1/audio/transcriptions", b"\x00\x01binary\xff"),
        ("GET", "/v1/models/m-1", b""),
        ("GET", "/v1/files?purpose=batch&after=a%20b", b""),
        ("DELETE", "/v1/files/file-1", b""),
        ("POST", "/v1/no/such/thing", b"{}"),
    ],
)
def test_every_other_path_is_forwarded(
    serve: Any, upstream: Upstream, tmp_path: Any, method: str, path: str, body: bytes
) -> None:
    """Whatever its body is made of, with its query, and with a row."""
    upstream.default = raw(b"\x01\x02anything", "application/octet-stream", 201)
    kind = "application/json" if body.startswith(b"{") else "application/octet-stream"
    reply = httpx.request(method, serve() + path, content=body, headers={"content-type": kind})
    assert (reply.status_code, reply.content) == (201, b"\x01\x02anything")
    assert upstream.targets == [path]
    assert upstream.raw_bodies == [body]
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"]) == ("passed", "not_generating")


def test_a_stream_passes_through_unchanged(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Chunks arrive as the upstream sent them."""
    upstream.default = says("Canberra is the capital.")
    stream = client_of(serve(mode="off")).chat.completions.create(model="m", messages=ASK, stream=True)
    assert "".join(c.choices[0].delta.content or "" for c in stream) == "Canberra is the capital."


def test_routes_are_tried_in_order(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """By model pattern, by header, by key; each with its own mode."""
    key_hash = hashlib.sha256(b"sk-special").hexdigest()
    routes = [
        {"name": "by-key", "upstream": "scripted", "mode": "off", "match": {"keys": [key_hash]}, "model": "from-key"},
        {"name": "by-header", "upstream": "scripted", "mode": "on", "match": {"headers": {"X-Team": "blue*"}}},
        {"name": "by-model", "upstream": "scripted", "mode": "on", "match": {"model": "gpt-*"}, "model": "real-model"},
        {"name": "rest", "upstream": "scripted", "mode": "off"},
    ]
    upstream.default = says(*UNSURE)
    client = client_of(serve(settings={"routes": routes}))
    assert "hedgerow" in client.chat.completions.create(model="gpt-5", messages=ASK).model_extra
    assert upstream.calls[-1]["model"] == "real-model"
    assert "hedgerow" not in client.chat.completions.create(model="other", messages=ASK).model_extra
    blue = client.chat.completions.create(model="other", messages=ASK, extra_headers={"X-Team": "blue-1"})
    assert "hedgerow" in blue.model_extra
    special = client.with_options(api_key="sk-special").chat.completions.create(model="gpt-5", messages=ASK)
    assert "hedgerow" not in special.model_extra
    assert upstream.calls[-1]["model"] == "from-key"


def test_a_header_overrides_the_mode_only_where_allowed(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """And the header itself never travels upstream."""
    upstream.default = says(*UNSURE)
    wish = {"x-hedgerow-mode": "on"}
    allowed = client_of(serve(mode="off", allow_override=True))
    assert "hedgerow" in allowed.chat.completions.create(model="m", messages=ASK, extra_headers=wish).model_extra
    assert "x-hedgerow-mode" not in upstream.headers[-1]
    strict = client_of(serve(mode="off"))
    assert "hedgerow" not in strict.chat.completions.create(model="m", messages=ASK, extra_headers=wish).model_extra
    with pytest.raises(openai.BadRequestError, match="allowed are off, shadow and on"):
        allowed.chat.completions.create(model="m", messages=ASK, extra_headers={"x-hedgerow-mode": "loud"})


def test_only_listed_keys_get_in(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Keys are kept as hashes; the upstream's own key replaces the client's."""
    upstream.default = says(*UNSURE)
    keys = [hashlib.sha256(b"sk-listed").hexdigest()]
    address = serve(settings={"keys": keys}, upstream_settings={"api_key": "sk-upstream"})
    with pytest.raises(openai.AuthenticationError, match="not known here"):
        client_of(address, api_key="sk-other").chat.completions.create(model="m", messages=ASK)
    assert httpx.post(address + CHAT, json={"messages": ASK}).status_code == 401
    client_of(address, api_key="sk-listed").chat.completions.create(model="m", messages=ASK)
    assert upstream.headers[-1]["authorization"] == "Bearer sk-upstream"


@pytest.mark.parametrize("stream", [False, True])
def test_shadow_changes_nothing_and_does_all_the_work(
    serve: Any, upstream: Upstream, tmp_path: Any, stream: bool
) -> None:
    """The client gets the upstream's own bytes; the row says what would have been said of an answer like the one served."""
    served = b'{"id":"chatcmpl-s","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Canberra."}}]}'
    if stream:
        upstream.enqueue(lambda _request, _body: sse_response([*stream_chunks("Canberra."), "[DONE]"]))
    else:
        upstream.enqueue(raw(served))
    upstream.default = says(*UNSURE)
    reply = httpx.post(serve(mode="shadow") + CHAT, json={"model": "m", "messages": ASK, "stream": stream})
    assert not [name for name in reply.headers if name.startswith("x-hedgerow")]
    assert reply.content == served if not stream else b"Canberra." in reply.content
    (row,) = rows_of(tmp_path, 1)
    assert (row["mode"], row["status"], row["samples"], row["served_agrees"]) == ("shadow", "hedged", 10, 1)
    assert row["raw_alpha"] == 6.0
    assert row["response_id"] == ("chatcmpl-streamed" if stream else "chatcmpl-s")
    assert upstream.headers[0]["accept-encoding"] == "identity"  # else the copy might be compressed


def test_shadow_says_that_the_upstream_refused(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """Its error goes to the client as it came, and the row has its reason, as on every other way."""
    upstream.default = fails(429, {"error": {"message": "slow down"}})
    assert httpx.post(serve(mode="shadow") + CHAT, json={"model": "m", "messages": ASK}).status_code == 429
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"], row["http_status"]) == ("failed", "upstream_rejected", 429)


def test_shadow_notices_a_served_answer_of_another_meaning(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """A verdict on such an answer is not about the confidence in the row, and settles nothing."""
    upstream.enqueue(raw(b'{"id":"c-1","choices":[{"message":{"content":"Sydney."}}]}'))
    upstream.default = says(*UNSURE)
    address = serve(mode="shadow")
    httpx.post(address + CHAT, json={"model": "m", "messages": ASK})
    (row,) = rows_of(tmp_path, 1)
    assert row["served_agrees"] == 0
    settled = httpx.post(address + "/v1/feedback", json={"id": "c-1", "correct": False}).json()
    assert settled["faithfulness_divergence"] == {"raw": None, "calibrated": None, "perceived": None}


def test_feedback_settles_the_divergence(serve: Any, client_of: Any, upstream: Upstream, lines: Any) -> None:
    """By hand, for Beta(6, 4) and a right answer: 10 (psi(7) - psi(11) - ln(6/10)); psi(7) - psi(11) = -(1/7+1/8+1/9+1/10)."""
    import math

    upstream.default = says(*UNSURE)
    address = serve()
    field = client_of(address).chat.completions.create(model="m", messages=ASK).model_extra["hedgerow"]
    right = 10 * (-(1 / 7 + 1 / 8 + 1 / 9 + 1 / 10) - math.log(0.6))
    first = httpx.post(address + "/v1/feedback", json={"id": field["id"], "correct": True}).json()
    assert first["faithfulness_divergence"]["raw"] == pytest.approx(right, rel=1e-12)
    assert first["changed"] is True
    again = httpx.post(address + "/v1/feedback", json={"id": field["id"], "correct": True}).json()
    assert again == first | {"changed": False}
    assert len(lines.of("verdict")) == 1
    assert lines.of("verdict")[0]["fd"] == pytest.approx(right)

    by_completion = httpx.post(address + "/v1/feedback", json={"id": "chatcmpl-scripted", "correct": 0.25}).json()
    wrong = 10 * (-(1 / 5 + 1 / 6 + 1 / 7 + 1 / 8 + 1 / 9 + 1 / 10) - math.log(0.4))
    assert by_completion["faithfulness_divergence"]["raw"] == pytest.approx(0.25 * right + 0.75 * wrong, rel=1e-12)
    row = httpx.get(address + f"/v1/audit/{field['id']}").json()
    assert [verdict["correct"] for verdict in row["verdicts"]] == [1.0, 0.25]
    assert row["fd_if_right"] == pytest.approx(right)
    assert row["fd_if_wrong"] == pytest.approx(wrong)
    assert row["texts"]["draft"] == "Canberra."


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"id": "hr_unknown", "correct": True}, 404, "unknown_id"),
        ({"id": "x", "correct": 1.5}, 400, "bad_request"),
        ({"id": "x", "correct": "yes"}, 400, "invalid_type"),
        ({"correct": True}, 400, "invalid_type"),
        ({"id": "x", "correct": True, "typo": 1}, 400, "invalid_type"),
    ],
)
def test_bad_feedback(serve: Any, body: Any, status: int, code: str) -> None:
    """One sentence, as an OpenAI error object."""
    reply = httpx.post(serve() + "/v1/feedback", json=body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)


def test_feedback_that_is_not_json_is_told_where_it_breaks(serve: Any) -> None:
    """As a broken chat request is: the place, and no name of a field that is none."""
    error = httpx.post(
        serve() + "/v1/feedback", content=b'{"id": hr_1}', headers={"content-type": "application/json"}
    ).json()["error"]
    assert (error["code"], error["param"]) == ("invalid_json", None)
    assert error["message"].startswith("the body is not valid JSON: ")
    assert error["message"].endswith(" at character 7")


def test_the_admin_key_guards_audit_and_feedback(serve: Any) -> None:
    """Only with the key; the proxy's other paths stay open."""
    address = serve(settings={"server": {"admin_key": "adm-of-these-tests"}})
    assert httpx.get(address + "/v1/audit/x").status_code == 401
    assert httpx.post(address + "/v1/feedback", json={"id": "x", "correct": 1}).status_code == 401
    assert httpx.get(address + "/v1/audit/x", headers={"authorization": "Bearer adm-of-these-tests"}).status_code == 404
    assert httpx.get(address + "/health").json() == {"status": "ok"}


def test_without_text_the_audit_keeps_figures_only(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """`store_text: none`: neither question nor answers are in the file."""
    upstream.default = says(*UNSURE)
    audit = {"url": f"sqlite:///{tmp_path}/private.db", "store_text": "none"}
    client_of(serve(settings={"audit": audit})).chat.completions.create(model="m", messages=ASK)
    content = b"".join(path.read_bytes() for path in tmp_path.glob("private.db*"))
    assert b"scripted" in content
    assert b"Canberra" not in content
    assert b"capital" not in content


def test_models_of_all_upstreams_are_listed(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """As the upstream lists them."""
    upstream.default = raw(b'{"object":"list","data":[{"id":"m-1","object":"model","created":1,"owned_by":"u"}]}')
    assert [model.id for model in client_of(serve()).models.list()] == ["m-1"]


def test_the_active_map_of_the_registry_is_applied(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """A fitted map moves the mean, keeps the concentration, and the answer says which map it was."""
    from datetime import UTC, datetime

    import numpy as np

    from hedgerow.calibration import FittedMap, MapRegistry, PlattMap, Provenance

    version = "test-1"
    registry = MapRegistry(tmp_path / "maps")
    provenance = Provenance(500, 0.4, "0" * 64, "semantic", "m", datetime.now(UTC))
    registry.add(version, FittedMap(PlattMap(1.0, -2.0), provenance))
    registry.activate(version, route="test")
    upstream.default = says(*UNSURE)
    field = client_of(serve()).chat.completions.create(model="m", messages=ASK).model_extra["hedgerow"]
    expected = 1 / (1 + np.exp(2.0) * 4 / 6)
    assert field["calibrated"]["mean"] == pytest.approx(expected, abs=1e-6)
    assert field["calibrated"]["alpha"] + field["calibrated"]["beta"] == pytest.approx(10.0)
    assert field["map"] == version
    assert field["uncalibrated"] is False


def test_metrics_count_what_became_of_requests(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """In Prometheus' text format."""
    upstream.default = says(*UNSURE)
    address = serve()
    client_of(address).chat.completions.create(model="m", messages=ASK)
    text = httpx.get(address + "/metrics").text
    assert 'hedgerow_requests_total{mode="on",reason="",route="test",status="hedged"} 1.0' in text
    assert 'hedgerow_tokens_total{purpose="answer",route="test"} 10.0' in text


def test_the_request_line_has_the_figures(serve: Any, client_of: Any, upstream: Upstream, lines: Any) -> None:
    """One line a request, with everything an operator asks for first."""
    upstream.default = says(*UNSURE)
    client_of(serve()).chat.completions.create(model="m", messages=ASK)
    (line,) = lines.requests(1)
    assert line["route"] == "test"
    assert line["status"] == "hedged"
    assert (line["n"], line["clusters"], line["raw_mean"], line["raw_concentration"]) == (10, 3, 0.6, 10.0)
    assert line["map"] == "uncalibrated"
    assert set(line["steps_ms"]) == {"sample", "cluster", "confidence", "calibrate", "decide", "retrieve", "rewrite"}
    assert line["fd_if_right"] < line["fd_if_wrong"]
    assert line["tokens"] == {"answer": 10, "samples": 27, "judge": 0, "rewrite": 0, "escalation": 0}


def test_perceive_hears_how_sure_a_wording_sounds(serve: Any) -> None:
    """The lower word is perceived as less sure; text that cannot be read is one clear error."""
    address = serve()

    def perceived(text: str) -> Any:
        return httpx.post(address + "/v1/perceive", json={"text": text})

    unsure, sure = perceived("It might be Sydney."), perceived("It is almost certainly Sydney.")
    assert unsure.json()["mean"] < sure.json()["mean"]
    assert unsure.json()["spans"][0]["text"] == "might"
    assert (perceived("").status_code, perceived("").json()["error"]["code"]) == (400, "unreadable_text")
    german = perceived("Das war vielleicht der Autor von Hamlet.").json()
    assert (german["language"], german["spans"][0]["hedge"]) == ("de", "vielleicht")
    assert httpx.post(address + "/v1/perceive", json={"text": "Forse.", "language": "it"}).status_code in (400, 422)


def test_the_phrase_of_the_last_answer_is_not_repeated(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """In one conversation, two answers of equal confidence are worded differently."""
    upstream.default = says(*UNSURE)
    client = client_of(serve())
    first = client.chat.completions.create(model="m", messages=ASK)
    said = first.choices[0].message.content
    again = [*ASK, {"role": "assistant", "content": said}, *ASK]
    second = client.chat.completions.create(model="m", messages=again)
    assert first.model_extra["hedgerow"]["raw"] == second.model_extra["hedgerow"]["raw"]
    assert second.choices[0].message.content != said
