"""`Reading`: what is known of an answer. It is made once a text, and every later step takes it instead of looking at the text again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...calibration import Beta

Act = Literal[
    "states", "advises", "instructs", "asks", "declines", "presents", "speaks", "invents", "repeats", "computes"
]
"""What a sentence does.

states: says in the answer's own voice what can be right or wrong. advises: advice, opinion, a caution. instructs: a step to follow. asks: a
question. declines: gives no answer ("I don't know", "the text does not say"). presents: a heading, an announcement, a label. speaks: small talk, offers,
what the assistant is or does. invents: fiction, or a text made to order. repeats: what the user or a supplied text said. computes: a step of a calculation
whose result stands elsewhere.
"""
Block = Literal["prose", "item", "heading", "row", "quote"]
"""The part of the layout that a sentence stands in; a row is a line of a table."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the text, by its offsets: `text[start:end]`."""

    start: int
    end: int

    def covers(self, start: int, end: int) -> bool:
        """Whether it has a character in common with `text[start:end]`."""
        return self.start < end and start < self.end


@dataclass(frozen=True, slots=True)
class OwnHedge(Span):
    """The author's own words of confidence.

    Attributes:
        beta: the confidence that people read in them; None for a booster ("definitely"), which only takes doubt away.
        hedge: the id of the lexicon's entry; None for a word that has none.
    """

    beta: Beta | None
    hedge: str | None = None


@dataclass(frozen=True, slots=True)
class Token(Span):
    """A word of a parse.

    Attributes:
        head: index of its head in the sentence's tokens; its own index for the root.
        dep: its relation to the head (the parser's label: "nsubj", "aux", "ccomp" ...).
        pos: its part of speech (universal tags: "VERB", "AUX", "PROPN" ...).
        lemma: its dictionary form, in lower case.
    """

    head: int
    dep: str
    pos: str
    lemma: str


@dataclass(frozen=True, slots=True)
class Sentence(Span):
    """A sentence, list item, heading or row, without its markers and surrounding white space.

    Attributes:
        index: its place in `Reading.sentences`.
        act: what it most likely does.
        states: probability that it states what can be right or wrong, in [0, 1].
        answers: probability that it is the sentence that answers the question, in [0, 1]; they add up to at most 1 over a text.
        own: its own words of confidence, in order.
        tokens: its parse; () where no parser has read it.
    """

    index: int
    block: Block
    act: Act
    states: float
    answers: float
    own: tuple[OwnHedge, ...] = ()
    tokens: tuple[Token, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer, read.

    Attributes:
        text: the answer.
        question: the user's last own words; "" without any.
        language: of the text ("en"); None if it is not known well enough to be worded.
        sentences: in order; joined with what stands between them they are the text.
        opaque: what no edit may touch: code, formulas, tables, quotations, links, citations.
        seeks: probability that the question asks for what can be right or wrong, in [0, 1].
        declines: whether the text as a whole gives no answer.
        by: who read it: "local" (with a parser), "plain" (without one) or "model".
    """

    text: str
    question: str
    language: str | None
    sentences: tuple[Sentence, ...]
    opaque: tuple[Span, ...]
    seeks: float
    declines: bool
    by: Literal["local", "plain", "model"]

    def words_of(self, span: Span) -> str:
        """The text of a sentence, token or other span."""
        return self.text[span.start : span.end]

    @property
    def answering(self) -> Sentence | None:
        """The sentence that most likely answers the question; None if none states anything."""
        return max((s for s in self.sentences if s.act == "states"), key=lambda s: s.answers, default=None)
