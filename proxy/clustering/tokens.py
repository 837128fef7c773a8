"""Splits an answer into folded words, numbers in one spelling, and the signs that separate items."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ...lexicon.text.numbers import SMALL, TENS, is_number, plain_numbers, read_numbers, with_scales
from ...lexicon.text.words import MONTHS, open_contraction

# The word lists of the rules (`words.json`): small, general, and not fitted to any data set.

MONTH_SHORT = {name[:3]: name for name in MONTHS} | {"sept": "september"}
CURRENCIES = frozenset("$€£¥₱₹")
_SETS = ("articles", "fillers", "qualifiers", "kinds", "titles", "yes", "no", "passive", "relations")


class Unit(NamedTuple):
    """A unit of measurement: an amount x is (x + zero) size in the base unit of its dimension."""

    name: str
    dimension: str
    size: Decimal
    zero: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class WordLists:
    """English words by their role in an answer.

    Attributes:
        fillers: have no content in a short answer.
        qualifiers: change which thing a name or noun next to them means.
        kinds: name the kind of thing of a name or number, without further content.
        titles: those of them that stand before a person's name, or are an office.
        relations: stand between two things whose order matters.
        antonyms: the opposites of a word.
        nicknames: the groups of first names that a name belongs to.
        aliases: the canonical name of things with several names.
        units: units of measurement by each of their spellings.
        degrees: the spellings of units that may follow "degrees".
    """

    articles: frozenset[str]
    fillers: frozenset[str]
    qualifiers: frozenset[str]
    kinds: frozenset[str]
    titles: frozenset[str]
    yes: frozenset[str]
    no: frozenset[str]
    passive: frozenset[str]
    relations: frozenset[str]
    antonyms: Mapping[str, frozenset[str]]
    nicknames: Mapping[str, frozenset[int]]
    aliases: Mapping[str, str]
    units: Mapping[str, Unit]
    degrees: frozenset[str]


@cache
def word_lists() -> WordLists:
    """The word lists, read once."""
    raw: dict[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
    antonyms: dict[str, frozenset[str]] = {}
    for a, b in map(str.split, raw["antonyms"]):
        antonyms[a] = antonyms.get(a, frozenset()) | {b}
        antonyms[b] = antonyms.get(b, frozenset()) | {a}
    nicknames: dict[str, frozenset[int]] = {}
    for group, names in enumerate(raw["nicknames"]):
        for name in names.split():
            nicknames[name] = nicknames.get(name, frozenset()) | {group}
    aliases: dict[str, str] = {}
    for names in raw["aliases"]:
        first, *others = names.split(" = ")
        aliases |= {" ".join(w for w in name.split() if w != "the"): first for name in (first, *others)}
    units: dict[str, Unit] = {}
    for dimension, size, *spellings in map(str.split, raw["units"]):
        factor, _, zero = size.partition("+")
        units |= dict.fromkeys(spellings, Unit(spellings[0], dimension, Decimal(factor), Decimal(zero or 0)))
    degrees = frozenset(s for s, unit in units.items() if unit.name in ("celsius", "fahrenheit"))
    sets = {name: frozenset(raw[name].split()) for name in _SETS}
    return WordLists(**sets, antonyms=antonyms, nicknames=nicknames, aliases=aliases, units=units, degrees=degrees)


# Folds words to plain letters and reduces them to stems.

_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "’": "'", "‘": "'", "–": "-", "—": "-", "−": "-"}
)
_VOWEL = re.compile("[aeiouy]")
_SUPERSCRIPTS = re.compile(r"(?<=[^\W\d_])[⁰¹²³⁴-⁹]+|(?<=[.\s\"”])[⁰¹²³⁴-⁹]+|\[\d+\]|<br\s*/?>")


def fold(text: str) -> str:
    """Compatibility form, lower case, no accents, plain quotes and dashes.

    >>> fold("Röntgen’s ＦＯＯ")
    "rontgen's foo"
    """
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", _SUPERSCRIPTS.sub("", text).translate(_LETTERS)).casefold()
    return "".join(c for c in decomposed.translate(_LETTERS) if not unicodedata.combining(c))


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """A word without plural and common derivational endings; numbers stay.

    >>> stem("chromosomes"), stem("rusting"), stem("zoroastrianism"), stem("regulation"), stem("regulates"), stem("bus")
    ('chromosom', 'rust', 'zoroastrian', 'regulat', 'regulat', 'bus')
    """
    if len(word) < 5 or is_number(word) or _VOWEL.search(word) is None:
        return word[:-1] if len(word) == 4 and word.endswith("s") and word[2] not in "su" else word
    for ending, remaining in _ENDINGS.get(word[-1], ()):
        if word.endswith(ending) and len(word) - len(ending) >= remaining:
            return word[: -len(ending)] if ending != "s" or word[-2] not in "su" else word
    return word


_IN_ORDER = (
    *((ending, 5) for ending in ["ement", "ment", "ance", "ence", "ion"]),
    *(
        (ending, 4)
        for ending in [
            "ically",
            "isms",
            "ists",
            "ers",
            "ing",
            "ism",
            "ist",
            "ies",
            "ed",
            "er",
            "es",
            "ly",
            "al",
            "on",
            "a",
            "e",
            "s",
            "y",
        ]
    ),
)
"""Endings, with the number of letters that must remain.

More for nouns made from verbs: "station" is not "state".
"""
_ENDINGS = {
    last: tuple(pair for pair in _IN_ORDER if pair[0][-1] == last) for last in {ending[-1] for ending, _ in _IN_ORDER}
}
"""The same endings, grouped by their last letter."""


# What the normal form drops but meaning needs: signs of formulas, letters that are options or grades, bounds of
# numbers.
#
# Read from the text as written. A sign is kept with what stands on either side, so that "x > 2" is "2 < x" and not "x <
# 2". Hyphens and slashes in words, scores and dates, brackets around words and emphasis are no signs.

Sign = tuple[str, str, str]
"""What stands before a sign, the sign, what stands behind it."""

READ = 400
"""Number of characters in which signs are looked for."""
LETTER_A = "ᴀ"
"""The letter A in a normal form, told apart from the article."""
_NUMBER = rf"(?=(?:about |the year )?(?:[$€£]?-?\.?\d|(?:{'|'.join(SMALL | TENS)})\b))"
_BOUNDS = (
    *((re.compile(rf"(?<![\w>])(?:{words})\s+{_NUMBER}", re.IGNORECASE), f"{sign} ") for words, sign in (
        ("no (?:more|later|greater|higher|longer) than|at (?:the )?most|up to|a maximum of|not (?:more|over) than", "≤"),
        ("no (?:fewer|less|lower|earlier) than|at (?:the )?least|a minimum of|not (?:less|fewer) than", "≥"),
        ("(?:more|greater|higher|larger|longer|older|later) than|over|above|exceeding|after|in excess of|upwards of", ">"),
        ("(?:less|fewer|lower|smaller|shorter|younger|earlier) than|under|below|before|prior to", "<"),
        ("all but", "∖"),
    )),
    (re.compile(r"(?<![\w.,])(\d[\d.,]{0,20})(?:\+(?![\w+])| or (?:more|older|higher|above)\b| and (?:above|over|older)\b)"), r"≥ \1"),
    (re.compile(r"(?<![\w.,])(\d[\d.,]{0,20}) or (?:less|fewer|younger|below)\b"), r"≤ \1"),
)  # fmt: skip
_LETTER_A = re.compile(
    r"(?<![\w'’.&/-])(?:[Aa](?=\**+\s*+\.?\s*+$|\s*+\**+[),;\]+$]|\s(?:and|or|is|was|are|were|only|of|for|to|with|but|by)\b)|A(?=-)|(?<=\w\s)A(?=\s[a-z]))"
)
_STANDING = re.compile(rf"(?<![\w'’.&/-])[B-HJ-Z{LETTER_A}](?![\w'’+#-]|\.\s?\w)")
_MARKUP = re.compile(
    r"</?[a-zA-Z][^<>]{0,40}>|^\s*>\s(?!\s*\d)|\*\*|__|`|\$(?!\d)|\\[()\[\]]|(?<![\w)\s])[*_](?=\w)|(?<=\w)[*_](?![\w(\s])"
)
_ODD = re.compile(r"[^\w\s.,'’\"“”?:;]")
_LEXEME = re.compile(r"(?<!\.)\.*+\w(?:\.*\w)*+%?|<=|>=|=<|=>|!=|==|<>|->|&&|\|\||\+\+|--|[^\w\s]")
_RELATIONS = {
    "<=": "≤", "=<": "≤", ">=": "≥", "!=": "≠", "<>": "≠", "->": "→", "&&": "∧", "||": "∨", **{sign: sign for sign in ["==", "<", ">", "≤", "≥", "≠", "≈", "→", "↔", "⇒", "∪", "∩", "⊂", "⊆", "∈", "∧", "∨", "±", "√", "∖", "^"]},
}  # fmt: skip
_VALUE = re.compile(r"(?<![<>=!:+*/-])=(?![=>])")
_TURNED = {">": "<", "≥": "≤"}
_OPERAND = re.compile(rf"[a-z{LETTER_A}]|-?[\d.]+[a-z]?|√|[xyzn]\d")
_CHARGED = re.compile(r"[A-Z][a-z]?\d{0,2}|AB")


def bounded(text: str) -> str:
    """A text with words that bound a number as signs: "more than 5" and "over 5" are "> 5"."""
    for pattern, sign in _BOUNDS:
        text = pattern.sub(sign, text)
    return text


def with_letters(text: str) -> str:
    """A text with "A" as `LETTER_A` where it is a letter: alone, at the end, before a sign or "and", or capital inside a phrase.

    >>> with_letters("Vitamin A"), with_letters("A or B"), with_letters("A dog"), with_letters("A Tale of Two Cities")
    ('Vitamin ᴀ', 'ᴀ or B', 'A dog', 'A Tale of Two Cities')
    """
    return _LETTER_A.sub(LETTER_A, text) if "a" in text or "A" in text else text


def letters_in(text: str) -> frozenset[str]:
    """The single capitals in a text that stand for themselves ("Vitamin C"); not initials.

    Of "a" only `LETTER_A`, and where two or three words begin with it ("A minor"), which may be either.
    """
    first, *others = text.split(None, 3)[:4] or [""]
    found = frozenset(letter.lower() for letter in _STANDING.findall(text))
    return found or frozenset({LETTER_A} if first in ("A", "a") and 0 < len(others) < 3 else ())


def signs_in(text: str) -> tuple[Sign, ...]:
    """The signs in a text that carry meaning.

    >>> signs_in("x >= 2") == signs_in("2 ≤ x"), signs_in("AB+"), signs_in("O(n^2)"), signs_in("well-known, 7-1 and/or (so) C.")
    (True, (('ab', '+', ''),), (('o', '(', 'n^2'),), ())
    """
    text = text[:READ]
    if _ODD.search(text) is None:
        return ()
    text = re.sub(r"(\d)\s+(?=\(\w\))", r"\1", _MARKUP.sub("", text))
    text = _VALUE.split(text)[-1]
    lexemes = [(m[0], m.start(), m.end()) for m in _LEXEME.finditer(text)]
    found: list[Sign] = []
    skipped = -1
    for at, (written, start, end) in enumerate(lexemes):
        if start < skipped:
            continue
        left = lexemes[at - 1] if at else ("", -1, -1)
        right = lexemes[at + 1] if at + 1 < len(lexemes) else ("", -1, -1)
        before, behind = _operand(left[0]), _operand(right[0])
        glued_left, glued_right = left[2] == start, right[1] == end
        if right[0] == "-" and at + 2 < len(lexemes):
            behind = "-" + _operand(lexemes[at + 2][0])
        if written in _RELATIONS:
            sign = _RELATIONS[written]
            before = before if len(before) < 3 or sign not in "<>≤≥" else ""  # "killed more than 5"
            turned = sign in _TURNED and (before or behind)
            found.append((behind, _TURNED[sign], before) if turned else (before, sign, behind))
        elif written == "∞":
            found.append(("-" if left[0] == "-" else "", "∞", ""))
        elif written in "([" and (call := _bracket(text, start, left[0] if glued_left else "")):
            found.append(call[0])
            skipped = call[1]
        elif written in ("++", "--") and glued_left != glued_right:
            found.append((before if glued_left else "", written, behind if glued_right else ""))
        elif written in "+-*/−" and _operates(left[0], written, right[0], glued_left, glued_right):
            first, second = sorted((before, behind)) if written in "+*" else (before, behind)
            found.append((first, written, second))
        elif (
            written in "+-−#"
            and glued_left
            and not glued_right
            and (_CHARGED.fullmatch(left[0]) or (written == "#" and len(left[0]) == 1))
        ):
            found.append((before, written.replace("−", "-"), ""))
        elif written == "!" and glued_left and not glued_right and len(left[0]) == 1 and left[0].islower():
            found.append((before, "!", ""))
        elif (
            written in "!~¬-"
            and glued_right
            and not (glued_left and before)
            and len(right[0]) == 1
            and right[0].isalpha()
        ):
            found.append(("", written, behind))
    return tuple(found)


def _operates(left: str, sign: str, right: str, glued_left: bool, glued_right: bool) -> bool:
    """Whether a sign stands between two operands of a formula; two numbers with a hyphen or slash are a score, a range, a fraction."""
    if not (_OPERAND.fullmatch(left) and (_OPERAND.fullmatch(right))) or glued_left != glued_right:
        return False
    return sign in "+*" or not (left[-1].isdigit() and right[-1].isdigit())


def _operand(lexeme: str) -> str:
    word = lexeme.casefold().strip("%")
    return ("0" if word.startswith(".") else "") + word if word[:1].isalnum() or word[:1] == "." else ""


def _bracket(text: str, start: int, called: str) -> tuple[Sign, int] | None:
    """A function with its argument, a part of a section ("4(a)"), or an interval with its end; None for other brackets."""
    closing = re.compile(r"[)\]]").search(text, start)
    if closing is None or closing.start() - start > 24:
        return None
    inside, pair = re.sub(r"[\s*]", "", text[start + 1 : closing.start()]).casefold(), text[start] + closing[0]
    if "," in inside and pair != "()":
        return ("", pair, inside), closing.end()
    if (
        text[start] == "("
        and 0 < len(called) <= 4
        and inside not in ("s", "es")
        and (len(inside) == 1 or len(called) == 1 or re.search(r"[\d^+]", inside))
    ):
        return (called.casefold(), "(", inside), closing.end()
    return None


# Units of measurement, by their symbols (case counts: "MW", "mW") and by their names: prefixes, powers and quotients by
# rule.

_PREFIXES = {
    "T": ("tera", 12), "G": ("giga", 9), "M": ("mega", 6), "k": ("kilo", 3), "d": ("deci", -1), "c": ("centi", -2), "m": ("milli", -3),
    "µ": ("micro", -6), "μ": ("micro", -6), "u": ("micro", -6), "mc": ("micro", -6), "n": ("nano", -9), "p": ("pico", -12),
}  # fmt: skip
_SYMBOLS = {
    "m": "metre", "g": "gram", "s": "second", "A": "ampere", "mol": "mole", "M": "molar", "Hz": "hertz", "N": "newton", "Pa": "pascal",
    "J": "joule", "W": "watt", "V": "volt", "Wh": "watthour", "B": "byte", "b": "bit", "bit": "bit", "L": "litre", "l": "litre", "eV": "electronvolt",
    "cal": "calorie", "bps": "bitpersecond", "Ω": "ohm",
}  # fmt: skip
_OTHERS = {
    "K": "kelvin", "C": "celsius", "F": "fahrenheit", "°C": "celsius", "°F": "fahrenheit", "h": "hour", "hr": "hour", "min": "minute",
    "t": "tonne", "ha": "hectare", "‰": "permille", "mph": "mileperhour", "kph": "kilometreperhour", "kmh": "kilometreperhour", "rpm": "revolutionperminute",
    "bpm": "beatperminute", "mi": "mile", "ft": "foot", "in": "inch", "yd": "yard", "lb": "pound", "oz": "ounce",
}  # fmt: skip
_SYMBOL = re.compile(
    r"(?<=\d)(\s?)(°?[A-Za-zµμΩ‰]{1,5}(?:\^?-?[23])?(?:(?:[/·]| (?=h\b))[A-Za-zµμΩ]{1,3}(?:\^?[23])?){0,2})(?![\w'’^]|[./-]\w)"
)
_MONEY = re.compile(r"[$€£¥₱₹]\s?[\d.,]*$")
_PART = re.compile(r"(°?[A-Za-zµμΩ‰]+)\^?(-?[23])?")
_RAISED = {"2": "squared", "3": "cubed", None: "", "-2": None, "-3": None}


def spell_units(text: str) -> str:
    """A text with the symbols of units behind numbers as names, before case is lost.

    >>> spell_units("5 MW or 5mW at 3 m/s^2, 10 km/h, 5 apples")
    '5 megawatt or 5 milliwatt at 3 metrepersecondsquared, 10 kilometreperhour, 5 apples'
    """
    return _SYMBOL.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    names = [_name(part) for part in re.split(r"[/·]", match[2].replace(" h", "h"))]
    if _MONEY.search(match.string, max(0, match.start() - 20), match.start()):
        return match[0]
    if None in names or match[2] in _WORDS or ("·" in match[2] and "/" in match[2]):
        return match[0]
    return " " + "per".join(filter(None, names))


_WORDS = frozenset({"in", "M", "B", "b", "s", "pm"})
"""Symbols that are as often words, scales or times of the day."""


def _name(symbol: str) -> str | None:
    match = _PART.fullmatch(symbol)
    power = _RAISED.get(match[2]) if match else None
    if match is None or power is None:
        return None
    if match[1] in _OTHERS:
        return _OTHERS[match[1]] + power
    for length in (0, 2, 1):
        prefix, base = match[1][:length], match[1][length:]
        if base in _SYMBOLS and (not prefix or prefix in _PREFIXES):
            return (_PREFIXES[prefix][0] if prefix else "") + _SYMBOLS[base] + power
    return None


@lru_cache(maxsize=1024)
def unit_of(word: str) -> Unit | None:
    """The unit that a folded word names, in singular or plural, with prefix, power and quotient; None where it names none.

    >>> unit_of("kilometresperhour").dimension, unit_of("milligrams").size, unit_of("apples")
    ('length/time', Decimal('0.001'), None)
    """
    listed = word_lists().units
    if word in listed:
        return listed[word]
    if len(word) < 5 or len(word) > 60 or not word.isalpha():
        return None
    top, per, bottom = word.rpartition("per")
    if per and (over := unit_of(top)) and (under := unit_of(bottom)):
        return Unit(f"{over.name}per{under.name}", f"{over.dimension}/{under.dimension}", over.size / under.size)
    for ending, power in (("squared", 2), ("cubed", 3)):
        if word.endswith(ending) and (base := unit_of(word.removesuffix(ending))):
            return Unit(base.name + ending, f"{base.dimension}{power}", base.size**power)
    for name, exponent in _PREFIXES.values():
        base = listed.get(word.removeprefix(name)) if word.startswith(name) else None
        if base is not None and base.dimension in _PREFIXED:
            return Unit(name + base.name, base.dimension, base.size.scaleb(exponent))
    return None


_PREFIXED = frozenset(
    [
        "length",
        "mass",
        "time",
        "ampere",
        "mole",
        "molar",
        "frequency",
        "newton",
        "pressure",
        "energy",
        "power",
        "volt",
        "watthour",
        "bytes",
        "bits",
        "volume",
        "electronvolt",
        "ohm",
    ]
)


def read_unit(tokens: Sequence[str], at: int) -> tuple[Unit | None, int]:
    """The unit whose name begins at a token, and the index behind it: "square metres", "miles per hour", "kilowatt hours"."""
    word, end = tokens[at], at + 1
    if word in ("square", "cubic") and end < len(tokens) and (base := unit_of(tokens[end])):
        word, end = base.name + ("squared" if word == "square" else "cubed"), end + 1
    unit = unit_of(word)
    if unit and tokens[end : end + 1] in (["hour"], ["hours"]) and (product := unit_of(f"{unit.name}hour")):
        unit, end = product, end + 1
    while unit and tokens[end : end + 1] == ["per"] and end + 1 < len(tokens):
        under = unit_of(tokens[end + 1])
        quotient = unit_of(f"{unit.name}per{under.name}") if under else None
        if quotient is None:
            break
        unit, end = quotient, end + 2
    return unit, end


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
