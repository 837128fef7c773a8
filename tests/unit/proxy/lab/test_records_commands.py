"""`fit`, `evaluate` and `maps` as a user runs them, and the reader beneath them."""

import gzip
import json
import re
import string
from functools import partial
from pathlib import Path

import anyio
import numpy as np
import pytest
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from hedgerow.proxy.grading.rules import contains_gold
from hedgerow.proxy.lab.datasets import BadRow, read_objects
from hedgerow.proxy.lab.measuring import ExactClusterer, cluster_by_key, fold, measure
from hedgerow.proxy.lab.rows import Measured, read_rows
from hedgerow.proxy.signals.semantic import SemanticSignal

DATA = Path(__file__).parents[5] / "shared" / "data" / "samples"


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    for i in range(n):
        agree = int(rng.integers(3, 11))
        right = bool(rng.random() < (agree / 10) ** 2)
        texts = ["The Danube." if j < agree else f"Rhine {j}" for j in range(10)]
        yield {
            "id": i,
            "question": "Which river?",
            "gold": ["danube" if right else "Po"],
            "samples": [{"text": t} for t in texts],
        }


def write(path, content):
    path.write_text("".join(json.dumps(row) + "\n" if not isinstance(row, str) else row + "\n" for row in content))
    return path


def test_evaluate_prints_json_and_a_page_that_needs_nothing_else(tmp_path):
    data, page = write(tmp_path / "d.jsonl", rows()), tmp_path / "r.html"
    done = run("evaluate", "--data", data, "--json", "--html", page, "--resamples", 20)
    assert f"Report written to {page}" in done.stderr
    document = json.loads(done.stdout)
    assert (document["n"], document["n_fitted"]) == (140, 60)
    assert document["generalised_ece"]["after"] < document["generalised_ece"]["before"]
    assert {"before", "after"} <= set(document["smooth_ece"]) & set(document["faithfulness_divergence"])
    html = page.read_text()
    assert "nan" not in html.lower().split("<body>")[1]
    assert not any(word in html for word in ("http://", "https://", "<script", "src="))


def claims(n=60, of_each=8):
    """Claims of long answers as an export of the audit has them, all right or all wrong with their answer."""
    rng = np.random.default_rng(3)
    for i in range(n):
        agree = int(rng.integers(1, 10))
        right = bool(rng.random() < (agree / 10) ** 2)
        for claim in range(of_each):
            yield {"id": f"hr_{i}", "claim": claim, "alpha": agree, "beta": 10 - agree, "correct": right}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["id", "answer_id"])
def test_claims_of_one_answer_are_measured_and_resampled_together(tmp_path, name):
    """`evaluate` and `fit` go by the answer's id, and say so; without one each row stands for itself."""
    named = [{name: row["id"]} | {part: row[part] for part in ("alpha", "beta", "correct")} for row in claims()]
    data = write(tmp_path / "claims.jsonl", named)
    bare = write(tmp_path / "bare.jsonl", [{part: row[part] for part in row if part != name} for row in named])
    how = ("--json", "--resamples", 100, "--train-fraction", 0.31)
    together, alone = (json.loads(run("evaluate", "--data", path, *how).stdout) for path in (data, bare))
    assert (together["n_fitted"], together["n"], alone["n"]) == (148, 328, 332), (
        "no claim of the 19th answer, which the fit saw"
    )
    assert together["provenance"]["notes"][-1] == "148 records of 19 clusters; those of one are taken together"

    def width(document):
        low, high = document["expected_brier"]["difference_interval"]
        return high - low

    assert width(together) > 2 * width(alone)
    ranked = json.loads(run("evaluate", "--data", data, "--compare", "--json").stdout)
    by_rows = json.loads(run("evaluate", "--data", bare, "--compare", "--json").stdout)
    assert ranked["n"] == by_rows["n"] == 480
    worst = next(one for one in ranked["candidates"] if one["map"] == "identity")
    same = next(one for one in by_rows["candidates"] if one["map"] == "identity")
    assert np.ptp(worst["difference_interval"]) > 1.5 * np.ptp(same["difference_interval"])
    printed = run("fit", "--data", data, "--folder", tmp_path / "maps", "--version", "one").stdout
    assert "note: 480 records of 60 clusters; those of one are taken together" in printed


def test_a_condition_that_holds_ends_with_1_and_says_by_how_much(tmp_path):
    data = write(tmp_path / "d.jsonl", rows())
    base = ("evaluate", "--data", data, "--resamples", 0)
    run(*base, "--fail-if", "generalised_ece.after > 0.9")
    failed = run(*base, "--fail-if", "accuracy > 0.01", code=1)
    assert "by 0." in failed.stderr
    assert "no figure" in run(*base, "--fail-if", "ece > 0.1", code=2).stderr
    assert "Invalid --fail-if" in run(*base, "--fail-if", "accuracy over 1", code=2).stderr


def test_bad_rows_are_named_by_line_and_skipped_only_when_asked(tmp_path):
    good = list(rows())
    data = write(tmp_path / "d.jsonl", [*good[:2], "{no json", {"id": 4, "samples": [], "gold": "Po"}, *good[2:]])
    refused = run("evaluate", "--data", data, "--resamples", 0, code=2)
    assert "line 3: not valid JSON" in refused.stderr
    assert "line 4: 'samples': expected a list of answers" in refused.stderr
    document = json.loads(run("evaluate", "--data", data, "--resamples", 0, "--json", "--skip-bad").stdout)
    assert document["bad_rows"] == 2


def test_a_map_is_fitted_stored_activated_and_compared(tmp_path):
    data, folder = write(tmp_path / "d.jsonl", rows()), tmp_path / "maps"
    run("fit", "--data", data, "--folder", folder, "--version", "one")
    run(
        "fit", "--data", data, "--folder", folder, "--version", "two", "--map", "isotonic", "--activate", "--route", "r"
    )
    assert "exists already" in run("fit", "--data", data, "--folder", folder, "--version", "one", code=2).stderr
    run("maps", "activate", "one", "--folder", folder)
    listed = json.loads(run("maps", "list", "--json", "--folder", folder).stdout)
    assert [(row["version"], row["active"]) for row in listed] == [
        ("one", ["everything (the default)"]),
        ("two", ["route r"]),
    ]
    assert json.loads(run("maps", "show", "one", "--folder", folder).stdout)["map"]["kind"] == "platt-bounded"
    assert "map.kind: platt-bounded -> isotonic" in run("maps", "diff", "one", "two", "--folder", folder).stdout
    assert "there is no map" in run("maps", "activate", "three", "--folder", folder, code=2).stderr


def test_an_audit_export_is_read_raw_and_only_where_signal_and_outcome_are_known(tmp_path):
    content = [
        {"id": "a", "signal": "semantic", "alpha": 5.0, "beta": 5.0, "raw": {"alpha": 9.0, "beta": 1.0}, "label": True},
        {"id": "b", "signal": "token", "alpha": 9.0, "beta": 1.0, "correct": 0},
        {"id": "c", "alpha": 9.0, "beta": 1.0, "correct": None},
        {"id": "d", "alpha": 0.0, "beta": 0.0, "correct": 1},
    ]
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, content)).encode()))
    rows = [row for _, row in read_rows(path)]
    assert isinstance(rows[0], Measured)
    assert (rows[0].raw.alpha, rows[0].correct) == (9.0, True)
    assert rows[2].correct is None
    assert isinstance(rows[3], BadRow)


def test_missing_log_probabilities_and_missing_files_are_one_sentence(tmp_path):
    data = write(tmp_path / "d.jsonl", rows(40))
    assert "log-prob" in run("evaluate", "--data", data, "--signal", "token", code=2).stderr
    assert "cannot be read" in run("fit", "--data", tmp_path / "nothing.jsonl", code=2).stderr
    one_class = write(tmp_path / "o.jsonl", [{"alpha": 9.0, "beta": 1.0, "correct": 1}] * 50)
    assert "all 15 answers are right" in run("evaluate", "--data", one_class, code=2).stderr


def test_folding_and_the_gold_match():
    assert fold("The  Danube!") == fold("danube") == "danube"
    assert fold("3.5") != fold("35")
    assert contains_gold("It is the Danube, I think", ["Danube"])
    assert not contains_gold("Danubes", ["Danube"])


def labelled_by_contains(path):
    """Rows labelled as those papers do: the draft of exact-match clusters contains a gold answer."""
    for _, row in read_objects(path):
        texts = [sample["text"] for sample in row.pop("samples")]
        draft = texts[cluster_by_key([fold(text) for text in texts], "exact").draft_index]
        yield {
            "samples": texts,
            "label": any(f" {bare(gold)} " in f" {bare(draft)} " for gold in row["gold"] if bare(gold)),
        }


def bare(text):
    """The normal form of TriviaQA's grader."""
    plain = text.lower().translate(str.maketrans(dict.fromkeys(string.punctuation + "‘’´", " ")))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded answers are not beside the checkout")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("triviaqa_llama13b/samples.jsonl.gz", (0.172, 0.045, 0.476, 0.350)),
        ("triviaqa_gemma2_2b/train.jsonl.gz", (0.149, 0.033, 1.480, 0.450)),
        ("answerable_math/llama.jsonl.gz", (0.165, 0.061, 3.521, 0.449)),
        ("simpleqa_gpt5mini/simpleqa_gpt5mini.jsonl.gz", (0.278, 0.089, 7.433, 0.487)),
    ],
)
def test_published_figures_of_recorded_answers_come_out_again(name, expected, tmp_path):
    """Computed with separate throw-away code: exact-match clusters, first 30 % fitted, rest measured."""
    path = DATA / name
    if "triviaqa" in name:
        path = write(tmp_path / "g.jsonl", labelled_by_contains(path))
    if "gpt5mini" in name:
        with gzip.open(path, "rt") as lines:
            graded = [row for row in map(json.loads, lines) if row["vanilla"]["grade"] in ("A", "B")]
        path = write(
            tmp_path / "g.jsonl",
            [{"cluster_ids": row["semantic_ids"], "label": row["vanilla"]["grade"] == "A"} for row in graded],
        )
    document = json.loads(
        run("evaluate", "--data", path, "--clusters", "exact", "--map", "platt", "--json", "--resamples", 0).stdout
    )
    figures = [document[m][w] for m in ("generalised_ece", "faithfulness_divergence") for w in ("before", "after")]
    assert figures == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"id": 1, "sure": 0.7, "label": 1}, "no confidence, and no answers to measure it on: expected one of 'confidence', 'probability', 'prob', 'p', "
         "'counts', 'alpha' and 'beta', or 'samples', 'responses', 'generations', 'completions', 'cluster_ids', 'semantic_ids'. Found: 'id', 'sure', 'label'"),
        ({"samples": ["a", {"text": 3}], "label": 1}, "'samples', item 2, 'text': expected a text, found a number"),
        ({"samples": [{"text": "a", "logprob_mean": "x"}], "label": 1}, "'logprob_mean': expected a finite number, found a text"),
        ({"samples": ["a"], "cluster_ids": [1, 2], "label": 1}, "2 cluster_ids for 1 samples"),
        ({"samples": ["a"]}, "nothing says which answer is right"),
        ({"alpha": True, "beta": 1, "label": 1}, "'alpha': expected a finite number, found true or false"),
        ({"alpha": 1, "beta": 1, "label": "perhaps"}, "'correct': expected true, false, 1, 0 or null, found a text"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_used_says_what_was_expected_and_what_was_found(row, reason, tmp_path):
    refused = run("evaluate", "--data", write(tmp_path / "d.jsonl", [row]), "--resamples", 0, code=2)
    assert reason in refused.stderr


def test_right_answers_grade_by_the_same_rule_as_the_grade_command(tmp_path):
    """Unit and order do not matter, a known wrong answer does: by the plain text match all three would come out otherwise."""
    rows = [
        {"samples": ["12 kilometres"], "gold": ["12 km"]},
        {"samples": ["14 December 1972"], "gold": "December 14, 1972"},
        {"samples": ["China or California"], "gold": ["California"], "wrong": ["China"]},
    ]
    parsed = list(read_rows(write(tmp_path / "d.jsonl", rows)))
    records = anyio.run(partial(measure, parsed, equivalence=ExactClusterer(), signal=SemanticSignal()))
    assert records.correct.tolist() == [1.0, 1.0, 0.0]


def test_evaluate_measures_the_map_that_fit_learns(tmp_path):
    data, folder = write(tmp_path / "d.jsonl", rows()), tmp_path / "maps"
    fitted = json.loads(run("fit", "--data", data, "--folder", folder, "--json").stdout)
    evaluated = json.loads(run("evaluate", "--data", data, "--json", "--resamples", 0).stdout)
    assert evaluated["map"]["kind"] == fitted["map"]["kind"]


REFUSED = [
    ("\udc80", "not valid UTF-8"),
    ("[" * 100_000, "nested too deeply"),
    ("3", "not a JSON object"),
    ({"samples": ["a", "b"], "cluster_ids": [0], "correct": True}, "1 cluster_ids for 2 samples"),
    ({"alpha": 1, "beta": 2}, "expected a label: one of 'correct', 'label', 'is_correct', 'y'. Found: 'alpha', 'beta'"),
    ({"cluster_ids": [0, 0]}, "beside 'cluster_ids' without 'samples'"),
    ({"replies": ["a"]}, "Found: 'replies'"),
    ({}, "Found: nothing"),
    ({"samples": ["a"]}, "nothing says which answer is right"),
    ({"samples": ["a", 3], "gold": "a"}, "'samples', item 2: expected"),
    ({"samples": [{"logprob_mean": -1.0}], "gold": "a"}, "'text' is missing from 'samples', item 1"),
    ({"alpha": -1, "beta": 2, "correct": True}, "alpha"),
]


@pytest.mark.parametrize(("row", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_a_line_that_cannot_be_used_says_why(tmp_path, row, reason):
    line = row if isinstance(row, str) else json.dumps(row)
    path = tmp_path / "d.jsonl"
    path.write_bytes(b"\n" + line.encode(errors="surrogateescape") + b"\n")
    ((number, bad),) = read_rows(path)
    assert isinstance(bad, BadRow)
    assert (number, bad.line) == (2, 2)
    assert reason in bad.reason


def test_a_file_that_only_calls_itself_parquet_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    path = write(tmp_path / "d.parquet", rows(3))
    with pytest.raises(OSError, match="not a Parquet file"):
        list(read_rows(path))


def test_a_map_is_activated_for_routes_that_there_are(tmp_path: Path) -> None:
    """A typing error must not leave the real route uncalibrated without a word."""
    config = tmp_path / "config.yaml"
    config.write_text(
        f"upstreams: {{e: {{provider: embedded}}}}\nroutes: [{{name: support, upstream: e}}]\naudit: {{url: 'sqlite:///{tmp_path}/a.db'}}\n",
        encoding="utf-8",
    )
    done = CliRunner().invoke(app, ["maps", "activate", "mine", "--route", "suport", "--config", str(config)])
    assert done.exit_code == 2
    assert "no route is called 'suport'; the routes are support" in done.stderr


def test_the_report_of_a_fit_has_a_table_by_tenths(tmp_path):
    """Labelled claims of which four in ten are right at .8 and nine in ten at .9: the map brings both down, the table says so."""
    claims = [
        {"alpha": 27 * m, "beta": 27 * (1 - m), "correct": i % 10 < share, "signal": "consistency"}
        for i in range(100)
        for m, share in ((0.8, 4), (0.9, 9))
    ]
    data = write(tmp_path / "claims.jsonl", claims)
    options = ["fit", "--data", data, "--signal", "consistency", "--folder", tmp_path / "maps"]
    tenths = json.loads(run(*options, "--version", "one", "--json").stdout)["deciles"]
    assert [tenth["n"] for tenth in tenths] == [20] * 10
    assert [round(tenth["before"], 3) for tenth in tenths] == [0.8] * 5 + [0.9] * 5
    assert sum(tenth["right"] for tenth in tenths[:5]) == pytest.approx(5 * 0.4)
    assert all(tenth["after"] < tenth["before"] for tenth in tenths[:5])
    printed = run(*options, "--version", "two").stdout
    assert "by tenths of the answers" in printed
    assert printed.count("20   0.800") == 5


def test_every_figure_that_a_map_makes_worse_is_flagged(tmp_path):
    """Labels that change after the fit: the map that fitted them is worse than none."""
    rng, harm = np.random.default_rng(2), []
    for i in range(400):
        p = float(rng.uniform(0.05, 0.95))
        harm.append({"confidence": round(p, 3), "label": int(rng.random() < (p**6 if i < 120 else p))})
    data, page = write(tmp_path / "d.jsonl", harm), tmp_path / "r.html"
    options = ("evaluate", "--data", data, "--map", "isotonic", "--resamples", 100)
    document = json.loads(run(*options, "--json", "--html", page).stdout)
    worse = [
        name
        for name, held in document.items()
        if isinstance(held, dict) and held.get("worse") and held.get("beyond_noise")
    ]
    assert {"expected_brier", "smooth_ece"} <= set(worse)
    assert document["worse"] == len(worse)
    held = document["expected_brier"]
    assert held["difference"] == pytest.approx(held["after"] - held["before"])
    assert 0 < held["difference_interval"][0] < held["difference"] < held["difference_interval"][1]
    assert '<b class="worse">worse</b>' in page.read_text()
    assert run(*options).stdout.count("worse") >= len(worse)
    assert "worse is" in run(*options, "--fail-if", "worse > 0", code=1).stderr


def test_all_maps_and_signals_are_ranked_in_one_table_and_one_picture(tmp_path):
    """Log-probabilities beside the answers bring the token signal and the combination in."""
    rng, content = np.random.default_rng(3), []
    for row in rows(160):
        samples = [{**sample, "logprob_mean": -float(rng.uniform(0.05, 2))} for sample in row["samples"]]
        content.append({**row, "samples": samples})
    data, page = write(tmp_path / "d.jsonl", content), tmp_path / "c.html"
    done = run("evaluate", "--data", data, "--compare", "--json", "--html", page)
    assert f"Report written to {page}" in done.stderr
    document = json.loads(done.stdout)
    candidates = [(one["signal"], one["map"]) for one in document["candidates"]]
    assert len(candidates) + len(document["failed"]) == 24
    assert {signal for signal, _ in candidates} == {"semantic", "token", "combined"}
    scores = [one["brier"] for one in document["candidates"]]
    assert scores == sorted(scores)
    verdicts = {(one["signal"], one["map"]): one["verdict"] for one in document["candidates"]}
    assert verdicts["token", "identity"] == "worse"
    html = page.read_text()
    assert not any(word in html for word in ("http://", "https://", "<script", "src=", "nan"))
    assert html.count("<circle") == len(candidates)
    printed = run("evaluate", "--data", data, "--compare").stdout
    assert "reference" in printed
    assert "leave out --compare" in run("evaluate", "--data", data, "--compare", "--fail-if", "n > 1", code=2).stderr


def test_a_fit_shows_intervals_and_the_list_of_maps_its_figures(tmp_path):
    data, folder = write(tmp_path / "d.jsonl", rows()), tmp_path / "maps"
    printed = run("fit", "--data", data, "--folder", folder, "--version", "one").stdout
    assert "; cross-validation)" in next(line for line in printed.splitlines() if "smooth_ece" in line)
    run("fit", "--data", data, "--folder", folder, "--version", "two", "--map", "isotonic")
    listed = run("maps", "list", "--folder", folder).stdout.splitlines()
    held = json.loads(run("maps", "show", "one", "--folder", folder).stdout)["provenance"]["cross_validation"][
        "smooth_ece"
    ]
    assert f"{held['before']:.3f} -> {held['after']:.3f}" in next(line for line in listed if line.startswith("one"))
    differing = run("maps", "diff", "one", "two", "--folder", folder).stdout.splitlines()
    assert differing[0] == "raw mean -> calibrated mean by one, by two"
    assert max(map(len, differing)) < 130


def test_answers_without_labels_are_sent_to_grade(tmp_path):
    data = tmp_path / "drawn.jsonl"
    data.write_text('{"question": "Why?", "samples": ["a", "b"]}\n' * 2, encoding="utf-8")
    for command in ("fit", "evaluate"):
        refused = run(command, "--data", data, code=2).stderr
        assert "`hedgerow grade` labels answers" in refused
        assert f"{data}: 2 rows cannot be used" in refused
    data.write_text("", encoding="utf-8")
    assert "contains no row; expected labelled answers" in run("evaluate", "--data", data, code=2).stderr


def test_a_table_under_other_names_is_refused_with_each_reason_once(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text("quest,conf\n" + "Why?,0.5\n" * 40, encoding="utf-8")
    refused = run("evaluate", "--data", data, "--skip-bad", code=2)
    assert refused.stderr.count("Found: 'quest', 'conf'") == 1
    assert "lines 2, 3, 4 and 37 more: " in refused.stderr
    assert f"{data}: 40 rows cannot be used; there is no other row" in refused.stderr


def test_a_table_as_spreadsheets_write_it(tmp_path):
    """Semicolons, a mark of UTF-8 at the start and Windows line ends are read; UTF-16 is refused with what to do."""
    text = "p;label\r\n" + "0.5;1\r\n" * 60 + "0.4;0\r\n" * 60
    data = tmp_path / "d.csv"
    data.write_bytes(text.encode("utf-8-sig"))
    document = json.loads(run("evaluate", "--data", data, "--map", "identity", "--resamples", 0, "--json").stdout)
    assert document["n"] + document["n_fitted"] == 120
    data.write_bytes(text.encode("utf-16"))
    assert "saved as UTF-16; save it as UTF-8" in run("evaluate", "--data", data, code=2).stderr


def test_a_fit_says_where_its_map_is_and_its_name_once(tmp_path):
    data = write(tmp_path / "d.jsonl", rows())
    printed = run("fit", "--data", data, "--folder", tmp_path / "maps", "--version", "one", "--activate").stdout
    assert printed.startswith("one: fitted on 200 answers")
    assert f"stored in {tmp_path / 'maps'}" in printed.replace("\n", "")
