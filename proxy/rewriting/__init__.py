"""Putting a confidence into words, and making sure that nothing else changed."""

from ...lexicon.text.sentences import sentences
from .guard import Entailment, FactGuard, Reader, perceived_confidence, reader_of
from .local import LocalRewriter
from .stream import natural_pieces
from .wordings import Choice

__all__ = [
    "Choice",
    "Entailment",
    "FactGuard",
    "LocalRewriter",
    "Reader",
    "natural_pieces",
    "perceived_confidence",
    "reader_of",
    "sentences",
]
