"""Puts a hedge at the position that an editor chose."""

from __future__ import annotations

from collections.abc import Sequence

from ...lexicon import FrameKind, Hedge, Match
from ..types import Placement, Position
from .frames import Surroundings
from .template import choose

FRAMES: dict[Position, frozenset[FrameKind]] = {
    "start": frozenset({"clause", "fragment", "lead"}),
    "verb": frozenset({"adverb", "modal", "parenthetical"}),
    "end": frozenset({"closing"}),
}
"""For each position, the kinds of frames that put a hedge there."""


def put(
    bare: str, original: str, placement: Placement, matches: Sequence[Match], around: Surroundings
) -> tuple[Hedge, str] | None:
    """The hedge and the sentence with it at its position.

    If no frame fits there, the best other position; None where no frame fits at all. `bare` is `original` without its
    own words of confidence; `matches` include the hedge.
    """
    chosen = tuple(match for match in matches if match.hedge.id == placement.hedge)
    return choose(bare, chosen, around, original, FRAMES[placement.position]) or choose(bare, chosen, around, original)
