"""Identifies the language of a text, or says "unknown"; and gives the data on the supported languages.

Each supported language has a file in `data/text/`: function words to recognise it, negations, and a little grammar to
split it. `other.json` has function words of languages that are only recognised so that they are not mistaken for a
supported one.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from .words import word_set

DATA = Path(__file__).parents[1] / "data" / "text"
_SAMPLE = 2000
"""Number of characters that are read; more would not change the result."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_ADDRESS = re.compile(r"\b[\w.+-]{1,64}@[\w.-]+|\b[a-z]{2,10}://\S+|\bwww\.\S+", re.IGNORECASE)
_INITIAL = re.compile(r"(?<!\w)[A-Z]\.(?=\s)")
"""The initial in a name: "David W. Duclon" does not contain a Polish "w"."""
_OPERATOR = re.compile(r"[=^*<>≤≥≈√∑∫·]|\d\s*[+/]\s*\d")
_UNKNOWN = "und"  # ISO 639: undetermined
_SCRIPTS = (
    (0x0250, _UNKNOWN), (0x0370, "el"), (0x0400, _UNKNOWN), (0x0530, "hy"), (0x0590, "he"), (0x0600, "ar"), (0x0700, _UNKNOWN),
    (0x0900, "hi"), (0x0980, "bn"), (0x0A00, _UNKNOWN), (0x0B80, "ta"), (0x0C00, "te"), (0x0C80, _UNKNOWN), (0x0E00, "th"),
    (0x0E80, _UNKNOWN), (0x10A0, "ka"), (0x1100, "ko"), (0x1200, _UNKNOWN), (0x1E00, ""), (0x1F00, "el"), (0x2000, ""),
    (0x2E80, "zh"), (0x3040, "ja"), (0x3100, "zh"), (0x3130, "ko"), (0x3190, "zh"), (0xA000, _UNKNOWN), (0xAC00, "ko"),
    (0xD7B0, _UNKNOWN), (0xF900, "zh"), (0xFB00, ""), (0xFB1D, "he"), (0xFB50, "ar"), (0xFF00, ""), (0xFF66, "ja"), (0xFFA0, _UNKNOWN),
)  # fmt: skip
"""First character of a script, and the language mostly written in it; "" is Latin, or no letter."""
_STARTS = [start for start, _ in _SCRIPTS]
_CYRILLIC = (("uk", "іїєґ"), ("ru", "ыэё"))
_PERSIAN = "پچژگ"
_ENDINGS = ("s", "ed", "ing", "ly", "ion", "er", "ic", "al", "y", "e")
"""Endings; an English sentence without function words has a word with one of them ("Newton discovered gravity.")."""
_PAST = word_set(
    """
    bit blew bought broke brought built caught chose cost cut dealt drank drew drove dug fed fell felt fled flew fought found gave got grew held hid hit hung kept knew
    laid led left lent lost meant met paid ran sang sank sat saw sent shot shut slew slid sold spent spoke spread sprang spun stood struck swam swept swore taught thought
    threw told took tore went woke wore
    """
)
"""English past-tense verbs without such an ending: "Lewis hid Olivia on North Brother Island."."""
_IN_NAMES = frozenset(
    ["af", "al", "bin", "da", "das", "de", "degli", "dei", "del", "della", "den", "der", "des", "di", "do", "dos", "du", "el", "ibn",
     "la", "las", "le", "les", "los", "ten", "ter", "van", "vom", "von", "zu", "zum", "zur"]
)  # fmt: skip
"""Small words inside names, the same in all languages ("Leonardo da Vinci.")."""
CLEAR, ALONE = 1.5, 0.8
"""Scores from which an answer determines its own language: with a question, and without one.

A function word that only one language has counts 1.
"""
_ROUNDING = 1e-6
"""Tolerance for equal scores that were summed in different order."""
TITLE, TITLE_CLEAR = 4, 2.5
"""Number of words up to which an answer may be a foreign title ("Der Ring des Nibelungen").

And the score from which it counts as a sentence.
"""


@dataclass(frozen=True, slots=True)
class Grammar:
    """The grammar needed to place a hedge in a language.

    Attributes:
        finite: finite verbs that an adverb may follow.
        opening: those of them that may begin a statement, if the language can omit the subject.
        subjects: pronouns that may come between an inverted verb and the adverb ("ist er wahrscheinlich").
        relativisers: words that open a subordinate clause; after one, no place for an adverb is safe.
        small: first words that are in lower case inside a sentence.
        polar: yes and no, with the punctuation after them.
        no_answer: beginnings of sentences that give no answer.
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
    """The supported languages: those with their own data file."""
    return frozenset(path.stem for path in DATA.glob("??.json"))


@cache
def grammar(language: str) -> Grammar:
    """The grammar of a supported language other than English, whose grammar is in `shape`."""
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
    """The words by which a supported language is recognised."""
    return frozenset(_file(language)["function_words"].split())


@cache
def negations(language: str) -> frozenset[str]:
    """The negating words of a supported language."""
    return frozenset(_file(language)["negations"].split())


@dataclass(frozen=True, slots=True)
class Closed:
    """English closed lists: what may come and go with a hedge, and what may not. What each is for: `about` in `data/text/en.json`."""

    negations: frozenset[str]
    amounts: frozenset[str]
    modals: frozenset[str]
    denials: frozenset[str]
    faults: frozenset[str]
    light: frozenset[str]
    raising: frozenset[str]
    connectives: frozenset[str]
    joints: frozenset[str]
    links: frozenset[str]
    pronouns: frozenset[str]
    assent: frozenset[str]
    fillers: frozenset[str]
    first_person: frozenset[str]
    unknowing: frozenset[str]
    hedged_by: frozenset[str]
    checking: frozenset[str]
    negatable: frozenset[str]
    asking: frozenset[str]
    remark: frozenset[str]


@dataclass(frozen=True, slots=True)
class Foreign:
    """The same of another language, or of all others together: words of negation, of yes and no, auxiliary verbs, the vocabulary of doubt, and what
    a "not" may stand beside in it.

    Of scripts that put no space between words, the characters.
    """

    negations: frozenset[str]
    polar: frozenset[str]
    auxiliaries: frozenset[str]
    doubt: frozenset[str]
    unsure: frozenset[str]


UNSPACED = "\u2e80"
"""Scripts from here on are taken apart into characters: most of them put no space between words."""


@cache
def closed() -> Closed:
    """The English closed lists."""
    raw = _file("en")
    return Closed(**{field.name: frozenset(raw[field.name].split()) for field in fields(Closed)})


@cache
def foreign(language: str | None) -> Foreign:
    """The lists of a language other than English; of all such languages where it is unknown or has none of its own."""
    raw = _file("other")
    own = raw["doubt"].get(language) or " ".join(raw["doubt"].values())
    denies = chain(raw["negations"].values(), (_file(name)["negations"] for name in sorted(known() - {"en"})))
    return Foreign(
        negations=frozenset(chain.from_iterable(words.split() for words in denies)),
        polar=frozenset(raw["polar"].split()),
        auxiliaries=frozenset(raw["auxiliaries"].split()),
        unsure=frozenset(raw["unsure"].split()),
        doubt=frozenset(chain.from_iterable([*word] if word >= UNSPACED else [word] for word in own.split())),
    )


def language_of(text: str, question: str = "") -> str | None:
    """The language of an answer as its ISO 639-1 code; None if unknown.

    An answer that does not show its language ("Paris.") takes that of its question. If neither does, plain ASCII counts
    as English.

    >>> language_of("It was Paris."), language_of("Paris", "Quelle est la capitale de la France ?"), language_of("Łódź")
    ('en', 'fr', None)
    >>> language_of("Vincent van Gogh.", "Who painted The Starry Night?"), language_of("Leonardo da Vinci.", "Wer malte die Mona Lisa?")
    ('en', 'de')
    """
    text, question = (_ADDRESS.sub(" ", part[:_SAMPLE]) for part in (text, question))  # an address has no language
    is_name, script = _is_name(text), _by_script(question)
    scores = {} if is_name else _scores(text)
    enough = ALONE if not question else TITLE_CLEAR if len(_WORD.findall(text)) <= TITLE else CLEAR
    # an answer in the question's script that is mostly code is in the question's language
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
    """Whether a text is a name with small words in it, which does not show the language around it."""
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
    """Whether a text of several words is in an unsupported language.

    It has no English function word, and either a small word with letters that English lacks, or it is a whole sentence
    with a function word of another language or without any English ending.
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
    """The language of an answer if it is a supported one, else None."""
    language = language_of(text, question)
    return language if language in known() else None


def _by_script(text: str) -> str | None:
    """The language of a text that is mostly in a non-Latin script; None for Latin."""
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
    """Score of each language by function words: a word counts 1, divided among the languages that have it."""
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
    """The language with the most function words.

    Ties go to English, then to the supported languages. English needs no clear lead.
    """
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
    """For each function word, and each finite verb of the grammars, the languages that have it."""
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
