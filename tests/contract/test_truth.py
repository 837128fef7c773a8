"""Whether it was right: feedback in batches, people, graders, and the queue of what to look at next."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream, says
from tests.support.waiting import until

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
CHAT = "/v1/chat/completions"
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")
ADMIN = {"authorization": "Bearer adm-of-these-tests"}
WITH_KEY = {"server": {"admin_key": "adm-of-these-tests"}}


def ask(address: str) -> str:
    """An answer's audit id."""
    answer = httpx.post(address + CHAT, json={"model": "m", "messages": ASK}, timeout=60).json()
    return str(answer["hedgerow"]["id"])


def verdicts_of(address: str, name: str, **options: Any) -> list[dict[str, Any]]:
    verdicts: list[dict[str, Any]] = httpx.get(f"{address}/v1/audit/{name}", **options).json()["verdicts"]
    return verdicts


def test_a_batch_tells_each_its_own_outcome(serve: Any, upstream: Upstream, lines: Any) -> None:
    """Good verdicts stand, bad ones are named in their place, and sending it all again changes nothing."""
    upstream.default = says(*UNSURE)
    address = serve()
    first, second = ask(address), ask(address)
    batch: list[Any] = [
        {"id": first, "correct": True},
        {"id": "hr_unknown", "correct": True},
        {"id": second, "correct": 2},
        "nonsense",
        {"id": second, "correct": 0.5, "note": "half of it"},
    ]
    results = httpx.post(address + "/v1/feedback", json=batch).json()
    assert [result.get("changed", result.get("error", {}).get("code")) for result in results["results"]] == [
        True,
        "unknown_id",
        "bad_request",
        "invalid_type",
        True,
    ]
    assert (results["changed"], results["failed"]) == (2, 3)
    assert httpx.post(address + "/v1/feedback", json=batch).json()["changed"] == 0
    assert len(lines.of("verdict")) == 2
    assert verdicts_of(address, second)[0]["note"] == "half of it"


def test_a_batch_has_a_limit(serve: Any) -> None:
    """A thousand at once and not one more."""
    address = serve()
    many = [{"id": "x", "correct": True}] * 1001
    reply = httpx.post(address + "/v1/feedback", json=many)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "too_many")
    assert httpx.post(address + "/v1/feedback", json=many[:1000]).json()["failed"] == 1000


def test_every_score_is_settled_by_hand(serve: Any, upstream: Upstream) -> None:
    """Beta(6, 4), a right answer: Brier = .24 / 11 + .16; NLL = psi(10) - psi(6) = 1/6 + 1/7 + 1/8 + 1/9."""
    upstream.default = says(*UNSURE)
    address = serve()
    result = httpx.post(address + "/v1/feedback", json={"id": ask(address), "correct": 1}).json()
    assert result["brier"]["raw"] == pytest.approx(0.24 / 11 + 0.16, rel=1e-12)
    assert result["nll"]["calibrated"] == pytest.approx(1 / 6 + 1 / 7 + 1 / 8 + 1 / 9, rel=1e-12)


def test_later_verdicts_supersede_and_a_graders_never_does(serve: Any, upstream: Upstream) -> None:
    """One counts at a time; all stay."""
    upstream.default = says(*UNSURE)
    address = serve(settings=WITH_KEY)
    name = ask(address)
    httpx.post(address + "/v1/feedback", json={"id": name, "correct": 0}, headers=ADMIN)
    review = f"{address}/v1/admin/review/{name}"
    assert httpx.post(review, json={"correct": 1, "actor": "ada"}, headers=ADMIN).json()["counts"]
    verdicts = verdicts_of(address, name, headers=ADMIN)
    assert [(v["kind"], v["correct"], v["actor"], bool(v["current"])) for v in verdicts] == [
        ("client", 0.0, None, False),
        ("human", 1.0, "ada", True),
    ]


@pytest.mark.parametrize("mode", ["on", "shadow"])
def test_a_share_of_traffic_is_graded_beside_the_requests(
    serve: Any, upstream: Upstream, tmp_path: Any, mode: str
) -> None:
    """The grader is asked about the plain answer, its verdict is marked as its own, and a person's overrides it."""

    def reply(request: Any, body: Any) -> Any:
        if body["model"] == "judge":
            asked.append(body["messages"][0]["content"])
            return says("Canberra is the capital. CORRECT")(request, body)
        return drawn(request, body)

    asked: list[str] = []
    drawn = says(*UNSURE)
    upstream.default = reply
    address = serve(mode=mode, grading={"share": 1.0, "model": "judge"})
    httpx.post(address + CHAT, json={"model": "m", "messages": ASK}, timeout=60)
    (row,) = rows_of(tmp_path, 1)
    verdicts = until(lambda: verdicts_of(address, row["id"]))
    assert [(v["kind"], v["correct"], v["actor"]) for v in verdicts] == [("grader", 1.0, "judge")]
    assert verdicts[0]["fd"] is not None
    assert "<answer>\nCanberra.\n</answer>" in asked[0]
    assert "What is the capital" in asked[0]
    httpx.post(address + "/v1/feedback", json={"id": row["id"], "correct": 0})
    assert [bool(v["current"]) for v in verdicts_of(address, row["id"])] == [False, True]


def test_an_unsure_or_failing_grader_says_nothing(serve: Any, upstream: Upstream, lines: Any) -> None:
    """No verdict, a count, and the client never notices."""

    def reply(request: Any, body: Any) -> Any:
        return says("UNSURE")(request, body) if body["model"] == "judge" else drawn(request, body)

    drawn = says(*UNSURE)
    upstream.default = reply
    address = serve(grading={"share": 1.0, "model": "judge"})
    name = ask(address)
    until(lambda: 'hedgerow_ungraded_answers_total{route="test"} 1.0' in httpx.get(address + "/metrics").text)
    assert verdicts_of(address, name) == []


def test_the_admin_api_is_closed_without_its_key_and_where_none_is_configured(serve: Any) -> None:
    """401 with the wrong key, 403 where there is none to know."""
    guarded, bare = serve(settings=WITH_KEY), serve()
    assert httpx.get(guarded + "/v1/admin/routes").status_code == 401
    assert httpx.get(guarded + "/v1/admin/routes", headers=ADMIN).status_code == 200
    refused = httpx.post(bare + "/v1/admin/routes/test/mode", json={"mode": "off"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_configured")


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("routes/none/mode", {"mode": "on"}, 404, "unknown_route"),
        ("routes/test/mode", {"mode": "loud"}, 400, "invalid_type"),
        ("routes/test/mode", {}, 400, "invalid_type"),
        ("routes/test/map", {"map": "no-such"}, 400, "unusable_map"),
        ("routes/test/rollback", {}, 400, "nothing_to_roll_back"),
        ("review/hr_unknown", {"correct": 1}, 404, "unknown_id"),
    ],
)
def test_bad_wishes_are_refused(serve: Any, path: str, body: Any, status: int, code: str) -> None:
    """One sentence, as an error object."""
    reply = httpx.post(f"{serve(settings=WITH_KEY)}/v1/admin/{path}", json=body, headers=ADMIN)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)


def test_maps_are_activated_and_rolled_back_one_by_one(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """Each answer says which map it went through; a map of another signal is refused."""
    from datetime import UTC, datetime

    from hedgerow.calibration import FittedMap, MapRegistry, PlattMap, Provenance

    registry = MapRegistry(tmp_path / "maps")
    for version, signal in (("one", "semantic"), ("two", "semantic"), ("other", "token")):
        made = Provenance(500, 0.4, "0" * 64, signal, "m", datetime.now(UTC))
        registry.add(version, FittedMap(PlattMap(1.0, -1.0), made))
    upstream.default = says(*UNSURE)
    address = serve(settings=WITH_KEY)

    def used() -> Any:
        reply = httpx.post(address + CHAT, json={"model": "m", "messages": ASK}, timeout=60)
        return reply.json()["hedgerow"]["map"]

    def act(what: str, **body: Any) -> httpx.Response:
        return httpx.post(f"{address}/v1/admin/routes/test/{what}", json=body, headers=ADMIN, timeout=60)

    assert used() is None
    assert act("map", map="other").json()["error"]["code"] == "unusable_map"
    act("map", map="one")
    act("map", map="two")
    assert used() == "two"
    assert (act("rollback").json()["after"], used()) == ("one", "one")
    assert (act("rollback").json()["after"], used()) == (None, None)
    assert act("rollback").json()["error"]["code"] == "nothing_to_roll_back"


def test_the_review_queue_says_why_and_forgets_what_was_judged(serve: Any, upstream: Upstream) -> None:
    """By lot among one half of the ids, by what a verdict would teach among the other; a verdict takes an answer out, a grader's does not."""
    upstream.default = says(*UNSURE)
    address = serve(settings=WITH_KEY)
    names = {ask(address) for _ in range(4)}

    def queue(**params: Any) -> list[dict[str, Any]]:
        verdicts: list[dict[str, Any]] = httpx.get(
            f"{address}/v1/admin/review", params=params, headers=ADMIN, timeout=60
        ).json()["answers"]
        return verdicts

    first = queue()
    assert {item["id"] for item in first} == names
    assert {item["id"]: item["why"] == "random" for item in first} == {
        name: int(name[-16:], 16) < 2**63 for name in names
    }
    assert first[0]["question"] == ASK[0]["content"]
    assert [item["id"] for item in queue()] == [item["id"] for item in first]
    judged, skipped = first[0]["id"], first[1]["id"]
    httpx.post(f"{address}/v1/admin/review/{judged}", json={"correct": 1}, headers=ADMIN, timeout=60)
    assert {item["id"] for item in queue(skip=skipped)} == names - {judged, skipped}


def test_the_order_of_the_queue_is_the_configurations(serve: Any, upstream: Upstream) -> None:
    """And the page says why an answer is asked about."""
    upstream.default = says(*UNSURE)
    address = serve(settings=WITH_KEY | {"review": {"order": "random"}})
    judged, _, _ = (ask(address) for _ in range(3))
    httpx.post(f"{address}/v1/admin/review/{judged}", json={"correct": 1}, headers=ADMIN, timeout=60)
    waiting = httpx.get(f"{address}/v1/admin/review", headers=ADMIN, timeout=60).json()["answers"]
    assert [item["why"] for item in waiting] == ["random", "random"]
    with httpx.Client(base_url=address, follow_redirects=True, timeout=60) as client:
        client.post("/sign-in", data={"key": "adm-of-these-tests"})
        page = client.get("/dashboard/review").text
    assert "chosen at random" in page
