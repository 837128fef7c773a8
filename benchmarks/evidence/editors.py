"""The editors with a live model: draw their replies once, measure them as often as one likes.

`python -m benchmarks.evidence.editors --draw 100` asks the embedded model (SmolLM2-135M) to reword 100 answers with each editor, as the proxy
would, and keeps every reply in `editors.jsonl.gz`; `python -m benchmarks.evidence.editors` puts the kept replies through guard and fallbacks again.
Questions and answers: TriviaQA answered by LLaMA-13B (UQ-NLG, MIT) and EVOUNA (Wang et al. 2023, Apache-2.0).
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import track

from benchmarks import RECORDED
from benchmarks.evidence.examples import answers
from benchmarks.evidence.paper_rewriters import Ask, DirectBetaRewriter, HedgedQaRewriter, Rewriter, reword
from benchmarks.evidence.rewriting import CONCENTRATIONS, DATA, MEANS, Case, lost_facts
from hedgerow.calibration import Beta
from hedgerow.lexicon import Retriever, load
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.rewriting import FactGuard
from hedgerow.proxy.types import RewriteRequest, Usage

KEPT = RECORDED / "editors.jsonl.gz"
SEED = 21
LONGEST_ANSWER = 140
"""Characters; the embedded model writes at most 64 tokens unless configured otherwise, and a reworded answer must fit in."""
EDITORS: dict[str, Callable[[Ask], Rewriter]] = {
    "direct_beta": DirectBetaRewriter,
    "hedged_qa": HedgedQaRewriter,
}


@dataclass(frozen=True)
class Tried:
    """One answer and what an editor made of it: the whole step, and the first reply before any guard."""

    case: Case
    first: str
    milliseconds: float


def requests(data: Path, count: int) -> list[RewriteRequest]:
    """Answers with targets even over the range."""
    rng, retriever = random.Random(SEED), Retriever(load())
    collected = []
    for question, answer in [pair for pair in answers(data) if len(pair[1]) <= LONGEST_ANSWER][:count]:
        target = Beta.from_mean(rng.uniform(*MEANS), rng.choice(CONCENTRATIONS))
        collected.append(RewriteRequest(question, answer, target, retriever.nearest(target, 5)))
    return collected


async def draw(data: Path, count: int) -> None:
    """Ask the model and keep what it says; answers that have been drawn are not asked for again."""
    from hedgerow.proxy.config import EmbeddedUpstream
    from hedgerow.proxy.protocols import Call
    from hedgerow.proxy.upstreams.embedded import open_embedded

    model = await open_embedded("embedded", EmbeddedUpstream(provider="embedded"))
    guard = FactGuard()
    said: dict[tuple[str, str], dict[str, Any]] = {}
    rows = kept()
    known = {(row["question"], row["answer"]) for row in rows}
    wanted = [request for request in requests(data, count) if (request.question, request.draft) not in known]
    for request in track(wanted, "asking the embedded model"):
        replies: dict[str, list[dict[str, Any]]] = {name: [] for name in EDITORS}
        for name, editor in EDITORS.items():

            async def ask(system: str, user: str, perceived: list[dict[str, Any]] = replies[name]) -> tuple[str, Usage]:
                if (system, user) in said:  # at temperature 0 it would say the same again
                    perceived.append(said[system, user])
                    return said[system, user]["text"], Usage()
                messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
                start = time.perf_counter()
                answer = await model.complete(Call("/chat/completions", {"messages": messages, "temperature": 0.0}))
                text = answer["choices"][0]["message"]["content"]
                said[system, user] = {"text": text, "ms": round((time.perf_counter() - start) * 1e3)}
                perceived.append(said[system, user])
                return text, Usage()

            await reword(request, rewriter=editor(ask), guard=guard)
        target = {"alpha": request.target.alpha, "beta": request.target.beta}
        rows.append({"question": request.question, "answer": request.draft} | target | {"replies": replies})
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        KEPT.write_bytes(gzip.compress(text.encode(), mtime=0))  # what has been drawn stays, whatever happens next
    await model.aclose()


def kept() -> list[dict[str, Any]]:
    """What has been drawn, one row an answer."""
    return [json.loads(line) for line in gzip.decompress(KEPT.read_bytes()).splitlines()] if KEPT.exists() else []


async def replay() -> dict[str, list[Tried]]:
    """Every editor's kept replies through the step as it is now; where it asks once more than it did then, `not_drawn`."""
    retriever, guard = Retriever(load()), FactGuard()
    collected: dict[str, list[Tried]] = {name: [] for name in EDITORS}
    for row in kept():
        target = Beta(row["alpha"], row["beta"])
        request = RewriteRequest(row["question"], row["answer"], target, retriever.nearest(target, 5))
        for name, editor in EDITORS.items():
            replies = row["replies"][name]
            done = await reword(request, rewriter=editor(_player(replies)), guard=guard)
            if replies and done.reason != "no_assertion":
                spent = sum(reply["ms"] for reply in replies)
                collected[name].append(Tried(Case(name, request, done, done, 0.0), replies[0]["text"], spent))
    return collected


def _player(replies: Sequence[dict[str, Any]]) -> Ask:
    left = [reply["text"] for reply in replies]

    async def ask(system: str, user: str) -> tuple[str, Usage]:
        if not left:
            raise StepFailed("rewrite", "not_drawn")
        return left.pop(0), Usage()

    return ask


def main() -> int:
    """Draw, or print what became of each editor's answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draw", type=int, metavar="N", help="ask the model about N answers (needs ../shared/data)")
    count = parser.parse_args().draw
    if count:
        if not DATA.is_dir():
            print("the recorded answers are not beside the checkout", file=sys.stderr)
            return 2
        asyncio.run(draw(DATA, count))
    for name, tried in asyncio.run(replay()).items():
        taken = sum(one.case.done.rewriter == name for one in tried)
        print(name, len(tried), "taken", taken, "facts lost", sum(lost_facts(one.case) for one in tried))
        for one in tried[:12]:
            print("  ", one.case.request.draft[:70], "->", repr(one.first[:90]), one.case.done.attempts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
