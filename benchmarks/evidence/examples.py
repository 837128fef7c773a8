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
from hedgerow.proxy.lab.rewording import GivenAnswer, default_reworder
from hedgerow.proxy.outcomes import Status
from hedgerow.proxy.pipeline.result import Result

PAGE = ROOT / "docs" / "examples.md"
SEED = 60
PAIRS = 60
HEAD = """# Examples

Sixty real answers, worded at confidences from 2 % to 98 % as a route with its defaults words them (no model call), by the function that serves requests. Nothing was
chosen by hand and nothing touched up: `python -m benchmarks.evidence.examples` writes this page. *Target* is the mean of the Beta that was asked for, *perceived*
the confidence that the lexicon's reader finds in the result. Why an answer stands as it is: [reasons](api.md).

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


async def pairs(data: Path) -> list[tuple[float, str, str, Result]]:
    """The sixty, least sure first; an answer that is left alone counts like any other."""
    reworder = default_reworder()
    found: list[tuple[float, str, str, Result]] = []
    for number, (question, answer) in enumerate(answers(data)[:PAIRS]):
        mean = 0.02 + 0.96 * number / (PAIRS - 1)
        beta = Beta.from_mean(mean, 10.0)
        asked = GivenAnswer(question=question, answer=answer, alpha=beta.alpha, beta=beta.beta)
        found.append((mean, question, answer, await reworder.reword(asked)))
    return found


def _cell(text: str) -> str:
    return text.strip().replace("|", "\\|").replace("\n", "<br>")


def _perceived(done: Result) -> str:
    return "" if done.perceived_confidence is None else f"{done.perceived_confidence.mean:.0%}"


def main() -> int:
    """Write the page."""
    if not DATA.is_dir():
        print("the recorded answers are not beside the checkout", file=sys.stderr)
        return 2
    rows = [
        f"| {mean:.0%} | {_perceived(done)} | {_cell(question)} | {_cell(answer)} | "
        f"{_cell(done.text or '') if done.status == Status.HEDGED else f'*stands as it is: {done.reason}*'} |"
        for mean, question, answer, done in asyncio.run(pairs(DATA))
    ]
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
