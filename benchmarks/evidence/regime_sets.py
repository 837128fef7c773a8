"""MMLU-Pro as the evidence on regimes reads it: each model's stated confidences, with the embedding and the subject of each question."""

from __future__ import annotations

import csv
import hashlib
import json
import lzma
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hedgerow.calibration.regimes.discovery import Columns
from hedgerow.proxy.clustering.embeddings import OnnxEncoder
from hedgerow.proxy.lab.regime_data import encode

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Answers:
    """One model's answers, with the subject of each."""

    columns: Columns
    subject: NDArray[np.str_]


def load(folder: Path) -> dict[str, Answers]:
    """The models' answers; a missing confidence leaves the answer out."""
    with lzma.open(folder / "mmlu_pro_questions.jsonl.xz", "rt", encoding="utf8") as lines:
        questions = [json.loads(line) for line in lines]
    x = _embedded([question["question"] for question in questions])
    place = {question["id"]: number for number, question in enumerate(questions)}
    subject = np.array([question["category"] for question in questions])
    rows: dict[str, list[tuple[int, float, int]]] = {}
    with lzma.open(folder / "mmlu_pro_confidences.csv.xz", "rt", encoding="utf8") as lines:
        for row in csv.DictReader(lines):
            if row["conf_verbal"]:
                rows.setdefault(row["model"], []).append(
                    (place[row["id"]], float(row["conf_verbal"]), int(row["correct"]))
                )
    return {model: _answers(np.array(found, dtype=np.float64), x, subject) for model, found in rows.items()}


def _answers(found: Floats, x: NDArray[np.float32], subject: NDArray[np.str_]) -> Answers:
    prompt = found[:, 0].astype(np.int64)
    return Answers(Columns(x[prompt], found[:, 1], found[:, 2], prompt), subject[prompt])


def _embedded(texts: list[str]) -> NDArray[np.float32]:
    """Embeddings, kept in the folder for temporary files: they take minutes."""
    name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    kept = Path(tempfile.gettempdir()) / f"hedgerow-minilm-{name}.npy"
    if not kept.exists():
        np.save(kept, encode(texts, OnnxEncoder()))
    return np.asarray(np.load(kept), dtype=np.float32)
