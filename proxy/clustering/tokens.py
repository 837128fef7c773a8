"""Splits an answer into folded words, numbers in one spelling, and the signs that separate items."""

from __future__ import annotations

import re

from ...lexicon.text.numbers import is_number, plain_numbers, read_numbers, with_scales
from ...lexicon.text.words import MONTHS, open_contraction
from .signs import bounded, with_letters
from .stems import fold
from .units import read_unit, spell_units, unit_of
from .words import CURRENCIES, MONTH_SHORT, word_lists

_WRAPPER = re.compile(
    r"^(?:(?:sure|ok|okay|well|so|hmm)[,.!:]\s+)?"
    r"(?:(?:the |my )?(?:final |correct |short |best |right )?(?:answer|guess|response)(?: is\b|\s*[:=]|'s\b| would be\b)|[aq]\s*:)\s*(?:that\s+)?"
)
_OPENER = re.compile(
    r"^(?:it|this|that|he|she|they|there)(?:'s| is| was| are| were)\s+(?:called\s+|known as\s+)?(?!not\b|no\b|n't)"
)
# "the bigger one", "the first one which": a pronoun, not a number; "the number one" and "the player one" count
_PRONOUN = re.compile(
    r"\b((?:the|this|that) (?!(?:numb|chapt|quart|play|tow)er\b)(?:[a-z]+(?:er|est)|first|second|third|last|next|same|other|only|right|wrong|left|"
    r"big|small|large|little|long|short|old|new|young|good|bad|red|blue|green|black|white)) one"
    r"(?=\s*(?:$|[.,;:!?)]|(?:that|which|who|with|in|on|of|is|was|are|were)\b))"
)
# "is one of the largest" means "a", not a number
_ONE_OF = re.compile(r"\b(is|are|was|were|be|being|as|became|become|becoming|remains) one (?=of\b)")
_DOTS = re.compile(r"\b([a-z])\.(?=\s?[a-z]\b|\s|$|,)")
_ISO_DATE = re.compile(r"\b(\d{4})-(\d\d?)-(\d\d?)(?:[t ]\d\d:\d\d(?::\d\d)?z?)?\b")
_SLASH_DATE = re.compile(r"\b(\d\d?)/(\d\d?)/(\d{4})\b")
_DOT_DATE = re.compile(r"\b(\d\d?)\.(\d\d?)\.(\d{4})\b")
_YEAR_SPAN = re.compile(r"\b(1\d|20)(\d\d)\s*[-/]\s*(\d\d)\b(?![-/.,]?\d)")
_DECADE = re.compile(r"\b(\d{3}0)'?s\b")
_DENIES = re.compile(
    r"\b(?:(?:fail|refuse|decline)(?:s|d|ed)? to|anything but|(?:except(?: for)?|excluding)(?=(?:\W+\w+){1,3}\W*$))\b",
    re.IGNORECASE,
)
_FREE = re.compile(r"\b([^\W\d_]+)-free\b", re.IGNORECASE)
_CIRCA = re.compile(r"\b(?:c|ca|circa)\b\.?\s*(?=\d)")
_FRACTION = re.compile(r"\b(?:(\d{1,15})\s+)?(\d{1,2})[/⁄](2|3|4|5|6|8|10|16)\b(?![/⁄])")
_TOKEN = re.compile(
    r"x\d{3}0|\d+v[\dv]+|(?<![^\W_])(?:[a-z]{1,2}\d{1,3}(?:[a-z]{1,3}\d{0,3})*|\d{1,3}[a-zᴀ]{1,3})(?![^\W_])|(?<![\w.)])-?(?:\.\d+|\d+(?:(?:,\d\d\d?){0,8},\d{3}(?!\d))?(?:\.\d+)?)|\d+(?:(?:,\d\d\d?){0,8},\d{3}(?!\d))?(?:\.\d+)?"
    r"|°[cf]\b|[^\W\d_]+(?:'[^\W\d_]+)*|[%°$€£¥₱₹&=<>+*/,;:()-]"
)
_RUN_TOGETHER = re.compile(r"\b(?:by|in|on|at|is|was|were|from|and|for|with|to|of|the)(?=[A-Z][a-z])")
_LIST_NUMBER = re.compile(r"^[ \t]{0,8}\d{1,2}[.)][ \t]+(?=\S)", re.MULTILINE)
_CONTRAST = re.compile(
    r"\((?:it is |it was )?[Nn]ot [^()]{1,80}\)|, (?:and )?not (?:(?:the|an?|in|on|at|by|from|of|to) )?[A-Z\d][^,.;!?]{0,80}(?=[.!]?\s*$)"
    r"|^\s*[Nn]ot [^,.;!?]{1,60}?,? but (?=\w)"
)
_BEHIND = frozenset({"am", "pm", "bc", "ad", "ce", "bce", "m", "b", "bn", "mn", "th"})
_PER_SECOND = re.compile(r"\bper second\b")  # not the ordinal
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_NUMBER_AND_WORD = re.compile(
    r"(?<![^\W_])(-?\d{1,3})([a-z]{1,3})(?![^\W_])|(?<![^\W_])([a-z]{1,2})(\d{1,3}(?:[a-z]{1,3}\d{0,3})*)(?![^\W_])|(?<=\d)(?=[a-z])|(?<=[a-z])(?=\d)"
)
_VERSION = re.compile(r"\bv(?:er(?:sion|\.)?|\.)?\s?(?=\d)", re.IGNORECASE)
_DOTTED = re.compile(r"(?<![\w.])(?!\d\d?\.\d\d?\.\d{4}\b)\d{1,9}(?:\.\d{1,9}){2,5}(?![\w.])")
_NAMED = re.compile(r"\b([A-Z]\w*|version) (\d{1,9})\.(\d{0,8}0)(?![\w.])")
"""A decimal behind a name counts its zeros: Python 3.10 comes after 3.9."""
SEPARATORS = frozenset(",;:()&/-=<>+*")


def tokenise(answer: str) -> list[str]:
    """Folded words, numbers in one spelling, and the signs that separate items."""
    return tokens_of(prepared(answer))


def prepared(answer: str) -> str:
    """An answer as written but for numbers, their bounds and units, and the letter A, which lose their meaning when case does."""
    answer = _FREE.sub(r"no \1", _DENIES.sub("not", answer))
    text = spell_units(bounded(plain_numbers(_without_contrast(_without_list_numbers(answer)))))
    if any(map(str.isdigit, text)):
        text = _DOTTED.sub(lambda m: m[0].replace(".", "v"), _VERSION.sub("version ", text))
        text = _NAMED.sub(lambda m: f"{m[1]} {m[2]}" + (f"v{m[3]}" if m[3].strip("0") else ""), text)
    return with_letters(text)


def tokens_of(answer: str) -> list[str]:
    """The tokens of a text that is `prepared`."""
    text = fold(_RUN_TOGETHER.sub(r"\g<0> ", answer)).strip(" \t\n\r*_`\"'#>.“”")
    text = _WRAPPER.sub("", text).strip(" \t\n*_`\"'.:“”")
    text = _ONE_OF.sub(r"\1 ", _PRONOUN.sub(r"\1", _OPENER.sub("", text)))
    text = text.rpartition("=")[2].strip() or text
    text = _DOTS.sub(r"\1 ", text) if "." in text else text
    text = _PER_SECOND.sub("per seconds", text)
    if any(map(str.isdigit, text)):
        text = _digits(text)
    words = [w for token in _TOKEN.findall(text) for w in _split(token)]
    return _units(_letters(_months(read_numbers(words))))


def _without_list_numbers(answer: str) -> str:
    """A numbered list with commas in place of its line numbers."""
    return _LIST_NUMBER.sub(", ", answer) if len(_LIST_NUMBER.findall(answer)) > 1 else answer


def _without_contrast(answer: str) -> str:
    """An answer without the alternative that it excludes: "John, not Paul", "John (not Paul)", "not Paul but John"."""
    return (_CONTRAST.sub("", answer).strip() or answer) if "not " in answer.lower() else answer


def _digits(text: str) -> str:
    """Dates, spans of years and ordinals in digits, each in one form."""
    text = _ISO_DATE.sub(lambda m: _date(m[1], int(m[2]), int(m[3])) or m[0], text)
    text = _SLASH_DATE.sub(lambda m: _slash_date(int(m[1]), int(m[2]), m[3]) or m[0], text)
    text = _DOT_DATE.sub(lambda m: _date(m[3], int(m[2]), int(m[1])) or m[0], text)
    text = _YEAR_SPAN.sub(lambda m: f"{m[1]}{m[2]} - {m[1]}{m[3]}", text)
    text = _FRACTION.sub(_fraction, _CIRCA.sub("", text))
    text = _NUMBER_AND_WORD.sub(_apart, _ORDINAL.sub("", _DECADE.sub(r"decade\1", with_scales(text))))
    return text.replace("decade ", "x")


def _apart(match: re.Match[str]) -> str:
    """A number and its unit, scale or the word run into it as two words; "4o", "5s", "co2" and "b12" stay one."""
    if match[3]:
        return match[3] + " " * (match[3] in word_lists().fillers) + match[4]
    if not match[2]:
        return " "
    apart = match[2] in _BEHIND or match[2] in word_lists().fillers or unit_of(match[2]) is not None
    return f"{match[1]} {match[2]}" if apart else match[0]


def _fraction(match: re.Match[str]) -> str:
    """A proper fraction as a decimal with four places; anything else with a slash stays as it is."""
    units, over, under = int(match[1] or 0), int(match[2]), int(match[3])
    return f"{round(units + over / under, 4)}" if over < under else match[0]


def _date(year: str, month: int, day: int) -> str | None:
    return f"{_MONTH_NAMES[month - 1]} {day} {year}" if 1 <= month <= 12 and 1 <= day <= 31 else None


def _slash_date(first: int, second: int, year: str) -> str | None:
    """A date with slashes, if only one order of day and month is possible."""
    if first > 12 or first == second:
        return _date(year, second, first)
    return _date(year, first, second) if second > 12 else None


_MONTH_NAMES = tuple(MONTHS)


def _split(token: str) -> tuple[str, ...]:
    """Possessives and contractions split into their parts."""
    if "'" not in token:
        return (token,)
    parts = open_contraction(token)
    return parts if parts != (token,) else (token.replace("'", ""),)


def _months(tokens: list[str]) -> list[str]:
    """Abbreviated months in full, if next to a number."""
    out = list(tokens)
    for i, token in enumerate(tokens):
        if token in MONTH_SHORT and any(map(is_number, (*tokens[max(0, i - 1) : i], *tokens[i + 1 : i + 2]))):
            out[i] = MONTH_SHORT[token]
        elif token == "cannot":  # noqa: S105
            out[i] = "not"
    return out


def _letters(tokens: list[str]) -> list[str]:
    """Single letters joined: "u s a" and "U.S.A." become "usa", "J. K." becomes "jk"."""
    joined: list[str] = []
    run = ""
    for token in tokens:
        if len(token) == 1 and token.isalpha() and token.isascii() and (token != "s" or run == "u"):  # noqa: S105
            run += token
            if run == "us":
                joined.append(run)
                run = ""
            continue
        if run:
            joined.append(run)
            run = ""
        joined.append(token)
    return [*joined, run] if run else joined


def _units(tokens: list[str]) -> list[str]:
    """Units after a number in one spelling; currency signs moved after their number."""
    units = word_lists().units
    out: list[str] = []
    sign, at = "", 0
    while at < len(tokens):
        token, end = tokens[at], at + 1
        if token in CURRENCIES:
            if out and is_number(out[-1]) and not sign:
                out.append(units[token].name)
            else:
                sign = token
        elif token not in ("degree", "degrees", "°") or word_lists().degrees.isdisjoint(tokens[at + 1 : at + 2]):
            unit, end = read_unit(tokens, at) if out and is_number(out[-1]) else (None, end)
            out.append(unit.name if unit else token)
            if sign and is_number(token):
                out.append(units[sign].name)
                sign = ""
        at = end
    return out
