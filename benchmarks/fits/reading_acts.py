"""Fit what a sentence does, on labelled sentences of real answers: `python -m benchmarks.fits.reading_acts [--check]`.

The sentences are those of tests/data/claims.tsv, each with its kind, and those of the answers of tests/data/acts.jsonl, each with its act. One softmax reads words, parse and question (lexicon/data/reading/acts.npz), another words
and question alone, for readers without a parser (plain.npz). `held`, `last`, `unseen` and `apart` are measured and nothing else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import ROOT
from benchmarks.fits.softmax import fit_softmax
from hedgerow.lexicon.reading import features, parsing, segments
from hedgerow.lexicon.reading.local import ACTS, DATA, seeks_claim
from hedgerow.lexicon.reading.reading import Act, Span
from hedgerow.lexicon.reading.softmax import Softmax
from hedgerow.proxy.rewriting.policy import SURE_ENOUGH

LABELLED = ROOT / "tests" / "data" / "claims.tsv"
ANSWERS = ROOT / "tests" / "data" / "acts.jsonl"
FITTED = frozenset({"tuned", "fresh", "later", "newest", "more", "fitted"})
"""Splits that are learnt from. `more` is of sentences that an earlier gate called claims or nearly did, so nothing is measured on it."""
MEASURED = ("held", "last", "unseen", "apart")
OF_KIND: dict[str, Act] = {
    "fact": "states", "definition": "states", "opinion": "advises", "advice": "advises", "safety": "advises", "instructs": "instructs",
    "question": "asks", "refusal": "declines", "presents": "presents", "heading": "presents", "code": "presents", "own work": "speaks",
    "polite": "speaks", "performative": "speaks", "fiction": "invents", "email text": "invents", "text": "repeats", "reasons": "computes",
}  # fmt: skip
"""The act of each kind of tests/data/claims.tsv; what may be taken either way, and other languages, are not learnt from."""
Features = Callable[["Labelled"], list[str]]


@dataclass(frozen=True)
class Labelled:
    """A labelled sentence with its question, the probability that this asks for what can be right or wrong, and its parse."""

    split: str
    claim: str
    kind: str
    prompt: str
    seeks: float
    question: str
    text: str
    parsed: parsing.Parsed

    @property
    def act(self) -> Act | None:
        return OF_KIND.get(self.kind)


def read_answers(path: Path = ANSWERS) -> Iterator[Labelled]:
    """The sentences of whole answers that were labelled one by one, as many as have a label."""
    kind_of = {act: kind for kind, act in reversed(OF_KIND.items())}
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        text, question, acts = row["answer"], row["question"], row["acts"].split()
        found, seeks = segments.segments(text), seeks_claim(question)
        parsed = parsing.parser().parse(text, found[: len(acts)], segments.inline_opaque(text))
        for segment, act, parse in zip(found, acts, parsed, strict=False):
            claim, words = "yes" if act == "states" else "no", text[segment.start : segment.end]
            yield Labelled(row["split"], claim, kind_of[act], row["id"], seeks, question, words, parse)


def read(path: Path = LABELLED) -> list[Labelled]:
    """All labelled sentences, parsed."""
    parser, rows = parsing.parser(), [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Labelled(split, claim, kind, row.split("::")[0], seeks_claim(question), question, text,
                 parser.parse(text, [Span(0, len(text))], segments.inline_opaque(text))[0])
        for split, claim, kind, _, row, _, question, text in rows
    ] + list(read_answers())  # fmt: skip


def with_parse(row: Labelled) -> list[str]:
    """What the local reader looks at."""
    return list(features.of_sentence(row.text, row.question, row.parsed))


def without_parse(row: Labelled) -> list[str]:
    """What the plain reader looks at."""
    return list(features.of_sentence(row.text, row.question, None))


def fit(rows: Sequence[Labelled], names: Sequence[Sequence[str]]) -> Softmax:
    """The softmax of these sentences, all of which have an act."""
    y = np.array([ACTS.index(row.act or "states") for row in rows])
    return fit_softmax(names, np.zeros((len(rows), 0)), y, ACTS)


def probabilities(model: Softmax, names: Sequence[Sequence[str]]) -> np.ndarray:
    """(sentences, acts)."""
    return np.array([model.probabilities(some) for some in names])


def figures(rows: Sequence[Labelled], p: np.ndarray) -> str:
    """Precision and recall of what a route marks (`policy.SURE_ENOUGH`); sentences that may be taken either way count in neither."""
    needed = [next(states for seeks, states in SURE_ENOUGH if row.seeks >= seeks) for row in rows]
    called, yes = p[:, 0] >= np.array(needed), np.array([row.claim == "yes" for row in rows])
    clear = np.array([row.claim != "either" for row in rows])
    acts = [(p[i].argmax() == ACTS.index(row.act)) for i, row in enumerate(rows) if row.act]
    right = int((called & yes).sum())
    return (
        f"{len(rows)} sentences: precision {right / max(1, (called & clear).sum()):.3f} ({right} of {(called & clear).sum()}), "
        f"recall {right / yes.sum():.3f} ({right} of {yes.sum()}), the likeliest act is right in {np.mean(acts):.3f}"
    )


def learn(rows: list[Labelled], of: Features, name: str, write: bool) -> None:
    """Fit one softmax, say how good it is, and keep it."""
    kept = {row.prompt for row in rows if row.split not in FITTED}
    fitted = [row for row in rows if row.split in FITTED and row.act and row.prompt not in kept]
    model = fit(fitted, [of(row) for row in fitted])
    print(f"{name}: {len(fitted)} sentences")
    for splits in (*((split,) for split in MEASURED), MEASURED):
        for least in (0.0, SURE_ENOUGH[0][0]):
            some = [row for row in rows if row.split in splits and row.seeks >= least]
            p = probabilities(model, [of(row) for row in some])
            print(f"  {' + '.join(splits)}, requests that ask with {least} or more: {figures(some, p)}")
    if write:
        model.save(DATA / f"{name}.npz")


def main() -> None:
    rows, write = read(), "--check" not in sys.argv
    for name, of in (("acts", with_parse), ("plain", without_parse)):
        learn(rows, of, name, write)


if __name__ == "__main__":
    main()
