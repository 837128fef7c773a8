"""Splits a sentence with several statements into clauses with one statement each.

English is split where a second clause with its own finite verb begins: after a semicolon, before ", and he ...", and
where one subject has two verbs ("was born in Rome and died in Paris"). When in doubt a sentence stays whole: a part
without its meaning would be measured wrongly, while a whole sentence is only measured less precisely. Other languages
are split at semicolons only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from . import english as w
from .opaque import masked
from .shape import leading, shape
from .words import word_set

FEWEST_WORDS = 3
"""Fewest words of a part."""
LONGEST = 1_000
"""Length in characters of the longest sentence that is split."""
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_JOINT = re.compile(r";\s+(?:(?:and|but)\s+)?|,\s+(?:and|but|while|whereas)\s+|(?<!\s)\s++(?:and|but)\s++")
_SEMICOLON = re.compile(r";\s+")
_GOVERNING = re.compile(
    r"\W*(?:if|unless|although|though|when|while|because|since|as|after|before|until|once)\b|.*\b(?:if|unless|whether|not only|either|neither|both|between)\s",
    re.IGNORECASE | re.DOTALL,
)
"""A condition, a time or a pair: neither half alone says what the sentence says."""
_SUBJECTS = w.SUBJECT_PRONOUNS - word_set("i we you who that")
_FINITE = w.AUXILIARIES | w.FINITE_VERBS
_PRESENT = w.PRESENT_VERBS | word_set("is are isn't aren't has have hasn't haven't do does can may will must")
_BARE = frozenset(verb for verb in w.PRESENT_VERBS if not verb.endswith("s"))
_INTRODUCING = w.PREPOSITIONS | w.PARTICIPLES | word_set("despite off upon according following based")
_MOST_SUBJECT_WORDS = 12
_NOBODY = word_set("there here")
_GOVERNED = re.compile(r"\b(?:to|can|could|may|might|will|would|shall|should|must|cannot)\s+(?:[a-z]+ly\s+)?[a-z]+\b")
"""A modal or "to" with its verb, which also governs a second bare verb ("are likely to cost more and attract fewer")."""
_DESCRIBED = re.compile(
    r"\b(?:used|made|called|known|based|found|held|given|taken|faced|involved|required|needed)\s+(?:in|by|for|to|on|at|from|as|with|during)\b"
)
"""A participle after its noun, which is not a verb of its own: "the methods used in the laboratory"."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch of a sentence with one statement.

    Attributes:
        start, end: offsets into the sentence.
        subject: the subject, if it is in an earlier part; else "".
    """

    start: int
    end: int
    subject: str = ""


def clauses(sentence: str, language: str = "en") -> tuple[Clause, ...]:
    """The clauses of a sentence, in order; the whole sentence if it cannot be split. Time linear in its length.

    Examples
    --------
    >>> text = "Curie was born in Warsaw in 1867 and died in Passy in 1934."
    >>> [(text[c.start:c.end], c.subject) for c in clauses(text)]
    [('Curie was born in Warsaw in 1867', ''), ('died in Passy in 1934.', 'Curie')]
    >>> len(clauses("She wrote novels and plays about women."))
    1
    """
    unsplit = (Clause(0, len(sentence)),)
    if len(sentence) > LONGEST:
        return unsplit
    hidden = masked(sentence)
    if language != "en":
        return _at_semicolons(hidden) or unsplit
    if _GOVERNING.match(hidden):
        return unsplit
    parts: list[Clause] = []
    start, subject = 0, ""
    for joint in _JOINT.finditer(hidden):
        before = subject or subject_of(sentence[start : joint.start()])
        left, right = hidden[start : joint.start()], hidden[joint.end() : joint.end() + LONGEST]
        if not _has_predicate(left, continues=bool(subject)) or len(_WORD.findall(right)) < FEWEST_WORDS:
            continue
        if (has_own := _begins_clause(left, right, joint.group())) is not None:
            parts.append(Clause(start, joint.start(), subject))
            start, subject = joint.end(), "" if has_own else before
    return (*parts, Clause(start, len(sentence), subject)) if parts else unsplit


def subject_of(sentence: str) -> str:
    """The words before an English sentence's first finite verb; "" if no verb is recognised.

    Introductory phrases and text between commas are left out.

    >>> subject_of("Marie Curie, who was born in Warsaw, won two prizes."), subject_of("Born in 1876, in Karachi, Jinnah was a lawyer.")
    ('Marie Curie', 'Jinnah')
    """
    skipped = len(leading(sentence[:LONGEST]))
    text = " " * skipped + masked(sentence[:LONGEST])[skipped:]
    tokens = list(_WORD.finditer(text))
    at = _verb_index(tokens)
    if at is None:
        return ""
    start, end = 0, tokens[at].start()
    first = tokens[0].group().lower()
    if first in _INTRODUCING or first.endswith(("ed", "ing")):
        start = text.rfind(",", 0, end) + 1
    elif (aside := text.find(",", 0, end)) >= 0:
        end = aside
    named = [token for token in tokens if start <= token.start() and token.end() <= end]
    while named and _is_adverb(named[-1].group()):
        named.pop()
    if not 0 < len(named) <= _MOST_SUBJECT_WORDS or named[0].group().lower() in _NOBODY:
        return ""
    return sentence[named[0].start() : named[-1].end()]


def _begins_clause(left: str, right: str, joint: str) -> bool | None:
    """Whether the part after a joint has its own subject (True), continues the one before (False) or neither (None)."""
    words = [match.group() for match in _WORD.finditer(right[:200])]
    first, second = words[0].lower(), words[1].lower()
    if first in _SUBJECTS:
        return False if second in _FINITE or second.endswith("ed") or _is_adverb(second) else None
    verb = next((word.lower() for word in words[:2] if not _is_adverb(word)), "")
    if verb in _FINITE and words[0][0].islower() and ";" not in joint:
        governed = verb in _BARE and _GOVERNED.search(left)
        return False if not governed and _go_together(left, verb) else None
    if ";" not in joint and _only_described(right):
        return None
    return True if joint[0] in ",;" and subject_of(right.partition(",")[0]) and shape(right).kind == "clause" else None


def _only_described(part: str) -> bool:
    """Whether the only verb of a part is a participle after its noun."""
    match = _DESCRIBED.search(part)
    return match is not None and _verb_index(list(_WORD.finditer(part[: match.start()] + part[match.end() :]))) is None


def _has_predicate(part: str, *, continues: bool) -> bool:
    """Whether a part has a finite verb with words after it.

    A part that continues a subject may begin with the verb.
    """
    tokens = list(_WORD.finditer(part))
    at = 0 if continues and tokens and tokens[0].group().lower() in _FINITE else _verb_index(tokens)
    return at is not None and len(tokens) - at > 2


def _verb_index(tokens: Sequence[re.Match[str]]) -> int | None:
    """Index of the first finite verb after the first token that is not in a relative clause."""
    pending = 0
    for i, token in enumerate(tokens[1:], 1):
        lower = token.group().lower().replace("’", "'")
        if lower in w.RELATIVISERS:
            pending += 1
        elif token.group()[0].islower() and lower in _FINITE:
            if pending == 0:
                return i
            pending -= 1
    return None


def _is_adverb(word: str) -> bool:
    return word.lower() in w.ADVERBS or word.endswith("ly")


def _go_together(left: str, verb: str) -> bool:
    """Whether a second verb has the tense of the first: "plays" after "wrote" is a noun."""
    first = next((word for match in _WORD.finditer(left) if (word := match.group().lower()) in _FINITE), "")
    return (first in _PRESENT) == (verb in _PRESENT)


def _at_semicolons(hidden: str) -> tuple[Clause, ...]:
    cuts = [match.span() for match in _SEMICOLON.finditer(hidden)]
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(hidden)]
    parts = [Clause(start, end) for start, end in zip(starts, ends, strict=True)]
    return tuple(parts) if all(len(_WORD.findall(hidden[p.start : p.end])) >= FEWEST_WORDS for p in parts) else ()
