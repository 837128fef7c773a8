"""Hedges with the confidence that people read in them: finding them, spotting them, hearing them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lexicon.embedded import EmbeddingReader
    from lexicon.entries import NO_HEDGE, Frame, FrameKind, Hedge, Lexicon, Match, Register
    from lexicon.errors import LexiconError, LexiconFileError, TextTooLong
    from lexicon.loading import builtin_names, load
    from lexicon.perception import Perceived, Sentence, perceive
    from lexicon.readers import LocalReader, ModelReader, Reader
    from lexicon.retrieval import Retriever
    from lexicon.spotting import Span, spot

_HOMES = {
    "EmbeddingReader": "lexicon.embedded",
    "Frame": "lexicon.entries",
    "FrameKind": "lexicon.entries",
    "Hedge": "lexicon.entries",
    "Lexicon": "lexicon.entries",
    "LexiconError": "lexicon.errors",
    "LexiconFileError": "lexicon.errors",
    "LocalReader": "lexicon.readers",
    "Match": "lexicon.entries",
    "ModelReader": "lexicon.readers",
    "NO_HEDGE": "lexicon.entries",
    "Perceived": "lexicon.perception",
    "Reader": "lexicon.readers",
    "Register": "lexicon.entries",
    "Retriever": "lexicon.retrieval",
    "Sentence": "lexicon.perception",
    "Span": "lexicon.spotting",
    "TextTooLong": "lexicon.errors",
    "builtin_names": "lexicon.loading",
    "load": "lexicon.loading",
    "perceive": "lexicon.perception",
    "spot": "lexicon.spotting",
}
"""Where each name lives. They are imported when first asked for: a proxy that only passes requests on pays for none of them."""

__all__ = [
    "NO_HEDGE",
    "EmbeddingReader",
    "Frame",
    "FrameKind",
    "Hedge",
    "Lexicon",
    "LexiconError",
    "LexiconFileError",
    "LocalReader",
    "Match",
    "ModelReader",
    "Perceived",
    "Reader",
    "Register",
    "Retriever",
    "Sentence",
    "Span",
    "TextTooLong",
    "builtin_names",
    "load",
    "perceive",
    "spot",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found
