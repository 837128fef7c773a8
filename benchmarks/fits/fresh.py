"""Draw a set of fresh answers: `python -m benchmarks.fits.fresh fresh-4 5503` adds it, worded by today's rules and without grades, to tests/data/reading_fresh.jsonl.

From the eleventh on `--by-source` draws so many of each source; of those that may not be copied, tests/data/reading_unshipped.jsonl keeps the grades and a hash of the text that was graded.

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
BY_SOURCE = {
    "evouna": 40, "hotpot_llama31_8b": 32, "halueval_general": 28, "factscore_human": 26, "refchecker_nq": 26, "mt_bench": 12, "begin": 12, "haluquestqa": 11, "arena_hard": 2,
    "simpleqa_gpt5mini": 26, "graph_uncertainty_bios": 20, "graph_uncertainty_popqa": 20, "wikibio_gpt3": 16, "truthfulqa_llada8b": 40, "nq_qwen25_1_5b": 8, "triviaqa_llama13b": 8,
}  # fmt: skip
"""What the sets from the eleventh on are drawn by, since few prompts are left for most kinds."""
SHIPPED = frozenset({"Apache-2.0", "MIT", "CC BY 4.0"})
UNSHIPPED = reading.FILE.with_name("reading_unshipped.jsonl")
"""Answers under another licence or none: their grades without their texts."""
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


def unshipped(data: Path) -> Iterator[Source]:
    """Biographies, facts and short answers that may be measured on and not be copied."""
    for name in ("graph_uncertainty_bios", "graph_uncertainty_popqa", "wikibio_gpt3"):
        for row in reading._lines(data / "long_form" / f"{name}.jsonl.xz"):
            yield Source(name, "", row["prompt_id"], row["id"], row["question"] or "", row["answer"])
    for row in reading._lines(data / "samples" / "simpleqa_gpt5mini" / "simpleqa_gpt5mini.jsonl.gz"):
        for key in ("vanilla", "hedged"):
            yield Source(
                "simpleqa_gpt5mini", "", row["question"], f"{row['id']}#{key}", row["question"], row[key]["text"]
            )
    for name, file in (("truthfulqa_llada8b", "truthfulqa.jsonl.gz"), ("nq_qwen25_1_5b", "nq_open.jsonl")):
        for row in reading._lines(data / "samples" / name / file):
            yield Source(name, "", row["question"], row["id"], row["question"], row["samples"][0]["text"])


def draw_by_source(data: Path, name: str, seed: int) -> list[Row]:
    """As many answers of each source as there are to be, kinds and targets in turn, no prompt twice, prompts of which nothing is known first."""
    every = [one for one in (*sources(data), *unshipped(data)) if _fits(one) and asks_for_claim(one.question)]
    known, seen = _known(every), _read()
    random.Random(seed).shuffle(every)
    every.sort(key=lambda one: one.prompt in known)
    rows: list[Row] = []
    for source, count in BY_SOURCE.items():
        kinds: dict[str, list[Source]] = defaultdict(list)
        for one in reversed(every):  # taken from the end
            if one.name == source and not {one.id, one.id.partition("#")[0]} & seen:
                kinds[reading.kind_of(one.question, one.answer)].append(one)
        chosen = reading._in_turn(kinds, count)
        for i, one in enumerate(chosen):
            row = reading.row_of(one, reading.kind_of(one.question, one.answer), name, TARGETS[i % len(TARGETS)])
            rows.append(row | ({"known_prompt": True} if one.prompt in known else {}))
    return rows


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


def without_text(row: Row) -> Row:
    """What may be kept of a row whose answer may not be copied."""
    kept = {key: row[key] for key in ("id", "source", "kind", "half", "target", "status", "reason")}
    worded = None if row["text"] is None else hashlib.sha256(row["text"].encode()).hexdigest()[:16]
    return kept | {"worded": worded} | {key: row[key] for key in ("known_prompt", "first_grade", "note") if key in row}


def _fits(one: Source) -> bool:
    return (
        "```" not in one.answer
        and bool(one.answer.strip())
        and len(one.answer) <= LONGEST
        and len(one.question) <= LONGEST_QUESTION
    )


def _read() -> set[str]:
    """Answers that were read, or of which a sentence was labelled."""
    rows = [row for file in (reading.FILE, reading.FRESH, UNSHIPPED) if file.exists() for row in reading.load(file)]
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
    parser.add_argument("--by-source", action="store_true", help="so many of each source in place of each kind")
    options = parser.parse_args()
    before = reading.load(reading.FRESH)
    if any(row["half"] == options.name for row in before):
        print(f"{options.name} is in {reading.FRESH} already: a set is drawn once", file=sys.stderr)
        return 2
    if not DATA.is_dir():
        print(f"the recorded answers are not beside the checkout: {DATA}", file=sys.stderr)
        return 2
    rows = (
        draw_by_source(DATA, options.name, options.seed)
        if options.by_source
        else draw(DATA, options.name, options.seed)
    )
    results = asyncio.run(reading.reworded(rows, default_reworder()))
    worded = [reading.updated(*pair) for pair in zip(rows, results, strict=True)]
    reading.save([*before, *(row for row in worded if row["licence"] in SHIPPED)], reading.FRESH)
    reading.save([without_text(row) for row in worded if row["licence"] not in SHIPPED], UNSHIPPED)
    print(f"{len(rows)} answers, {sum(r.text != row['answer'] for row, r in zip(rows, results, strict=True))} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
