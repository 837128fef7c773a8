"""Files and frames as people have them, given to the commands that read labelled answers."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from hedgerow.proxy.lab.datasets import BadRow, read_objects
from hedgerow.proxy.lab.measuring import measure_file
from hedgerow.proxy.lab.promises import read_labels
from hedgerow.proxy.lab.questions import read_questions
from hedgerow.proxy.lab.regime_data import read_regime_rows
from hedgerow.proxy.lab.rows import Measured, Sampled, parse_row, read_rows
from tests.support.tables import cases

EVALS = [
    {"spec": {"completion_fns": ["gpt-4o-mini"], "eval_name": "test-match.s1.simple-v0", "base_eval": "test-match", "split": "s1",
              "run_config": {"seed": 20220722}, "created_by": "", "run_id": "230417220821DPM75QNS", "created_at": "2023-04-17 22:08:21.904498"}},
    {"final_report": {"accuracy": 0.5}},
    {"run_id": "r", "event_id": 0, "sample_id": "test-match.s1.2", "type": "sampling", "created_by": "", "created_at": "2023-04-17 22:10:13.127375+00:00",
     "data": {"prompt": "Complete the phrase.\nUser: OpenAI was founded in 20\nAssistant: ", "sampled": "OpenAI was founded in 2015."}},
    {"run_id": "r", "event_id": 1, "sample_id": "test-match.s1.2", "type": "match", "created_by": "", "created_at": "2023-04-17 22:10:13.127550+00:00",
     "data": {"correct": False, "expected": "15", "picked": None, "sampled": "OpenAI was founded in 2015.", "options": ["15"]}},
    {"run_id": "r", "event_id": 2, "sample_id": "test-match.s1.1", "type": "sampling", "created_by": "", "created_at": "2023-04-17 22:11:17.761693+00:00",
     "data": {"prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who was the first US president?"}], "sampled": ["George Washington"]}},
    {"run_id": "r", "event_id": 3, "sample_id": "test-match.s1.1", "type": "match", "created_by": "", "created_at": "2023-04-17 22:11:17.761739+00:00",
     "data": {"correct": True, "expected": "George Washington", "picked": "George Washington", "sampled": "George Washington"}},
    {"spec": {"completion_fns": ["gpt-4o-mini"], "eval_name": "test-match.s1.simple-v0"}},
    {"run_id": "s", "event_id": 0, "sample_id": "test-match.s1.1", "type": "sampling", "created_by": "", "created_at": "2023-04-18 22:11:17.761693+00:00",
     "data": {"prompt": [{"role": "user", "content": "Who was the first US president?"}], "sampled": ["John Adams"]}},
    {"run_id": "s", "event_id": 1, "sample_id": "test-match.s1.1", "type": "match", "created_by": "", "created_at": "2023-04-18 22:11:17.761739+00:00",
     "data": {"correct": False, "expected": "George Washington", "picked": None, "sampled": "John Adams"}},
]  # fmt: skip
"""Two runs, one after the other: what `LocalRecorder`, `record_sampling` and `record_match` of openai/evals (evals/record.py, commit 00414586)
write: a line for the run's spec, its report wherever it was flushed, then one event a line."""

WRITTEN = {
    "doc_id": 3, "doc": {"question": "Who painted The Starry Night?", "answer": "Van Gogh"}, "target": "['Van Gogh', 'Vincent van Gogh']",
    "arguments": {"gen_args_0": {"arg_0": "Question: Who painted The Starry Night?\nAnswer:", "arg_1": {"until": ["\n"]}}},
    "resps": [[" Van Gogh", " van gogh", " Monet"]], "filtered_resps": [[" Van Gogh", " van gogh", " Monet"]], "filter": "none",
    "metrics": ["exact_match"], "doc_hash": "d", "prompt_hash": "p", "target_hash": "t", "exact_match": 1.0,
}  # fmt: skip
CHOSEN = {
    "doc_id": 0, "doc": {"query": "2 + 2 ="}, "target": "1",
    "arguments": {f"gen_args_{i}": {"arg_0": "2 + 2 =", "arg_1": f" {n}"} for i, n in enumerate((3, 4, 5, 6))},
    "resps": [[["-3.0", "False"]], [["-1.0", "True"]], [["-4.0", "False"]], [["-5.0", "False"]]],
    "filtered_resps": [["-3.0", "False"], ["-1.0", "True"], ["-4.0", "False"], ["-5.0", "False"]], "filter": "none", "acc": 1.0, "acc_norm": 1.0,
}  # fmt: skip
"""Documents of a task that writes, with `repeats: 3`, and of one that chooses: what `save_results_samples` of lm-evaluation-harness
(lm_eval/loggers/evaluation_tracker.py, commit 034ab036) writes: answers and targets as texts, arguments as objects."""


def written(path: Path, rows: list) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def stated(n=300, seed=1):
    """Confidences, stated too high, with labels."""
    rng = np.random.default_rng(seed)
    p = rng.beta(4, 2, n).round(3)
    return p, rng.random(n) < p**2


def test_logs_of_openai_evals_are_one_question_for_each_sample_id(tmp_path):
    """Runs one after the other give a question several answers, each with the label of its own match; the draft's counts."""
    rows = [row for _, row in read_rows(written(tmp_path / "log.jsonl", EVALS))]
    assert [[sample.text for sample in row.samples] for row in rows] == [
        ["OpenAI was founded in 2015."],
        ["George Washington", "John Adams"],
    ]
    assert [row.question.splitlines()[-1] for row in rows] == ["Assistant: ", "Who was the first US president?"]
    assert [(row.model, row.gold) for row in rows] == [
        ("gpt-4o-mini", ("15",)),
        ("gpt-4o-mini", ("George Washington",)),
    ]
    assert (rows[1].verdict_of(0), rows[1].verdict_of(1)) == (True, False)
    records = measure_file(tmp_path / "log.jsonl", ["semantic"], "exact")["semantic"]
    assert (records.correct.tolist(), records.alpha.tolist(), records.beta.round(3).tolist()) == (
        [0, 1],
        [1, 1],
        [0, 1],
    )


def test_samples_of_the_evaluation_harness_are_read(tmp_path):
    """Written answers are graded by the target; log-likelihoods of choices are a confidence, with `acc` as its label."""
    path = written(
        tmp_path / "samples_t.jsonl", [WRITTEN, WRITTEN | {"filter": "take_first", "filtered_resps": [" Van Gogh"]}]
    )
    ((_, row),) = read_rows(path)
    assert isinstance(row, Sampled)
    assert (row.question, row.gold) == ("Who painted The Starry Night?", ("Van Gogh", "Vincent van Gogh"))
    assert [sample.text for sample in row.samples] == [" Van Gogh", " van gogh", " Monet"]
    ((_, row),) = read_rows(written(tmp_path / "samples_mc.jsonl", [CHOSEN]))
    assert isinstance(row, Measured)
    softmax = np.exp([-3.0, -1.0, -4.0, -5.0]) / np.exp([-3.0, -1.0, -4.0, -5.0]).sum()
    assert row.raw.mean == pytest.approx(softmax[1])
    assert (row.correct, row.stated) == (True, True)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "json", "jsonl", "parquet"])
def test_confidence_and_label_in_any_file_give_the_same_figures(tmp_path, ending):
    import relplot

    p, y = stated()
    frame = pd.DataFrame({"id": range(300), "Probability": p, "is_correct": y})
    path = tmp_path / f"d.{ending}"
    if ending == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif "json" in ending:
        frame.to_json(path, orient="records", lines=ending == "jsonl")
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    done = run("evaluate", "--data", path, "--json", "--resamples", 0)
    assert "300 confidences are single numbers, taken as worth 10 answers each" in done.stderr
    document = json.loads(done.stdout)
    assert (document["n"], document["accuracy"]) == (210, pytest.approx(y[90:].mean()))
    assert document["smooth_ece"]["before"] == pytest.approx(relplot.smECE(p[90:], y[90:]), abs=0.005)


@pytest.mark.parametrize("text", ["", "confidence,correct\n"])
def test_a_file_without_rows_is_called_that(text, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(text)
    assert "answers.csv: contains no row" in run("evaluate", "--data", path, code=2).stderr


@cases("library", [pd, pl])
def test_frames_give_the_same_columns_as_their_rows(library):
    """Lists, numbers and empty cells as each library holds them."""
    content = {
        "question": ["a?", "b?", "c?"],
        "samples": [["x", "x", "y"], ["z", "z", "z"], ["w", "v", "v"]],
        "golden_answers": [["x"], ["q"], None],
        "label": [None, None, 1],
    }
    records = measure_file(library.DataFrame(content), ["semantic"], "exact")["semantic"]
    assert records.bad == ()
    assert records.correct.tolist() == [1.0, 0.0, 1.0]
    assert (records.alpha.tolist(), records.beta.round(3).tolist()) == ([2, 3, 2], [1, 0, 1])
    assert records.graded_by == ("golden_answers",)


ONE = [
    ({"counts": [20, 0], "label": 1}, (20.0, 1e-6)),
    ({"counts": "20:0", "label": "right"}, (20.0, 1e-6)),
    ({"alpha": 20, "beta": 0, "label": True}, (20.0, 1e-6)),
    ({"alpha": "9", "beta": "1", "correct": "TRUE"}, (9.0, 1.0)),
    ({"confidence": 0.8, "label": 1}, (8.0, 2.0)),
    ({"p": "0.8", "y": "1.0"}, (8.0, 2.0)),
]


@cases(("row", "beta"), ONE)
def test_counts_and_confidences_are_betas(row, beta):
    read = parse_row(row)
    assert (read.alpha, read.beta) == pytest.approx(beta)
    assert read.correct is True


@cases(
    "gold",
    [{"gold": "Paris"}, {"answer": "Paris"}, {"golden_answers": ["Paris"]}, {"Correct Answers": '["Paris", "Lutetia"]'}, {"target": "['Paris']"}],
)  # fmt: skip
def test_right_answers_have_many_names_and_spellings(gold):
    row = parse_row({"Prompt": "Capital of France?", "responses": ["Paris", "Lyon"], **gold})
    assert row.question == "Capital of France?"
    assert row.gold[0] == "Paris"


def test_a_table_may_have_a_column_a_sample(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("question,sample_1,sample_2,sample_10,answer\nq?,a,b,c,a\nr?,a,,c,a\n")
    assert [[sample.text for sample in row.samples] for _, row in read_rows(path)] == [["a", "b", "c"], ["a", "c"]]


def test_the_keys_looked_for_and_found_are_named_with_the_line(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("id,certainty,verdict\n1,0.8,1\n")
    refused = run("fit", "--data", path, code=2)
    assert "line 2: no confidence, and no answers to measure it on: expected one of 'confidence'" in refused.stderr
    assert "Found: 'id', 'certainty', 'verdict'" in refused.stderr
    path.write_text("id,confidence,verdict\n1,0.8,1\n")
    assert (
        "line 2: expected a label: one of 'correct', 'label', 'is_correct', 'y'. Found: 'id', "
        in run("fit", "--data", path, code=2).stderr
    )
    assert (
        "line 2: expected a label"
        in run("certify", "--data", path, "--promise", "plain answers are wrong at most 5 %", code=2).stderr
    )
    assert "line 2: expected a label" in run("regimes", "--data", path, code=2).stderr
    path.write_text("confidence,label\n85,1\n")
    assert "'confidence': expected a number from 0 to 1, found 85" in run("evaluate", "--data", path, code=2).stderr


def test_one_answer_a_question_says_what_is_missing(tmp_path):
    path = written(tmp_path / "d.jsonl", [{"question": f"{i}?", "samples": ["a"], "gold": "a"} for i in range(50)])
    assert (
        "each question has one answer. Confidence is how far several answers agree"
        in run("fit", "--data", path, code=2).stderr
    )


def test_certify_and_regimes_read_tables_too(tmp_path):
    p, y = stated()
    path = tmp_path / "d.csv"
    pd.DataFrame({"question": [f"q{i}?" for i in range(300)], "prob": p, "label": y}).to_csv(path, index=False)
    labels = read_labels(path)
    assert (labels.confidence.tolist(), labels.correct.sum(), labels.bad) == (p.tolist(), y.sum(), ())
    rows = read_regime_rows(read_objects(path))
    assert [row.confidence for row in rows.rows] == pytest.approx(p.tolist())
    assert rows.bad == ()


def test_questions_come_from_a_parquet_table_as_from_a_csv(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"problem": ["Capital of France?", "2 + 2?"], "answer": ["Paris|Lutetia", "4"]})
    frame.to_parquet(tmp_path / "q.parquet")
    frame.to_csv(tmp_path / "q.csv", index=False)
    tables = [list(read_questions(tmp_path / name)) for name in ("q.parquet", "q.csv")]
    assert [[(q.text, q.gold) for q in table] for table in tables] == [
        [("Capital of France?", ("Paris", "Lutetia")), ("2 + 2?", ("4",))]
    ] * 2


def test_broken_tables_are_refused_row_by_row(tmp_path):
    """Cells beyond the header, a quoted cell too long for the reader, a file that only calls itself a list."""
    path = tmp_path / "d.csv"
    path.write_text("confidence,label\n0.5,1,2\n0.5,1\n")
    rows = list(read_rows(path))
    assert rows[0][1] == BadRow(2, "more cells than the header names")
    assert isinstance(rows[1][1], Measured)
    path.write_text("confidence,label\n" + "x" * 10_000_001 + ",1\n")
    ((_, bad),) = read_rows(path)
    assert "not valid CSV" in bad.reason
    lines = tmp_path / "d.json"
    lines.write_text('{"confidence": 0.5, "label": 1}\n{"confidence": 0.5, "label": 0}\n')
    assert [row.correct for _, row in read_rows(lines)] == [True, False]
    lines.write_bytes(gzip.compress(b"[1, {}]"))
    packed = lines.rename(tmp_path / "d.json.gz")
    assert [type(row) for _, row in read_rows(packed)] == [BadRow, BadRow]


def test_a_cell_of_hostile_brackets_is_refused_and_not_followed():
    """Nested deeper than Python reads, and longer than is looked at."""
    for cell in ("[" * 50_000, "[" + "1," * 600_000 + "]"):
        with pytest.raises(ValueError, match="'samples': expected a list of answers"):
            parse_row({"samples": cell, "label": 1})


def test_the_writer_of_csv_is_the_standard_one(tmp_path):
    """Quotes, line breaks and a byte order mark inside a table do not move its columns."""
    path = tmp_path / "d.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "confidence", "label"])
        writer.writerow(['Who said "a, b"\nand c?', 0.25, "no"])
    ((line, row),) = read_rows(path)
    assert (line, row.question, row.raw.mean, row.correct) == (3, 'Who said "a, b"\nand c?', 0.25, False)
