"""The recorded pairs and samples that the equivalence is measured on, read into one shape, and how they are split.

EVOUNA's questions are split by number: even ones were read while the rules were written and the prior was fitted ("development"),
odd ones were not ("held out").
"""

from __future__ import annotations

import gzip
import json
import re
import string
from pathlib import Path
from typing import Any

Row = dict[str, Any]
SAMPLE_SETS = {
    "llama13b": "samples/triviaqa_llama13b/samples.jsonl.gz",
    "gemma2": "samples/triviaqa_gemma2_2b/train.jsonl.gz",
    "maths, Llama": "samples/answerable_math/llama.jsonl.gz",
    "maths, Mistral": "samples/answerable_math/mistral.jsonl.gz",
    "nq": "samples/nq_qwen25_1_5b/nq_open.jsonl",
}


def read(path: Path) -> list[Row]:
    """Rows of a JSON Lines file, zipped or not."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def evouna(data: Path, *, words: int | None = 8) -> list[Row]:
    """EVOUNA's rows for Natural Questions; answers of at most so many words."""
    rows = read(data / "equivalence" / "evouna_nq.jsonl.gz")
    return [row for row in rows if words is None or len(row["answer"].split()) <= words]


def is_development(row: Row) -> bool:
    """Whether the row's question was seen while rules were written."""
    return int(row["id"].split("_")[1]) % 2 == 0


def exact(text: str) -> str:
    """SQuAD's normal form: the mark to beat."""
    bare = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def contains(short: str, text: str) -> bool:
    """Whether the exact form of one stands in that of the other, at word boundaries."""
    return bool(exact(short)) and f" {exact(short)} " in f" {exact(text)} "
