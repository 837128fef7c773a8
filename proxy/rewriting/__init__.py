"""Putting a confidence into words, and making sure that nothing else changed."""

from ...lexicon.text.sentences import sentences
from .baselines import Ask, DirectBetaRewriter, HedgedQaRewriter
from .guard import Entailment, FactGuard, Reader, perceived_confidence, reader_of
from .long import assertions, reword_sentences
from .step import reword
from .stream import append_confidence_sentence, natural_pieces
from .template import TemplateRewriter
from .wordings import Choice

__all__ = [
    "Ask",
    "Choice",
    "DirectBetaRewriter",
    "Entailment",
    "FactGuard",
    "HedgedQaRewriter",
    "Reader",
    "TemplateRewriter",
    "append_confidence_sentence",
    "assertions",
    "natural_pieces",
    "perceived_confidence",
    "reader_of",
    "reword",
    "reword_sentences",
    "sentences",
]
