"""The reading set: real answers, each with its reworded text and a reader's grade. `python -m benchmarks.fits.reading` words every answer anew and shows
what changed since it was graded; `--select` draws the set, `--write` takes over new texts and voids the grades of those that changed.

Grades, given by reading one text after the other: A, a careful editor might have written it; B, understandable but stilted; C, odd or ungrammatical; D, worse than
doing nothing (the meaning changed, the wrong clause, a contradiction, formatting damaged). An answer that is left as it is has no grade.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import json
import lzma
import math
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import DATA, ROOT
from hedgerow.calibration import Beta
from hedgerow.lexicon.reading.local import read
from hedgerow.lexicon.text.sentences import sentences
from hedgerow.proxy.lab.rewording import GivenAnswer, GivenClaim, Reworder, default_reworder
from hedgerow.proxy.outcomes import Status
from hedgerow.proxy.pipeline.claims import claims_of
from hedgerow.proxy.pipeline.eligibility import asks_for_claim
from hedgerow.proxy.pipeline.result import Result

FILE = ROOT / "tests" / "data" / "reading.jsonl"
FRESH = FILE.with_name("reading_fresh.jsonl")
"""Answers drawn when the rules were written, of prompts that are in no other set that something was tuned on; `first_grade` is what each got when it was first
read. Of `fresh-1` (seed 2207) something was learnt before `fresh-2` (seed 3301) was read, and of that, and of 230 answers that are not kept, before `fresh-3` (seed 4409): it
was drawn from more sources (answers with samples, dialogues, judged facts) and with targets .1 to .95; 29 of its prompts are held-out ones of tests/data/claims.tsv. `fresh-4` to
`fresh-7` are drawn by `benchmarks.fits.fresh` (seeds 5504, 6605, 7706, 8809), each by the rules that the one before it had mended; so are `fresh-8` to `fresh-10` (seeds 9908, 11019, 12121), with `known_prompt` where another
answer to the prompt was read. `fresh-11` (seed 13131) is drawn by source; the half of it that may not be copied is in reading_unshipped.jsonl, grades alone.
`fresh-12` (seed 14141) is drawn alike, about half as many of each source; `fresh-13` (seed 15151) alike too, with targets of .3, .4, .5, .6, .7, .8 and .85 and without BEGIN; `fresh-14` (seed 16161) is drawn
alike with answers to TruthfulQA and short ones to NQ besides, targets .1 to .95.
"""
ADVERSARIAL = FILE.with_name("reading_adversarial.jsonl")
"""Short answers of our own, each with one thing that invites a mistake, which is its kind."""
SEED = 14
TARGETS = (0.05, 0.20, 0.35, 0.50, 0.65, 0.80, 0.95)
CONCENTRATION = 10.0
SPREAD = 0.9
"""Standard deviation, in logits, of the confidences in the claims of one answer."""
LONGEST, LONGEST_QUESTION = 1_700, 600
KINDS = {
    "short fact": 42, "one sentence": 56, "prose": 84, "list": 70, "table": 28, "inline code": 14, "advice": 28, "maths": 42, "other language": 42,
    "already hedged": 28, "false premise": 28,
}  # fmt: skip
ANY_PROMPT = frozenset({"table", "inline code", "other language"})
"""Kinds that are rare; the others are drawn among prompts that ask for a claim."""
Row = dict[str, Any]


class Source(NamedTuple):
    """Where an answer comes from."""

    name: str
    licence: str
    prompt: str
    id: str
    question: str
    answer: str


def sources(data: Path) -> Iterator[Source]:
    """All answers under a permissive licence."""
    for name in ("mt_bench", "arena_hard"):
        for row in _lines(data / "chat" / f"{name}.jsonl.xz"):
            turns = row["messages"]
            for i in range(1, len(turns), 2):
                asked, said = turns[i - 1]["content"], turns[i]["content"]
                yield Source(name, "Apache-2.0", row["prompt_id"], f"{row['id']}#{i}", asked, said)
    for row in _lines(data / "equivalence" / "evouna_nq.jsonl.gz"):
        yield Source("evouna", "Apache-2.0", row["question"], row["id"], row["question"], row["answer"])
    for name, licence in (
        ("factscore_human", "MIT"), ("halueval_general", "MIT"), ("haluquestqa", "Apache-2.0"), ("refchecker_nq", "CC BY 4.0"),
    ):  # fmt: skip
        for row in _lines(data / "long_form" / f"{name}.jsonl.xz"):
            if not row["model"].startswith("human"):
                yield Source(name, licence, row["prompt_id"], row["id"], row["question"] or "", row["answer"])
    for row in _lines(data / "samples" / "triviaqa_llama13b" / "samples.jsonl.gz"):
        yield Source(
            "triviaqa_llama13b",
            "MIT",
            row["question"],
            f"triviaqa:{row['id']}",
            row["question"],
            row["samples"][0]["text"],
        )


def _lines(file: Path) -> list[Any]:
    data = file.read_bytes()
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in data.splitlines()]
    text = gzip.decompress(data) if file.suffix == ".gz" else lzma.decompress(data)
    return [json.loads(line) for line in text.splitlines()]


_TABLE = re.compile(r"\|\s*:?-{2,}|-{2,}\s*\|")
_CODE = re.compile(r"`[^`\n]+`")
_MATHS = re.compile(r"\$[^$\n]+\$|\\\[|\\\(|[=≈]\s*-?\d|\d\s*[+*/×÷]\s*\d")
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s", re.MULTILINE)
_ADVICE = re.compile(
    r"\b(?:should (?:i|you|we|one)|how (?:can|do|should|would) (?:i|you|we|one)|tips|advi[cs]e|safe(?:ly|ty)?|medic\w+|symptoms?|diet|first aid|dos(?:e|age)|treat\w*"
    r"|recommend\w*|best way)\b",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"\b(?:might|may be|possibly|perhaps|probably|likely|not (?:entirely |completely )?(?:sure|certain)|i (?:believe|think)|it seems|appears? to|could be|unclear)\b",
    re.IGNORECASE,
)
_PREMISE = re.compile(
    r"\b(?:there is no|there (?:was|were|are) no|there isn't|there has never|did not|has not|have not|never (?:been|had|won|was)|misconception|in fact|actually|not accurate|incorrect|"
    r"no evidence|fictional|does not exist|contrary to)\b",
    re.IGNORECASE,
)


_ENGLISH = frozenset(
    [
        "the",
        "of",
        "and",
        "to",
        "in",
        "is",
        "was",
        "that",
        "for",
        "with",
        "as",
        "by",
        "it",
        "are",
        "this",
        "be",
        "on",
        "or",
        "from",
        "his",
        "he",
        "she",
        "they",
        "at",
        "an",
    ]
)


def kind_of(question: str, answer: str) -> str:
    """The kind under which an answer is reported."""
    if _is_foreign(answer):
        return "other language"
    if _TABLE.search(answer):
        return "table"
    if _CODE.search(answer):
        return "inline code"
    if len(_MATHS.findall(answer)) >= 2:
        return "maths"
    if _ADVICE.search(question):
        return "advice"
    if len(_ITEM.findall(answer)) >= 3:
        return "list"
    if _HEDGED.search(answer):
        return "already hedged"
    if _PREMISE.search(answer):
        return "false premise"
    count = len(list(sentences(answer)))
    if count == 1:
        return "short fact" if len(answer.split()) <= 6 else "one sentence"
    return "prose"


def _is_foreign(text: str) -> bool:
    """Whether a text is not in English, by a count that has nothing of the proxy's own reader of languages: other scripts, or a text without English's small words."""
    letters = [c for c in text if c.isalpha()]
    if sum(ord(c) > 0x24F for c in letters) > 0.3 * len(letters):
        return True
    words = re.findall(r"[^\W\d_]+", text.lower())
    small, accents = sum(word in _ENGLISH for word in words), sum(ord(c) > 127 for c in letters)
    return len(words) >= 12 and small < 0.08 * len(words) and accents > 0.01 * len(letters)


def select(data: Path) -> list[Row]:
    """The answers with their confidences: by kind, half of each kind for tuning and half for the report, no prompt twice, sources in turn."""
    found: dict[tuple[str, str], dict[str, list[Source]]] = defaultdict(lambda: defaultdict(list))
    every = list(sources(data))
    random.Random(SEED).shuffle(every)
    for one in every:
        if not fits(one):
            continue
        kind = kind_of(one.question, one.answer)
        if kind in ANY_PROMPT or asks_for_claim(one.question):
            found[kind, _half(one.prompt)][one.name].append(one)
    rows: list[Row] = []
    for kind, count in KINDS.items():
        for half in ("tune", "report"):
            chosen = _in_turn(found[kind, half], count // 2)
            rows += [row_of(one, kind, half, TARGETS[i % len(TARGETS)]) for i, one in enumerate(chosen)]
    return rows


def fits(one: Source) -> bool:
    """Whether an answer is one to be read: not blocks of code, which are left alone for a reason of their own, and not longer than a page."""
    return (
        "```" not in one.answer
        and bool(one.answer.strip())
        and len(one.answer) <= LONGEST
        and len(one.question) <= LONGEST_QUESTION
    )


def _half(prompt: str) -> str:
    return ("tune", "report")[hashlib.sha256(f"reading:{prompt}".encode()).digest()[0] % 2]


def _in_turn(by_source: dict[str, list[Source]], count: int) -> list[Source]:
    chosen: list[Source] = []
    prompts: set[str] = set()
    queues = [list(by_source[name]) for name in sorted(by_source)]
    while any(queues) and len(chosen) < count:
        for queue in queues:
            while queue and queue[-1].prompt in prompts:
                queue.pop()
            if queue and len(chosen) < count:
                chosen.append(queue.pop())
                prompts.add(chosen[-1].prompt)
    return chosen


def row_of(one: Source, kind: str, half: str, target: float) -> Row:
    """A row without a text. Each claim has a confidence of its own around the target; the answer has that which the pipeline gives it, the mean."""
    rng = random.Random(one.id)
    claims = []
    for claim in claims_of(read(one.answer, one.question)):
        mean = 1 / (1 + math.exp(-(math.log(target / (1 - target)) + rng.gauss(0.0, SPREAD))))
        claims.append([claim.text, round(min(max(mean, 0.02), 0.98), 3)])
    mean = sum(mean for _, mean in claims) / len(claims) if len(claims) > 2 else target
    return {
        "id": one.id, "source": one.name, "licence": one.licence, "kind": kind, "half": half, "target": target, "confidence": round(mean, 3),
        "question": one.question, "answer": one.answer, "claims": claims,
    }  # fmt: skip


def given(row: Row) -> GivenAnswer:
    """A row as `hedgerow rewrite --json` reads it."""
    whole = Beta.from_mean(row["confidence"], CONCENTRATION)
    parts = [(text, Beta.from_mean(mean, CONCENTRATION)) for text, mean in row["claims"]]
    return GivenAnswer(
        question=row["question"],
        answer=row["answer"],
        alpha=whole.alpha,
        beta=whole.beta,
        claims=tuple(GivenClaim(text=text, alpha=beta.alpha, beta=beta.beta) for text, beta in parts),
    )


async def reworded(rows: Sequence[Row], reworder: Reworder) -> list[Result]:
    """Every answer as it would be served now."""
    return [await reworder.reword(given(row)) for row in rows]


def updated(row: Row, result: Result) -> Row:
    """The row with the text of now; its grade is void where the text is another one."""
    text = None if result.text == row["answer"] else result.text
    kept = {key: row[key] for key in ("grade", "note") if key in row} if "text" in row and row["text"] == text else {}
    rest = {key: value for key, value in row.items() if key not in ("text", "status", "reason", "grade", "note")}
    return rest | {"text": text, "status": result.status, "reason": result.reason} | kept


def load(file: Path = FILE) -> list[Row]:
    """A committed set."""
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def save(rows: Sequence[Row], file: Path = FILE) -> None:
    """Write a set, one answer a line."""
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def _show(row: Row, result: Result) -> str:
    was = "not worded yet" if "text" not in row else row["text"] if row["text"] is not None else "(left as it is)"
    now = result.text if result.status == Status.HEDGED else f"(left as it is: {result.reason})"
    return f"{row['id']} [{row['kind']}, {row['half']}, target {row['target']}]\n  graded {row.get('grade', '-')}: {was}\n  now: {now}"


def main() -> int:
    """Show what changed; exit status 1 where anything did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--select", action="store_true", help="draw the set anew; every grade is lost")
    parser.add_argument("--write", action="store_true", help="take over the new texts, without grades")
    options = parser.parse_args()
    if options.select:
        if not DATA.is_dir():
            print(f"the recorded answers are not beside the checkout: {DATA}", file=sys.stderr)
            return 2
        save(select(DATA))
        return 0
    stale = sum(_compare(file, options.write) for file in (FILE, FRESH, ADVERSARIAL))
    return 1 if stale and not options.write else 0


def _compare(file: Path, write: bool) -> int:
    """Word a set anew and print what changed; how many texts are not those that were graded."""
    rows = load(file)
    results = asyncio.run(reworded(rows, default_reworder()))
    after = [updated(row, result) for row, result in zip(rows, results, strict=True)]
    pairs = zip(rows, after, results, strict=True)
    changed = [(row, result) for row, new, result in pairs if "text" not in row or row["text"] != new["text"]]
    for row, result in changed:
        print(_show(row, result))
    print(f"{file.name}: {len(changed)} of {len(rows)} texts are not those that were graded", file=sys.stderr)
    if write:
        save(after, file)
    return len(changed)


if __name__ == "__main__":
    sys.exit(main())
