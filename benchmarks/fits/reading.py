"""Real answers by source and kind, with confidences for the answer and each of its claims: what is worded in bulk for the evidence."""

from __future__ import annotations

import gzip
import json
import lzma
import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hedgerow.calibration import Beta
from hedgerow.lexicon.reading.local import read
from hedgerow.lexicon.text.sentences import sentences
from hedgerow.proxy.lab.rewording import GivenAnswer, GivenClaim
from hedgerow.proxy.pipeline.claims import claims_of

TARGETS = (0.05, 0.20, 0.35, 0.50, 0.65, 0.80, 0.95)
CONCENTRATION = 10.0
SPREAD = 0.9
"""Standard deviation, in logits, of the confidences in the claims of one answer."""
LONGEST, LONGEST_QUESTION = 1_700, 600
KINDS = (
    "short fact", "one sentence", "prose", "list", "table", "inline code", "advice", "maths", "other language", "already hedged", "false premise",
)  # fmt: skip
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


def fits(one: Source) -> bool:
    """Whether an answer is one to be read: not blocks of code, which are left alone for a reason of their own, and not longer than a page."""
    return (
        "```" not in one.answer
        and bool(one.answer.strip())
        and len(one.answer) <= LONGEST
        and len(one.question) <= LONGEST_QUESTION
    )


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
