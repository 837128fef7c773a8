"""A route with promises through the real edge: a certificate decides, header and field say what is promised, verdicts are watched, and a
broken promise has consequences."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.operators import read_alarms, read_changes
from hedgerow.proxy.config import Audit
from tests.support.promises import certificate, settings, stored
from tests.support.upstream import Upstream, says
from tests.support.waiting import until

CHAT = "/v1/chat/completions"
NUMBERS = count(1)
RIGHT, WRONG, OTHER = "The capital is Canberra.", "The capital is Sydney.", "The capital is Perth."
SURE, UNSURE, LOST = (
    [RIGHT] * 10,
    [RIGHT] * 7 + [WRONG] * 3,
    [RIGHT] * 3 + [WRONG] * 3 + [OTHER, "The capital is Hobart."] * 2,
)
ADMIN = {"authorization": "Bearer " + "k" * 20}


def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/audit.db"


def asked(address: str, upstream: Upstream, answers: list[str], **more: Any) -> httpx.Response:
    """An answer to a question that nobody has asked before: verdicts on one question count once."""
    upstream.default = says(*answers)
    asking = {"role": "user", "content": f"Question {next(NUMBERS)}: What is the capital of Australia?"}
    return httpx.post(address + CHAT, json={"model": "m", "messages": [asking]} | more, timeout=30)


def promised(response: httpx.Response) -> tuple[str, str, list[str], str | None]:
    """Header, text, covering promises and the reason why not."""
    field = response.json()["hedgerow"]["promises"]
    text = response.json()["choices"][0]["message"]["content"]
    return response.headers["x-hedgerow-promise"], text, [each["promise"] for each in field["covered"]], field["reason"]


def test_the_certificate_decides_and_every_answer_says_what_is_promised_of_it(
    serve: Any, upstream: Upstream, tmp_path: Path
) -> None:
    stored(url(tmp_path), certificate())
    address = serve(map="identity", promises={}, settings=settings(tmp_path))
    header, text, covered, reason = promised(asked(address, upstream, SURE))
    assert (text, covered, reason) == (RIGHT, ["plain_wrong <= 5 %", "answered_wrong <= 30 %"], None)
    assert header == "plain_wrong <= 5 %; answered_wrong <= 30 %"
    header, text, covered, reason = promised(asked(address, upstream, UNSURE))
    assert text != RIGHT
    assert (header, covered, reason) == ("answered_wrong <= 30 %", ["answered_wrong <= 30 %"], None)
    response = asked(address, upstream, LOST)
    header, text, covered, reason = promised(response)
    assert response.json()["hedgerow"]["status"] == "abstained"
    assert text == "I am not sure enough of an answer to give you one."
    assert (header, covered, reason) == ("none (other_answers)", [], "other_answers")


def test_a_sure_answer_below_the_certified_threshold_never_goes_out_plain(
    serve: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """Nine of ten agree: without a certificate the plain wording is the nearest; with plain answers from .95 on a hedge is due."""
    answers = [RIGHT] * 9 + [WRONG]
    stored(url(tmp_path), certificate(plain=0.95))
    without = asked(serve(map="identity"), upstream, answers).json()
    assert without["hedgerow"]["status"] == "plain"
    address = serve(map="identity", promises={}, settings=settings(tmp_path))
    response = asked(address, upstream, answers)
    assert response.json()["hedgerow"]["status"] == "hedged"
    assert promised(response)[2] == ["answered_wrong <= 30 %"]


@pytest.mark.parametrize(
    "draft", ["Canberra?", "**Canberra**\n\n| city |\n|---|\n| Canberra |", "Canberra, or so it might be..."]
)
def test_what_cannot_be_hedged_in_its_own_words_is_hedged_behind_them_or_not_covered(
    serve: Any, upstream: Upstream, tmp_path: Path, draft: str
) -> None:
    """An answer that goes out without the hedge that was due is never counted among those that a promise speaks of."""
    stored(url(tmp_path), certificate())
    address = serve(map="identity", claims_only=False, promises={}, settings=settings(tmp_path))
    response = asked(address, upstream, [draft] * 8 + [WRONG] * 2)
    _, text, covered, reason = promised(response)
    if text == draft:
        assert "plain_wrong <= 5 %" not in covered
        assert reason in ("not_worded", "not_decided", "not_measured")
    else:
        assert covered == ["answered_wrong <= 30 %"]


@pytest.mark.parametrize(
    ("fault", "made"),
    [
        ("no_certificate", None),
        ("other_map", {"map_id": "another"}),
        ("other_map", {"signal": "token"}),
        ("certificate_altered", {}),
        ("no_certificate", {"route": "another"}),
    ],
)
def test_without_a_valid_certificate_the_route_says_so_and_falls_back_as_configured(
    serve: Any, upstream: Upstream, tmp_path: Path, lines: Any, fault: str, made: dict[str, Any] | None
) -> None:
    if made is not None:
        stored(url(tmp_path), certificate(**made), key=b"another key" if fault == "certificate_altered" else b"")
    fallbacks = {"policy": "plain", "hedge": "hedged", "abstain": "abstained"}
    for number, (without, status) in enumerate(fallbacks.items()):
        address = serve(map="identity", promises={"without": without}, settings=settings(tmp_path))
        response = asked(address, upstream, SURE)
        assert response.json()["hedgerow"]["status"] == status, without
        assert promised(response)[0] == f"none ({fault})"
        assert promised(response)[2:] == ([], fault)
        said = f"no valid certificate ({fault}); answers are served as `without: {without}` says"
        assert [line["reason"] for line in lines.of("problem")][number:] == [said]
        assert httpx.get(address + "/health").json()["problems"] == {"unchecked-promises:test": said}
        counted = httpx.get(address + "/metrics").text
        assert 'hedgerow_problem{problem="unchecked-promises:test"} 1.0' in counted
        assert f'hedgerow_promised_answers_total{{reason="{fault}",route="test"}} 1.0' in counted
        httpx.post(address + "/v1/admin/check", headers=ADMIN, timeout=30)
        assert "nothing is promised now" in dashboard(address)


@pytest.mark.parametrize(("of", "reason"), [("other", None), ("test", "certificate_altered")])
def test_a_damaged_certificate_touches_its_own_route_alone(
    serve: Any, upstream: Upstream, tmp_path: Path, of: str, reason: str | None
) -> None:
    for one in (certificate(route="test"), certificate("cert-2", route="other")):
        stored(url(tmp_path), one)
    engine = open_engine(Audit(url=url(tmp_path)))
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE certificates SET content = '[' WHERE route = :of"), {"of": of})
    engine.dispose()
    address = serve(map="identity", promises={}, settings=settings(tmp_path))
    assert promised(asked(address, upstream, SURE))[3] == reason


def dashboard(address: str, of: str = "") -> str:
    cookies = httpx.post(address + "/sign-in", data={"key": "k" * 20}).cookies
    return httpx.get(address + "/dashboard" + of, cookies=cookies, timeout=30).text.replace("\N{NO-BREAK SPACE}", " ")


def feedback(address: str, ids: list[str], correct: bool) -> None:
    sent = [{"id": each, "correct": correct, "source": "auditor"} for each in ids]
    done = httpx.post(address + "/v1/feedback", json=sent, headers=ADMIN, timeout=30)
    assert done.json()["failed"] == 0


def promises_of(address: str) -> Any:
    httpx.post(address + "/v1/admin/check", headers=ADMIN, timeout=60).raise_for_status()
    (route,) = httpx.get(address + "/v1/admin/routes", headers=ADMIN).json()["routes"]
    return route


@pytest.mark.slow
@pytest.mark.parametrize("consequence", ["nothing", "withdraw", "shadow"])
def test_a_promise_is_kept_then_broken_then_has_its_consequence(
    serve: Any, upstream: Upstream, tmp_path: Path, lines: Any, consequence: str
) -> None:
    """Served, judged by feedback, held; then wrong answers come in: one alarm, one line, a metric, and what the route says should follow.
    Another process on the same store, which is what a restart is, comes to the same."""
    stored(url(tmp_path), certificate(wishes=("plain_wrong <= 20%",)))
    promises = {"share": 1.0, "kinds": ["client"], "on_broken": consequence}
    address = serve(map="identity", promises=promises, settings=settings(tmp_path))
    ids = [asked(address, upstream, SURE).json()["hedgerow"]["id"] for _ in range(45)]
    feedback(address, ids[:25], True)
    line = promises_of(address)["promises"]["promises"][0]["line"]
    assert line.startswith("Promise 'plain answers wrong at most 20 %': held, 25 labels, at most 1")
    assert dashboard(address).count("held, 25 labels") == 1

    feedback(address, ids[25:], False)
    found = promises_of(address)["promises"]
    assert (found["promises"][0]["state"], found["alarms"]) == ("broken", ["promise 1"])
    promises_of(address)
    (alarm,) = lines.of("promise_broken")
    assert (alarm["route"], alarm["certificate"], alarm["promise"], alarm["labels"]) == (
        "test",
        "cert-1",
        "plain_wrong <= 20 %",
        45,
    )
    assert (
        'hedgerow_promise_broken{promise="plain_wrong <= 20 %",route="test"} 1.0'
        in httpx.get(address + "/metrics").text
    )
    page = dashboard(address)
    assert "broken, 45 labels, at least 2" in page
    assert "promise 1 of the certificate is broken" in dashboard(address, "/changes")

    wanted = {"nothing": "plain_wrong <= 20 %", "withdraw": "none (withdrawn)", "shadow": None}[consequence]
    until(lambda: asked(address, upstream, SURE).headers.get("x-hedgerow-promise") == wanted)
    again = serve(map="identity", promises=promises, settings=settings(tmp_path))
    after = promises_of(again)
    assert after["mode"] == ("shadow" if consequence == "shadow" else "on")
    engine = open_engine(Audit(url=url(tmp_path)))
    assert [each.kind for each in read_alarms(engine)] == ["promise 1"]
    by_watcher = [change for change in read_changes(engine) if change.actor == "promise watcher"]
    assert [(each.what, each.after) for each in by_watcher] == ([("mode", "shadow")] if consequence == "shadow" else [])
    engine.dispose()
    if consequence == "withdraw":
        assert after["promises"]["reason"] == "withdrawn"
        httpx.post(again + "/v1/admin/routes/test/alarms/clear", json={}, headers=ADMIN).raise_for_status()
        until(lambda: asked(again, upstream, SURE).headers["x-hedgerow-promise"] != "none (withdrawn)")


def test_volunteered_verdicts_do_not_count_and_the_drawn_ones_do(
    serve: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """Clients complain about what is wrong; people judge the random share that the review queue shows first, those that complained among them."""
    stored(url(tmp_path), certificate(wishes=("plain_wrong <= 20%",)))
    address = serve(map="identity", promises={"share": 0.5}, settings=settings(tmp_path))
    ids = [asked(address, upstream, SURE).json()["hedgerow"]["id"] for _ in range(20)]
    feedback(address, ids, False)
    (promise,) = promises_of(address)["promises"]["promises"]
    assert (promise["labels"], promise["state"]) == (0, "open")
    queue = httpx.get(address + "/v1/admin/review?limit=20", headers=ADMIN).json()["answers"]
    assert {each["id"] for each in queue} == set(ids)
    sample = {each for each in ids if int(each[-16:], 16) < 2**63}
    for name in ids:
        httpx.post(f"{address}/v1/admin/review/{name}", json={"correct": 1.0}, headers=ADMIN).raise_for_status()
    promises = promises_of(address)["promises"]
    assert (promises["promises"][0]["labels"], promises["promises"][0]["share"]) == (len(sample), 0.0)
    assert promises["volunteered"] == len(ids) - len(sample)
    assert httpx.get(address + "/v1/admin/review?limit=20", headers=ADMIN).json()["answers"] == []


def test_feedback_that_says_how_likely_an_answer_was_drawn_counts_by_its_inverse(
    serve: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """Four right ones drawn with probability 1/4, one wrong one with 1: the wrong one weighs a sixteenth of the rest.

    Whether or not the route's own random sample holds them too.
    """
    stored(url(tmp_path), certificate(wishes=("plain_wrong <= 20%",)))
    promises = {"share": 0.2, "kinds": ["client"]}
    address = serve(map="identity", promises=promises, settings=settings(tmp_path))
    ids = [asked(address, upstream, SURE).json()["hedgerow"]["id"] for _ in range(5)]
    drawn = [{"id": name, "correct": i > 0, "propensity": 0.25 if i else 1.0} for i, name in enumerate(ids)]
    httpx.post(address + "/v1/feedback", json=drawn, headers=ADMIN).raise_for_status()
    (promise,) = promises_of(address)["promises"]["promises"]
    assert promise["share"] == pytest.approx(1 / 17, abs=0.02)
    refused = httpx.post(
        address + "/v1/feedback", json={"id": ids[0], "correct": True, "propensity": 0.0}, headers=ADMIN
    )
    assert refused.status_code == 400


def test_the_field_holds_the_interval_and_word_at_lower_words_at_its_lower_end(
    serve: Any, upstream: Upstream, tmp_path: Path
) -> None:
    from hedgerow.calibration import MapRegistry
    from hedgerow.calibration.fitting import fit_map

    agree = [float(k) for k in range(3, 11) for _ in range(4)]
    correct = [float(i % 4 < k / 3) for k in range(3, 11) for i in range(4)]
    registry = MapRegistry(tmp_path / "maps")
    registry.add(
        "few", fit_map("platt", agree, [max(10 - a, 1e-6) for a in agree], correct, signal="semantic", folds=0)
    )
    registry.activate("few", route="test")
    fields = {}
    for word_at in ("mean", "lower"):
        fields[word_at] = asked(serve(rewriting={"word_at": word_at}), upstream, UNSURE).json()["hedgerow"]
    low, high = fields["mean"]["confidence_interval"]
    assert low < fields["mean"]["confidence"] <= high
    assert high - low > 0.05
    assert fields["lower"]["confidence"] == fields["mean"]["confidence"]
    surest, careful = (fields[name]["hedges"][0]["distance"] for name in ("mean", "lower"))
    assert fields["lower"]["rewrite"]["perceived"]["mean"] <= fields["mean"]["rewrite"]["perceived"]["mean"]
    assert [each["id"] for each in fields["lower"]["hedges"]] != [each["id"] for each in fields["mean"]["hedges"]]
    assert surest >= 0.0
    assert careful >= 0.0
