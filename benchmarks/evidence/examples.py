"""Write docs/examples.md, 60 real answers before and after: `python -m benchmarks.evidence.examples`.

Only answers whose licence allows it are shown: TriviaQA answers of LLaMA-13B (MIT) and answers of the EVOUNA collection (Apache-2.0).
Nothing is chosen by hand: targets step evenly over the range, and the answers are the first of a seeded shuffle that fit.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import sys
from pathlib import Path

from benchmarks import DATA, ROOT
from hedgerow.calibration import Beta
from hedgerow.lexicon import Retriever, load
from hedgerow.proxy.rewriting import FactGuard, TemplateRewriter, reword
from hedgerow.proxy.types import Rewording, RewriteRequest

PAGE = ROOT / "docs" / "examples.md"
SEED = 60
PAIRS = 60
HEAD = """# Examples

Sixty real answers, worded at confidences from 2 % to 98 % by the template rewriter (no model call). Nothing was chosen by hand and
nothing touched up: `python -m benchmarks.evidence.examples` writes this page. *Target* is the mean of the Beta that was asked for, *perceived* what
the lexicon's reader hears in the result.

Questions and answers: TriviaQA answered by LLaMA-13B (UQ-NLG, MIT) and EVOUNA (Wang et al. 2023, Apache-2.0).

| target | perceived | question | answer | reworded |
|---:|---:|---|---|---|
"""


def answers(data: Path) -> list[tuple[str, str]]:
    """(question, answer) of the two sets, one short for every two longer ones."""
    trivia = [json.loads(line) for line in _lines(data / "samples" / "triviaqa_llama13b" / "samples.jsonl.gz")]
    evouna = [json.loads(line) for line in _lines(data / "equivalence" / "evouna_nq.jsonl.gz")]
    rng = random.Random(SEED)
    short = [(row["question"], row["samples"][0]["text"]) for row in rng.sample(trivia, PAIRS)]
    longer = [(row["question"], row["answer"]) for row in rng.sample(evouna, 8 * PAIRS) if len(row["answer"]) < 260]
    return [pair for i, one in enumerate(short) for pair in (one, longer[2 * i], longer[2 * i + 1])]


def _lines(file: Path) -> list[bytes]:
    return gzip.decompress(file.read_bytes()).splitlines()


async def pairs(data: Path) -> list[tuple[float, str, str, Rewording]]:
    """The sixty, least sure first."""
    retriever, template, guard = Retriever(load()), TemplateRewriter(), FactGuard()
    found: list[tuple[float, str, str, Rewording]] = []
    for question, answer in answers(data):
        mean = 0.02 + 0.96 * len(found) / (PAIRS - 1)
        target = Beta.from_mean(mean, 10.0)
        request = RewriteRequest(question, answer, target, retriever.nearest(target, 5))
        done = await reword(request, rewriters=[template], guard=guard)
        if done.reason != "no_assertion":
            found.append((mean, question, answer, done))
        if len(found) == PAIRS:
            break
    return found


def _cell(text: str) -> str:
    return text.strip().replace("|", "\\|").replace("\n", "<br>")


def main() -> int:
    """Write the page."""
    if not DATA.is_dir():
        print("the recorded answers are not beside the checkout", file=sys.stderr)
        return 2
    rows = [
        f"| {mean:.0%} | {'' if done.perceived is None else f'{done.perceived.mean:.0%}'} | {_cell(question)} | {_cell(answer)} | "
        f"{_cell(done.text) if done.status == 'hedged' else f'*stands as it is: {done.reason}*'} |"
        for mean, question, answer, done in asyncio.run(pairs(DATA))
    ]
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
