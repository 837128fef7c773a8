"""Putting a confidence into words, and making sure that nothing else changed."""

from ...lexicon.text.sentences import sentences
from .baselines import Ask, DirectBetaRewriter, HedgedQaRewriter
from .guard import Entailment, FactGuard, Reader, perceived_confidence, reader_of
from .local import LocalRewriter
from .step import reword
from .stream import natural_pieces
from .wordings import Choice

__all__ = [
    "Ask",
    "Choice",
    "DirectBetaRewriter",
    "Entailment",
    "FactGuard",
    "HedgedQaRewriter",
    "LocalRewriter",
    "Reader",
    "natural_pieces",
    "perceived_confidence",
    "reader_of",
    "reword",
    "sentences",
]
