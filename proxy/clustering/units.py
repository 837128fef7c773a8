"""Units of measurement, by their symbols (case counts: "MW", "mW") and by their names: prefixes, powers and quotients by rule."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from .words import Unit, word_lists

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
