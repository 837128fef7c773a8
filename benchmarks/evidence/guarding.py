"""The guard against an editor: how many excellent rewrites it refuses, and how many harmful ones it lets through, by kind.

`python -m benchmarks.evidence.guarding` prints the table; `--wrong` the rows that it gets wrong. The rewrites are in
tests/data/guard_good.jsonl and guard_harmful.jsonl, written by hand: of answers from Factcheck-GPT, FacTool, HaluQuestQA, MT-bench, Arena-Hard
and EVOUNA (Apache-2.0), FActScore and HaluEval (MIT), and of sentences of our own (`source: ours`). `part` says what a rule may be tuned on: answers are
split by the hash of their question; `second` was written after the rules, `third` after what was learnt from the second, `fourth` after what was learnt from the third, `sixth` after the `fifth`, which moves phrases, and `seventh` by a reader of the guard's code who looked for holes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow.calibration import Beta
from hedgerow.lexicon import Retriever, load
from hedgerow.lexicon.reading.local import read
from hedgerow.proxy.rewriting import Entailment, FactGuard
from hedgerow.proxy.rewriting.entailment import CrossEncoderEntailment, LocalEntailment
from hedgerow.proxy.types import Rewrite, RewriteRequest, Verdict

SETS = Path(__file__).parents[2] / "tests" / "data"
CONCENTRATION = 10.0


@dataclass(frozen=True, slots=True)
class Judged:
    """A rewrite of one of the sets, and what the guard said of it."""

    good: bool
    row: dict[str, Any]
    verdict: Verdict

    @property
    def wrong(self) -> bool:
        """An excellent one refused, or a harmful one let through."""
        return self.good is not self.verdict.accepted


def judged(guard: FactGuard) -> Iterator[Judged]:
    """Both sets through a guard."""
    retriever = Retriever(load())
    for name in ("good", "harmful"):
        for line in (SETS / f"guard_{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            target = Beta.from_mean(row["target"], CONCENTRATION)
            request = RewriteRequest(row["question"], row["draft"], target, retriever.nearest(target, 5))
            yield Judged(
                name == "good",
                row,
                guard.check_sync(request, Rewrite(row["rewrite"], None), read(row["draft"], row["question"])),
            )


def table(verdicts: list[Judged]) -> str:
    """Markdown: wrong of all, by set, kind and part."""
    parts = sorted({one.row["part"] for one in verdicts}, reverse=True)
    lines = [f"| rewrites | kind | {' | '.join(parts)} |", f"|---|---|{'--:|' * len(parts)}"]
    for good, title in ((True, "excellent, refused"), (False, "harmful, let through")):
        chosen = [one for one in verdicts if one.good is good]
        for kind in (None, *dict.fromkeys(one.row["kind"] for one in chosen)):
            cells = [_share([o for o in chosen if o.row["part"] == p and kind in (None, o.row["kind"])]) for p in parts]
            lines.append(f"| {title} | {kind or '**all**'} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _share(verdicts: list[Judged]) -> str:
    wrong = sum(one.wrong for one in verdicts)
    return f"{wrong} of {len(verdicts)} ({wrong / len(verdicts):.1%})" if verdicts else ""


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", action="store_true", help="also the rewrites that the guard gets wrong")
    parser.add_argument(
        "--entailment",
        metavar="MODEL",
        help="asked as well: local (the shipped judge), or a cross-encoder's name or folder",
    )
    parser.add_argument("--threshold", type=float, default=0.5)
    given = parser.parse_args()
    entailment: Entailment | None = None
    if given.entailment:
        entailment = LocalEntailment() if given.entailment == "local" else CrossEncoderEntailment(given.entailment)
    verdicts = list(judged(FactGuard(entailment=entailment, entailed=given.threshold)))
    print(table(verdicts))
    for one in verdicts if given.wrong else ():
        if one.wrong:
            print(f"\n{one.row['kind']} {one.row['part']}: {one.verdict.reason} {one.verdict.words or ''}")
            print(f"  {one.row['draft']}\n  {one.row['rewrite']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
