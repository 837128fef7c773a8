"""Reads numbers in words, digits and Roman numerals into one spelling.

Works on lists of folded tokens. Values are decimal strings without trailing zeros, so that equal tokens are equal
numbers.
"""

from __future__ import annotations

import re
from decimal import Decimal
from unicodedata import numeric

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth "
    "seventeenth eighteenth nineteenth"
)
_TENS_ORDINALS = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"
SMALL = {word: value for value, word in enumerate(_UNITS.split())}
SMALL |= {word: value for value, word in enumerate(_ORDINALS.split(), start=1)}
TENS = {word: 20 + 10 * i for words in (_TENS, _TENS_ORDINALS) for i, word in enumerate(words.split())}
SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
SCALES |= {word + "th": value for word, value in SCALES.items() if word != "dozen"}
MOST_SCALES = 6
"""Largest number of scale words in one number ("two hundred thousand million"); more repetitions are no number."""
_SHORT_SCALES = {"k": "thousand", "m": "million", "mn": "million", "b": "billion", "bn": "billion", "tn": "trillion"}
_SHORT_SCALE = re.compile(r"(?<=\d)\s?(bn|mn|tn)\b|([$€£¥₱₹]\s?\d[\d,.]*)\s?([kmb])\b")
DIGITS = re.compile(r"(-?\d[\d,]*(?:\.\d+)?|-?\.\d+)(st|nd|rd|th|s)?")
_NEGATIVE = frozenset({"minus", "negative"})
ROMAN = re.compile(r"(x{0,3})(ix|iv|v?i{0,3})")
_ROMAN_VALUES = {"": 0, "i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9}


def spell(value: Decimal | int) -> str:
    """The canonical spelling of a number: no exponent, no trailing zeros.

    >>> spell(Decimal("2500.00")), spell(3)
    ('2500', '3')
    """
    text = format(Decimal(value), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def is_number(token: str) -> bool:
    """Whether a token of the normal form is a number; "4o" and "3.1.4" are names."""
    return token.removeprefix("-").replace(".", "", 1).isdecimal() and token[-1:] != "."


_RAISED = re.compile(r"(?<=[\d)])[⁰¹²³⁴-⁹⁺⁻]+|(?<![^\W\d_]{3})(?<=[^\W\d_])[⁰¹²³⁴-⁹⁺⁻]+")
_PLAIN_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_VULGAR = re.compile(r"(\d{0,9})\s?([¼½¾⅐-⅞])")
_GAPS = re.compile(r"(?<![\d.,])\d{1,3}(?:(?: \d{3}){2,6}|(?:[\u00a0\u2009\u202f]\d{3}){1,6})(?!\d)")
_POWER = re.compile(
    r"(?<![\w.^])(-?(?:\d{1,30}(?:\.\d{1,30})?|\.\d{1,30}))\s?(?:[x×*·]\s?10\s?\^\s?[({]?([+-]?\d{1,2})[)}]?|e([+-]?\d{1,2}))(?![\w])",
    re.IGNORECASE,
)
_OF_TEN = re.compile(r"(?<![\w.^])10\s?\^\s?[({]?(-?\d{1,2})[)}]?(?!\w)")
_KILO = re.compile(r"(?<![\w.])(\d{1,20}(?:\.\d{1,20})?)k\b")  # "300K" are kelvin
_AND_A_HALF = re.compile(r"(?<![\w.])([\w.]{1,20}) and (?:a|one)[ -]half\b", re.IGNORECASE)
_SPOKEN = re.compile(
    r"(?:^|(?<![\w-]))half an? (?=(?:hour|minute|day|year|century|mile|lit|pound|ton|dozen|million|billion))|^\W*half(?=\W*$)|\b(a|one|two|three|four|nine)[ -](half|third|quarter|fifth|tenth)s?\b(?=\W*$| of\b)",
    re.IGNORECASE,
)
_WITHIN = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}


def plain_numbers(text: str) -> str:
    """A text with its numbers in plain digits: other minus signs, raised digits, scientific notation, gaps between thousands, halves.

    >>> plain_numbers("−1.5 × 10³ m, 6e-3, 1 000 000, 2½, 1.5k, two and a half, x²")
    '-1500 m, 0.006, 1000000, 2.5, 1500, 2.5, x^2'
    """
    if not text.isascii():
        text = re.sub(r"[−‐‑]|(?<![\w).] )(?<![\w).])[–—](?=\.?\d)", "-", text)
        text = _RAISED.sub(lambda m: "^" + m[0].translate(_PLAIN_DIGITS), text)
        text = _VULGAR.sub(lambda m: _rounded(int(m[1] or 0) + Decimal(numeric(m[2]))), text)
        text = _GAPS.sub(lambda m: re.sub(r"\s", "", m[0]), text)
    if " and " in text:
        text = _AND_A_HALF.sub(_with_half, text)
    text = _SPOKEN.sub(_part, text)
    if any(map(str.isdigit, text)):
        text = _GAPS.sub(lambda m: m[0].replace(" ", ""), text)
        text = _POWER.sub(lambda m: spell(Decimal(m[1]).scaleb(int(m[2] or m[3]))), text)
        text = _OF_TEN.sub(lambda m: spell(Decimal(1).scaleb(int(m[1]))), text)
        text = _KILO.sub(lambda m: spell(Decimal(m[1]) * 1000), text)
    return text


def with_scales(text: str) -> str:
    """A text in small letters with short scales in words; a lone "k", "m" or "b" is one only where money comes before it.

    >>> with_scales("$1.5m, 2bn, 5 m, 25 b")
    '$1.5 million, 2 billion, 5 m, 25 b'
    """
    return _SHORT_SCALE.sub(lambda m: f"{m[2] or ''} {_SHORT_SCALES[m[1] or m[3]]}", text)


def _part(match: re.Match[str]) -> str:
    """A part in words ("two thirds", "half an hour") as a decimal."""
    if match[2] is None:
        return "0.5 "
    return _rounded(Decimal(SMALL.get(match[1].lower(), 1)) / _WITHIN[match[2].lower()])


def _rounded(value: Decimal) -> str:
    """A fraction as a decimal with four places, as a quotient in digits becomes one."""
    return spell(round(value, 4))


def _with_half(match: re.Match[str]) -> str:
    word = match[1].lower()
    whole = str(SMALL.get(word, TENS.get(word, word)))
    return f"{whole}.5" if whole.isdecimal() else match[0]


def _digits(token: str) -> Decimal | None:
    match = DIGITS.fullmatch(token) if token[:1] in "-." or token[:1].isdecimal() else None
    if match is None:
        return None
    value = Decimal(match[1].replace(",", ""))
    if match[2] == "s" and value % 10:
        return None  # "in the 80s", but an iPhone 5s
    return value


def _roman(token: str) -> int | None:
    match = ROMAN.fullmatch(token) if token[:1] in "xiv" and len(token) > 1 else None
    return None if match is None else 10 * len(match[1]) + _ROMAN_VALUES[match[2]]


def read_numbers(tokens: list[str]) -> list[str]:
    """Replace every numeral, in words, digits or Roman, by the spelling of its value.

    >>> read_numbers("twenty - one thousand 2,500 1.5 million world war ii is minus five".split())
    ['21000', '2500', '1500000', 'world', 'war', '2', 'is', '-5']
    """
    out: list[str] = []
    at = 0
    while at < len(tokens):
        value, after = _read_one(tokens, at)
        if value is None:
            out.append(tokens[at])
            at += 1
        else:
            if out and out[-1] in _NEGATIVE and not (len(out) > 1 and (is_number(out[-2]) or len(out[-2]) == 1)):
                out.pop()
                value = -value
            out.append(spell(value))
            at = after
    return out


def _read_one(tokens: list[str], at: int) -> tuple[Decimal | None, int]:
    """The number that starts at a token and the index after it; None if no number starts there."""
    token = tokens[at]
    digits = _digits(token)
    if digits is not None:
        end = at + 1
        while end < min(len(tokens), at + 1 + MOST_SCALES) and tokens[end] in SCALES:
            digits *= SCALES[tokens[end]]
            end += 1
        return digits, end
    if token in SMALL or token in TENS or token in SCALES:
        return _read_words(tokens, at)
    roman = _roman(token)
    if token == "i" and 0 < at == len(tokens) - 1 and len(tokens[at - 1]) > 2:  # noqa: S105
        return Decimal(1), at + 1
    return (Decimal(roman), at + 1) if roman is not None and at > 0 else (None, at)


def _continues(tokens: list[str], at: int) -> bool:
    return at < len(tokens) and (tokens[at] in SMALL or tokens[at] in TENS)


def _read_words(tokens: list[str], at: int) -> tuple[Decimal, int]:
    """Read a run of number words: units and tens are added, scales multiply what came before them."""
    total, part, scales, end, last = 0, 0, 0, at, ""
    while end < len(tokens) and scales < MOST_SCALES:
        word = tokens[end]
        if (word, last in TENS) in (("-", True), ("and", False)) and last not in SMALL and _continues(tokens, end + 1):
            end += 1
            continue
        if word in SCALES:
            scale = SCALES[word]
            scales += 1
            total, part = (total, (part or 1) * scale) if scale == 100 else (total + (part or 1) * scale, 0)
        elif word in TENS and last not in SMALL and last not in TENS:
            part += TENS[word]
        elif word in SMALL and last not in SMALL and not (last in TENS and SMALL[word] > 9):
            part += SMALL[word]
        else:
            break
        last, end = word, end + 1
    return Decimal(total + part), end
