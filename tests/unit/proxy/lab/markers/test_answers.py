"""`hedgerow markers` on answers: measured by further answers, taken from the audit, compared by judges."""

import json
import time

import pytest
import sqlalchemy as sa
import yaml

from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.tables import answers, texts, verdicts
from hedgerow.proxy.clustering.local import missing
from hedgerow.proxy.config import Audit
from tests.support.markers_command import ANSWERS, figures, run, write
from tests.support.upstream import Upstream, says


def test_answers_are_measured_by_their_further_answers(tmp_path):
    """Two of three say so and one contradicts; one of one contradicts. One further answer, and different numbers of them, are said."""
    result = run("--data", write(tmp_path / "f.jsonl", ANSWERS), "--json", "--thresholds", "1")
    assert result.exit_code == 0, result.output
    assert "one further answer" in result.stderr
    assert "1 to 3 further ones" in result.stderr
    mics = {
        (row["marker"], name): of["mic"]
        for row in json.loads(result.stdout)["models"][0]["markers"]
        for name, of in row["datasets"].items()
    }
    assert mics == {("probably", "capitals"): pytest.approx(2 / 3), ("not sure", "plays"): 0.0}


def test_kept_sentences_are_read_again(tmp_path):
    """The file of --out continues, and is itself a file of measured sentences."""
    path, out = write(tmp_path / "f.jsonl", ANSWERS[:2]), tmp_path / "kept.jsonl"
    first = figures("--data", path, "--out", out)
    kept = out.read_bytes()
    write(path, [*ANSWERS[:2], {**ANSWERS[0], "answer": "It is Managua."}])
    assert len(figures("--data", path, "--out", out)["models"][0]["markers"]) == 3
    assert out.read_bytes().startswith(kept)
    out.write_bytes(kept)
    assert figures("--data", out)["models"] == first["models"]


def test_answers_of_the_audit(tmp_path):
    """The model's own words against its other samples, each route a dataset, graded by verdicts; what keeps no words is left out."""
    (tmp_path / "config.yaml").write_text(
        f"upstreams: {{u: {{provider: openai, base_url: 'http://127.0.0.1:1/v1'}}}}\nroutes: [{{name: r, upstream: u}}]\naudit: {{url: 'sqlite:///{tmp_path}/audit.db'}}\n",
        encoding="utf-8",
    )
    engine = open_engine(Audit(url=f"sqlite:///{tmp_path}/audit.db"))
    with engine.begin() as opened:
        for i, (route, kept) in enumerate([("r", "full"), ("s", "full"), ("s", "hashed")]):
            row = {
                "id": f"hr_{i}",
                "created_at": time.time(),
                "path": "/v1/chat/completions",
                "status": "hedged",
                "route": route,
                "model": "m",
            }
            opened.execute(sa.insert(answers).values(duration_ms=1.0, store_text=kept, **row))
            words = {
                "question": "Who wrote The Caretaker?",
                "draft": "It was probably Harold Pinter.",
                "answer": "Perhaps it was Harold Pinter.",
                "samples": ["It was probably Harold Pinter.", "Harold Pinter", "Tom Stoppard"],
            }
            opened.execute(sa.insert(texts).values(answer_id=f"hr_{i}", **words))
        verdict = {"created_at": time.time(), "source": "client", "correct": 1.0, "current": True}
        opened.execute(sa.insert(verdicts).values(answer_id="hr_0", **verdict))
    engine.dispose()
    config = ("--config", tmp_path / "config.yaml")
    model = figures("--audit", "--thresholds", "1", *config)["models"][0]
    assert [(d["dataset"], d["accuracy"]) for d in model["datasets"]] == [("r", 1.0), ("s", None)]
    assert model["markers"][0]["datasets"]["s"]["mic"] == pytest.approx(0.5)
    assert [row["marker"] for row in model["markers"]] == ["probably"]
    served = figures("--audit", "--words", "served", "--route", "s", "--thresholds", "1", *config)
    assert (served["words"], served["sentences"]) == ("served", 1)
    assert [row["marker"] for row in served["models"][0]["markers"]] == ["perhaps"]
    assert served["models"][0]["markers"][0]["mic"] == pytest.approx(0.5)
    assert "--words served is for --audit" in run("--data", tmp_path / "f.jsonl", "--words", "served").stderr
    assert "name a file with --data, or take the audit with --audit" in run().stderr
    assert "keeps no answer with its words" in run("--audit", "--since", "2100-01-01", *config).stderr


def test_markers_that_change_their_meaning(tmp_path):
    """The audit without any words: "probably" was .9 in the thirty days before, and is .6; "seem" stays; a rare one is not reported."""
    (tmp_path / "config.yaml").write_text(
        f"upstreams: {{u: {{provider: openai, base_url: 'http://127.0.0.1:1/v1'}}}}\nroutes: [{{name: r, upstream: u}}]\naudit: {{url: 'sqlite:///{tmp_path}/audit.db'}}\n",
        encoding="utf-8",
    )
    day, now = 86_400.0, time.time()
    drawn = [("probably", 9, 40), ("probably", 6, 10), ("seem", 7, 40), ("seem", 7, 10), ("perhaps", 5, 10)]
    engine = open_engine(Audit(url=f"sqlite:///{tmp_path}/audit.db"))
    with engine.begin() as opened:
        for marker, alpha, days in drawn:
            for i in range(19 if marker == "perhaps" else 25):
                opened.execute(
                    sa.insert(answers).values(
                        id=f"hr_{marker}{days}{i}", created_at=now - days * day, path="/v1/chat/completions", status="hedged", route="r", hedge="likely",
                        model="m", duration_ms=1.0, store_text="none", own_marker=marker, raw_alpha=alpha + i % 2 / 2, raw_beta=10 - alpha - i % 2 / 2,
                    )
                )  # fmt: skip
    engine.dispose()
    config = ("--config", tmp_path / "config.yaml")
    rows = figures("--audit", "--since", "30d", *config)["drift"]
    drift = {row["marker"]: row for row in rows if row["words"] == "own words"}
    assert set(drift) == {"probably", "seem"}
    (served,) = (
        row for row in rows if row["words"] == "served"
    )  # all were worded alike, whatever the draft's marker was
    assert (served["marker"], served["answers"], served["answers_before"]) == ("likely", 69, 50)
    assert served["people"] == pytest.approx(0.71, abs=0.01)
    assert (drift["probably"]["change"], drift["probably"]["drifts"]) == (pytest.approx(-0.3), True)
    assert (drift["seem"]["change"], drift["seem"]["drifts"]) == (pytest.approx(0.0), False)
    assert drift["probably"]["change_interval"][1] < 0.0
    printed = run("--audit", "--since", "30d", *config).stdout
    assert "does it still mean the same?" in printed
    assert "-0.30 ± 0.0" in printed
    curve = drift["probably"]["curve"]
    assert [step["answers"] for step in curve] == [
        0,
        0,
        0,
        25,
        0,
        0,
        0,
        0,
        0,
        25,
        0,
        0,
    ]  # forty and ten days ago, in steps of five
    assert (curve[3]["mic"], curve[9]["mic"], curve[0]["mic"]) == (pytest.approx(0.924), pytest.approx(0.624), None)
    assert curve[0]["since"] == pytest.approx(now - 60 * day, abs=60)
    assert "···█··|···▅··  probably (r, own words)" in printed
    assert run("--audit", "--since", "30d", "--report", tmp_path / "page.html", *config).exit_code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count(", MIC 0.") == 6  # two markers and the hedge that was served, two steps with answers each
    assert "<b>probably</b>, r, own words: 0.62, change \N{MINUS SIGN}0.30" in page
    assert (
        "keeps no answer with its words"
        in run("--audit", "--since", "30d", "--lexicon", tmp_path / "own.json", *config).stderr
    )


@pytest.fixture
def config(tmp_path, upstream: Upstream):
    """A route whose judge is the scripted upstream."""
    path = tmp_path / "config.yaml"
    named = {"provider": "openai", "base_url": upstream.url, "retries": 0}
    route = {"name": "r", "upstream": "u", "mode": "on", "judge": {"upstream": "u", "model": "judge-1"}}
    path.write_text(yaml.safe_dump({"upstreams": {"u": named}, "routes": [route]}), encoding="utf-8")
    return path


def test_a_language_model_says_its_price_first_and_is_never_paid_twice(tmp_path, upstream: Upstream, config):
    """s, c and n are the paper's yes, no and n/a; a reply that cannot be read leaves its row for the next time, and nothing is lost."""
    data = write(tmp_path / "a.jsonl", [ANSWERS[0], {**ANSWERS[0], "answer": "It is certainly Managua."}])
    judge = ("--data", data, "--judge", "llm", "--config", config, "--thresholds", "1", "--concurrency", "1")
    stopped = run(*judge, typed="n\n")
    assert stopped.exit_code == 1
    assert "2 answers to measure, 6 comparisons" in stopped.stderr
    assert "one call of the judge an answer" in stopped.stderr
    assert upstream.calls == []
    upstream.enqueue(says('["snc"]'), says("Hm."))
    failed = run(*judge, "--yes", "--json")
    assert failed.exit_code == 1
    assert "line 2: judge_nonsense" in failed.stderr
    assert "1 answer could not be measured yet" in failed.stderr
    assert json.loads(failed.stdout)["models"][0]["markers"][0]["mic"] == pytest.approx(0.5)
    upstream.calls.clear()
    upstream.enqueue(says('["ccs"]'))
    done = figures(*judge, "--yes")
    assert len(upstream.calls) == 1
    assert {row["marker"]: row["mic"] for row in done["models"][0]["markers"]} == {
        "probably": 0.5,
        "certainly": pytest.approx(1 / 3, abs=1e-5),
    }
    assert figures(*judge) == done
    assert len(upstream.calls) == 1


def test_a_strict_judge_that_fails_leaves_its_row(tmp_path, upstream: Upstream, config):
    """One sentence, no trace."""
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    settings["routes"][0]["judge"]["strict"] = True
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    upstream.enqueue(says("Hm."))
    result = run("--data", write(tmp_path / "a.jsonl", ANSWERS[:1]), "--judge", "llm", "--config", config, "--yes")
    assert result.exit_code == 2
    assert "line 1: judge_nonsense" in result.stderr
    assert isinstance(result.exception, SystemExit)


@pytest.mark.skipif(missing() is not None, reason=missing() or "")
def test_the_shipped_judge_compares(tmp_path):
    """It says what it will do first; kept rows say who measured them, and another judge does not add to them."""
    data, out = write(tmp_path / "a.jsonl", ANSWERS[:1]), tmp_path / "kept.jsonl"
    result = run("--data", data, "--judge", "local", "--out", out, "--thresholds", "1", "--json")
    assert result.exit_code == 0, result.output
    assert "1 answer to measure, 3 comparisons" in result.stderr
    assert json.loads(result.stdout)["models"][0]["markers"][0]["mic"] == pytest.approx(2 / 3, abs=1e-5)
    assert "now it is 'none'" in run("--data", data, "--out", out).stderr
