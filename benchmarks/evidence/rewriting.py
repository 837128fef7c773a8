"""The template rewriter over recorded and freshly drawn answers: `python -m benchmarks.evidence.rewriting [--answers 2000] [--embedded 500]`.

Every answer gets a target drawn evenly from [.02, .98] and goes through retrieval, template, guard and fallbacks as in the proxy.
How sure the result sounds is read by a reader that has no part in the proxy (`Listener`): a fit on people's scores of other phrases
than the one it reads. The guard's own reader is reported beside it, marked as such.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from rich.progress import track
from scipy.stats import spearmanr

from benchmarks import DATA
from benchmarks.fits.lexicon import fit, rows, seen
from hedgerow.calibration import Beta, w1_exact
from hedgerow.lexicon import Retriever, load
from hedgerow.lexicon.perception.cues import find_cues
from hedgerow.lexicon.perception.model import Model
from hedgerow.lexicon.text.words import tokenize, word_set
from hedgerow.proxy.rewriting import FactGuard, Tally, TemplateRewriter, reword, sentences
from hedgerow.proxy.types import Rewording, RewriteRequest

SEED = 6
MEANS = (0.02, 0.98)
CONCENTRATIONS = (4.0, 8.0, 16.0)
"""About what 4, 8 and 16 samples give; the rewriter has to serve all."""


@dataclass(frozen=True)
class Case:
    """One rewording: what was asked, what came out, and the same asked of the result."""

    source: str
    request: RewriteRequest
    done: Rewording
    again: Rewording
    milliseconds: float

    @property
    def worded(self) -> bool:
        """True where the answer now carries a hedge that was put in."""
        return self.done.status == "hedged"


class Listener:
    """Hears confidence as one who has never met the phrase: fitted on people's scores of other phrases.

    Phrases are cut in two halves, and a sentence is read by the fit on the half that its own words of confidence are not in. The
    features are those of the lexicon's model; weights, phrases and entries of the guard's reader have no part in it.
    """

    def __init__(self, data: Path) -> None:
        self.rows = rows(data)
        self.collected = [seen(row.text) for row in self.rows]
        self.halves = [self._fit(half) for half in (0, 1)]

    def _fit(self, half: int) -> Model:
        chosen = [(one, row) for one, row in zip(self.collected, self.rows, strict=True) if _half(row.phrase) == half]
        return fit([one for one, _ in chosen], [row for _, row in chosen], (1.0, 0.0, 0.0))

    def perceive(self, texts: Sequence[str]) -> Any:
        """Mean confidence, one a text, each by the half that does not know its phrase."""
        return np.array([self.halves[1 - _half(signature(text))].mean(seen(text)) for text in texts])

    def held_out(self) -> float:
        """Spearman correlation with people's scores of single sentences with phrases that the fit had not met."""
        rated = [row for row in self.rows if row.source == "tao"]
        return float(spearmanr(self.perceive([row.text for row in rated]), [row.score for row in rated]).statistic)


def _half(phrase: str) -> int:
    return crc32(phrase.encode()) % 2


def signature(text: str) -> str:
    """The words of a sentence's cues, as `benchmarks.fits.lexicon` keeps folds apart by."""
    tokens = tokenize(text)
    return " ".join(token.word for cue in find_cues(tokens) for token in tokens[cue.first : cue.last + 1])


def recorded(data: Path, count: int, rng: random.Random) -> list[tuple[str, str, str]]:
    """(set, question, answer): the same number from every recorded set."""
    files = sorted((data / "samples").rglob("*.jsonl*"))
    share = -(-count // len(files))
    collected: list[tuple[str, str, str]] = []
    for file in files:
        every = list(_answers(file))
        collected += [(file.parent.name, *row) for row in rng.sample(every, min(share, len(every)))]
    return collected[:count]


def _answers(file: Path) -> Iterator[tuple[str, str]]:
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    for line in text.splitlines():
        row = json.loads(line)
        answers = [row["vanilla"], row["hedged"]] if "vanilla" in row else row["samples"][:1]
        yield from ((row["question"], answer["text"]) for answer in answers)


async def drawn(data: Path, count: int, rng: random.Random) -> list[tuple[str, str, str]]:
    """Answers of the embedded model to real questions, drawn now."""
    from hedgerow.proxy.config import EmbeddedUpstream
    from hedgerow.proxy.protocols import Call
    from hedgerow.proxy.upstreams.embedded import open_embedded

    asked = [json.loads(line) for line in (data / "qa" / "nq_1000.jsonl").read_text(encoding="utf-8").splitlines()]
    model = await open_embedded("embedded", EmbeddedUpstream(provider="embedded"))
    collected: list[tuple[str, str, str]] = []
    for row in track(rng.sample(asked, count), "asking the embedded model", disable=not sys.stderr.isatty()):
        body = {
            "messages": [{"role": "user", "content": f"{row['question']}?"}],
            "max_tokens": 40,
            "temperature": 1.0,
            "seed": SEED,
        }
        answer = await model.complete(Call("/chat/completions", body))
        collected.append(("embedded", row["question"], answer["choices"][0]["message"]["content"]))
    await model.aclose()
    return collected


async def run(answers: Sequence[tuple[str, str, str]], rng: random.Random) -> list[Case]:
    """Reword every answer at a target of its own, and reword the result."""
    retriever, template, guard = Retriever(load()), TemplateRewriter(), FactGuard()
    cases: list[Case] = []
    for source, question, answer in track(answers, "rewording", disable=not sys.stderr.isatty()):
        target = Beta.from_mean(rng.uniform(*MEANS), rng.choice(CONCENTRATIONS))
        request = RewriteRequest(question, answer, target, retriever.nearest(target, 5))
        done = await reword(request, rewriters=[template], guard=guard)
        start = time.perf_counter()
        await reword(request, rewriters=[template], guard=guard)
        elapsed = (time.perf_counter() - start) * 1e3
        again = await reword(
            RewriteRequest(question, done.text, target, request.hedges), rewriters=[template], guard=guard
        )
        cases.append(Case(source, request, done, again, elapsed))
    return cases


def lost_facts(case: Case) -> bool:
    """A plain check with nothing of the guard in it: do all numbers, names and long words of the answer stand in the result?

    Words of the answer that are in the lexicon are left out: its own hedges may go.
    """
    before, after = case.request.draft, case.done.text
    hedging = {word for hedge in load() for word in re.findall(r"[a-z]+", hedge.phrase.lower())} | EPISTEMIC
    kept = Counter(re.findall(r"\w+", after.lower()))
    wanted = Counter(w for w in re.findall(r"\w+", before.lower()) if w not in hedging and (len(w) > 3 or w.isdigit()))
    added = set(re.findall(r"\d+", after)) - set(re.findall(r"\d+", before)) - {"100"}
    return bool(wanted - kept) or bool(added)


EPISTEMIC = word_set(
    "sure certain definitely knowledge though although cannot verify confirm determine believe completely date exact year identification "
    "fully that this here attribution number figure"
)
"""Words that stand in answers' own hedges and in none of the lexicon's."""


def hedged_part(case: Case) -> str:
    """The sentence that was reworded; the whole text where that cannot be determined."""
    before = set(sentences(case.request.draft))
    changed = [sentence for sentence in sentences(case.done.text) if sentence not in before]
    return " ".join(changed) or case.done.text


def interval(
    values: Sequence[float], statistic: Any, rng: np.random.Generator, rounds: int = 500
) -> tuple[float, float]:
    """95 % bootstrap interval."""
    array = np.asarray(values)
    draws = [statistic(array[rng.integers(0, len(array), len(array))]) for _ in range(rounds)]
    return float(np.quantile(draws, 0.025)), float(np.quantile(draws, 0.975))


def summary(cases: Sequence[Case], listener: Listener) -> dict[str, Any]:
    """Every figure, with the answers that assert nothing counted apart."""
    rng = np.random.default_rng(SEED)
    asserting = [case for case in cases if case.done.reason != "no_assertion"]
    spoken = [case for case in asserting if case.done.status != "unhedged"]
    english = [case for case in spoken if case.done.perceived is not None]
    targets = np.array([case.request.target.mean for case in english])
    perceived = listener.perceive([hedged_part(case) for case in english])
    guards = np.array([case.done.perceived.mean for case in english if case.done.perceived])
    pairs = np.column_stack([targets, perceived, guards])
    distances = [_w1(case.done.perceived, case.request.target) for case in english if case.done.perceived]
    best = [case.request.hedges[0].distance for case in english]
    tally = Tally.of([case.done for case in asserting])
    return {
        "answers": len(cases),
        "no assertion": len(cases) - len(asserting),
        "asserting": len(asserting),
        "status": dict(tally.status),
        "refused": dict(tally.refused.most_common()),
        "facts lost": sum(lost_facts(case) for case in asserting),
        "not idempotent": sum(case.again.text != case.done.text for case in asserting),
        "spearman": float(spearmanr(targets, perceived).statistic),
        "spearman interval": interval(pairs, lambda p: spearmanr(p[:, 0], p[:, 1]).statistic, rng),
        "spearman guard": float(spearmanr(targets, guards).statistic),
        "mean error": float(np.abs(targets - perceived).mean()),
        "w1 guard": statistics.fmean(distances),
        "w1 best": statistics.fmean(best),
        "median ms": statistics.median(case.milliseconds for case in asserting),
        "p95 ms": float(np.quantile([case.milliseconds for case in asserting], 0.95)),
        "wordings": len({case.done.hedge for case in asserting if case.worded}),
        "pairs": pairs,
    }


def template_ms(cases: Sequence[Case]) -> tuple[float, float]:
    """Median and 95th percentile of the template alone, without retrieval, guard and reader."""
    template = TemplateRewriter()
    spent: list[float] = []
    for case in cases:
        if case.worded:
            start = time.perf_counter()
            template.rewrite_sync(case.request)
            spent.append((time.perf_counter() - start) * 1e3)
    return statistics.median(spent), float(np.quantile(spent, 0.95))


def _w1(a: Beta, b: Beta) -> float:
    return float(w1_exact(a.alpha, a.beta, b.alpha, b.beta))


def measure(data: Path, answers: int, embedded: int) -> list[Case]:
    """All cases of a run."""
    rng = random.Random(SEED)

    async def whole() -> list[Case]:
        taken = recorded(data, answers, rng)
        return await run([*taken, *(await drawn(data, embedded, rng) if embedded else [])], rng)

    return asyncio.run(whole())


def main() -> int:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=2000)
    parser.add_argument("--embedded", type=int, default=500)
    options = parser.parse_args()
    if not DATA.is_dir():
        print("the recorded answers are not beside the checkout", file=sys.stderr)
        return 2
    cases, listener = measure(DATA, options.answers, options.embedded), Listener(DATA)
    figures = summary(cases, listener) | {"listener held out": listener.held_out(), "template ms": template_ms(cases)}
    print(json.dumps({name: value for name, value in figures.items() if name != "pairs"}, indent=1))
    for case in [case for case in cases if lost_facts(case) or case.again.text != case.done.text][:10]:
        print(repr(case.request.draft), repr(case.done.text), repr(case.again.text), sep="\n  ", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
