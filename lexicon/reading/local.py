"""Reads an answer on this machine: by a parser and small trained classifiers in English, plainly without one and in other languages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import get_args

from ..perception.spotting import Span as Marked
from ..perception.spotting import spot
from ..text.language import grammar, known, known_language_of
from . import features
from .parsing import NOT_PARSED, NoParser, Parsed, parser
from .reading import Act, OwnHedge, Reading, Sentence, Span
from .segments import Segment, inline_opaque, opaque, segments
from .softmax import Softmax

ACTS: tuple[Act, ...] = get_args(Act)
DATA = Path(__file__).parents[1] / "data" / "reading"
SHORTEST = 12
"""Characters of a sentence in a language that is not parsed."""
FEWEST_PROSE = 9
"""Words from which a text is no bare answer ("Paris", "12 km", "In 1912.")."""
BARE: frozenset[Act] = frozenset({"states", "presents", "repeats", "computes", "invents"})
"""What a bare answer seems to do by its words alone: it is what was asked for."""
ASKED = 0.8
"""`Reading.seeks` from which whatever is not a refusal is an answer, lists and calculations too."""
SEEMS = 0.6
"""Probability that a sentence states something in a language whose sentences are not classified."""
_POLAR = re.compile(r"[\W_]*(?:yes|no|true|false|correct|incorrect)[\W_]*", re.IGNORECASE)
_QUOTED = ' *_"”)'
"""What may stand behind a question mark."""
_HOW_MUCH = re.compile(
    r"\b(?:how (?:many|much|long|far|old|tall|high|wide|deep|big|large|heavy|fast|often|hot|cold|late|early|soon)|when|what (?:year|date|day|time|price))\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_SAYS_YES = re.compile(r"[*_]*(?:yes|no)\b", re.IGNORECASE)
_FORMULA = re.compile(r"(?!.*[a-z]{3}).*[=→⇌≈≤≥^]", re.DOTALL)
"""An equation or a reaction without a word."""
_LETTER = re.compile(r"[\W_]*[A-Za-z][\W_]*")
"""An option: programs read it."""
MOST_READ = 100_000
"""Characters of a text in which sentences are looked for; what follows keeps no sentence."""


def read(text: str, question: str = "", language: str | None = None) -> Reading:
    """Read an answer: pure and synchronous, safe in any thread; time linear in its length.

    Args:
        text: the answer.
        question: the user's last own words.
        language: of the answer, if it is known.
    """
    language = language or known_language_of(text, question)
    found = _found(text[:MOST_READ])
    inline = inline_opaque(text[:MOST_READ])
    parses = _parsed(text, found, inline) if language == "en" else None
    seeks = seeks_claim(question)
    marked = _own(text[:MOST_READ], language)
    read_acts = [
        _act(text, segment, question, parses[i] if parses else None, language, bare=len(found) == 1, seeks=seeks)
        for i, segment in enumerate(found)
    ]
    answers = _answers([text[s.start : s.end] for s in found], read_acts, question)
    sentences = tuple(
        Sentence(
            segment.start, segment.end, index=i, block=segment.block, act=act, states=states, answers=answers[i],
            own=tuple(own for own in marked if segment.covers(own.start, own.end)),
            tokens=parses[i].tokens if parses else (),
        )
        for i, (segment, (act, states)) in enumerate(zip(found, read_acts, strict=True))
    )  # fmt: skip
    return Reading(
        text=text,
        question=question,
        language=language,
        sentences=sentences,
        opaque=opaque(inline, found),
        seeks=seeks,
        declines=_declines(sentences),
        by="local" if parses is not None else "plain",
    )


def _found(text: str) -> Sequence[Segment]:
    """The segments of a text; one that is all of it is no heading ("**Paris**")."""
    found = segments(text)
    return [replace(found[0], block="prose")] if len(found) == 1 and found[0].block == "heading" else found


def seeks_claim(question: str) -> float:
    """Probability that a request asks for what can be right or wrong, in [0, 1]. Needs no parser."""
    if not question.strip():
        return 1.0  # a picture, say: what it asks cannot be read here
    return float(_requests().probabilities(features.of_request(question))[1])


def _parsed(text: str, found: Sequence[Segment], inline: Sequence[Span]) -> list[Parsed] | None:
    """The parse of each segment; None without a parser. A row of a table is not parsed."""
    try:
        english = parser()
    except NoParser:
        return None
    whole = [i for i, segment in enumerate(found) if segment.block != "row"]
    parses = english.parse(text, [found[i] for i in whole], inline)
    at = dict(zip(whole, parses, strict=True))
    return [at.get(i, NOT_PARSED) for i in range(len(found))]


def _act(
    text: str,
    segment: Segment,
    question: str,
    parsed: Parsed | None,
    language: str | None,
    *,
    bare: bool,
    seeks: float,
) -> tuple[Act, float]:
    """What a segment most likely does, and the probability that it states something; `bare`: it is the whole answer."""
    words = text[segment.start : segment.end]
    if segment.block == "heading":
        return "presents", 0.0
    if segment.block == "quote":
        return "repeats", 0.0
    bare = bare and len(words.split()) < FEWEST_PROSE and not words.rstrip().endswith(("?", "？", ":"))
    if words.rstrip(_QUOTED).endswith(("?", "？")):
        return "asks", 0.0
    if language != "en":
        if language in known() and grammar(language).no_answer.match(words):
            return "declines", 0.0
        is_sentence = (
            segment.block == "prose" and words.rstrip('*_"”»)').endswith((".", "。")) and len(words) >= SHORTEST
        )
        return ("states", 1.0) if bare else ("states", SEEMS) if is_sentence and language else ("presents", 0.0)
    model = _acts() if parsed is not None else _plain()
    read_as = dict(
        zip(model.classes, model.probabilities(features.of_sentence(words, question, parsed)).tolist(), strict=True)
    )
    act, states = max(ACTS, key=read_as.__getitem__), read_as["states"]
    if bare and (_LETTER.fullmatch(words) or _FORMULA.match(words)):
        return "presents", 0.0
    if bare and (act in BARE or _POLAR.fullmatch(words) or (seeks >= ASKED and act != "declines" and question.strip())):
        return "states", 1.0
    if _SAYS_YES.match(words) and states >= LEAST_OF_A_YES:
        return "states", max(states, A_YES)
    return act, states


TELLS_HOW_MUCH = 4.0
"""Doublings of the weight of a sentence that gives a number, where a number is asked for: it answers, and not the remark before it."""
LEAST_OF_A_YES, A_YES = 0.3, 0.9
"""A sentence that begins with a yes or no and may state something ("Yes, it is.", not "Yes, I can help!") does so with at least that probability."""


def _answers(words: Sequence[str], read_acts: Sequence[tuple[Act, float]], question: str) -> list[float]:
    """The probability of each sentence that it answers the question."""
    asked = {word for word in features.words_of(features.ends(question)) if len(word) > 3}
    asks_how_much = _HOW_MUCH.search(features.ends(question)) is not None
    weights = []
    for i, ((act, states), own) in enumerate(zip(read_acts, words, strict=True)):
        opens = 2.0 if _SAYS_YES.match(own) else TELLS_HOW_MUCH if asks_how_much and _new_number(own, question) else 0.0
        shared = len(asked.intersection(features.words_of(own[: features.READ]))) / max(1, len(asked))
        weights.append(states * 2.0 ** (4 * shared - 1.2 * i + opens) if act == "states" else 0.0)
    total = sum(weights)
    return [weight / max(total, 1e-9) if weight else 0.0 for weight in weights]


def _new_number(words: str, question: str) -> bool:
    return not set(_NUMBER.findall(words)) <= set(_NUMBER.findall(question))


def _declines(sentences: Iterable[Sentence]) -> bool:
    """Whether a text gives no answer: it begins by declining, or something declines and nothing states."""
    acts = [sentence.act for sentence in sentences]
    first = next((act for act in acts if act not in ("presents", "speaks")), None)
    return first == "declines" or ("declines" in acts and "states" not in acts)


def _own(text: str, language: str | None) -> list[OwnHedge]:
    """The author's own hedges and boosters."""
    if language is None:
        return []
    return [_own_hedge(span) for span in spot(text, language)]


def _own_hedge(span: Marked) -> OwnHedge:
    return OwnHedge(span.start, span.end, beta=span.beta if span.kind == "hedge" else None, hedge=span.hedge)


@cache
def _acts() -> Softmax:
    return Softmax.load(DATA / "acts.npz")


@cache
def _plain() -> Softmax:
    return Softmax.load(DATA / "plain.npz")


@cache
def _requests() -> Softmax:
    return Softmax.load(DATA / "requests.npz")
