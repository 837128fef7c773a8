"""Draw a set of fresh answers: `python -m benchmarks.fits.fresh fresh-4 5503` adds it, worded by today's rules and without grades, to tests/data/reading_fresh.jsonl.

Fresh means: no prompt of an answer that was read before, of a sentence that the claim gate was fitted on, or of a request that the request gate was fitted on. As in
the reading set, prompts are such as today's rules take to ask for something that can be right or wrong; answers to others stand as they are. Where a source has no such prompt left for a kind, as for
lists and chats, other models' answers to prompts that are known come in, none of which was read (`known_prompt`). Even and odd sets draw from different halves of the prompts, so that the long technical prompts, which are few, are in both.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from benchmarks import DATA, ROOT
from benchmarks.fits import reading
from benchmarks.fits.reading import Row, Source
from hedgerow.proxy.lab.rewording import default_reworder
from hedgerow.proxy.pipeline.eligibility import asks_for_claim

KINDS = {
    "short fact": 20, "one sentence": 38, "prose": 56, "list": 34, "advice": 14, "maths": 24, "other language": 10, "already hedged": 18, "false premise": 16, "inline code": 4,
}  # fmt: skip
TARGETS = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95)
LONGEST, LONGEST_QUESTION = 3_000, 1_500
MOST_BEGIN = 2
"""Replies of a kind by models that were made before chat."""
FITTED_ON, ASKED = (ROOT / "tests" / "data" / name for name in ("claims.tsv", "requests.jsonl"))


def sources(data: Path) -> Iterator[Source]:
    """Those of the reading set, judged facts, answers with samples and replies of dialogue models."""
    yield from reading.sources(data)
    for name, licence in (("factcheck_gpt", "Apache-2.0"), ("factool_qa", "Apache-2.0"), ("length_bias_human", "MIT")):
        for row in reading._lines(data / "long_form" / f"{name}.jsonl.xz"):
            yield Source(name, licence, row["prompt_id"], row["id"], row["question"] or "", row["answer"])
    for row in reading._lines(data / "samples" / "hotpot_llama31_8b" / "hotpot_llama31_8b.jsonl.gz"):
        text = row["samples"][0]["text"]
        yield Source("hotpot_llama31_8b", "MIT", row["question"], f"hotpot:{row['id']}", row["question"], text)
    for row in reading._lines(data / "rag" / "begin.jsonl.xz"):
        yield Source("begin", "CC BY 4.0", row["question"], row["id"], row["question"], row["answer"])


def draw(data: Path, name: str, seed: int) -> list[Row]:
    """The answers of a set with their confidences: by kind, targets in turn, sources in turn, no prompt twice."""
    every = [one for one in sources(data) if _fits(one)]
    known, seen = _known(every), _read()
    random.Random(seed).shuffle(every)
    found: dict[str, dict[str, list[Source]]] = defaultdict(lambda: defaultdict(list))
    others: dict[str, dict[str, list[Source]]] = defaultdict(lambda: defaultdict(list))
    for one in every:
        kind = reading.kind_of(one.question, one.answer)
        asks = kind in reading.ANY_PROMPT or asks_for_claim(one.question)
        if asks and _side(one.prompt) == int(name[-1]) % 2 and not {one.id, one.id.partition("#")[0]} & seen:
            (others if one.prompt in known else found)[kind][one.name].append(one)
    for kind, by_source in others.items():
        for source, ones in by_source.items():
            found[kind].setdefault(source, ones)
    for by_source in found.values():
        del by_source["begin"][MOST_BEGIN:]
    rows: list[Row] = []
    for kind, count in KINDS.items():
        chosen = reading._in_turn(found[kind], count)
        drawn = [reading.row_of(one, kind, name, TARGETS[i % len(TARGETS)]) for i, one in enumerate(chosen)]
        rows += [
            row | ({"known_prompt": True} if one.prompt in known else {})
            for row, one in zip(drawn, chosen, strict=True)
        ]
    return rows


def _fits(one: Source) -> bool:
    return (
        "```" not in one.answer
        and bool(one.answer.strip())
        and len(one.answer) <= LONGEST
        and len(one.question) <= LONGEST_QUESTION
    )


def _read() -> set[str]:
    """Answers that were read, or of which a sentence was labelled."""
    rows = [row for file in (reading.FILE, reading.FRESH) for row in reading.load(file)]
    labelled = [line.split("\t")[4] for line in FITTED_ON.read_text(encoding="utf-8").splitlines()]
    return {row["id"] for row in rows} | set(labelled)


def _known(every: list[Source]) -> set[str]:
    """Prompts that something was tuned on, or whose answers were read."""
    rows = [row for file in (reading.FILE, reading.FRESH) for row in reading.load(file)]
    fitted = [line.split("\t") for line in FITTED_ON.read_text(encoding="utf-8").splitlines()]
    ids = {row["id"] for row in rows} | {fields[4] for fields in fitted if fields[0] == "tuned"}
    asked = {row["question"].strip() for row in rows} | {
        json.loads(line)["request"].strip() for line in ASKED.read_bytes().splitlines()
    }
    asked.discard("")
    return {
        one.prompt for one in every if one.id in ids or one.id.partition("#")[0] in ids or one.question.strip() in asked
    }


def _side(prompt: str) -> int:
    return hashlib.sha256(f"fresh:{prompt}".encode()).digest()[0] % 2


def main() -> int:
    """Add the set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="fresh-4, say; ends with a digit")
    parser.add_argument("seed", type=int)
    options = parser.parse_args()
    before = reading.load(reading.FRESH)
    if any(row["half"] == options.name for row in before):
        print(f"{options.name} is in {reading.FRESH} already: a set is drawn once", file=sys.stderr)
        return 2
    if not DATA.is_dir():
        print(f"the recorded answers are not beside the checkout: {DATA}", file=sys.stderr)
        return 2
    rows = draw(DATA, options.name, options.seed)
    results = asyncio.run(reading.reworded(rows, default_reworder()))
    reading.save([*before, *(reading.updated(*pair) for pair in zip(rows, results, strict=True))], reading.FRESH)
    print(f"{len(rows)} answers, {sum(r.text != row['answer'] for row, r in zip(rows, results, strict=True))} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
