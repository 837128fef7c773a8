"""Compares two forms of a verb that differ only because of a hedge: "wrote" and "(may) have written"."""

from __future__ import annotations

from typing import Literal

Form = Literal["", "base", "past", "perfect"]
"""The form of a word.

"" as written; "base" after a modal verb, "to" or "does"; "past" after "did"; "perfect" after "may have".
"""

_IRREGULAR = """
arise arose arisen, awake awoke awoken, bear bore born, bear bore borne, beat beat beaten, become became become, begin began begun, bite bit
bitten, blow blew blown, break broke broken, bring brought brought, build built built, buy bought bought, catch caught caught, choose chose
chosen, come came come, deal dealt dealt, do did done, draw drew drawn, drink drank drunk, drive drove driven, eat ate eaten, fall fell
fallen, feed fed fed, feel felt felt, fight fought fought, find found found, flee fled fled, fly flew flown, forget forgot forgotten, freeze
froze frozen, get got got, get got gotten, give gave given, go went gone, grow grew grown, have had had, hear heard heard, hide hid hidden,
hold held held, keep kept kept, know knew known, lay laid laid, lead led led, leave left left, lend lent lent, lie lay lain, lose lost lost,
make made made, mean meant meant, meet met met, overcome overcame overcome, overthrow overthrew overthrown, pay paid paid, ride rode ridden,
ring rang rung, rise rose risen, run ran run, say said said, see saw seen, seek sought sought, sell sold sold, send sent sent, shake shook
shaken, shine shone shone, shoot shot shot, show showed shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat sat, sleep
slept slept, speak spoke spoken, spend spent spent, spring sprang sprung, stand stood stood, steal stole stolen, stick stuck stuck, strike
struck struck, swear swore sworn, swim swam swum, take took taken, teach taught taught, tear tore torn, tell told told, think thought
thought, throw threw thrown, undergo underwent undergone, understand understood understood, undertake undertook undertaken, wake woke woken,
wear wore worn, weave wove woven, win won won, wind wound wound, withdraw withdrew withdrawn, write wrote written
"""
_PARTICIPLES: dict[str, set[str]] = {"was": {"been"}, "were": {"been"}}
_BASES: dict[str, set[str]] = {}
for _base, _past, _participle in (line.split() for line in _IRREGULAR.split(",")):
    _PARTICIPLES.setdefault(_past, set()).add(_participle)
    _BASES.setdefault(_participle, set()).add(_base)
_PRESENT = {"be": {"is", "are", "am"}, "have": {"has", "have"}, "do": {"do", "does"}, "go": {"go", "goes"}}
HAVE = frozenset({"has", "have", "had"})


def is_participle(word: str) -> bool:
    """Whether a word can follow "have" as a participle.

    >>> is_participle("written"), is_participle("moved"), is_participle("a")
    (True, True, False)
    """
    return (
        word in _BASES
        or word == "been"
        or (word.endswith("ed") and len(word) > 3)
        or word in ("put", "set", "cut", "hit", "cost", "read")
    )


def is_past(word: str) -> bool:
    """Whether a word is the past tense of an irregular verb.

    >>> is_past("rose"), is_past("risen")
    (True, False)
    """
    return word in _PARTICIPLES


def agrees(word: str, form: Form, other: str, other_form: Form) -> bool:
    """Whether two words are the same, or forms of one verb in the same tense.

    >>> agrees("cause", "base", "causes", ""), agrees("written", "perfect", "wrote", ""), agrees("been", "perfect", "was", "")
    (True, True, True)
    >>> agrees("be", "base", "was", ""), agrees("cause", "base", "caused", "")
    (False, False)
    """
    if form == other_form or not {form, other_form} - {"base", ""}:
        return word == other or (form != other_form and (_is_present(word, other) or _is_present(other, word)))
    if form in ("", "base") or (form == "past" and other_form == "perfect"):
        word, form, other, other_form = other, other_form, word, form
    if other_form == "past":  # "have written" and "did ... write"
        return other in _BASES.get(word, ()) or word in (f"{other}ed", f"{other}d", f"{other.removesuffix('y')}ied")
    if form == "past":
        return other in (f"{word}ed", f"{word}d") or any(word in _BASES.get(p, ()) for p in _PARTICIPLES.get(other, ()))
    return other_form == "" and (word == other or word in _PARTICIPLES.get(other, ()))


def _is_present(base: str, finite: str) -> bool:
    if base in _PRESENT:
        return finite in _PRESENT[base]
    return finite in (base, f"{base}s", f"{base}es", f"{base.removesuffix('y')}ies")
