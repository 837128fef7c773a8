"""Evidence for the two sides of "same meaning", by kind of pair: what the rules merge that differs, what they keep apart that does not."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import defaultdict
from pathlib import Path

from benchmarks import RECORDED, ROOT
from benchmarks.data.equivalence import evouna, is_development
from hedgerow.proxy.clustering.likely import judge, suits
from hedgerow.proxy.clustering.normal import read_question
from hedgerow.proxy.clustering.rules import compare_read, judge_pair, read
from hedgerow.proxy.grading.rules import alias_grade

PAIRS = ROOT / "tests" / "data" / "meaning.tsv"
BEFORE = RECORDED / "meaning_before.json"
"""What the rules merged and split at the commit before they were changed, measured then by this module."""
Pair = dict[str, str]


def pairs() -> list[Pair]:
    """The pairs: kind, question, two answers, and "1" where they mean the same."""
    with PAIRS.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def set_aside(pair: Pair) -> bool:
    """Whether a pair is in the half that nobody looked at while rules were changed: by a hash of it."""
    told = "\t".join((pair["kind"], pair["question"], *sorted((pair["a"], pair["b"]))))
    return hashlib.sha256(told.encode()).digest()[0] % 2 == 1


def wrong(pair: Pair) -> bool:
    """Whether the rules call a pair otherwise than it is; undecided counts as different, because it stays apart."""
    return bool(judge_pair(pair["question"], pair["a"], pair["b"]).same) != (pair["same"] == "1")


def by_kind(chosen: list[Pair], before: dict[str, dict[str, int]]) -> str:
    """False merges among pairs that differ and false splits among pairs that do not, by kind, before and now."""
    found: dict[str, dict[str, list[bool]]] = defaultdict(lambda: {"0": [], "1": []})
    for pair in chosen:
        for kind in (pair["kind"], "all"):
            found[kind][pair["same"]].append(wrong(pair))
    lines = [
        "| kind | differ | merged before | merged | the same | kept apart before | kept apart |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in (*sorted(found.keys() - {"all"}), "all"):
        (differ, same), then = (found[kind][label] for label in "01"), before[kind]
        lines.append(
            f"| {kind} | {len(differ)} | {then['merged']} | {sum(differ)} | {len(same)} | {then['split']} | {sum(same)} |"
        )
    return "\n".join(lines)


def grading(data: Path) -> str:
    """The alias rule on people's verdicts: how often it says right where people say wrong, and the other way round."""
    rows = [row for row in evouna(data, words=None) if not is_development(row)]
    called = [alias_grade(row["question"], row["answer"], row["gold"]).correct == 1.0 for row in rows]
    right = [bool(row["correct"]) for row in rows]
    pairs_ = list(zip(called, right, strict=True))
    agree = sum(c == r for c, r in pairs_) / len(rows)
    falsely = sum(c and not r for c, r in pairs_) / right.count(False)
    missed = sum(r and not c for c, r in pairs_) / right.count(True)
    return f"| answers | agrees with people | wrong ones graded right | right ones graded wrong |\n|---|---|---|---|\n| {len(rows)} | {agree:.3f} | {falsely:.3f} | {missed:.3f} |"


def of_people(data: Path) -> str:
    """EVOUNA's odd questions: any right answer is called the same, by rules and with the logistic of `local`."""
    rows = [row for row in evouna(data, words=None) if not is_development(row)]
    called: dict[str, list[bool]] = {"rules": [], "rules and the logistic of `local`": []}
    for row in rows:
        asked = read_question(row["question"])
        answer, golds = read(row["answer"], asked), [read(gold, asked) for gold in row["gold"]]
        judged = [compare_read(gold, answer) for gold in golds]
        rules = any(j.same for j in judged)
        called["rules"].append(rules)
        likely = rules or any(
            j.same is None and suits(gold, answer) and judge(gold, answer).same
            for gold, j in zip(golds, judged, strict=True)
        )
        called["rules and the logistic of `local`"].append(likely)
    lines = ["| by | answers | precision | recall | F1 |", "|---|---|---|---|---|"]
    right = [bool(row["correct"]) for row in rows]
    for name, call in called.items():
        hit = sum(c and r for c, r in zip(call, right, strict=True))
        f1 = 2 * hit / (sum(call) + sum(right))
        lines.append(f"| {name} | {len(rows)} | {hit / sum(call):.3f} | {hit / sum(right):.3f} | {f1:.3f} |")
    return "\n".join(lines)


def section(data: Path) -> str:
    """The part on two sides of the same meaning, and on grading."""
    every, before = pairs(), json.loads(BEFORE.read_text(encoding="utf-8"))
    return f"""## Same meaning has two sides

Pairs written from public knowledge before any rule was touched (tests/data/meaning.tsv): some differ in one telling thing, some are the same in another writing.
A hash sets half of them aside; rules were changed on the other half, and the half set aside was measured before, after, and once more after a review of that change (8 kept apart before the review, 17 merged). "Before" is commit {before["commit"]}.
Undecided counts as apart. An answer is never merged by a judge where rules veto.

### The half that rules were changed on

{by_kind([pair for pair in every if not set_aside(pair)], before["open"])}

### The half set aside

{by_kind([pair for pair in every if set_aside(pair)], before["aside"])}

### People's verdicts (EVOUNA, odd questions)

Before: rules .981, .864, .919; with the logistic of `local` .961, .927, .944. The goal, F1 .944 at precision .965, is not reached.

{of_people(data)}

### Grading (`hedgerow grade --by alias`, EVOUNA, odd questions)

{grading(data)}
"""
