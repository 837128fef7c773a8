"""Accepts that an editor moved a phrase of time or place within a sentence, where that keeps the meaning.

Example: "She moved in 1912" and "In 1912 she probably moved". The meaning is kept if the phrase belongs to the only
verb of the sentence in both places. So the text in between must not open a clause or join two things, there must be one
verb before the phrase when it is at the end and none after it, and the sentence must have no other year. A year belongs
to a verb in the past tense: in "is the author of a book on Paris in 1789" it belongs to Paris. When in doubt, the move
is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...lexicon.text.english import AUXILIARIES, FINITE_VERBS, PARTICIPLES, PLAIN_OPENERS
from ...lexicon.text.sentences import pieces
from ...lexicon.text.words import word_set
from .units import is_adverb
from .verbs import is_past

_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_AT_THE_FRONT = re.compile(
    r"(?:(?:In|On|At|During|Since|Around|Throughout)\b[^;:()]{2,80}?|Currently|Originally|Initially|Eventually),\s"
)
_DATE = re.compile(
    rf"\b(?:in|on|since|during|around) (?:(?:early|late|mid)[- ])?(?:{_MONTH} )?(?:\d{{1,2}}(?:st|nd|rd|th)?,? )?(?:{_MONTH},? )?\d{{3,4}}(?: (?:BCE?|AD|CE)\b)?"
)
_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d\d(?!\d)")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_JOINS = word_set("and or nor but")
_OPENS_A_CLAUSE = word_set("who whom whose which that when while where because if although though unless whether than")
_TIES = _JOINS | word_set("not only even just than as from between about nearly almost until of to through")
"""Words tied to the phrase after or before them: "not in 1912", "in 1912 and 1915"."""
_CONTENT = re.compile(
    r"\b(?:about|set|depicted|described|portrayed|discussed|documented|predicted|planned|scheduled)\b|"
    r"\bto (?!(?:the|an?|his|her|its|their)\b)[a-z]+\b"
)
"""Words that a time or place after them may belong to instead of the verb ("promised to leave in 2015")."""
_IN_THE_PRESENT = re.compile(r"\b(?:is|are|has|have|can|may|will)\b")
_LEADS_TO_A_CLAUSE = word_set("after before when while where following because")
_AFTER_A_COMMA = re.compile(r", (?:[a-z]+ly )?(?:[a-z]+ed|known)\b(?:(?!,| and | but | or ).)*")
"""A participle that belongs to the last name: ", located in ...", ", primarily known for ..."."""
_MOST_SENTENCES = 40
_LONGEST_SENTENCE = 600
_LONGEST = 80
"""Length limit of a phrase, in characters."""


def with_phrases_moved(draft: str, rewrite: str) -> str | None:
    """The draft with its phrases of time and place moved to where the rewrite has them; None if none moved.

    Sentences are compared in order.
    """
    old, new = pieces(draft), pieces(rewrite)
    texts = [piece.text for piece in old]
    for index, (before, after) in enumerate(zip(old[:_MOST_SENTENCES], new, strict=False)):
        if (
            before.is_sentence
            and after.is_sentence
            and before.text != after.text
            and len(before.text) <= _LONGEST_SENTENCE
        ):
            texts[index] = next(_moved(before.text, after.text), before.text)
    moved = "".join(texts)
    return None if moved == draft else moved


def _moved(old: str, new: str) -> Iterator[str]:
    """Versions of the old sentence in which one phrase is where the new sentence has it."""
    for phrase in _openings(new):
        yield from _to_the_front(old, phrase)
    for phrase in _openings(old):
        bare = phrase[0].lower() + phrase[1:]
        rest = old[len(phrase) + 1 :].lstrip()
        yield from _inserted(rest[0].upper() + rest[1:], bare, new, at_the_front=True)
    for match in _DATE.finditer(old):
        before, after = old[: match.start()].rstrip(), old[match.end() :]
        yield from _inserted(before + after, match.group(), new, at=len(before))


def _openings(sentence: str) -> list[str]:
    """Possible phrases of time or place at the start of a sentence, longest first."""
    phrases = []
    match = _AT_THE_FRONT.match(sentence)
    end = match.end() - 2 if match else -1
    while 0 < end < _LONGEST:
        phrases.append(sentence[:end])
        end = sentence.find(", ", end + 1)
    return phrases[::-1]


def _to_the_front(old: str, phrase: str) -> Iterator[str]:
    bare = phrase[0].lower() + phrase[1:]
    if (at := _only_place(old, bare)) is None:
        return
    before, after = old[:at].rstrip(), old[at + len(bare) :]
    if _belongs_to_the_verb(before, after, bare):
        word = _WORD.match(old)
        small = word is not None and word.group().lower() in PLAIN_OPENERS and word.group() != "I"
        yield f"{phrase}, {old[0].lower() if small else old[0]}{(before + ('' if after[:1] in '.,!?[' else ' ') + after.lstrip())[1:]}"


def _inserted(bare: str, phrase: str, new: str, *, at: int = 0, at_the_front: bool = False) -> Iterator[str]:
    """The sentence with the phrase inserted after the word that it follows in the new sentence.

    `bare` is the sentence without the phrase, `at` the offset where the phrase was.
    """
    place = _only_place(new, phrase)
    words = _WORD.findall(new[:place]) if place else []
    if not words or (to := _only_place(bare, words[-1])) is None:
        return
    to += len(words[-1])
    between = bare[min(at, to) : max(at, to)]
    fits = (
        _belongs_to_the_verb(bare[:to], bare[to:], phrase)
        if at_the_front
        else _is_one_thing(between) and not _ties(bare, at, phrase)
    )
    if fits and not _ties(bare, to, phrase):
        yield f"{bare[:to]} {phrase}{bare[to:]}"


def _belongs_to_the_verb(before: str, after: str, phrase: str) -> bool:
    """Whether a phrase between these two parts of a sentence tells when or where its only verb happened.

    Then it can also stand at the start.
    """
    if _YEAR.search(before + after) and _YEAR.search(phrase):
        return False
    words = [word.lower() for word in _WORD.findall(before)]
    adverb = " " not in phrase
    if not words or words[-1] in _TIES or _OPENS_A_CLAUSE.intersection(words):
        return False
    if not adverb and (_verbs(before) != 1 or _CONTENT.search(before)):
        return False
    if _YEAR.search(phrase) and _IN_THE_PRESENT.search(before) and not phrase.lower().startswith("since "):
        return False
    following = [word.lower() for word in _WORD.findall(after)]
    if following and following[0] in _LEADS_TO_A_CLAUSE:
        return True
    first = following[0] if following else ""
    return first not in _TIES - {"as", "from", "to"} and _verbs(_AFTER_A_COMMA.sub("", after)) <= adverb


def _is_one_thing(between: str) -> bool:
    """Whether the text that a phrase is moved across has no conjunction that joins and opens no clause."""
    words = {word.lower() for word in _WORD.findall(between)}
    joined = bool(words & _JOINS) and (_verbs(between) > 0 or _WORD.findall(between)[0].lower() in _JOINS)
    return not (joined or words & (_OPENS_A_CLAUSE | _LEADS_TO_A_CLAUSE)) and _verbs(between) <= 1


def _ties(text: str, at: int, phrase: str) -> bool:
    """Whether the words at an offset belong to a phrase there ("not", "from", "and 1915"), or there is another year."""
    before, after = _WORD.findall(text[:at]), _WORD.match(text[at:].lstrip(" "))
    rest = text[at:].lstrip(" ")
    if after and after.group() in _JOINS and _verbs(rest[after.end() :].lstrip().partition(" ")[0]):
        after = None  # "in 1994 and began"
    near = {before[-1].lower() if before else "", after.group().lower() if after else ""}
    return bool(near & (_TIES - {"as", "to"})) or (_YEAR.search(text) is not None and _YEAR.search(phrase) is not None)


def _verbs(text: str) -> int:
    """Number of verbs; a verb with its auxiliaries and adverbs counts once."""
    count, inside = 0, False
    for word in _WORD.findall(text):
        verb = (
            word in AUXILIARIES
            or word in FINITE_VERBS
            or word in PARTICIPLES
            or is_past(word)
            or (word.endswith("ed") and word.islower())
        )
        count += verb and not inside
        inside = verb or (inside and (is_adverb(word) or word == "first"))
    return count


def _only_place(text: str, phrase: str) -> int | None:
    """The offset of a phrase that occurs exactly once in a text, as whole words; else None."""
    places = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(phrase)}(?!\w)", text)]
    return places[0] if len(places) == 1 else None
