"""How long retrieval and perception take: `python -m benchmarks.performance.retrieval`. Medians of this machine, now; compare the ratios."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from hedgerow.calibration import Beta
from hedgerow.lexicon import Frame, Hedge, Lexicon, Retriever, perceive

SENTENCE = "I'm not entirely sure, but I think it might have been Harold Pinter who wrote it, if I remember correctly."


def median_us(call: Callable[[], object], repeats: int = 200) -> float:
    """Median time of a call, microseconds."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times)) * 1e6


def lexicon_of(count: int) -> Lexicon:
    """A lexicon of random Betas."""
    rng = np.random.default_rng(0)
    betas = rng.uniform(0.5, 20, (count, 2)).tolist()
    frames = (Frame("clause", "{clause}"),)
    return Lexicon(tuple(Hedge(f"h{i}", f"h{i}", Beta(a, b), "modelled", 0, frames) for i, (a, b) in enumerate(betas)))


def main() -> int:
    """Print one line a figure."""
    for count in (1_000, 100_000):
        lexicon = lexicon_of(count)
        for name, shortlist in (("shortlist 30", 30), ("direct", None)):
            retriever = Retriever(lexicon, shortlist)
            print(f"{count:>7} entries, {name:<12} {median_us(lambda r=retriever: r.nearest(Beta(7.3, 2.9))):8.0f} us")  # type: ignore[misc]
    print(f"perceive, one sentence       {median_us(lambda: perceive(SENTENCE)):8.0f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
