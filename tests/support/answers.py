"""Recorded answers of real models, each with a target confidence, spread evenly over the sets."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def recorded_answers(data: Path, count: int, *, seed: int = 20) -> Iterator[tuple[str, str, float]]:
    """(question, answer, target mean in [.02, .98]), the same ones for the same seed."""
    rng = random.Random(seed)
    files = sorted((data / "samples").rglob("*.jsonl*"))
    share = -(-count // len(files))
    rows = [row for file in files for row in rng.sample(list(_rows(file)), share)]
    for question, answer in rows[:count]:
        yield question, answer, rng.uniform(0.02, 0.98)


def _rows(file: Path) -> Iterator[tuple[str, str]]:
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    for line in text.splitlines():
        row: dict[str, Any] = json.loads(line)
        answers = [row["vanilla"], row["hedged"]] if "vanilla" in row else row["samples"][:1]
        yield from ((row["question"], answer["text"]) for answer in answers)
