"""`hedgerow certify` as an operator runs it: from a file, from a route's verdicts, into the store, and back out of a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from hedgerow.calibration import FittedMap, IdentityMap, MapRegistry, PlattMap, Provenance
from hedgerow.calibration.maps.local import LocalMap
from hedgerow.proxy.audit.store import AuditStore, open_store
from hedgerow.proxy.audit.verdicts import PICKED
from hedgerow.proxy.cli import app
from hedgerow.proxy.config import load
from tests.support.audit import agreement, fill

CONFIG = """\
upstreams: {{ u: {{ provider: openai, base_url: "http://127.0.0.1:9/v1" }} }}
routes: [{{ name: support, upstream: u, mode: shadow }}, {{ name: sales, upstream: u, mode: shadow, match: {{ model: "s*" }} }}]
audit: {{ url: "sqlite:///{folder}/audit.db", spool: "{folder}/spool", hash_key: "{key}" }}
maps: {{ folder: "{folder}/maps" }}
"""


def run(*arguments: object, code: int = 0) -> Result:
    """The command; it must end with this status."""
    result = CliRunner().invoke(app, ["certify", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def write(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """A JSONL file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def labelled(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of calibrated confidences that are mostly high."""
    rng = np.random.default_rng(seed)
    confidence = rng.beta(8, 1, n)
    right = rng.random(n) < confidence
    return [
        {"id": i, "confidence": c, "correct": bool(y)} for i, (c, y) in enumerate(zip(confidence, right, strict=True))
    ]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration with a store that has a key."""
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG.format(folder=tmp_path, key="k" * 32))
    return path


async def _filled(path: Path, agree: Sequence[int], correct: Sequence[Any], **how: Any) -> None:
    store: AuditStore = await open_store(load(path).audit, lambda _: None)
    try:
        labelled = len(correct)
        await fill(store, agree[:labelled], correct, route="support", **how)
        await fill(store, agree[labelled:], [], route="support", start=labelled, **how)
    finally:
        await store.aclose()


def test_promises_from_a_file_are_printed_as_json(tmp_path: Path) -> None:
    """Promises, thresholds, bounds, n, share plain; the certificate in it is verified as it stands, and a changed one is not."""
    data = write(tmp_path / "d.jsonl", labelled(3000))
    base = ("--data", data, "--config", tmp_path / "none.yaml")
    document = json.loads(run(*base, "-p", "plain_wrong<=5%; worded(>=.8) wrong<=20%", "--json").stdout)
    assert (document["certified"], document["n"], document["labels_needed"]) == (True, 3000, 0)
    worded, plain = document["promises"]
    assert plain["bound"] <= 0.05
    assert 0.2 < document["share_plain"] == plain["share"] < 0.8
    assert worded["threshold"] <= plain["threshold"] == document["certificate"]["thresholds"]["plain"]
    file = tmp_path / "c.json"
    file.write_text(json.dumps(document))
    assert "as it was issued; no key" in run("verify", file, "--config", tmp_path / "none.yaml").stdout
    document["certificate"]["thresholds"]["plain"] = 0.5
    file.write_text(json.dumps(document))
    assert "altered" in run("verify", file, "--config", tmp_path / "none.yaml", code=1).stdout


def test_what_the_labels_do_not_bear_out_ends_with_1_and_says_how_many_would(tmp_path: Path) -> None:
    """Nothing wrong among twenty, one wish of two, and complaints only."""
    few = write(tmp_path / "few.jsonl", [{"confidence": 0.9 + i / 1000, "correct": 1} for i in range(20)])
    said = run("--data", few, "-p", "plain_wrong<=5%", code=1).stdout
    assert "not with these data: about" in said
    assert "nothing is certified" in said
    data = write(tmp_path / "d.jsonl", labelled(300))
    document = json.loads(run("--data", data, "-p", "plain_wrong<=1%,answered_wrong<=30%", "--json", code=1).stdout)
    assert [promise["certified"] for promise in document["promises"]] == [True, False]
    assert document["certificate"] is None
    assert document["labels_needed"] > 100
    bad = write(tmp_path / "b.jsonl", [{"confidence": i / 100, "correct": 0} for i in range(100)])
    assert "only complaints" in run("--data", bad, "-p", "plain_wrong<=5%", code=1).stdout


def test_rows_that_are_there_twice_count_once_and_contradictions_stop(tmp_path: Path) -> None:
    """By their id; rows without a label are counted and left out; bad ones are named by line."""
    rows = labelled(300)
    unlabelled = {"id": "later", "confidence": 0.5, "correct": None}
    doubled = write(tmp_path / "d.jsonl", [*rows, *rows[:100], unlabelled])
    document = json.loads(run("--data", doubled, "-p", "answered_wrong<=30%", "--json").stdout)
    assert document["n"] == 300
    assert document["left_out"] == {"without a label": 1, "there twice": 100}
    contrary = rows[0] | {"correct": not rows[0]["correct"]}
    said = run("--data", write(tmp_path / "c.jsonl", [*rows, contrary]), "-p", "plain_wrong<=5%", code=2).stderr
    assert "contradict each other" in said
    broken = write(tmp_path / "b.jsonl", [*rows, {"id": 1.5, "confidence": 1.2, "correct": 1}, {"correct": 1}])
    said = run("--data", broken, "-p", "answered_wrong<=30%", code=2).stderr
    assert "line 301: 'confidence': expected a number from 0 to 1" in said
    assert "line 302: expected one of 'confidence', " in said
    run("--data", broken, "-p", "answered_wrong<=30%", "--skip-bad")


@pytest.mark.parametrize(
    "same",
    [
        {"user": "u{0}"},
        {"conversation_id": "c{0}"},
        {"asker": "user:{0}", "question_hash": "q{0}"},
        {"question": "What is {0}?"},
        {"question_hash": "q{0}", "user": "{1}"},
        {"answer_id": "a{0}"},
    ],
)
def test_labels_that_depend_on_each_other_count_once(tmp_path: Path, same: dict[str, str]) -> None:
    """Of a user, a conversation, a question or an answer: by lot one of each, and the file says how many that leaves out."""
    rows = [row | {name: of.format(i // 5, i) for name, of in same.items()} for i, row in enumerate(labelled(1500))]
    document = json.loads(
        run("--data", write(tmp_path / "d.jsonl", rows), "-p", "answered_wrong<=30%", "--json").stdout
    )
    assert document["n"] == 300
    (left_out,) = document["left_out"].items()
    assert left_out[1] == 1200
    assert "of a user, conversation or question that has one already" in left_out[0]


def test_an_instruction_that_all_rows_share_is_no_question(tmp_path: Path) -> None:
    rows = [row | {"prompt": "Is this right?"} for row in labelled(300)]
    data = write(tmp_path / "d.jsonl", rows)
    assert json.loads(run("--data", data, "-p", "answered_wrong<=30%", "--json").stdout)["n"] == 300


def test_claims_are_told_apart_and_those_of_an_answer_count_once(tmp_path: Path) -> None:
    """By the answer's id with `claim`, or by ids of their own with `answer_id`; without either the message says what is missing."""
    rows = [row | {"id": f"a{i // 5}", "claim": i % 5} for i, row in enumerate(labelled(1500))]
    data = write(tmp_path / "d.jsonl", rows)
    assert json.loads(run("--data", data, "-p", "answered_wrong<=30%", "--json").stdout)["n"] == 300
    untold = write(
        tmp_path / "u.jsonl", [{name: row[name] for name in ("id", "confidence", "correct")} for row in rows]
    )
    assert "say in `claim` which claim" in run("--data", untold, "-p", "answered_wrong<=30%", code=2).stderr


@pytest.mark.parametrize(("others", "certified"), [(300, False), (0, True)])
def test_no_promise_rests_on_the_verdicts_of_one_key(tmp_path: Path, others: int, certified: bool) -> None:
    """Its client praises; without it the labels bear nothing out. Of a single key all labels are used, and a note says so."""
    praise = [row | {"correct": True, "key": "app", "kind": "client"} for row in labelled(600)]
    rest = [
        row | {"id": f"r{i}", "key": f"k{i % 9}", "kind": "client", "correct": i % 3 != 0}
        for i, row in enumerate(labelled(others, seed=2))
    ]
    data = write(tmp_path / "d.jsonl", [*praise, *rest])
    said = run("--data", data, "-p", "answered_wrong<=15%", code=0 if certified else 1).stdout
    assert ("All labels are verdicts of the client of key 'app'" in said) == certified
    assert ("Without the verdicts of the client of key 'app'" in said) != certified


def test_grades_between_wrong_and_right_are_taken_in_part(tmp_path: Path) -> None:
    """And the certificate says so."""
    rows = [row | {"correct": 0.9 if row["correct"] else 0.0} for row in labelled(600)]
    document = json.loads(run("--data", write(tmp_path / "d.jsonl", rows), "-p", "plain_wrong<=30%", "--json").stdout)
    assert any("betting" in note for note in document["certificate"]["notes"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-p", "plain_wrong<=5"), "write 5% or 0.05"),
        (("-p", "plain_wrong<=5%", "-p", "plain_wrong<=6%"), "contradict each other"),
        ((), "nothing to promise"),
        (("-p", "plain_wrong<=5%", "--confidence", "95"), "such as 0.95"),
        (("-p", "plain_wrong<=5%", "--route", "nowhere"), "no route"),
        (("-p", "plain_wrong<=5%", "--map", "nosuch"), "no map nosuch"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(
    arguments: tuple[str, ...], said: str, tmp_path: Path, config: Path
) -> None:
    """Before anything is computed, with status 2."""
    data = write(tmp_path / "d.jsonl", labelled(100))
    assert said in run("--data", data, "--config", config, *arguments, code=2).stderr


def test_a_map_that_saw_the_labels_is_refused_and_another_calibrates_them(tmp_path: Path, config: Path) -> None:
    """Fitted on the first half, certified on the second; the certificate names the map."""
    rng = np.random.default_rng(3)
    agree = rng.integers(3, 11, 1600)
    right = rng.random(1600) < (agree / 10) ** 2
    rows = [{"alpha": int(a), "beta": 10.5 - int(a), "correct": bool(y)} for a, y in zip(agree, right, strict=True)]
    seen, fresh = write(tmp_path / "seen.jsonl", rows[:800]), write(tmp_path / "fresh.jsonl", rows[800:])
    fitted = CliRunner().invoke(app, ["fit", "--data", str(seen), "--version", "one", "--config", str(config)])
    assert fitted.exit_code == 0, fitted.output
    base = ("-p", "worded(>=.7) wrong<=30%", "--config", config, "--map", "one")
    assert "fitted on these very labels" in run("--data", seen, *base, code=2).stderr
    document = json.loads(run("--data", fresh, *base, "--json").stdout)
    assert document["certificate"]["map_id"] == "one"


def test_a_routes_own_verdicts_are_certified_stored_listed_and_verified(tmp_path: Path, config: Path) -> None:
    """Signed with the audit's key; without the key nobody can make or check one."""
    rng = np.random.default_rng(5)
    agree = agreement(rng, 2000)
    anyio.run(_filled, config, agree.tolist(), (rng.random(2000) < (agree / 10)).tolist())
    base = ("--config", config)
    stored = run(*base, "--route", "support", "-p", "worded(>=.8) wrong<=20%", "--store")
    assert "(stored)" in stored.stdout
    (listed,) = json.loads(run("list", "--json", *base).stdout)["certificates"]
    assert listed["route"] == "support"
    assert listed["seal"].startswith("hmac-sha256:")
    file = tmp_path / "certificate.json"
    file.write_text(run("show", listed["id"], *base).stdout)
    assert "as it was issued\n" in run("verify", file, *base).stdout
    assert "set audit.hash_key" in run("verify", file, "--config", tmp_path / "none.yaml", code=1).stdout
    assert "no certificates" in run("list", "--route", "sales", *base).stdout
    assert "no verdict" in run(*base, "--route", "sales", "-p", "plain_wrong<=5%", code=2).stderr


def test_a_map_that_reads_the_question_counts_as_it_was_served(tmp_path: Path, config: Path) -> None:
    """Its raw confidences say nothing without the questions: a file of them is refused, a route's verdicts are taken as they were worded."""
    registry, served = MapRegistry(tmp_path / "maps"), PlattMap(w=2.0, b=0.5)
    reads = LocalMap(fallback=IdentityMap(), base=IdentityMap())
    registry.add("reads", FittedMap(reads, Provenance(9, 0.5, "", "semantic", "", datetime(2026, 1, 1, tzinfo=UTC))))
    registry.activate("reads")
    rng = np.random.default_rng(8)
    agree = agreement(rng, 1000)
    means = served.means(agree / 10)
    right = (rng.random(1000) < means).astype(float)
    anyio.run(partial(_filled, map=served, map_id="reads"), config, agree.tolist(), right.tolist())
    base = ("--config", config, "-p", "worded(>=.8) wrong<=20%")
    document = json.loads(run(*base, "--route", "support", "--json").stdout)
    assert document["map_id"] == "reads"
    (promise,) = document["promises"]
    assert promise["n"] == int((means >= promise["threshold"]).sum()) > int((agree / 10 >= promise["threshold"]).sum())
    rows = write(tmp_path / "d.jsonl", [{"alpha": 9, "beta": 1, "correct": 1}] * 3)
    assert "reads the question" in run(*base, "--data", rows, "--map", "reads", code=2).stderr


def test_verdicts_that_only_praise_are_not_a_sample(config: Path) -> None:
    """They are refused where clients sent them by choice, and the message says what to do."""
    anyio.run(_filled, config, [9] * 80, [1] * 60)
    said = run("--config", config, "--route", "support", "-p", "plain_wrong<=30%", code=2).stderr
    assert "all 60 verdicts of clients say right" in said
    assert "--verdicts human,grader,import" in said


def test_a_choice_of_labels_is_named(config: Path) -> None:
    """Only sure answers were labelled: the note says that this was not chance."""
    rng = np.random.default_rng(6)
    right = rng.random(600) < 0.85
    anyio.run(_filled, config, [9] * 600 + [4] * 600, right.tolist())
    said = run("--config", config, "--route", "support", "-p", "answered_wrong<=30%").stdout
    assert "600 of 1,200 answers have a label" in said
    assert "more confident than those served" in said


def test_what_the_review_queue_picked_certifies_nothing(config: Path) -> None:
    """Answers near one half are right more often than this route's; only those that were judged by lot say how often its answers are wrong."""
    rng = np.random.default_rng(11)
    agree = [5] * 600 + [3] * 400
    right = rng.random(1000) < np.array(agree) / 10
    anyio.run(partial(_filled, propensity=[PICKED] * 600 + [None] * 400), config, agree, right.tolist())
    asked = ("--config", config, "--route", "support", "-p", "answered_wrong<=70%")
    said = run(*asked, code=1).stdout
    assert "400 verdicts" in said
    assert "left out: 600 rows picked by the review queue" in said


def unequally_drawn() -> tuple[list[int], list[float], list[bool]]:
    """Of 4,000 answers half are wrong 4 % and judged eight times in ten, half wrong 40 % and judged once in ten; agreements, lots, outcomes."""
    rng = np.random.default_rng(12)
    hard = rng.random(4000) < 0.5
    lot, right = np.where(hard, 0.1, 0.8), rng.random(4000) >= np.where(hard, 0.4, 0.04)
    judged = rng.random(4000) < lot
    agree = rng.integers(7, 10, 4000)[judged]
    return agree.tolist(), lot[judged].tolist(), right[judged].tolist()


def test_answers_drawn_with_unequal_probabilities_count_alike(config: Path, tmp_path: Path) -> None:
    """22 % of all are wrong; the judged ones, mostly easy, would bear out 12 %. By lot alone, also where a verdict was corrected without one."""
    agree, lot, right = unequally_drawn()
    anyio.run(partial(_filled, propensity=[*lot, *[None] * 50]), config, agree + [8] * 50, [*right, *[False] * 50])
    asked = ("--config", config, "--route", "support", "--json", "-p")
    refused = json.loads(run(*asked, "answered_wrong<=12%", code=1).stdout)
    left_out = refused["left_out"]
    assert left_out["without a lot of their own, beside answers drawn with unequal probabilities"] == 50
    thinned = left_out["by lot, so that answers drawn with unequal probabilities count alike"]
    assert refused["n"] + thinned == len(agree)
    assert 320 < refused["n"] < 480
    granted = json.loads(run(*asked, "answered_wrong<=30%").stdout)
    assert granted["promises"][0]["threshold"] <= 0.7, "of all that are answered"
    rows = [
        {"id": i, "confidence": a / 10, "correct": y, "propensity": p}
        for i, (a, p, y) in enumerate(zip(agree, lot, right, strict=True))
    ]
    file = (
        "--data",
        write(tmp_path / "d.jsonl", rows),
        "--config",
        tmp_path / "none.yaml",
        "-p",
        "answered_wrong<=12%",
    )
    assert json.loads(run(*file, "--json", code=1).stdout)["n"] == refused["n"]
    alike = write(tmp_path / "e.jsonl", [row | {"propensity": 0.5} for row in rows])
    assert json.loads(run("--data", alike, *file[2:], "--json").stdout)["n"] == len(rows)


def test_picked_verdicts_alone_are_refused(config: Path) -> None:
    anyio.run(partial(_filled, propensity=[PICKED] * 30), config, [5] * 30, [1, 0] * 15)
    said = run("--config", config, "--route", "support", "-p", "answered_wrong<=70%", code=2).stderr
    assert "all 30 verdicts are on answers that the review queue picked" in said


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"kind": ["certificate"]}', "{" * 100_000, '{"certificate": null}'])  # fmt: skip
def test_what_is_not_a_certificate_is_one_sentence(text: str, tmp_path: Path) -> None:
    """Whatever the file holds."""
    file = tmp_path / "x.json"
    file.write_text(text)
    result = CliRunner().invoke(app, ["certify", "verify", str(file), "--config", str(tmp_path / "none.yaml")])
    assert result.exit_code in (1, 2)
    assert result.stderr.startswith("hedgerow: ")
    assert "Traceback" not in result.output
