"""Evidence for the two sides of "same meaning", by kind of pair: what the rules merge that differs, what they keep apart that does not."""

from __future__ import annotations

import csv
import hashlib
from collections import defaultdict
from pathlib import Path

from benchmarks import ROOT
from benchmarks.data.equivalence import evouna, is_development
from hedgerow.proxy.clustering.likely import judge, suits
from hedgerow.proxy.clustering.normal import read_question
from hedgerow.proxy.clustering.opening import read
from hedgerow.proxy.clustering.rules import compare_read, judge_pair

PAIRS = ROOT / "tests" / "data" / "meaning.tsv"
BEFORE = {
    "open": "BEFORE_OPEN",
    "aside": "BEFORE_ASIDE",
}
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


def by_kind(chosen: list[Pair]) -> str:
    """False merges among pairs that differ and false splits among pairs that do not, by kind."""
    found: dict[str, dict[str, list[bool]]] = defaultdict(lambda: {"0": [], "1": []})
    for pair in chosen:
        for kind in (pair["kind"], "all"):
            found[kind][pair["same"]].append(wrong(pair))
    lines = ["| kind | differ | merged | the same | kept apart |", "|---|---|---|---|---|"]
    for kind in (*sorted(found.keys() - {"all"}), "all"):
        differ, same = found[kind]["0"], found[kind]["1"]
        lines.append(f"| {kind} | {len(differ)} | {sum(differ)} | {len(same)} | {sum(same)} |")
    return "\n".join(lines)


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
