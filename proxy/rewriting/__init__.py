"""Putting a confidence into words, and making sure that nothing else changed."""

from proxy.rewriting.editor import Ask, DirectBetaRewriter, EditorRewriter, HedgedQaRewriter
from proxy.rewriting.guard import FactGuard
from proxy.rewriting.sentences import sentences
from proxy.rewriting.step import reword
from proxy.rewriting.template import TemplateRewriter

__all__ = [
    "Ask",
    "DirectBetaRewriter",
    "EditorRewriter",
    "FactGuard",
    "HedgedQaRewriter",
    "TemplateRewriter",
    "reword",
    "sentences",
]
