"""What kind of utterance a sentence is, and where a hedge may go in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from proxy.rewriting import words as w

ShapeKind = Literal["clause", "fragment", "imperative", "question", "none"]

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_OPAQUE = re.compile(
    r"`[^`]*`|\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|\([^()]*\)|\[[^\]]*\]|https?://\S+|\$[^$\s][^$]*\$"
)
_END = re.compile(r"[.!?…]*(?:[\"”»*_]+|\[\d+\])*[.!]*$")
_POLAR = re.compile(r"^(yes|no|yeah|nope|true|false)\b(?:[*_]*)(?:([,.!;:–—-]+)\s*|\s+(?=[–—-])|$)", re.IGNORECASE)
_INTRODUCTION = re.compile(
    r"^(?:in|on|at|by|during|after|before|since|according|as|for|to|from|with|under|based|if|when|while|because|although|though|unless)\b[^,;:]*,\s+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Shape:
    """A sentence taken apart; head + body + end is the sentence.

    Attributes:
        kind: clause (a finite verb was found), fragment (none was), imperative, question, none (no words).
        head: "Yes, " or "No, " before the rest; "" elsewhere. A bare "Yes" is a fragment with no head.
        body: what a hedge is put into or before.
        end: closing punctuation with the marks after it.
        adverb_at: offset in `body` where an adverb may stand, None where no place is sure.
        comma_safe: True where "..., as far as I know, ..." may stand at `adverb_at`.
    """

    kind: ShapeKind
    head: str
    body: str
    end: str
    adverb_at: int | None = None
    comma_safe: bool = False


def shape(sentence: str) -> Shape:
    """Take a sentence apart."""
    match = _END.search(sentence)
    cut = match.start() if match else len(sentence)
    if sentence[cut : cut + 1] in '"”»*_' and sentence[cut:]:
        opened = sentence[:cut].count(sentence[cut])
        if (sentence[cut] in '"*_' and opened % 2 == 1) or sentence[cut] in "”»":
            cut = len(sentence)
    body, end = sentence[:cut].rstrip(), sentence[cut:]
    if not re.search(r"\w", body):
        return Shape("none", "", body, end)
    if "?" in end:
        return Shape("question", "", body, end)
    head = ""
    if (polar := _POLAR.match(body)) and polar.end() < len(body):
        head, body = body[: polar.end()], body[polar.end() :]
    kind, position, comma_safe = _find_verb(body)
    return Shape(kind, head, body, end, position, comma_safe)


def _masked(body: str) -> str:
    """The body with quotations, brackets, code and addresses blanked out, offsets kept."""
    return _OPAQUE.sub(lambda m: "0" * len(m.group()), body)


def _find_verb(body: str) -> tuple[ShapeKind, int | None, bool]:
    masked = _masked(body)
    offset = 0
    if introduction := _INTRODUCTION.match(masked):
        offset = introduction.end()
    elif (first := _WORD.match(masked)) and first.group().lower() in w.RELATIVISERS - {"that"}:
        return "fragment", None, False
    tokens = list(_WORD.finditer(masked, offset))
    if not tokens:
        return "fragment", None, False
    if tokens[0].group().lower() in w.IMPERATIVES and offset == 0 and not _followed_by_verb(tokens):
        return "imperative", None, False
    pending = 0
    for i, token in enumerate(tokens):
        word = token.group()
        lower = word.lower().replace("’", "'")
        if i and _opens_clause(tokens, i, lower):
            pending += 1
            continue
        place = _verb_place(tokens, i, word, lower, bool(offset))
        if place is None:
            continue
        if pending:
            pending -= 1
            continue
        position = _skip_space(masked, place)
        return "clause", position, True
    return "fragment", None, False


def _followed_by_verb(tokens: list[re.Match[str]]) -> bool:
    """In "Work is done" the auxiliary shows that the first word is a noun."""
    return len(tokens) > 1 and tokens[1].group().lower() in w.AUXILIARIES | w.FINITE_VERBS - {"do", "have"}


def _opens_clause(tokens: list[re.Match[str]], i: int, lower: str) -> bool:
    if lower in w.RELATIVISERS:
        return True
    following = tokens[i + 1].group().lower() if i + 1 < len(tokens) else ""
    return lower in w.CONJUNCTIVE_PREPOSITIONS and following in w.SUBJECT_PRONOUNS


def _verb_place(tokens: list[re.Match[str]], i: int, word: str, lower: str, introduced: bool) -> int | None:
    """Where an adverb goes if token i is a finite verb, else None."""
    token = tokens[i]
    following = tokens[i + 1].group().lower() if i + 1 < len(tokens) else ""
    contraction = re.fullmatch(r"(i|he|she|it|they|we|you|that|there|who|what|here)'(s|re|m|ve|ll|d)", lower)
    if contraction and (i == 0 or word[0].islower()):
        return token.end()
    if i == 0 or not word[0].islower():
        return None
    previous = tokens[i - 1].group().lower()
    if lower in w.AUXILIARIES:
        if lower in w.DO or lower == "cannot" or lower.endswith("n't"):
            return token.start()
        if lower in w.HAVE and not (following in w.PARTICIPLES or following.endswith("ed") or following == "not"):
            return token.start()
        return token.end()
    if i == 1 and previous in w.CERTAIN_SUBJECTS and not introduced and not lower.endswith("ly"):
        return token.start()
    if lower in w.FINITE_VERBS and previous not in w.DETERMINERS | {"of", "to", "and", "or"}:
        return token.start()
    return None


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] == " ":
        position += 1
    return position
