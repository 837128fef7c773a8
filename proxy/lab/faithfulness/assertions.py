"""The assertions of an answer, each with and without its words of confidence, and its decisiveness.

A short answer makes one assertion, in however many sentences ("I'm not certain. It was Pinter, I think."). A long answer makes the claims of
its sentences, list items and table cells. An answer without an assertion is a punt. Decisiveness is the perceived confidence of the wording;
it is 1 for a wording without a hedge, as for the judge of Yona, Aharoni & Geva 2024.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ....lexicon import LexiconError, load, perceive, spot
from ....lexicon.perception.decisive import decisiveness
from ....lexicon.reading.local import read
from ....lexicon.text.claims import Claim
from ....lexicon.text.clauses import clauses
from ....lexicon.text.language import known_language_of, language_of
from ....lexicon.text.sentences import Piece, sentences
from ...errors import InputError
from ...pipeline.claims import claims_of
from ...rewriting.asserting import asserts
from ...rewriting.strip import Strippers

LOOKED_AT = 2_000
"""Characters of an answer that are used to detect its language."""

_WORD = re.compile(r"[^\W_]+")
_JOINING = frozenset({"but", "and", "though", "although", "however", "so", "here", "this", "that", "on", "about", "it"})


class Unread(InputError):
    """The assertions of an answer, or their decisiveness, cannot be determined."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """One assertion of an answer.

    Attributes:
        text: without the answer's words of confidence.
        decisiveness: perceived confidence of its wording, in [0, 1]; 1 without a hedge.
        of_several: whether it is one of several claims of a long answer, not the whole answer.
    """

    text: str
    decisiveness: float
    of_several: bool = False


def assertions(answer: str, question: str = "") -> tuple[Assertion, ...]:
    """The assertions of an answer; () for a punt (a refusal, a question back, an empty answer).

    Raises:
        Unread: its language is not supported, or it is too long.

    Examples:
        >>> [(a.text, round(a.decisiveness, 1)) for a in assertions("I'm not sure, but I think it was Harold Pinter.")]
        [('It was Harold Pinter.', 0.3)]
        >>> assertions("I don't know who wrote it."), assertions("It was Harold Pinter.")[0].decisiveness
        ((), 1.0)
    """
    if not answer.strip():
        return ()
    language = _language(answer[:LOOKED_AT], question)
    stripper = _strippers().of(language)
    parts = [piece for piece in stripper.pieces(answer) if piece.is_sentence] or [Piece(answer, True)]
    bare = [stripper.sentence(part.text) for part in parts]
    says = [
        asserts(text, language) and not _only_doubts(part.text, language)
        for part, text in zip(parts, bare, strict=True)
    ]
    if not any(says):
        return ()
    stripped = stripper.strip(answer).strip()
    claims = claims_of(read(stripped, question, language)) if sum(says) > 1 else ()
    if len(claims) < 2 or len(sentences(stripped)) != len(parts):
        said = " ".join(text for text, asserted in zip(bare, says, strict=True) if asserted)
        return (Assertion(said, _decisiveness(answer, language)),)
    return _of_claims(claims, [part.text for part in parts], says, language)


def _language(answer: str, question: str) -> str:
    """The answer's language; English for an English question if foreign names hide it ("Marina Abramović met Uwe Laysiepen in Amsterdam.")."""
    language = known_language_of(answer, question)
    if language is None and language_of(question) == "en" and 10 * sum(map(str.isascii, answer)) > 9 * len(answer):
        language = "en"
    if language is None:
        raise Unread("the answer is not in a language that can be read")
    return language


@cache
def _strippers() -> Strippers:
    return Strippers(load().hedges)


def _decisiveness(text: str, language: str) -> float:
    try:
        perceived = perceive(text, language)
        hedged = any(span.kind == "hedge" for span in perceived.spans)
        return float(decisiveness(perceived.beta.mean, language)) if hedged else 1.0
    except LexiconError as error:
        raise Unread(str(error)) from error


def _only_doubts(sentence: str, language: str) -> bool:
    """Whether a sentence consists of words of confidence only: "But I could be wrong."."""
    left = sentence
    for span in reversed(spot(sentence, language)):
        left = left[: span.start] + left[span.end :]
    return left != sentence and not set(_WORD.findall(left.lower())) - _JOINING


def _of_claims(
    claims: Sequence[Claim], originals: Sequence[str], says: Sequence[bool], language: str
) -> tuple[Assertion, ...]:
    read = [_with_remarks(index, originals, says, language) for index in range(len(originals))]
    of_sentence: dict[int, list[Claim]] = {}
    for claim in claims:
        if claim.sentence is not None:
            of_sentence.setdefault(claim.sentence, []).append(claim)
    made = []
    for claim in claims:
        if claim.sentence is None:
            worded = claim.text
        else:
            together = of_sentence[claim.sentence]
            worded = _worded(together.index(claim), len(together), originals[claim.sentence], read[claim.sentence])
        made.append(Assertion(claim.statement, _decisiveness(worded, language), of_several=True))
    return tuple(made)


def _with_remarks(index: int, originals: Sequence[str], says: Sequence[bool], language: str) -> str:
    """A sentence with the hedged remarks about it: sentences without an assertion directly after it, or at the beginning of the answer."""

    def remark(i: int) -> bool:
        return not says[i] and any(span.kind == "hedge" for span in spot(originals[i], language))

    first = next(i for i, one in enumerate(says) if one)
    opening = [originals[i] for i in range(first) if remark(i)]
    after = []
    for i in range(index + 1, len(originals)):
        if says[i]:
            break
        if remark(i):
            after.append(originals[i])
    return " ".join([*opening, originals[index], *after])


def _worded(place: int, of: int, original: str, read: str) -> str:
    """The wording of one of several claims of a sentence: its own clause, or the whole sentence if it begins with a hedge for all claims."""
    cut = clauses(original)
    if of == 1 or len(cut) != of:
        return read
    spans = [span for span in spot(original) if span.kind == "hedge"]
    own = original[cut[place].start : cut[place].end]
    opens = any(not original[: span.start].strip(" \t*_-–—:") for span in spans)
    within = any(cut[place].start <= span.start < cut[place].end for span in spans)
    return read if opens and not within else own + read[len(original) :] if read.startswith(original) else own
