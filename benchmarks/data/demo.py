"""Makes proxy/lab/demo.json: questions with recorded answers for `hedgerow demo`, and a map fitted on the answers to all other questions.

python -m benchmarks.data.demo

Needs ../shared/data. Of the TriviaQA questions that LLaMA-13B answered twenty times, those that are short enough for a terminal stand in a hat;
ROUNDS of them are drawn by lot, with the first ten answers each, and nothing is left out afterwards. Right answers that TriviaQA's own list
lacks are added to three questions by hand.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
from pathlib import Path
from typing import Any

from hedgerow.proxy.lab.fitting import fit_records
from hedgerow.proxy.lab.measuring import SIGNALS, RuleClusterer, measure
from hedgerow.proxy.lab.rows import read_rows

ROOT = Path(__file__).parents[2]
RECORDED = ROOT.parent / "shared/data/samples/triviaqa_llama13b/samples.jsonl.gz"
MADE = ROOT / "proxy/lab/demo.json"
ROUNDS, ANSWERS, LONGEST, SEED = 20, 10, 90, 0
ALSO_RIGHT = {
    "Who elects a new Pope?": ["Cardinals"],
    "A. M. Best, Moodys, and Standard & Poors are all examples of what?": ["Rating agencies", "Ratings agencies"],
    "In what mountain range would you find the city of Tbilisi?": ["Caucasus"],
}
SOURCE = (
    "Questions and right answers: TriviaQA (Joshi et al. 2017), Apache-2.0. Answers: LLaMA-13B, temperature 1, recorded by UQ-NLG "
    "(Lin et al. 2023, github.com/zlin7/UQ-NLG), MIT."
)


def main() -> None:
    """See the module."""
    with gzip.open(RECORDED, "rt", encoding="utf8") as lines:
        rows = [_row(json.loads(line)) for line in lines]
    hat = [row for row in rows if len(row["question"]) <= LONGEST and row["question"].isascii()]
    drawn = random.Random(SEED).sample(hat, ROUNDS)
    others = [row for row in rows if row not in drawn]
    records = asyncio.run(measure(read_rows(others), equivalence=RuleClusterer(), signal=SIGNALS["semantic"]))
    fitted = fit_records(records, "platt-bounded", "semantic")
    document = {"source": SOURCE, "model": "LLaMA-13B", "map": fitted.to_dict(), "rounds": drawn}
    MADE.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf8")


def _row(row: dict[str, Any]) -> dict[str, Any]:
    question = row["question"].strip('"').replace('""', '"')
    known = [row["gold"]] if isinstance(row["gold"], str) else row["gold"]
    gold = known + ALSO_RIGHT.get(question, [])
    return {"question": question, "gold": gold, "samples": [sample["text"] for sample in row["samples"][:ANSWERS]]}


if __name__ == "__main__":
    main()
