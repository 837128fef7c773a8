"""Claims of long answers from end to end: in the answer, in the audit, judged one by one, and the map that learns from that."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from hedgerow.calibration import faithfulness_divergence
from tests.contract.test_failures import rows_of
from tests.contract.test_long_answers import ANSWERS, ASK, UNCALIBRATED, told_of
from tests.support.upstream import Upstream, says

SHOWN = {"text", "context", "sentence", "confidence", "raw", "said_by", "contradicted_by", "by"}


def long_answer(address: str, client_of: Any) -> Any:
    return told_of(client_of(address).chat.completions.create(model="m", messages=ASK))


def feedback(address: str, content: Any) -> httpx.Response:
    return httpx.post(f"{address}/v1/feedback", json=content)


def test_the_answer_tells_each_claim_and_the_audit_keeps_it(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """What half of the answers say otherwise is claimed by fewer, at less; figures in the row, words with the texts."""
    upstream.default = says(*ANSWERS)
    _, told = long_answer(serve(rewriting=UNCALIBRATED), client_of)
    assert all(set(claim) == SHOWN for claim in told["claims"])
    place, author, height, year = told["claims"]
    assert [claim["sentence"] for claim in told["claims"]] == [0, 1, 2, 3]
    assert height["text"] == "It is 102 metres tall."
    assert (place["said_by"], author["said_by"], height["said_by"], year["said_by"]) == (9, 9, 4, 8)
    assert height["confidence"] < year["confidence"] < place["confidence"]
    (row,) = rows_of(tmp_path, 1)
    kept = json.loads(row["claims"])
    assert [round(a / (a + b), 6) for a, b in (claim["raw"] for claim in kept)] == [c["raw"] for c in told["claims"]]
    assert [sum(by is True for by in claim["borne_out"]) for claim in kept] == [9, 9, 4, 8]
    assert json.loads(row["story"])["held_against"] == [i for i in range(10) if i != 0]
    draft = row["draft"]
    assert [draft[claim["start"] : claim["end"]] for claim in kept] == [claim["text"] for claim in told["claims"]]


def test_a_route_can_keep_its_claims_to_itself(serve: Any, client_of: Any, upstream: Upstream) -> None:
    upstream.default = says(*ANSWERS)
    _, told = long_answer(serve(expose={"claims": False}), client_of)
    assert "claims" not in told
    assert told["signal"] == "consistency"


def test_a_refused_answer_does_not_come_out_through_its_claims(serve: Any, client_of: Any, upstream: Upstream) -> None:
    upstream.default = says(*ANSWERS)
    policy = {"wrong": 90, "needless_abstention": 0.1, "refusal": "I do not know."}
    final, told = long_answer(serve(rewriting=UNCALIBRATED, policy=policy), client_of)
    assert (final, told["status"]) == ("I do not know.", "abstained")
    assert "claims" not in told


def test_verdicts_on_claims_settle_each_for_itself(serve: Any, client_of: Any, upstream: Upstream, lines: Any) -> None:
    """By place or as a list, beside a verdict on the answer or without; the same again changes nothing."""
    upstream.default = says(*ANSWERS)
    address = serve(rewriting=UNCALIBRATED)
    _, told = long_answer(address, client_of)
    name = told["id"]
    first = feedback(address, {"id": name, "claims": {"0": True, "2": False}}).json()
    assert [(each["claim"], each["correct"], each["changed"]) for each in first["claims"]] == [
        (0, 1.0, True),
        (2, 0.0, True),
    ]
    assert first["changed"]
    row = httpx.get(f"{address}/v1/audit/{name}").json()
    alpha, beta = row["claims"][2]["calibrated"]
    assert first["claims"][1]["faithfulness_divergence"]["calibrated"] == pytest.approx(
        float(faithfulness_divergence(alpha, beta, 0))
    )
    again = feedback(address, {"id": name, "correct": 0.75, "claims": [True, None, False, True]}).json()
    assert [each["changed"] for each in again["claims"]] == [False, False, True]
    assert (again["correct"], again["changed"]) == (0.75, True)
    row = httpx.get(f"{address}/v1/audit/{name}").json()
    assert [verdict["correct"] for verdict in row["verdicts"]] == [0.75]
    assert [(verdict["claim"], verdict["correct"]) for verdict in row["claim_verdicts"]] == [
        (0, 1.0),
        (2, 0.0),
        (3, 1.0),
    ]
    assert [line.get("claim") for line in lines.of("verdict")] == [0, 2, None, 3]
    metrics = httpx.get(f"{address}/metrics").text
    assert 'hedgerow_claim_verdicts_total{kind="client",route="test"} 3.0' in metrics
    assert 'hedgerow_verdicts_total{kind="client",route="test"} 1.0' in metrics
    assert 'hedgerow_settled_claim_divergence_nats_count{confidence="calibrated",route="test"} 3.0' in metrics


@pytest.mark.parametrize(
    ("content", "status", "code", "sentence"),
    [
        ({"claims": {"99": True}}, 404, "unknown_claim", "has a claim 99"),
        ({"claims": {}}, 400, "bad_request", "at least one of them judged"),
        ({"claims": [None, None]}, 400, "bad_request", "at least one of them judged"),
        ({}, 400, "bad_request", "needs `correct`, or `claims`"),
        ({"claims": {"0": 2}}, 400, "bad_request", "of claim 0 is 2"),
        ({"claims": {"first": True}}, 400, "invalid_type", "claims"),
        ({"claims": {"0": "yes"}}, 400, "invalid_type", "claims"),
        ({"claims": "all"}, 400, "invalid_type", "claims"),
    ],
)
def test_a_verdict_on_claims_that_cannot_be_used_says_why(
    serve: Any, client_of: Any, upstream: Upstream, content: Any, status: int, code: str, sentence: str
) -> None:
    upstream.default = says(*ANSWERS)
    address = serve(rewriting=UNCALIBRATED)
    _, told = long_answer(address, client_of)
    refused = feedback(address, {"id": told["id"]} | content)
    assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
    assert sentence in refused.json()["error"]["message"]


def test_a_claim_that_is_not_there_stands_beside_those_that_are(serve: Any, client_of: Any, upstream: Upstream) -> None:
    upstream.default = says(*ANSWERS)
    address = serve(rewriting=UNCALIBRATED)
    _, told = long_answer(address, client_of)
    mixed = feedback(address, {"id": told["id"], "claims": {"0": True, "99": True}}).json()
    assert mixed["claims"][0]["changed"]
    assert mixed["claims"][1]["error"]["code"] == "unknown_claim"
    batch = feedback(
        address, [{"id": told["id"], "claims": {"1": True}}, {"id": "hr_none", "claims": {"0": True}}]
    ).json()
    assert (batch["changed"], batch["failed"]) == (1, 1)
    assert batch["results"][1]["error"]["code"] == "unknown_claim"


def test_more_verdicts_than_one_transaction_takes_are_refused_whole(serve: Any) -> None:
    address = serve()
    refused = feedback(address, [{"id": "hr_x", "claims": [True] * 200}] * 6)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "too_many")
    assert "1200 verdicts" in refused.json()["error"]["message"]
