"""The paper's grey-box baseline with a live model, drawn once: `python -m benchmarks.evidence.direct_beta` (some ten minutes).

The embedded model (SmolLM2-135M) is given the calibrated Beta of 150 answers and left to find the words, no lexicon and no guard. Its replies are kept in
`direct_beta.jsonl.gz` with the targets that they were asked for. Questions and answers: TriviaQA answered by LLaMA-13B (UQ-NLG, MIT).
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import sys
from typing import Any

from rich.progress import track

from benchmarks import DATA, RECORDED
from benchmarks.data.answers import Answers, load_set
from benchmarks.evidence.holding_out import held_out
from benchmarks.evidence.paper_rewriters import DirectBetaRewriter
from hedgerow.calibration import Beta
from hedgerow.proxy.types import RewriteRequest, Usage

KEPT = RECORDED / "direct_beta.jsonl.gz"
SET = "TriviaQA, LLaMA-13B"
ASKED = 150
LONGEST_REPLY = 64
"""Tokens; the answers are names and short phrases."""
SEED = 6


def kept() -> list[dict[str, Any]]:
    """What was drawn: id of the case, target, reply."""
    return [json.loads(line) for line in gzip.decompress(KEPT.read_bytes()).splitlines()]


async def draw(answers: Answers) -> list[dict[str, Any]]:
    """Ask the model, once an answer, greedily."""
    from hedgerow.proxy.config import EmbeddedUpstream
    from hedgerow.proxy.protocols import Call
    from hedgerow.proxy.upstreams.embedded import open_embedded

    alpha, beta = held_out(answers.raw("semantic"), answers.correct)
    model = await open_embedded("embedded", EmbeddedUpstream(provider="embedded", max_answer_tokens=LONGEST_REPLY))

    async def ask(system: str, user: str) -> tuple[str, Usage]:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        answer = await model.complete(Call("/chat/completions", {"messages": messages, "temperature": 0.0}))
        return answer["choices"][0]["message"]["content"], Usage()

    recorded_replies = []
    for i in track(
        sorted(random.Random(SEED).sample(range(len(answers)), ASKED)), "asking", disable=not sys.stderr.isatty()
    ):
        case, target = answers.cases[i], Beta.floored(float(alpha[i]), float(beta[i]))
        reply = await DirectBetaRewriter(ask).rewrite(RewriteRequest(case.question, case.draft, target, ()))
        recorded_replies.append({"id": case.id, "alpha": target.alpha, "beta": target.beta, "reply": reply.text})
    await model.aclose()
    return recorded_replies


def main() -> int:
    """Draw and keep."""
    if not DATA.is_dir():
        print("the recorded answers are not beside the checkout", file=sys.stderr)
        return 2
    rows = asyncio.run(draw(load_set(DATA, SET)))
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    KEPT.write_bytes(gzip.compress(text.encode(), mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
