"""A phrase of time or place that an editor has put elsewhere in its sentence ("She moved in 1912" and "In 1912 she probably moved"), where that says the same.

It does where the phrase belongs to the sentence's one verb at both places. So nothing may lie between them that opens a clause or joins two things, one verb must
come before the phrase where it stood at the end, none behind it, and no other year may be in the sentence. A year goes with a verb of the past: in "is the author of
a book on Paris in 1789" it belongs to Paris. In doubt the phrase may not have been moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hedgerow.lexicon.text.english import AUXILIARIES, FINITE_VERBS, PARTICIPLES, PLAIN_OPENERS
from hedgerow.lexicon.text.sentences import pieces
from hedgerow.lexicon.text.words import word_set
from hedgerow.proxy.rewriting.units import is_adverb
from hedgerow.proxy.rewriting.verbs import is_past

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
"""What belongs to the phrase behind it, or before it: "not in 1912", "in 1912 and 1915"."""
_CONTENT = re.compile(
    r"\b(?:about|set|depicted|described|portrayed|discussed|documented|predicted|planned|scheduled)\b|"
    r"\bto (?!(?:the|an?|his|her|its|their)\b)[a-z]+\b"
)
"""What a time or place behind it may belong to in place of the verb: a story, a plan, another verb ("promised to leave in 2015")."""
_IN_THE_PRESENT = re.compile(r"\b(?:is|are|has|have|can|may|will)\b")
_LEADS_TO_A_CLAUSE = word_set("after before when while where following because")
_AFTER_A_COMMA = re.compile(r", (?:[a-z]+ly )?(?:[a-z]+ed|known)\b(?:(?!,| and | but | or ).)*")
"""What goes with the last name: ", located in ...", ", primarily known for ..."."""
_MOST_SENTENCES = 40
_LONGEST_SENTENCE = 600
_LONGEST = 80
"""Characters of a phrase."""


def with_phrases_moved(draft: str, rewrite: str) -> str | None:
    """The draft with such phrases where the rewrite has them; None where there is none. Sentences are taken in their order."""
    old, new = pieces(draft), pieces(rewrite)
    texts = [piece.text for piece in old]
    for index, (one, other) in enumerate(zip(old[:_MOST_SENTENCES], new, strict=False)):
        if one.is_sentence and other.is_sentence and one.text != other.text and len(one.text) <= _LONGEST_SENTENCE:
            texts[index] = next(_moved(one.text, other.text), one.text)
    moved = "".join(texts)
    return None if moved == draft else moved


def _moved(old: str, new: str) -> Iterator[str]:
    """The old sentence with one phrase where the new one has it."""
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
    """What may be a phrase of time or place before the sentence's subject, longest first."""
    found = []
    match = _AT_THE_FRONT.match(sentence)
    end = match.end() - 2 if match else -1
    while 0 < end < _LONGEST:
        found.append(sentence[:end])
        end = sentence.find(", ", end + 1)
    return found[::-1]


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
    """The sentence without the phrase and then with it, behind the word that it follows in the new one. `at` is where it stood."""
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
    """Whether a phrase between these two halves of a sentence says when or where its one verb happened, so that it may stand at the front."""
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
    """Whether what a phrase is moved across joins nothing and opens no clause."""
    words = {word.lower() for word in _WORD.findall(between)}
    joined = bool(words & _JOINS) and (_verbs(between) > 0 or _WORD.findall(between)[0].lower() in _JOINS)
    return not (joined or words & (_OPENS_A_CLAUSE | _LEADS_TO_A_CLAUSE)) and _verbs(between) <= 1


def _ties(text: str, at: int, phrase: str) -> bool:
    """Whether what stands around a place belongs to what is put there or taken away: "not", "from", "and 1915"; or another year is there."""
    before, after = _WORD.findall(text[:at]), _WORD.match(text[at:].lstrip(" "))
    rest = text[at:].lstrip(" ")
    if after and after.group() in _JOINS and _verbs(rest[after.end() :].lstrip().partition(" ")[0]):
        after = None  # "in 1994 and began"
    near = {before[-1].lower() if before else "", after.group().lower() if after else ""}
    return bool(near & (_TIES - {"as", "to"})) or (_YEAR.search(text) is not None and _YEAR.search(phrase) is not None)


def _verbs(text: str) -> int:
    """How many verbs there are, auxiliaries and adverbs with their verb as one."""
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
    """Where a phrase stands in a text, if it does so once, as whole words."""
    found = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(phrase)}(?!\w)", text)]
    return found[0] if len(found) == 1 else None
