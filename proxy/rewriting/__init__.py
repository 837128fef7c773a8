"""Putting a confidence into words, and making sure that nothing else changed."""

from hedgerow.lexicon.text.sentences import sentences
from hedgerow.proxy.rewriting.editor import Ask, DirectBetaRewriter, EditorRewriter, HedgedQaRewriter
from hedgerow.proxy.rewriting.guard import Entailment, FactGuard, Reader, perceived_confidence, reader_of
from hedgerow.proxy.rewriting.long import assertions, reword_sentences
from hedgerow.proxy.rewriting.step import reword
from hedgerow.proxy.rewriting.stream import append_confidence_sentence, natural_pieces
from hedgerow.proxy.rewriting.template import TemplateRewriter
from hedgerow.proxy.rewriting.wordings import Choice

__all__ = [
    "Ask",
    "Choice",
    "DirectBetaRewriter",
    "EditorRewriter",
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
