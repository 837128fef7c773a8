"""Which language a text is in, with an honest "unknown", and what the shipped languages' data files know of them.

A language is a file in `data/text/`: function words tell it, negations and a little grammar let it be taken apart. The file `other.json`
holds function words of languages that are recognised only so that they are not taken for one of the others.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hedgerow.lexicon.text.words import word_set

DATA = Path(__file__).parents[1] / "data" / "text"
_SAMPLE = 2000
"""Characters that are looked at; more would not change the verdict."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_ADDRESS = re.compile(r"\b[\w.+-]{1,64}@[\w.-]+|\b[a-z]{2,10}://\S+|\bwww\.\S+", re.IGNORECASE)
_INITIAL = re.compile(r"(?<!\w)[A-Z]\.(?=\s)")
"""Of a name: "David W. Duclon" holds no Polish "w"."""
_OPERATOR = re.compile(r"[=^*<>≤≥≈√∑∫·]|\d\s*[+/]\s*\d")
_UNKNOWN = "und"  # ISO 639: undetermined
_SCRIPTS = (
    (0x0250, _UNKNOWN), (0x0370, "el"), (0x0400, _UNKNOWN), (0x0530, "hy"), (0x0590, "he"), (0x0600, "ar"), (0x0700, _UNKNOWN),
    (0x0900, "hi"), (0x0980, "bn"), (0x0A00, _UNKNOWN), (0x0B80, "ta"), (0x0C00, "te"), (0x0C80, _UNKNOWN), (0x0E00, "th"),
    (0x0E80, _UNKNOWN), (0x10A0, "ka"), (0x1100, "ko"), (0x1200, _UNKNOWN), (0x1E00, ""), (0x1F00, "el"), (0x2000, ""),
    (0x2E80, "zh"), (0x3040, "ja"), (0x3100, "zh"), (0x3130, "ko"), (0x3190, "zh"), (0xA000, _UNKNOWN), (0xAC00, "ko"),
    (0xD7B0, _UNKNOWN), (0xF900, "zh"), (0xFB00, ""), (0xFB1D, "he"), (0xFB50, "ar"), (0xFF00, ""), (0xFF66, "ja"), (0xFFA0, _UNKNOWN),
)  # fmt: skip
"""First character of a script and the language that is mostly written in it; "" is Latin, or no letter."""
_STARTS = [start for start, _ in _SCRIPTS]
_CYRILLIC = (("uk", "іїєґ"), ("ru", "ыэё"))
_PERSIAN = "پچژگ"
_ENDINGS = ("s", "ed", "ing", "ly", "ion", "er", "ic", "al", "y", "e")
"""Endings of which an English sentence without function words has one at least ("Newton discovered gravity.")."""
_PAST = word_set(
    """
    bit blew bought broke brought built caught chose cost cut dealt drank drew drove dug fed fell felt fled flew fought found gave got grew held hid hit hung kept knew
    laid led left lent lost meant met paid ran sang sank sat saw sent shot shut slew slid sold spent spoke spread sprang spun stood struck swam swept swore taught thought
    threw told took tore went woke wore
    """
)
"""English verbs of the past without such an ending: "Lewis hid Olivia on North Brother Island."."""
_IN_NAMES = frozenset(
    ["af", "al", "bin", "da", "das", "de", "degli", "dei", "del", "della", "den", "der", "des", "di", "do", "dos", "du", "el", "ibn",
     "la", "las", "le", "les", "los", "ten", "ter", "van", "vom", "von", "zu", "zum", "zur"]
)  # fmt: skip
"""Small words inside names, which are the same in every language ("Leonardo da Vinci.")."""
CLEAR, ALONE = 1.5, 0.8
"""Score from which an answer shows its language whatever that of its question, a function word of one language alone counting 1; the same
where the question is missing."""
_ROUNDING = 1e-6
"""By how much equal scores may differ, which were added up in another order."""
TITLE, TITLE_CLEAR = 4, 2.5
"""Words up to which an answer may be a foreign title ("Der Ring des Nibelungen"), and the score from which it is taken for a sentence."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """What framing a hedge needs to know of a language.

    Attributes:
        finite: finite verbs after which an adverb may stand.
        opening: those of them that may open a statement, where the language leaves the subject out.
        subjects: pronouns that may stand between an inverted verb and the adverb ("ist er wahrscheinlich").
        relativisers: words that open a clause of their own; after one, no place in the sentence is sure.
        small: first words that are written small inside a sentence.
        polar: yes and no, with what follows them.
        no_answer: how sentences begin that give no answer.
    """

    finite: frozenset[str]
    opening: frozenset[str]
    subjects: frozenset[str]
    relativisers: frozenset[str]
    small: frozenset[str]
    polar: re.Pattern[str]
    no_answer: re.Pattern[str]


@cache
def known() -> frozenset[str]:
    """The languages that are taken apart: those with a data file of their own."""
    return frozenset(path.stem for path in DATA.glob("??.json"))


@cache
def grammar(language: str) -> Grammar:
    """The grammar of a known language other than English, whose grammar is `shape`."""
    raw = _file(language)["grammar"]
    polar, no_answer = "|".join(raw["polar"]), "|".join(raw["no_answer"])
    return Grammar(
        finite=frozenset(raw["finite"].split()),
        opening=frozenset(raw.get("opening", "").split()),
        subjects=frozenset(raw["subjects"].split()),
        relativisers=frozenset(raw["relativisers"].split()),
        small=frozenset(raw["small"].split()),
        polar=re.compile(rf"(?:{polar})\b\s*+[,.!;:–—-]++\s*+", re.IGNORECASE),
        no_answer=re.compile(no_answer, re.IGNORECASE),
    )


@cache
def function_words(language: str) -> frozenset[str]:
    """The words by which a known language is told."""
    return frozenset(_file(language)["function_words"].split())


@cache
def negations(language: str) -> frozenset[str]:
    """The words of a known language that negate."""
    return frozenset(_file(language)["negations"].split())


def language_of(text: str, question: str = "") -> str | None:
    """The language of an answer as its ISO 639-1 code, None where it is unknown.

    An answer that does not show its language by itself ("Paris.") takes that of its question. Where neither shows one, plain ASCII is taken
    for English.

    >>> language_of("It was Paris."), language_of("Paris", "Quelle est la capitale de la France ?"), language_of("Łódź")
    ('en', 'fr', None)
    >>> language_of("Vincent van Gogh.", "Who painted The Starry Night?"), language_of("Leonardo da Vinci.", "Wer malte die Mona Lisa?")
    ('en', 'de')
    """
    text, question = (_ADDRESS.sub(" ", one[:_SAMPLE]) for one in (text, question))  # an address is in no language
    is_name, script = _is_name(text), _by_script(question)
    scores = {} if is_name else _scores(text)
    enough = ALONE if not question else TITLE_CLEAR if len(_WORD.findall(text)) <= TITLE else CLEAR
    # an answer in the question's script that holds much code is in that language
    language = _by_script(text) or (script and _by_script(_without_latin(text))) or _by_words(scores, enough)
    if language is None:
        of_question = _scores(question)
        asked = script or _by_words(of_question, 0.5)
        if asked in (None, "en") and not is_name and _is_foreign(text, scores):
            return None
        if question:
            language = script or _by_words(_together(of_question, scores), 0.5)
    if language is None:
        return "en" if all(c.isascii() or not c.isalpha() for c in text + question) else None
    return None if language == _UNKNOWN else language


def _is_name(text: str) -> bool:
    """Whether a text is a name with small words in it, which says nothing of the language that it stands in."""
    words = _WORD.findall(text)
    if (
        len(words) < 3
        or not (words[0][0].isupper() and words[-1][0].isupper())
        or words[0].lower() in _function_words()
    ):
        return False
    small = [word for word in words if word.islower()]
    return bool(small) and _IN_NAMES.issuperset(small)


def _is_foreign(text: str, scores: Mapping[str, float]) -> bool:
    """Whether a text of several words is in a language that nothing here knows: no English function word, and either a small word with
    letters that English lacks, or a whole sentence with a function word of another language or without one English ending.
    """
    words = _WORD.findall(text)
    if scores.get("en", 0.0) >= 0.5 or len(words) < 3:
        return False
    small = [word for word in words if word.islower() and len(word) > 1]
    if sum(word[:1].islower() and not word.islower() for word in words) > 1:  # "yaseNingizimu"
        return True
    if not small:
        return False
    if 4 * sum(not word.isascii() for word in small) >= len(small) or sum(not word.isascii() for word in words) > 1:
        return True
    unlike = not any(word.endswith(_ENDINGS) or word in _PAST for word in [*small, *words[:1]])
    return text.rstrip().endswith(".") and (
        ("en" not in scores and bool(scores)) or (unlike and len(small) > 1 and len(words) > 3)
    )


def known_language_of(text: str, question: str = "") -> str | None:
    """The language of an answer where it is one that can be taken apart, else None."""
    language = language_of(text, question)
    return language if language in known() else None


def _by_script(text: str) -> str | None:
    """The language of a text that is mostly not in Latin letters; None for one that is."""
    if text.isascii():
        return None
    scripts = Counter(_script(character) for character in text if character.isalpha())
    if 2 * scripts[""] >= scripts.total():
        return None
    if scripts["ja"]:
        return "ja"
    del scripts[""]
    language = scripts.most_common(1)[0][0]
    if language == "ar" and any(character in _PERSIAN for character in text):
        return "fa"
    if language == _UNKNOWN:
        return next((code for code, letters in _CYRILLIC if any(c in letters for c in text.lower())), _UNKNOWN)
    return language


def _without_latin(text: str) -> str:
    return "".join(character for character in text if _script(character))


def _script(character: str) -> str:
    at = bisect_right(_STARTS, ord(character))
    return _SCRIPTS[at - 1][1] if at else ""


def _scores(text: str) -> dict[str, float]:
    """How much function words speak for each language: a word counts 1, shared among the languages that have it."""
    scores: dict[str, float] = {}
    table = _function_words()
    words = _WORD.findall(_INITIAL.sub(" ", text).lower().replace("’", "'"))
    if _OPERATOR.search(text) is not None:
        words = [word for word in words if len(word) > 1]  # "y = 3x" is not Spanish
    for word in words:
        languages = table.get(word)
        if languages is None:
            head, mark, _ = word.partition("'")
            if not mark:
                continue
            languages = table.get(head + mark) or (table.get(head, ()) if len(head) > 2 else ())
        for language in languages:
            scores[language] = scores.get(language, 0.0) + 1 / len(languages)
    return scores


def _together(a: Mapping[str, float], b: Mapping[str, float]) -> dict[str, float]:
    return {language: a.get(language, 0.0) + b.get(language, 0.0) for language in {**a, **b}}


def _by_words(scores: Mapping[str, float], enough: float) -> str | None:
    """The language with most function words; ties go to English, then to the known languages. English needs no clear lead."""
    if not scores:
        return None
    highest = max(scores.values()) - _ROUNDING
    first = [language for language, score in scores.items() if score >= highest]
    best = max(first, key=lambda language: (language == "en", language in known()))
    if scores.get("en", 0.0) >= 0.8 * scores[best]:
        best = "en"
    return best if scores[best] >= (min(enough, 0.5) if best == "en" else enough) else None


@cache
def _function_words() -> Mapping[str, tuple[str, ...]]:
    """The languages that have a function word, or a finite verb that framing knows, by word."""
    lists = {language: _file(language)["function_words"] for language in sorted(known())} | _file("other")["languages"]
    for language in sorted(known() - {"en"}):
        lists[language] += " " + _file(language)["grammar"]["finite"]
    table: dict[str, list[str]] = {}
    for language, words in lists.items():
        for word in dict.fromkeys(words.split()):
            table.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in table.items()}


@cache
def _file(name: str) -> dict[str, Any]:
    raw: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return raw
