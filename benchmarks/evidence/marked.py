"""Sentences whose markers were marked by hand: those that the checkout holds, and those of which it holds the place alone."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import ROOT

FOLDER = ROOT / "tests" / "data" / "lexicon"
SHOWN = FOLDER / "varied_markers.jsonl"
PLACED = FOLDER / "varied_markers_by_place.jsonl"
PLAIN = FOLDER / "plain_markers_by_place.jsonl"
ALPACA = "chat/alpaca_eval_outputs.json"
"""`example/outputs.json` of alpaca-eval 0.6.6's source distribution, beside the other data; its licence (CC BY-NC 4.0) lets nobody ship it here."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A sentence and its markers, offsets into it; `draw` says with which others it was drawn."""

    draw: str
    text: str
    markers: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Tally:
    """What a spotter found: `right` of `found` spans are markers, `met` of `there` markers are found, in so many `sentences`."""

    right: int
    found: int
    met: int
    there: int
    sentences: int

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.right + other.right,
            self.found + other.found,
            self.met + other.met,
            self.there + other.there,
            self.sentences + other.sentences,
        )


def tally(spans: Sequence[tuple[int, int]], markers: Sequence[tuple[int, int]]) -> Tally:
    """Of one sentence; a span and a marker that overlap are one."""
    right = sum(any(a < d and c < b for a, b in markers) for c, d in spans)
    met = sum(any(a < d and c < b for c, d in spans) for a, b in markers)
    return Tally(right, len(spans), met, len(markers), 1)


def varied(data: Path) -> Iterator[Marked]:
    """The sentences with varied words, all draws.

    Raises
    ------
    ValueError
        If a sentence is not where its place says, as in another copy of a source.
    """
    for row in _rows(SHOWN):
        yield Marked(row["draw"], row["text"], _spans(row))
    yield from _placed(PLACED, _answers(data))


def plain(data: Path) -> Iterator[Marked]:
    """The sentences of the plain random draw; none where their answers are not beside the checkout.

    Raises
    ------
    ValueError
        If a sentence is not where its place says, as in another copy of a source.
    """
    path = data / ALPACA
    if path.exists():
        outputs = json.loads(path.read_text(encoding="utf-8"))
        yield from _placed(PLAIN, {("alpaca_eval", str(n)): of["output"] for n, of in enumerate(outputs)})


def _placed(path: Path, answers: Mapping[tuple[str, str], str]) -> Iterator[Marked]:
    for row in _rows(path):
        text = answers[row["source"], row["id"]][row["start"] : row["end"]]
        if hashlib.sha256(text.encode()).hexdigest() != row["sha256"]:
            raise ValueError(f"{row['source']} {row['id']}: the sentence marked is not at {row['start']}")
        yield Marked(row["draw"], text, _spans(row))


def _spans(row: Mapping[str, list[list[int]]]) -> tuple[tuple[int, int], ...]:
    return tuple((start, end) for start, end in row["markers"])


def _rows(path: Path) -> Iterator[dict[str, object]]:
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def _answers(data: Path) -> dict[tuple[str, str], str]:
    """Texts by source and place: the row's id, and which of its answers."""
    texts: dict[tuple[str, str], str] = {}
    with gzip.open(data / "samples/simpleqa_gpt5mini/simpleqa_gpt5mini.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            texts |= {("simpleqa", f"{row['id']}:{how}"): row[how]["text"] for how in ("hedged", "vanilla")}
    with gzip.open(data / "samples/truthfulqa_llada8b/truthfulqa.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            texts |= {("truthfulqa", f"{row['id']}:{n}"): of["text"] for n, of in enumerate(row["samples"])}
    for source in ("graph_uncertainty_bios", "graph_uncertainty_popqa", "wikibio_gpt3"):
        with lzma.open(data / "long_form" / f"{source}.jsonl.xz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                texts[source, f"{row['id']}:a"] = row["answer"]
                texts |= {(source, f"{row['id']}:{n}"): of for n, of in enumerate(row["samples"])}
                others = row.get("samples_gpt35turbo") or []
                texts |= {(source, f"{row['id']}:t{n}"): of for n, of in enumerate(others)}
    return texts
