"""Hedges with the confidence that people read in them: retrieving them, spotting them, perceiving how sure a text sounds."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import LexiconError, LexiconFileError, TextTooLong
    from .hedges.entries import NO_HEDGE, Frame, FrameKind, Hedge, Lexicon, Match, Register
    from .hedges.loading import builtin_names, load
    from .hedges.offered import offered
    from .hedges.retrieval import Retriever
    from .perception.local_reader import Perceived, Sentence, perceive
    from .perception.own import Own
    from .perception.readers import ModelReader, Reader
    from .perception.spotting import Span, spot

_HOMES = {
    "Frame": "hedgerow.lexicon.hedges.entries",
    "FrameKind": "hedgerow.lexicon.hedges.entries",
    "Hedge": "hedgerow.lexicon.hedges.entries",
    "Lexicon": "hedgerow.lexicon.hedges.entries",
    "LexiconError": "hedgerow.lexicon.errors",
    "LexiconFileError": "hedgerow.lexicon.errors",
    "Match": "hedgerow.lexicon.hedges.entries",
    "ModelReader": "hedgerow.lexicon.perception.readers",
    "NO_HEDGE": "hedgerow.lexicon.hedges.entries",
    "Own": "hedgerow.lexicon.perception.own",
    "Perceived": "hedgerow.lexicon.perception.local_reader",
    "Reader": "hedgerow.lexicon.perception.readers",
    "Register": "hedgerow.lexicon.hedges.entries",
    "Retriever": "hedgerow.lexicon.hedges.retrieval",
    "Sentence": "hedgerow.lexicon.perception.local_reader",
    "Span": "hedgerow.lexicon.perception.spotting",
    "TextTooLong": "hedgerow.lexicon.errors",
    "builtin_names": "hedgerow.lexicon.hedges.loading",
    "load": "hedgerow.lexicon.hedges.loading",
    "offered": "hedgerow.lexicon.hedges.offered",
    "perceive": "hedgerow.lexicon.perception.local_reader",
    "spot": "hedgerow.lexicon.perception.spotting",
}
"""Where each name lives. They are imported when first asked for: a proxy that only passes requests on pays for none of them."""

__all__ = [
    "NO_HEDGE",
    "Frame",
    "FrameKind",
    "Hedge",
    "Lexicon",
    "LexiconError",
    "LexiconFileError",
    "Match",
    "ModelReader",
    "Own",
    "Perceived",
    "Reader",
    "Register",
    "Retriever",
    "Sentence",
    "Span",
    "TextTooLong",
    "builtin_names",
    "load",
    "offered",
    "perceive",
    "spot",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
