"""Putting a hedge where somebody decided that it goes."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.lexicon import FrameKind, Hedge, Match
from hedgerow.proxy.rewriting.frames import Surroundings
from hedgerow.proxy.rewriting.template import choose
from hedgerow.proxy.types import Placement, Position

FRAMES: dict[Position, frozenset[FrameKind]] = {
    "start": frozenset({"clause", "fragment", "lead"}),
    "verb": frozenset({"adverb", "modal", "parenthetical"}),
    "end": frozenset({"closing"}),
}
"""Which frames of a hedge put it where."""


def put(
    bare: str, original: str, placement: Placement, matches: Sequence[Match], around: Surroundings
) -> tuple[Hedge, str] | None:
    """The hedge, and the sentence with it at its place; where no wording of the hedge goes there, at the best other one; None where none fits.

    `bare` is the `original` without its own words of confidence; `matches` hold the hedge.
    """
    chosen = tuple(match for match in matches if match.hedge.id == placement.hedge)
    return choose(bare, chosen, around, original, FRAMES[placement.position]) or choose(bare, chosen, around, original)
