"""Hedges with the confidence that people read in them: finding them, spotting them, hearing them."""

from lexicon.embedded import EmbeddingReader
from lexicon.entries import NO_HEDGE, Frame, FrameKind, Hedge, Lexicon, Match, Register
from lexicon.errors import LexiconError, LexiconFileError, TextTooLong
from lexicon.loading import builtin_names, load
from lexicon.perception import Perceived, Sentence, perceive
from lexicon.readers import LocalReader, ModelReader, Reader
from lexicon.retrieval import Retriever
from lexicon.spotting import Span, spot

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
