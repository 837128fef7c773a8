"""Hedges with the confidence that people read in them: finding them, spotting them, hearing them."""

from lexicon.entries import Frame, FrameKind, Hedge, Match

__all__ = ["Frame", "FrameKind", "Hedge", "Match"]
