"""`hedgerow markers`: what goes in, what is refused, what comes out."""

import json
import random
import time

import pytest
import sqlalchemy as sa
import yaml
from typer.testing import CliRunner

from hedgerow.lexicon import NO_HEDGE, load
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.tables import answers, texts, verdicts
from hedgerow.proxy.cli import app
from hedgerow.proxy.clustering.local import missing
from hedgerow.proxy.config import Audit
from tests.support import slow_markers as slow
from tests.support.upstream import Upstream, says

runner = CliRunner()


def write(path, rows):
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def sentence(text, confidence, **more):
    return {"text": text, "confidence": confidence, "model": "m", "dataset": "d", **more}


def run(*arguments, typed=None):
    return runner.invoke(app, ["markers", *map(str, arguments)], input=typed)


def found(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def two_datasets(tmp_path):
    """ "Probably" at .7 and .9, plain sentences at 1 and .8, ten each and split."""
    rows = []
    for dataset, probably, plain, right in (("a", 0.7, 1.0, True), ("b", 0.9, 0.8, False)):
        for i in range(20):
            split = "train" if i < 10 else "test"
            rows.append(
                sentence("It was probably Rome.", probably, dataset=dataset, split=split, response=i, correct=right)
            )
            rows.append(sentence("It was Rome.", plain, dataset=dataset, split=split, response=i, correct=right))
    return write(tmp_path / "two.jsonl", rows)


def test_every_metric_by_its_name(two_datasets):
    """By hand: MICs hold within datasets; across, each is .2 off; their order turns round."""
    model = found("--data", two_datasets)["models"][0]
    with_, without = (model["metrics"]["10"][how] for how in ("with", "without"))
    assert with_["ID-MAE"] == {"value": 0.0, "deviation": 0.0, "over": 2}
    assert with_["CD-MAE"]["value"] == pytest.approx(0.2)
    assert with_["MRC"]["value"] == pytest.approx(-0.9999)
    assert with_["M-AvgCV"]["value"] == pytest.approx((0.02**0.5 / 0.8 + 0.02**0.5 / 0.9) / 2)
    assert without["M-AvgCV"]["value"] == pytest.approx(0.02**0.5 / 0.8)
    assert without["MRC"]["value"] is None
    assert model["metrics"]["20"]["with"]["M-AvgCV"]["value"] is None
    assert model["datasets"][0] == {
        "dataset": "a",
        "train": 20,
        "test": 20,
        "responses": 20,
        "accuracy": 1.0,
        "cmfg": model["datasets"][0]["cmfg"],
    }
    assert with_["MAC"]["over"] == 2


WORDINGS = {
    "probably": "It was probably Rome.", "may": "It may be Rome.", "I believe": "I believe it was Rome.", "not certain": "I'm not certain it was Rome.", "<no_hedge>": "It was Rome.",
}  # fmt: skip


def mixed_rows(datasets, seed=0):
    """Measured sentences in both shapes, frequent and rare markers, ties; two sentences a response, the last dataset with a single split."""
    draw = random.Random(seed)
    rows = []
    for dataset in datasets:
        for i in range(400):
            marker = draw.choices(list(WORDINGS), [12, 7, 3, 1, 14])[0]
            rows.append({
                **({"marker": marker} if i % 2 else {"text": WORDINGS[marker]}), "confidence": draw.randrange(11) / 10, "decisiveness": draw.randrange(11) / 10,
                "model": "m", "dataset": dataset, "response": str(i // 2), "split": "train" if dataset == "c" or i % 3 else "test", "correct": i // 2 % 3 > "abc".index(dataset) / 2,
            })  # fmt: skip
    return rows


@pytest.mark.parametrize("datasets", ["abc", "a"])
def test_every_metric_of_a_file_is_its_formula_at_every_threshold(tmp_path, datasets):
    """From lines of a file to the printed figure, against the formulas of the paper written out slowly: T = 10, 20, 50, 100, with and without `<no_hedge>`."""
    rows = mixed_rows(datasets)
    model = found("--data", write(tmp_path / "mixed.jsonl", rows), "--thresholds", "10,20,50,100")["models"][0]
    named = {text: marker for marker, text in WORDINGS.items()}
    plain = [{"marker": named.get(row.get("text")), **row} for row in rows]
    accuracy, cmfg = {}, {}
    for name in datasets:
        held = slow.of(plain, dataset=name)
        accuracy[name] = slow.mean(
            [float(slow.of(held, response=r)[0]["correct"]) for r in slow.names(held, "response")]
        )
        cmfg[name] = slow.cmfg(held)
    assert {of["dataset"]: (of["accuracy"], of["cmfg"]) for of in model["datasets"]} == pytest.approx(
        {name: pytest.approx((accuracy[name], cmfg[name])) for name in datasets}
    )
    for at in (10, 20, 50, 100):
        for how in ("with", "without"):
            told = plain if how == "with" else [s for s in plain if s["marker"] != "<no_hedge>"]
            expected = {
                **{f"ID-MAE{end}": slow.mae(told, at, by, across=False) for end, by in (("", "marker"), ("_S", "sentence"), ("_R", "response"))},
                **{f"CD-MAE{end}": slow.mae(told, at, by, across=True) for end, by in (("", "marker"), ("_S", "sentence"), ("_R", "response"))},
                "M-AvgCV": slow.m_avg_cv(told, at), "D-AvgCV": slow.d_avg_cv(told, at), "MRC": slow.mrc(told, at),
                "MAC": slow.across(told, at, accuracy, slow.pearson), "MAC_Spear": slow.across(told, at, accuracy, slow.spearman),
                "MCC": slow.across(told, at, cmfg, slow.pearson), "MCC_Spear": slow.across(told, at, cmfg, slow.spearman),
            }  # fmt: skip
            printed = model["metrics"][str(at)][how]
            assert set(printed) == set(expected)
            for name, of in expected.items():
                assert printed[name]["value"] == (None if of[0] is None else pytest.approx(of[0], abs=1e-9)), (
                    name,
                    at,
                    how,
                )
                assert printed[name]["over"] == of[-1], (name, at, how)
                if len(of) == 3:
                    assert printed[name]["deviation"] == (None if of[1] is None else pytest.approx(of[1], abs=1e-9))


def test_the_table_names_every_metric(two_datasets):
    """As in the paper, with and without plain sentences."""
    output = run("--data", two_datasets).output
    for name in (
        "ID-MAE_R",
        "CD-MAE_S",
        "M-AvgCV",
        "D-AvgCV",
        "MRC",
        "MAC_Spear",
        "MCC_Spear",
        "without <no_hedge>",
        "T = 100",
        "probably",
    ):
        assert name in output
    assert "Through two datasets MAC and MCC are 1 or -1" in output


def test_wordings_of_one_marker_are_one(tmp_path):
    """Spotted or given, with or without "I'm"; what bears several is counted and left out."""
    rows = [
        sentence("I'm fairly sure it was Rome.", 0.6),
        {"marker": "fairly sure", "confidence": 0.8, "model": "m", "dataset": "d"},
        {"marker": "", "confidence": 1.0, "model": "m", "dataset": "d"},
        sentence("Perhaps it was Rome, but I'm not sure.", 0.1),
    ]
    told = found("--data", write(tmp_path / "f.jsonl", rows), "--thresholds", "1")
    assert [(row["marker"], row["count"]) for row in told["models"][0]["markers"]] == [
        ("fairly sure", 2),
        ("<no_hedge>", 1),
    ]
    assert told["models"][0]["markers"][0]["datasets"]["d"]["mic"] == pytest.approx(0.7)
    assert told["several"] == 1


def test_nothing_marked_is_said(tmp_path):
    """One marker is left: there is nothing to compare it with."""
    told = found("--data", write(tmp_path / "f.jsonl", [sentence("It was Rome.", 0.5)] * 12))
    assert any("No sentence bears a marker" in note for note in told["models"][0]["notes"])
    assert any("There is one dataset" in note for note in told["models"][0]["notes"])
    assert told["models"][0]["metrics"]["10"]["without"]["D-AvgCV"]["value"] is None


def test_a_single_split_is_halved_on_demand_and_always_alike(tmp_path):
    """By response, so that sentences of one answer stay together."""
    rows = [sentence("It was probably Rome.", 0.5 + i % 3 / 10, response=i // 2) for i in range(80)]
    path = write(tmp_path / "f.jsonl", rows)
    assert found("--data", path)["models"][0]["metrics"]["10"]["with"]["ID-MAE"]["value"] is None
    told = [found("--data", path, "--test-share", ".5")["models"][0] for _ in range(2)]
    assert told[0] == told[1]
    assert told[0]["metrics"]["10"]["with"]["ID-MAE"]["value"] is not None
    assert told[0]["datasets"][0]["train"] % 2 == told[0]["datasets"][0]["test"] % 2 == 0


ANSWERS = [
    {"question": "What is the capital of Honduras?", "answer": "It is probably Tegucigalpa.", "samples": ["Tegucigalpa", "Managua", "Tegucigalpa."], "dataset": "capitals"},
    {"question": "Who wrote The Caretaker?", "answer": "I'm not sure, but it was Tom Stoppard.", "samples": ["Harold Pinter"], "dataset": "plays"},
    {"question": "Who wrote The Caretaker?", "answer": "I do not know.", "samples": ["Harold Pinter"], "dataset": "plays"},
]  # fmt: skip


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
    first = found("--data", path, "--out", out)
    kept = out.read_bytes()
    write(path, [*ANSWERS[:2], {**ANSWERS[0], "answer": "It is Managua."}])
    assert len(found("--data", path, "--out", out)["models"][0]["markers"]) == 3
    assert out.read_bytes().startswith(kept)
    out.write_bytes(kept)
    assert found("--data", out)["models"] == first["models"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "contains no sentence and no answer"),
        (["{"], "line 1: not valid JSON"),
        (["[1]"], "line 1: not a JSON object"),
        ([{"text": "It was Rome."}], "line 1: 'confidence' is missing"),
        ([{"confidence": 0.5}], "a sentence has a 'text' or a 'marker'"),
        ([sentence("It was Rome.", "0.5")], "line 1: 'confidence': input should be a valid number"),
        ([sentence("It was Rome.", 1.5)], "line 1: 'confidence': input should be less than or equal to 1"),
        ([sentence("It was Rome.", float("nan"))], "line 1: 'confidence'"),
        ([sentence(7, 0.5)], "line 1: 'text': input should be a valid string"),
        ([sentence("It was Rome.", 0.5, split="dev")], "line 1: 'split'"),
        ([sentence("It was Rome.", 0.5, correct="perhaps")], "line 1: 'correct'"),
        ([{"marker": "&&&", "confidence": 0.5}], "nothing to read"),
        ([{"answer": "Rome.", "samples": []}], "line 1: 'samples': is empty: confidence needs one further answer at least"),
        ([{"answer": "Rome.", "samples": [3]}], "line 1: 'samples.0'"),
        ([{"question": "?", "samples": ["Rome"]}], "line 1: 'answer' is missing"),
        ([sentence("Perhaps it was Rome, but I'm not sure.", 0.1)], "every sentence bears several markers"),
        ([{"answer": "I do not know.", "samples": ["Rome"]}], "no answer holds a sentence that asserts something"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_a_sentence(tmp_path, rows, message):
    """Line and reason; no trace."""
    result = run("--data", write(tmp_path / "f.jsonl", rows))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_good_rows_beside_bad_ones_are_not_lost(tmp_path):
    """With --skip-bad; a file that is not there, and thresholds that are none, are said."""
    path = write(tmp_path / "f.jsonl", ["{", sentence("It was Rome.", 0.5), "broken"])
    assert "2 rows cannot be used; --skip-bad continues" in run("--data", path).stderr
    assert found("--data", path, "--skip-bad")["sentences"] == 1
    assert "cannot be read" in run("--data", tmp_path / "none.jsonl").stderr
    assert "--thresholds" in run("--data", path, "--thresholds", "ten").stderr
    assert "--thresholds" in run("--data", path, "--thresholds", "0").stderr


def test_a_hundred_thousand_rows(tmp_path):
    """All are counted."""
    wordings = ["It was probably Rome.", "It was Rome.", "Perhaps it was Rome."]
    rows = (json.dumps(sentence(wordings[i % 3], i % 10 / 10, dataset=f"d{i % 4}", response=i)) for i in range(100_000))
    path = tmp_path / "f.jsonl"
    path.write_text("\n".join(rows), encoding="utf-8")
    told = found("--data", path, "--test-share", ".3")
    assert told["sentences"] == 100_000
    assert sum(d["train"] + d["test"] for d in told["models"][0]["datasets"]) == 100_000


def test_a_lexicon_of_the_model_itself(two_datasets, tmp_path):
    """Stable markers with the model's own confidence, in a file that every lexicon command accepts; the page says phrase by phrase what people read."""
    out, page = tmp_path / "own.json", tmp_path / "own.html"
    result = run("--data", two_datasets, "--lexicon", out, "--report", page)
    assert result.exit_code == 0, result.output
    assert f"Report written to {page}" in result.stderr
    own = load(str(out))
    assert own["probably"].beta.mean == pytest.approx(0.8, abs=1e-3)
    assert own["probably"].frames == load()["probably"].frames
    assert own[NO_HEDGE].beta.mean == pytest.approx(0.9, abs=1e-3)
    assert "people read 0.68" in own["probably"].basis
    assert runner.invoke(app, ["lexicon", "check", str(out)]).exit_code == 0
    html = page.read_text(encoding="utf-8")
    assert html.count("<svg") >= 6
    assert "80 %" in html
    assert "68 %" in html
    assert "http" not in html.replace("http://www.w3.org", "")


def test_markers_that_do_not_hold_make_no_lexicon(tmp_path):
    """0 in one dataset and 1 in the other: .25 is far exceeded. One dataset cannot tell."""
    rows = [sentence("It was probably Rome.", i % 2, dataset="ab"[i % 2]) for i in range(40)]
    path, out = write(tmp_path / "f.jsonl", rows), tmp_path / "own.json"
    result = run("--data", path, "--lexicon", out)
    assert result.exit_code == 1
    assert "own CD-MAE below 0.25" in result.stderr
    write(path, [sentence("It was probably Rome.", 0.5) for _ in range(40)])
    assert run("--data", path, "--lexicon", out).exit_code == 1
    assert not out.exists()


def test_one_model_of_several(tmp_path):
    """A lexicon is of one; an unknown one is refused with those there are."""
    rows = [sentence("It was probably Rome.", 0.7, model=m, dataset=d) for m in "xy" for d in "ab" for _ in range(12)]
    path, out = write(tmp_path / "f.jsonl", rows), tmp_path / "own.json"
    assert "name it with --model: x, y" in run("--data", path, "--lexicon", out).stderr
    assert "the models are x, y" in run("--data", path, "--model", "z").stderr
    assert run("--data", path, "--lexicon", out, "--model", "y").exit_code == 0
    assert [model["model"] for model in found("--data", path, "--model", "x")["models"]] == ["x"]


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
                "samples": ["It was probably Harold Pinter.", "Harold Pinter", "Tom Stoppard"],
            }
            opened.execute(sa.insert(texts).values(answer_id=f"hr_{i}", **words))
        told = {"created_at": time.time(), "source": "client", "correct": 1.0, "current": True}
        opened.execute(sa.insert(verdicts).values(answer_id="hr_0", **told))
    engine.dispose()
    config = ("--config", tmp_path / "config.yaml")
    model = found("--audit", "--thresholds", "1", *config)["models"][0]
    assert [(d["dataset"], d["accuracy"]) for d in model["datasets"]] == [("r", 1.0), ("s", None)]
    assert model["markers"][0]["datasets"]["s"]["mic"] == pytest.approx(0.5)
    assert "name a file with --data, or take the audit with --audit" in run().stderr
    assert "keeps no answer with its words" in run("--audit", "--since", "2100-01-01", *config).stderr


def test_markers_that_change_their_meaning(tmp_path):
    """The audit without any words: "probably" was .9 in the thirty days before, and is .6; "seem" stays; a rare one is not told."""
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
                        id=f"hr_{marker}{days}{i}", created_at=now - days * day, path="/v1/chat/completions", status="hedged", route="r",
                        model="m", duration_ms=1.0, store_text="none", own_marker=marker, raw_alpha=alpha + i % 2 / 2, raw_beta=10 - alpha - i % 2 / 2,
                    )
                )  # fmt: skip
    engine.dispose()
    config = ("--config", tmp_path / "config.yaml")
    drift = {row["marker"]: row for row in found("--audit", "--since", "30d", *config)["drift"]}
    assert set(drift) == {"probably", "seem"}
    assert (drift["probably"]["change"], drift["probably"]["drifts"]) == (pytest.approx(-0.3), True)
    assert (drift["seem"]["change"], drift["seem"]["drifts"]) == (pytest.approx(0.0), False)
    assert drift["probably"]["change_interval"][1] < 0.0
    told = run("--audit", "--since", "30d", *config).stdout
    assert "does it still mean the same?" in told
    assert "-0.30 ± 0.0" in told
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
    assert "···█··|···▅··  probably (r)" in told
    assert run("--audit", "--since", "30d", "--report", tmp_path / "page.html", *config).exit_code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count(", MIC 0.") == 4  # two markers, two steps with answers each
    assert "<b>probably</b>, r: 0.62, change -0.30" in page
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
    done = found(*judge, "--yes")
    assert len(upstream.calls) == 1
    assert {row["marker"]: row["mic"] for row in done["models"][0]["markers"]} == {
        "probably": 0.5,
        "certainly": pytest.approx(1 / 3, abs=1e-5),
    }
    assert found(*judge) == done
    assert len(upstream.calls) == 1


def test_a_strict_judge_that_fails_leaves_its_row(tmp_path, upstream: Upstream, config):
    """One sentence, no trace."""
    told = yaml.safe_load(config.read_text(encoding="utf-8"))
    told["routes"][0]["judge"]["strict"] = True
    config.write_text(yaml.safe_dump(told), encoding="utf-8")
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


def test_what_is_not_english_is_not_taken_for_plain(tmp_path):
    """A Russian "может" is a hedge; whoever cannot read it says so, instead of counting a sentence without one."""
    rows = [
        sentence("Это, может быть, Рим.", 0.5),
        sentence("Es war wahrscheinlich Rom.", 0.5),
        sentence("It was Rome.", 0.5),
    ]
    rows.append({"question": "Wo?", "answer": "Es war wahrscheinlich in Rom.", "samples": ["In Rom."]})
    told = found("--data", write(tmp_path / "f.jsonl", rows), "--thresholds", "1")
    assert (told["sentences"], told["unread"]) == (1, 3)
    assert "no sentence is in English" in run("--data", write(tmp_path / "f.jsonl", rows[:2])).stderr
