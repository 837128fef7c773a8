"""Questions for the page to try: how many of ten answers of the embedded model agree on each, over many seeds, through the default route.

python -m benchmarks.fits.example_questions --seeds 40 "What is the capital of France?" ...

Without questions those of the page are measured; `EXAMPLES` in proxy/dashboard/site.py was chosen so, one question from each range that
tests/e2e/test_embedded.py holds.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles

from hedgerow.proxy.config import Route, Settings, load
from hedgerow.proxy.dashboard.site import EXAMPLES
from hedgerow.proxy.pipeline.job import job_of
from hedgerow.proxy.pipeline.result import Result, Run
from hedgerow.proxy.pipeline.run import calibrate
from hedgerow.proxy.services.services import Services, open_pipelines

CONFIG = Path(__file__).parents[2] / "config.yaml"


@dataclass(frozen=True, slots=True)
class Measured:
    """How a question comes out.

    Attributes:
        agreeing: answers in the largest group, out of those compared, one for each seed.
        drafts: what was answered before it was hedged, and how often.
    """

    agreeing: list[int]
    drafts: Counter[str]


async def measure(settings: Settings, questions: list[str], seeds: int) -> dict[str, Measured]:
    """Each question asked once with each seed."""
    route = next(route for route in settings.routes if route.name == "default")
    found: dict[str, Measured] = {}
    async with open_pipelines(settings.model_copy(update={"routes": (route,)})) as services:
        for question in questions:
            results = [await ask(services, route, question, seed) for seed in range(seeds)]
            sizes = [len(result.clustering.clusters[0]) if result.clustering else 0 for result in results]
            found[question] = Measured(sizes, Counter((result.draft or "").strip(" .") for result in results))
            show(question, found[question])
    return found


async def ask(services: Services, route: Route, question: str, seed: int) -> Result:
    """The whole pipeline for one question."""
    body = {"messages": [{"role": "user", "content": question}], "seed": 1000 * seed}
    run = Run(job_of(route, "/chat/completions", body, {}))
    await calibrate(run, services.steps[route.name])
    return run.result


def show(question: str, measured: Measured) -> None:
    """One line: mean and tenths of the agreeing answers, and the commonest drafts."""
    spread = quantiles(measured.agreeing, n=10)
    drafts = ", ".join(f"{text[:30]!r} {count}" for text, count in measured.drafts.most_common(3))
    print(f"{mean(measured.agreeing):5.2f}  {spread[0]:4.1f} to {spread[-1]:4.1f}  {question}  {drafts}", flush=True)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description="How many of ten answers agree, by question.")
    parser.add_argument("questions", nargs="*", default=list(EXAMPLES))
    parser.add_argument("--seeds", type=int, default=40)
    given = parser.parse_args()
    asyncio.run(measure(load(CONFIG), given.questions, given.seeds))


if __name__ == "__main__":
    main()
