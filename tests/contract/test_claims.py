"""Claims of long answers from end to end: in the answer, in the audit, judged one by one, and the map that learns from that."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from hedgerow.calibration import faithfulness_divergence
from tests.contract.test_failures import rows_of
from tests.contract.test_long_answers import ANSWERS, ASK, UNCALIBRATED, text, text_and_field
from tests.support.upstream import Upstream, says

SHOWN = {"text", "context", "sentence", "confidence", "raw", "said_by", "contradicted_by", "by"}


def long_answer(address: str, client_of: Any) -> Any:
    return text_and_field(client_of(address).chat.completions.create(model="m", messages=ASK))


def feedback(address: str, content: Any) -> httpx.Response:
    return httpx.post(f"{address}/v1/feedback", json=content)


def test_the_answer_tells_each_claim_and_the_audit_keeps_it(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """What half of the answers say otherwise is claimed by fewer, at less; figures in the row, words with the texts."""
    upstream.default = says(*ANSWERS)
    _, field = long_answer(serve(rewriting=UNCALIBRATED), client_of)
    assert all(set(claim) == SHOWN for claim in field["claims"])
    place, author, height, year = field["claims"]
    assert [claim["sentence"] for claim in field["claims"]] == [0, 1, 2, 3]
    assert height["text"] == "It is 102 metres tall."
    assert (place["said_by"], author["said_by"], height["said_by"], year["said_by"]) == (9, 9, 4, 8)
    assert height["confidence"] < year["confidence"] < place["confidence"]
    (row,) = rows_of(tmp_path, 1)
    kept = json.loads(row["claims"])
    assert [round(a / (a + b), 6) for a, b in (claim["raw"] for claim in kept)] == [c["raw"] for c in field["claims"]]
    assert [sum(by is True for by in claim["borne_out"]) for claim in kept] == [9, 9, 4, 8]
    assert json.loads(row["story"])["held_against"] == [i for i in range(10) if i != 0]
    draft = row["draft"]
    assert [draft[claim["start"] : claim["end"]] for claim in kept] == [claim["text"] for claim in field["claims"]]


def test_a_route_can_keep_its_claims_to_itself(serve: Any, client_of: Any, upstream: Upstream) -> None:
    upstream.default = says(*ANSWERS)
    _, field = long_answer(serve(expose={"claims": False}), client_of)
    assert "claims" not in field
    assert field["signal"] == "consistency"


def test_a_refused_answer_does_not_come_out_through_its_claims(serve: Any, client_of: Any, upstream: Upstream) -> None:
    upstream.default = says(*ANSWERS)
    policy = {"wrong": 90, "needless_abstention": 0.1, "refusal": "I do not know."}
    final, field = long_answer(serve(rewriting=UNCALIBRATED, policy=policy), client_of)
    assert (final, field["status"]) == ("I do not know.", "abstained")
    assert "claims" not in field


def test_verdicts_on_claims_settle_each_for_itself(serve: Any, client_of: Any, upstream: Upstream, lines: Any) -> None:
    """By place or as a list, beside a verdict on the answer or without; the same again changes nothing."""
    upstream.default = says(*ANSWERS)
    address = serve(rewriting=UNCALIBRATED)
    _, field = long_answer(address, client_of)
    name = field["id"]
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
        ({"claims": {"0": 2}}, 400, "bad_request", "the verdict on claim 0 is 2"),
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
    _, field = long_answer(address, client_of)
    refused = feedback(address, {"id": field["id"]} | content)
    assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
    assert sentence in refused.json()["error"]["message"]


def test_a_claim_that_is_not_there_stands_beside_those_that_are(serve: Any, client_of: Any, upstream: Upstream) -> None:
    upstream.default = says(*ANSWERS)
    address = serve(rewriting=UNCALIBRATED)
    _, field = long_answer(address, client_of)
    mixed = feedback(address, {"id": field["id"], "claims": {"0": True, "99": True}}).json()
    assert mixed["claims"][0]["changed"]
    assert mixed["claims"][1]["error"]["code"] == "unknown_claim"
    batch = feedback(
        address, [{"id": field["id"], "claims": {"1": True}}, {"id": "hr_none", "claims": {"0": True}}]
    ).json()
    assert (batch["changed"], batch["failed"]) == (1, 1)
    assert batch["results"][1]["error"]["code"] == "unknown_claim"


def test_a_reviewing_program_judges_a_claim_by_number(serve: Any, client_of: Any, upstream: Upstream) -> None:
    upstream.default = says(*ANSWERS)
    admin = {"authorization": "Bearer adm-of-these-tests"}
    address = serve(rewriting=UNCALIBRATED, settings={"server": {"admin_key": "adm-of-these-tests"}})
    _, field = long_answer(address, client_of)
    path = f"{address}/v1/admin/review/{field['id']}"
    done = httpx.post(path, json={"correct": 0, "claim": 2, "actor": "ada"}, headers=admin).json()
    assert (done["correct"], done["changed"]) == (0.0, True)
    (kept,) = httpx.get(f"{address}/v1/audit/{field['id']}", headers=admin).json()["claim_verdicts"]
    assert (kept["claim"], kept["kind"], kept["actor"]) == (2, "human", "ada")
    refused = httpx.post(path, json={"correct": 0, "claim": 99}, headers=admin)
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "unknown_claim")


def test_more_verdicts_than_one_transaction_takes_are_refused_whole(serve: Any) -> None:
    address = serve()
    refused = feedback(address, [{"id": "hr_x", "claims": [True] * 200}] * 6)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "too_many")
    assert "1200 verdicts" in refused.json()["error"]["message"]


def held(serve: Any, client_of: Any, upstream: Upstream, *answers: str, **route: Any) -> tuple[str, Any]:
    """What comes of these answers, hedged without a map."""
    upstream.default = says(*answers)
    address = serve(rewriting=UNCALIBRATED, sampling={"n": len(answers), "min_n": 2} | route)
    return long_answer(address, client_of)  # type: ignore[no-any-return]


def test_refusals_among_the_answers_do_not_speak_of_a_claim(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """They count against it as the fit says, and contradict nothing."""
    refusal = "I'm sorry, I cannot help with that request."
    _, sure = held(serve, client_of, upstream, *[text()] * 6)
    _, field = held(serve, client_of, upstream, *[text()] * 3, *[refusal] * 3)
    for before, after in zip(sure["claims"], field["claims"], strict=True):
        assert (after["said_by"], after["contradicted_by"]) == (2, 0)
        assert after["confidence"] < before["confidence"]


def test_samples_of_very_different_lengths(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """A word, a sentence, ten times the answer: each bears out what it says and nothing else."""
    long = f"{text()} " + "It is visited by many people from abroad. " * 40
    _, field = held(serve, client_of, upstream, text(), "Brussels.", "It is 102 metres tall.", long, text())
    claims = {claim["text"]: claim for claim in field["claims"]}
    assert claims["It is 102 metres tall."]["said_by"] == 3
    assert claims["It was built in 1958."]["said_by"] == 2


def test_identical_samples_bear_out_every_claim(serve: Any, client_of: Any, upstream: Upstream) -> None:
    final, field = held(serve, client_of, upstream, *[text()] * 5)
    assert final == text()
    assert {claim["said_by"] for claim in field["claims"]} == {4}
    assert all(0.5 < claim["raw"] < 1.0 for claim in field["claims"])


def test_one_sample_is_nothing_to_hold_a_claim_against(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """The draft as it is, with its reason in answer and row; no confidence is made up."""
    final, field = held(serve, client_of, upstream, text(), "", "")
    assert final == text()
    assert (field["status"], field["reason"]) == ("degraded", "too_few_samples")
    assert not {"claims", "confidence"} & field.keys()
    (row,) = rows_of(tmp_path, 1)
    assert (row["claims"], row["alpha"], row["reason"]) == (None, None, "too_few_samples")


def test_an_answer_with_code_passes_as_it_is(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Nothing is claimed of it, and nothing put into it; code spans between claims are left as they are."""
    block = "```python\nHEIGHT = {}  # The Atomium is this tall.\n```"
    answers = [f"{answer}\n\n{block.format(i)}" for i, answer in enumerate(ANSWERS)]
    final, field = held(serve, client_of, upstream, *answers)
    assert final == answers[0]
    assert (field["status"], field["reason"]) == ("passed", "code")
    assert "claims" not in field


def test_a_table_has_a_claim_a_cell(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """With the names of its row and column; what the answers dispute is said by fewer."""
    table = "{}\n\n| part | number |\n|---|---|\n| spheres | 9 |\n| tubes | {} |\n"
    _, field = held(
        serve, client_of, upstream, *(table.format(text(), tubes) for tubes in (20, 24, 20, 31, 17, 28, 20, 22))
    )
    spheres, tubes = field["claims"][-2:]
    assert (spheres["context"], spheres["text"], spheres["sentence"]) == ("spheres, number", "9", None)
    assert (tubes["context"], tubes["text"]) == ("tubes, number", "20")
    assert spheres["said_by"] > tubes["said_by"] == 2


@pytest.mark.parametrize(
    ("sentence", "signal"),
    [
        ("Das Atomium wurde im Jahr {} in der Stadt Brüssel gebaut und ist sehr bekannt.", "consistency"),
        ("原子塔于{}年在布鲁塞尔建成。", "semantic"),
    ],
)
def test_another_language_is_measured_where_it_can_be_taken_apart(
    serve: Any, client_of: Any, upstream: Upstream, sentence: str, signal: str
) -> None:
    """Elsewhere an answer has no claims, and is compared as a whole."""
    answers = [" ".join(sentence.format(year + i) for year in (1950, 1960, 1970, 1980)) for i in range(4)]
    _, field = held(serve, client_of, upstream, *answers)
    assert field["signal"] == signal
    assert len(field.get("claims", ())) == (4 if signal == "consistency" else 0)


def test_two_hundred_claims_are_measured_and_no_more(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """Of an answer of nearly 20,000 characters; the sentences after them stay as they are."""
    answers = [
        " ".join(f"The part number {i} of the Atomium was made in {1000 + i + j}." for i in range(330))
        for j in range(3)
    ]
    assert 16_000 < len(answers[0]) < 20_000
    final, field = held(serve, client_of, upstream, *answers)
    assert len(field["claims"]) == 200
    assert field["claims"][-1]["sentence"] == 199
    assert final.endswith(answers[0][-2000:])
    assert [sentence["confidence"] for sentence in field["sentences"][200:]] == [None] * 130
    (row,) = rows_of(tmp_path, 1)
    assert len(json.loads(row["claims"])) == 200
