"""Promises on an audit with a known truth: held, broken, hidden groups, and who counts; the same after a restart."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow.calibration.promises.certificate import Certificate
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.operators import clear_alarms, read_alarms
from hedgerow.proxy.audit.promised import count_promised, in_sample
from hedgerow.proxy.audit.retention import ANSWERS_AT_A_TIME, DAY_S, purge
from hedgerow.proxy.audit.rows import Entry
from hedgerow.proxy.audit.store import open_store
from hedgerow.proxy.audit.verdicts import PICKED, Verdict, write_verdicts
from hedgerow.proxy.config import Audit, Promises, Route, Settings
from hedgerow.proxy.monitoring.promises import RoutePromises, examine
from hedgerow.proxy.types import Standing
from tests.support.promises import certificate

PLAIN, GIVEN = "plain_wrong <= 5 %", "answered_wrong <= 30 %"
EVERY = {"share": 1.0}


class Watched:
    """A store, and a look at what a certificate promises of the answers in it."""

    def __init__(self, tmp_path: Path, url: str | None = None) -> None:
        url = url or f"sqlite:///{tmp_path}/a.db"
        self.audit = Audit(url=url, spool=tmp_path / "spool", synchronous="normal")
        self.names: list[str] = []

    def serve(self, n: int, *, covered: Sequence[str] = (PLAIN,), **row: Any) -> list[str]:
        """Answers under the certificate, with random ids like the proxy's; their ids."""
        names = [f"hr_{len(self.names) + i:011x}{os.urandom(8).hex()}" for i in range(n)]
        self.names += names

        async def work() -> None:
            store = await open_store(self.audit, lambda _: None)
            known = {
                "created_at": time.time(), "path": "/v1/chat/completions", "status": "plain", "duration_ms": 1.0, "route": "test", "mode": "on",
                "model": "m", "signal": "semantic", "raw_alpha": 9.5, "raw_beta": 0.5, "alpha": 9.5, "beta": 0.5, "certificate": "cert-1",
                "promised": {"covered": list(covered), "language": row.pop("language", "en")},
            }  # fmt: skip
            user = row.pop("user", None)
            await asyncio.gather(*(store.write(Entry({"id": name} | known | row, user=user)) for name in names))
            await store.aclose()

        asyncio.run(work())
        return names

    def judge(self, names: Sequence[str], correct: Any, **verdict: Any) -> None:
        """Verdicts of a person who reviews."""
        who = {"kind": "human", "source": "review"} | verdict
        engine = open_engine(self.audit)
        verdicts = [Verdict(name, float(y), **who) for name, y in zip(names, correct, strict=True)]
        for start in range(0, len(verdicts), 1000):
            write_verdicts(engine, verdicts[start : start + 1000])
        engine.dispose()

    def forget(self, days: float) -> int:
        """A purge by a process of its own, of rows older than so many days; how many went."""
        settings = Settings(
            upstreams={"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},  # type: ignore[dict-item]
            routes=(Route(name="test", upstream="u", mode="on"),),
            audit=self.audit.model_copy(update={"keep_rows_days": days}),
        )
        engine = open_engine(self.audit)
        gone = purge(engine, settings, actor="test").rows
        engine.dispose()
        return gone

    def count(self) -> dict[str, int]:
        """The certificate's answers by status."""
        engine = open_engine(self.audit)
        counts = count_promised(engine, route="test", certificate="cert-1")
        engine.dispose()
        return counts

    def look(self, made: Certificate | None = None, **promises: Any) -> RoutePromises:
        """What the watcher finds, as a process that has just started."""
        route = Route(name="test", upstream="u", mode="on", promises=Promises(**promises))
        settings = Settings(
            upstreams={"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},  # type: ignore[dict-item]
            routes=(route,),
            audit=self.audit,
        )
        engine = open_engine(self.audit)
        report = examine(engine, settings, {"test": Standing(made or certificate(wishes=(PLAIN,)))})["test"]
        engine.dispose()
        return report


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def on_both(request: pytest.FixtureRequest, tmp_path: Path) -> Watched:
    """On each database."""
    url = request.getfixturevalue("postgres").database() if request.param == "postgresql" else None
    return Watched(tmp_path, url)


def days_ago(days: float) -> float:
    return time.time() - days * DAY_S


def outcomes(n: int, wrong: float, seed: int = 1) -> Any:
    return np.random.default_rng(seed).random(n) >= wrong


def judge_mixed(watched: Watched, *parts: tuple[Sequence[str], Any]) -> None:
    """Verdicts on several sets of answers in a random order: what comes last of its kind looks like a change."""
    judged = [(name, float(y)) for names, correct in parts for name, y in zip(names, correct, strict=True)]
    order = np.random.default_rng(9).permutation(len(judged))
    watched.judge([judged[i][0] for i in order], [judged[i][1] for i in order])


def test_the_line_that_everyone_understands(watched: Watched) -> None:
    """Held once shown; until then it says what is known; one label is one label."""
    names = watched.serve(400)
    assert (
        watched.look(**EVERY).promises[0].line
        == "Promise 'plain answers wrong at most 5 %': not shown to hold yet, no labels yet"
    )
    watched.judge(names[:1], [1.0])
    assert "not shown to hold yet, 1 label, at most 9" in watched.look(**EVERY).promises[0].line
    watched.judge(names[1:], np.arange(399) % 100 > 0)
    assert (
        watched.look(**EVERY).promises[0].line
        == "Promise 'plain answers wrong at most 5 %': held, 400 labels, at most 3.3 %"
    )


def test_a_group_that_breaks_a_promise_behind_a_whole_that_keeps_it_is_named(watched: Watched, lines: Any) -> None:
    """German answers are wrong half of the time; all together the promise holds."""
    judge_mixed(
        watched, (watched.serve(1500), outcomes(1500, 0.01)), (watched.serve(40, language="de"), outcomes(40, 0.5))
    )
    report = watched.look(**EVERY, groups=["language", "model"])
    (promise,) = report.promises
    assert promise.state == "held"
    assert [(each.by, each.name, each.labels) for each in promise.groups] == [("language", "de", 40)]
    assert promise.groups[0].low > 0.05
    assert report.alarms == ("promise group 1",)
    (line,) = lines.of("promise_hides_groups")
    assert line["groups"] == ["language=de"]
    watched.look(**EVERY, groups=["language", "model"])
    assert len(lines.of("promise_hides_groups")) == 1


@pytest.mark.parametrize(
    ("by", "row", "name"),
    [
        ("key", {"key": "intranet"}, "intranet"),
        ("team", {"team": "sales"}, "sales"),
        ("regime", {"story": {"place": {"regime": 2}}}, "2"),
    ],
)
def test_a_promise_is_watched_by_key_by_team_and_by_regime(
    watched: Watched, by: str, row: dict[str, Any], name: str
) -> None:
    """Answers of one key, of one team or on one kind of question break it; those without any are a group too."""
    judge_mixed(watched, (watched.serve(1500), outcomes(1500, 0.01)), (watched.serve(40, **row), outcomes(40, 0.5)))
    (promise,) = watched.look(**EVERY, groups=[by]).promises
    assert (promise.state, [(each.by, each.name) for each in promise.groups]) == ("held", [(by, name)])


def test_users_are_groups_without_a_name_in_the_log(watched: Watched, lines: Any) -> None:
    watched.judge(watched.serve(300, user="ann"), outcomes(300, 0.0))
    watched.judge(watched.serve(40, user="bob"), outcomes(40, 0.6))
    (group,) = watched.look(**EVERY, groups=["user"]).promises[0].groups
    assert (group.by, len(group.name)) == ("user", 64)
    assert group.name not in str(lines)


def test_each_promise_is_watched_on_the_answers_it_speaks_of(watched: Watched) -> None:
    """Plain ones are right; hedged ones are wrong more often than all that is answered may be."""
    watched.judge(watched.serve(100, covered=(PLAIN, GIVEN)), outcomes(100, 0.0))
    watched.judge(watched.serve(100, covered=(GIVEN,), status="hedged"), outcomes(100, 0.95))
    watched.judge(watched.serve(50, covered=()), outcomes(50, 1.0))
    report = watched.look(certificate(wishes=(PLAIN, GIVEN)), **EVERY)
    assert [(each.labels, each.state) for each in report.promises] == [(100, "held"), (200, "broken")]
    assert report.alarms == ("promise 2",)


def test_promises_on_all_questions_count_all_questions(watched: Watched) -> None:
    """A plain wrong answer weighs among all that were judged; what is not answered needs no verdict at all."""
    joint, abstain = "plain_and_wrong <= 20%", "abstain <= 40%"
    made = certificate(wishes=(joint, abstain))
    canonical = made.promises[0].wish.text
    for part in range(10):
        plain, hedged = watched.serve(4, covered=(canonical,)), watched.serve(16, covered=(), status="hedged")
        judge_mixed(watched, (plain, [part < 8] * 4), (hedged, [0.0] * 16))
        watched.serve(2, covered=(), status="abstained")
    report = watched.look(made, **EVERY)
    first, second = report.promises
    assert (first.labels, first.state) == (200, "held")
    assert first.share == pytest.approx(0.04)
    assert (second.labels, second.share, second.state) == (220, 20 / 220, "held")


def test_only_the_random_sample_counts_and_a_client_cannot_push_its_way_in_or_out(watched: Watched) -> None:
    """People judge everything, and clients complain afterwards about what they like: neither changes whose verdict counts."""
    names = watched.serve(600)
    watched.judge(names, outcomes(600, 0.02))
    before = watched.look(share=0.3)
    assert before.promises[0].labels == sum(in_sample(name, 0.3) for name in names)
    assert 120 < before.promises[0].labels < 240
    assert before.volunteered == 600 - before.promises[0].labels
    watched.judge(names, [0.0] * 600, kind="client", source="app")
    after = watched.look(share=0.3)
    assert after.promises == before.promises


def test_a_graders_share_counts_by_its_probability_and_gives_way_to_people(watched: Watched) -> None:
    names = [name for name in watched.serve(400) if not in_sample(name, 0.1)][:300]
    watched.judge(names[:100], [0.0] * 100, kind="grader", source="grader", propensity=0.5)
    watched.judge(names[100:200], [0.0] * 100, kind="grader", source="grader", propensity=0.05)
    assert watched.look(share=0.1).promises[0].labels == 100, "less likely drawn than anybody of the sample"
    watched.judge(names[:100], [1.0] * 100)
    promise = watched.look(share=0.1).promises[0]
    assert (promise.labels, promise.share) == (100, 0.0)


def test_a_lot_of_the_judges_own_weighs_by_its_probability_inside_the_random_sample_too(watched: Watched) -> None:
    """All drawn with the same probability: one that the route's sample holds as well is no likelier, and must not outweigh the rest."""
    names = watched.serve(1000)
    inside = {name for name in names if in_sample(name, 0.05)}
    watched.judge(names, [float(name not in inside) for name in names], propensity=0.5)
    promise = watched.look(share=0.05, kinds=["human"]).promises[0]
    assert promise.labels == 1000
    assert promise.share == pytest.approx(len(inside) / 1000)


def test_own_draws_of_unequal_probability_count_alone(watched: Watched) -> None:
    """Hard answers are drawn once in ten and wrong half of the time, easy ones nine times in ten and right; the sample is judged besides.
    Of all answers a quarter is wrong; each answer weighs alike, also where a grader or a verdict without a lot follows.
    """
    rng = np.random.default_rng(8)
    names = watched.serve(1200)
    hard = np.arange(1200) % 2 == 0
    wrong, lot = hard & (rng.random(1200) < 0.5), np.where(hard, 0.1, 0.9)
    own = rng.random(1200) < lot
    for p in (0.1, 0.9):
        these = np.flatnonzero(own & (lot == p))
        watched.judge([names[i] for i in these], 1.0 - wrong[these], propensity=p)
    sampled = [i for i in range(1200) if in_sample(names[i], 0.05) and not own[i]]
    watched.judge([names[i] for i in sampled], 1.0 - wrong[sampled])
    graded = np.flatnonzero(rng.random(1200) < 0.3)
    watched.judge([names[i] for i in graded], 1.0 - wrong[graded], kind="grader", source="grader", propensity=0.3)
    corrected = np.flatnonzero(own)[:40]
    watched.judge([names[i] for i in corrected], 1.0 - wrong[corrected], source="audit")
    promise = watched.look(share=0.05).promises[0]
    assert promise.labels == own.sum()
    assert promise.share == pytest.approx(np.average(wrong[own], weights=1.0 / lot[own]))
    assert promise.share == pytest.approx(0.25, abs=0.06)


def test_what_the_review_queue_picked_is_no_random_sample_however_large_that_is(watched: Watched) -> None:
    """The queue takes the unsure ones first, which are wrong more often; one that would have been judged without it counts all the same."""
    names = watched.serve(400)
    unsure = [name for name in names if not in_sample(name, 0.5)][:100]
    drawn = [name for name in names if in_sample(name, 0.5)]
    watched.judge(unsure, [0.0] * len(unsure), propensity=PICKED)
    watched.judge(drawn, [1.0] * len(drawn))
    promise = watched.look(share=0.999).promises[0]
    assert (promise.labels, promise.share, promise.state) == (len(drawn), 0.0, "held")
    watched.judge(unsure[:10], [1.0] * 10, source="audit")
    at_ten = sum(in_sample(name, 0.999) for name in unsure[:10])
    assert watched.look(share=0.999).promises[0].labels == len(drawn) + at_ten


def test_a_cleared_alarm_starts_the_watch_anew(watched: Watched) -> None:
    names = watched.serve(120)
    watched.judge(names[:60], outcomes(60, 0.5))
    assert watched.look(**EVERY).promises[0].state == "broken"
    engine = open_engine(watched.audit)
    assert clear_alarms(engine, "test", actor="me") == 1
    assert watched.look(**EVERY).promises[0].labels == 0
    watched.judge(names[60:], [1.0] * 60)
    report = watched.look(**EVERY)
    assert (report.promises[0].labels, report.promises[0].state, report.alarms) == (60, "open", ())
    assert [each.cleared_at is not None for each in read_alarms(engine)] == [True]
    engine.dispose()


def test_an_alarm_stands_also_when_its_rows_are_purged(watched: Watched) -> None:
    names = watched.serve(40)
    watched.judge(names, [0.0] * 40)
    assert watched.look(**EVERY).promises[0].state == "broken"
    engine = open_engine(watched.audit)
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM verdicts")
    engine.dispose()
    assert watched.look(**EVERY).promises[0].state == "broken"


def test_a_promise_is_watched_over_all_verdicts_ever_however_few_rows_are_kept(on_both: Watched) -> None:
    """Bets, bounds, groups and the counts of what was served are the same before and after retention deleted most of their rows, in the
    order in which the verdicts came, also where an answer's verdict was corrected or came after those on younger answers.
    """
    old = on_both.serve(150, created_at=days_ago(9), covered=(PLAIN, GIVEN), story={"place": {"regime": 1}})
    young = on_both.serve(150, created_at=days_ago(1), covered=(PLAIN, GIVEN), language="de")
    on_both.serve(30, created_at=days_ago(9), status="abstained", covered=())
    order = np.random.default_rng(3).permutation(300)
    names, correct = np.array(old + young)[order], outcomes(300, 0.04)
    on_both.judge(names[:200], correct[:200], propensity=0.5)
    on_both.judge(names[:60], correct[:60], kind="client", source="app")
    on_both.judge(names[20:50], 1.0 - correct[20:50])
    on_both.judge(names[200:], correct[200:])
    made = certificate(wishes=(PLAIN, GIVEN, "abstain <= 40%"))
    ways = {"share": 0.2, "groups": ["language", "regime"]}, {**EVERY, "kinds": ["human", "client"]}
    before = [on_both.look(made, **way) for way in ways]
    counts = on_both.count()
    assert on_both.forget(5) == 180
    assert [on_both.look(made, **way).promises for way in ways] == [each.promises for each in before]
    assert [on_both.look(made, **way).volunteered for way in ways] == [each.volunteered for each in before]
    assert on_both.count() == counts == {"plain": 300, "abstained": 30}
    assert before[1].promises[0].labels == 300, "the comparison is one of evidence"
    assert on_both.forget(0.5) == 150
    assert [on_both.look(made, **way).promises for way in ways] == [each.promises for each in before]
    on_both.judge(on_both.serve(20, covered=(PLAIN,)), [0.0] * 20)
    (first, second), third = (
        (on_both.look(made, **EVERY).promises[place] for place in (0, 1)),
        on_both.look(made).promises[2],
    )
    assert (first.labels, first.state, second.labels, third.labels) == (320, "broken", 300, 350)


def test_answers_that_were_not_given_count_once_in_their_order_over_many_purges(on_both: Watched) -> None:
    """Of several processes, more than go into one piece, some asked for at the same moment; a cleared alarm parts what counts from what does not."""
    made = certificate(wishes=("abstain <= 70%",))
    for part in range(24):
        on_both.serve(90, created_at=days_ago(9.5 - 0.05 * part))
        on_both.serve(10, created_at=days_ago(9.49 - 0.05 * part), status="escalated")
    before = on_both.look(made).promises
    assert (before[0].labels, before[0].state) == (2 * ANSWERS_AT_A_TIME + 400, "held")
    for days, gone in ((9.22, 600), (8.3, 1800), (8.3, 0)):
        assert on_both.forget(days) == gone
        assert on_both.look(made).promises == before
    on_both.serve(200, created_at=days_ago(7), status="abstained")
    engine = open_engine(on_both.audit)
    assert on_both.look(made).alarms == ("promise 1",)
    assert clear_alarms(engine, "test", actor="me") == 1
    engine.dispose()
    on_both.serve(10)
    assert on_both.look(made).promises[0].labels == 10
    assert on_both.forget(1e-9) == 210
    assert on_both.look(made).promises[0].labels == 10


def test_of_a_user_nothing_outlasts_the_rows(watched: Watched) -> None:
    """Groups of users are those of the rows that are there; nothing of a deleted answer names its user or holds a text."""
    watched.judge(watched.serve(60, user="bob", created_at=days_ago(9)), outcomes(60, 0.6))
    watched.judge(watched.serve(300, user="ann", created_at=days_ago(1)), outcomes(300, 0.0))
    by_user = {**EVERY, "groups": ["user"]}
    (group,) = watched.look(**by_user).promises[0].groups
    watched.forget(5)
    engine = open_engine(watched.audit)
    with engine.connect() as connection:
        kept = connection.exec_driver_sql("SELECT * FROM promised_verdicts").all()
    engine.dispose()
    assert len(kept) == 60
    assert group.name not in str(kept)
    promise = watched.look(**by_user).promises[0]
    assert (promise.labels, promise.groups) == (360, ())


@pytest.mark.parametrize("column", ["asker", "question_hash"])
def test_verdicts_of_one_user_or_question_count_once_also_when_their_rows_are_gone(
    watched: Watched, column: str
) -> None:
    """Three hundred wrong answers to one break nothing; what was left out is counted."""
    for name in range(3):
        watched.judge(watched.serve(100, **{column: f"user:{name}"[:16]}), [0.0] * 100)
    watched.judge(watched.serve(200, created_at=time.time() - 9 * DAY_S), [1.0] * 200)
    for _ in range(2):
        report = watched.look(**EVERY)
        assert (report.promises[0].labels, report.promises[0].state, report.alarms) == (203, "open", ())
        assert report.repeated == 297
        assert report.counted_by == (("user",) if column == "asker" else ("question",))
        watched.forget(0.0001)


def test_a_promise_is_not_broken_on_the_word_of_one_key(watched: Watched) -> None:
    """Clients' verdicts, where they count: what one alone says is shown and raises nothing; with another that agrees it does."""
    clients = EVERY | {"kinds": ["client"]}
    for key, wrong in (("a", 0.0), ("b", 0.0), ("c", 0.6)):
        watched.judge(watched.serve(150, key=key), outcomes(150, wrong), kind="client", source="app")
    report = watched.look(**clients)
    assert (report.promises[0].state, report.promises[0].one_key, report.alarms) == ("open", "c", ())
    assert "by key 'c' alone it is broken" in report.promises[0].line
    watched.judge(watched.serve(150, key="d"), outcomes(150, 0.6), kind="client", source="app")
    report = watched.look(**clients)
    assert (report.promises[0].state, report.promises[0].one_key, report.alarms) == ("broken", None, ("promise 1",))
