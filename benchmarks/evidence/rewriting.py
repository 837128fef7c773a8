"""Real answers worded as the proxy words them, counted: `python -m benchmarks.evidence.rewriting [--answers 150]`.

Up to so many answers of each kind of the reading set, from the same sources and none of its own, each with confidences for the answer and its claims, go through the
function that serves requests. An answer that is left alone is neither a failure nor a success: what is counted is how many are changed, and what happened to those.
How sure a wording sounds is read by a reader that has no part in the proxy (`Listener`): a fit on people's scores of other phrases than the one it reads.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from rich.progress import track
from scipy.stats import spearmanr

from benchmarks import DATA, ROOT
from benchmarks.fits import reading
from benchmarks.fits.lexicon import fit, rows, seen
from hedgerow.calibration import Beta
from hedgerow.lexicon import load
from hedgerow.lexicon.perception.cues import find_cues
from hedgerow.lexicon.perception.model import Model
from hedgerow.lexicon.text.words import tokenize, word_set
from hedgerow.proxy.lab.rewording import GivenAnswer, Reworder, default_reworder
from hedgerow.proxy.outcomes import Status
from hedgerow.proxy.pipeline.given import Given, word_given
from hedgerow.proxy.pipeline.job import job_of
from hedgerow.proxy.pipeline.result import Result, Run
from hedgerow.proxy.rewriting import sentences
from hedgerow.proxy.types import Rewording, RewriteRequest

SEED = 6
MEANS = (0.02, 0.98)
CONCENTRATIONS = (4.0, 8.0, 16.0)
"""About what 4, 8 and 16 samples give; the rewriter has to serve all."""
FORMATS, LANGUAGES = (ROOT / "tests" / "data" / name for name in ("machine_formats.jsonl", "languages.tsv"))
"""Replies that programs read, and answers in languages without hedges; each was written for the tests."""


@dataclass(frozen=True)
class Case:
    """One rewording: what was asked, what came out, and the same asked of the result."""

    source: str
    request: RewriteRequest
    done: Rewording
    again: Rewording
    milliseconds: float


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


@dataclass(frozen=True)
class Served:
    """One answer as it would be served: the row it was made from, what became of it, and the processor time that took."""

    row: reading.Row
    result: Result
    milliseconds: float

    @property
    def changed(self) -> bool:
        """Whether the client would read another text than the model wrote."""
        return self.result.whole_text != self.row["answer"]


def bulk(data: Path, count: int) -> list[reading.Row]:
    """Answers of each kind, `count` at most, no prompt twice within a kind; targets in turn."""
    every = [one for one in reading.sources(data) if reading.fits(one)]
    random.Random(SEED).shuffle(every)
    prompts: dict[str, set[str]] = defaultdict(set)
    collected: list[reading.Row] = []
    for one in every:
        kind = reading.kind_of(one.question, one.answer)
        if len(prompts[kind]) < count and one.prompt not in prompts[kind]:
            target = reading.TARGETS[len(prompts[kind]) % len(reading.TARGETS)]
            prompts[kind].add(one.prompt)
            collected.append(reading.row_of(one, kind, "bulk", target))
    return collected


async def serve(taken: Sequence[reading.Row], reworder: Reworder) -> list[Served]:
    """Every answer worded twice, so that the time is that of a process that has read its lexicon."""
    served = []
    for row in track(taken, "rewording", disable=not sys.stderr.isatty()):
        given = reading.given(row)
        await reworder.reword(given)
        start = time.process_time()
        result = await reworder.reword(given)
        served.append(Served(row, result, (time.process_time() - start) * 1e3))
    return served


def touched_formats(reworder: Reworder) -> list[bool]:
    """Of each format that programs read (tests/data), whether a reply in it is changed, at a confidence that a person's answer would be hedged at."""
    rows = [json.loads(line) for line in FORMATS.read_bytes().splitlines()]
    return [asyncio.run(_touched(reworder, row)) for row in rows]


async def _touched(reworder: Reworder, row: dict[str, Any]) -> bool:
    said = [("system", row["system"]), ("user", row["user"] or "What is the capital of Peru?")]
    messages = [{"role": role, "content": content} for role, content in said if content]
    body = {"model": "m", "messages": messages, **row["more"]}
    run = Run(job_of(reworder.route, "/chat/completions", body, {}))
    await word_given(run, reworder.wording, row["answer"], Given(Beta.from_mean(0.5, reading.CONCENTRATION)))
    return run.result.whole_text != row["answer"]


def touched_languages(reworder: Reworder) -> list[bool]:
    """Of each answer in a language without a lexicon (tests/data), whether it is changed."""
    texts = [line.split("\t")[1] for line in LANGUAGES.read_text(encoding="utf-8").splitlines()]
    results = [asyncio.run(reworder.reword(GivenAnswer(answer=text, alpha=5.0, beta=5.0))) for text in texts]
    return [result.whole_text != text for text, result in zip(texts, results, strict=True)]


def hedged_parts(served: Served) -> Iterator[tuple[float, str]]:
    """Each target that was worded, with the words it was worded in: a sentence of its own, else all sentences that are new."""
    words = served.result.rewording
    if words is None or served.result.status != Status.HEDGED:
        return
    own = [one for one in words.sentences if one.hedge is not None and one.target is not None]
    for one in own:
        yield one.target.mean, words.text[one.start : one.end]
    if not own and served.result.confidence is not None:
        yield served.result.confidence.calibrated.mean, new_sentences(served.row["answer"], words.text)


def lost_facts(case: Case) -> bool:
    """Whether a rewording lost or gained a fact."""
    return loses_facts(case.request.draft, case.done.text)


def loses_facts(before: str, after: str) -> bool:
    """A plain check with nothing of the guard in it: do all numbers, names and long words of the answer stand in the result?

    Words of the answer that are in the lexicon are left out: its own hedges may go.
    """
    hedging = {word for hedge in load() for word in re.findall(r"[a-z]+", hedge.phrase.lower())} | EPISTEMIC
    kept = Counter(re.findall(r"\w+", after.lower()))
    wanted = Counter(w for w in re.findall(r"\w+", before.lower()) if w not in hedging and (len(w) > 3 or w.isdigit()))
    added = set(re.findall(r"\d+", after)) - set(re.findall(r"\d+", before)) - {"100"}
    return bool(wanted - kept) or bool(added)


EPISTEMIC = word_set(
    "sure certain definitely knowledge though although cannot verify confirm determine believe completely date exact year identification "
    "fully that this here attribution number figure were"
)
"""Words that stand in answers' own hedges and in none of the lexicon's, and the verb that "could well have been" stands for."""


def hedged_part(case: Case) -> str:
    """The sentence that was reworded; the whole text where that cannot be determined."""
    return new_sentences(case.request.draft, case.done.text)


def new_sentences(before: str, after: str) -> str:
    """The sentences of a text that an earlier one does not have; the whole text where there are none."""
    known = set(sentences(before))
    return " ".join(sentence for sentence in sentences(after) if sentence not in known) or after


def interval(
    values: Sequence[float], statistic: Any, rng: np.random.Generator, rounds: int = 500
) -> tuple[float, float]:
    """95 % bootstrap interval."""
    array = np.asarray(values)
    draws = [statistic(array[rng.integers(0, len(array), len(array))]) for _ in range(rounds)]
    return float(np.quantile(draws, 0.025)), float(np.quantile(draws, 0.975))


def pairs(found: Sequence[Served], listener: Listener) -> Any:
    """(target, perceived by the independent reader) of every English wording, in two columns."""
    worded = [pair for one in found if one.row["kind"] != "other language" for pair in hedged_parts(one)]
    return np.column_stack([[target for target, _ in worded], listener.perceive([text for _, text in worded])])


def correlation(of: Any) -> float:
    """Spearman's, of two columns."""
    return float(spearmanr(of[:, 0], of[:, 1]).statistic)


def long_times(found: Sequence[Served]) -> list[float]:
    """Milliseconds of the whole way for answers of eight to twelve sentences."""
    return [one.milliseconds for one in found if 8 <= len(list(sentences(one.row["answer"]))) <= 12]


def measure(data: Path, count: int) -> list[Served]:
    """The bulk, worded."""
    return asyncio.run(serve(bulk(data, count), default_reworder()))


def main() -> int:
    """Print the figures as JSON, and what lost a fact."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=150, help="of each kind, at most")
    options = parser.parse_args()
    if not DATA.is_dir():
        print("the recorded answers are not beside the checkout", file=sys.stderr)
        return 2
    served = measure(DATA, options.answers)
    shares = {kind: [one.changed for one in served if one.row["kind"] == kind] for kind in reading.KINDS}
    lost = [one for one in served if one.changed and loses_facts(one.row["answer"], one.result.text or "")]
    figures = {
        "changed": {kind: f"{sum(changed)} of {len(changed)}" for kind, changed in shares.items()},
        "why not": dict(Counter(str(one.result.reason) for one in served if not one.changed).most_common()),
        "spearman": correlation(pairs(served, Listener(DATA))),
        "facts lost": len(lost),
        "ms, 10 sentences": float(np.median(long_times(served))),
    }
    print(json.dumps(figures, indent=1))
    for one in lost[:20]:
        print(repr(one.row["answer"]), repr(one.result.text), sep="\n  ", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
