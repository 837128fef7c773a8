"""Hard pairs made by rule: numbers, dates, names, negation, antonyms and quantities changed or only written otherwise."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

ENTAILMENT, NEUTRAL, CONTRADICTION, NOT_ENTAILED = 0, 1, 2, 3
"""Labels of a pair; the last says only that the first does not hold."""

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_NAME = re.compile(r"(?<![.!?\w] )(?<!^)\b[A-Z][\w'’-]+(?: (?:(?:of|the|de|von|van|and) )?[A-Z][\w'’.-]+)*")
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}}) (?P<month>{_MONTH}),? (?P<year>\d{{4}})|(?P<m>{_MONTH}) (?P<d>\d{{1,2}}), (?P<y>\d{{4}}))\b"
)
_COUNTS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_NEGATABLE = re.compile(
    r"\b(is|was|were|are|has been|have been|had been|will|can|could|would|did|does)\b(?! not\b|n't| no\b| never\b)"
)
_NEGATED = re.compile(r"\b(is|was|were|are|will|can|could|would|did|does) (?:not|never)\b")
_OPPOSITES = """
increase decrease|increased decreased|rise fall|rose fell|north south|northern southern|east west|eastern western|before after|first last|
won lost|win lose|winner loser|largest smallest|larger smaller|big small|older younger|oldest youngest|old young|high low|higher lower|
highest lowest|early late|earlier later|earliest latest|more less|most least|many few|always never|alive dead|male female|man woman|men women|
father mother|son daughter|brother sister|husband wife|king queen|actor actress|boy girl|husband's wife's|he she|his her|hot cold|warm cool|
fast slow|strong weak|rich poor|public private|legal illegal|successful unsuccessful|success failure|accepted rejected|approved rejected|
passed failed|opened closed|open closed|began ended|begin end|started finished|start finish|arrived departed|bought sold|buy sell|hired fired|
married divorced|praised criticized|positive negative|good bad|better worse|best worst|near far|inside outside|above below|over under|up down|
upper lower|left right|top bottom|long short|longer shorter|longest shortest|heavy light|hard soft|easy difficult|safe dangerous|true false|
famous unknown|major minor|majority minority|maximum minimum|ancient modern|domestic foreign|urban rural|day night|summer winter|spring autumn|
American British|English French|German Italian|Democrat Republican|liberal conservative|include exclude|included excluded|attack defend|
supported opposed|agreed disagreed|allowed forbidden|possible impossible|all none|everyone nobody|both neither|with without|present absent|
popular unpopular|common rare|full empty|same different|single married|professional amateur|fiction non-fiction|comedy tragedy|victory defeat|
ally enemy|vocals drums|guitar piano|novel film|book song|player coach|teacher student|doctor lawyer|singer painter|writer physicist
"""
OPPOSITES = {
    a: b
    for pair in _OPPOSITES.replace("\n", "").split("|")
    for a, b in (pair.split(), reversed(pair.split()))
    if pair.strip()
}
_OPPOSITE = re.compile(r"\b(" + "|".join(sorted(map(re.escape, OPPOSITES), key=len, reverse=True)) + r")\b")


def another_number(written: str, rng: random.Random) -> str:
    """A number of the same kind that is another one."""
    digits = written.replace(",", "")
    if "." in digits:
        whole, part = digits.split(".", 1)
        return f"{int(whole) + rng.choice((-2, -1, 1, 2, 5)) if int(whole) > 2 else int(whole) + 1}.{part}"
    value = int(digits)
    if 1000 <= value <= 2030 and "," not in written:
        return str(value + rng.choice((-40, -20, -12, -10, -7, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 8, 10, 20, 30)))
    other = value
    while other == value:
        other = max(
            0, rng.choice((value + rng.randint(-9, 9), value * 2, value // 2, value * 10, value + 1, value - 1))
        )
    return f"{other:,}" if "," in written else str(other)


def number_changed(text: str, rng: random.Random) -> str | None:
    """The text with one number another; None where it holds none."""
    words = list(re.finditer(r"\b(" + "|".join(_COUNTS[2:] + _ORDINALS) + r")\b", text))
    matches = list(_NUMBER.finditer(text)) + words
    if not matches:
        return None
    m = rng.choice(matches)
    if m in words:
        family = _COUNTS[2:] if m[0] in _COUNTS else _ORDINALS
        new = rng.choice([w for w in family if w != m[0]])
    else:
        new = another_number(m[0].rstrip(","), rng)
    return text[: m.start()] + new + text[m.start() + len(m[0].rstrip(",")) :]


def number_written_otherwise(text: str, rng: random.Random) -> str | None:
    """The text with a number or date in another notation, or a date given less exactly: entailed."""
    ways = []
    for m in _DATE.finditer(text):
        day, month, year = (m["day"], m["month"], m["year"]) if m["day"] else (m["d"], m["m"], m["y"])
        exact = [f"{day} {month} {year}", f"{month} {day}, {year}"]
        ways += [(m, new) for new in exact if new != m[0]]
        if text[: m.start()].endswith("on "):
            ways += [(m, f"\0{month} {year}"), (m, f"\0{year}")]
    for m in re.finditer(r"\b(\d{1,2})\b(?![.,:/%-]?\d| (?:" + _MONTH + r")\b)", text):
        if 2 <= int(m[1]) <= 12 and not re.search(rf"(?:{_MONTH}) $", text[: m.start()]):
            ways.append((m, _COUNTS[int(m[1])]))
    ways += [(m, str(_COUNTS.index(m[0]))) for m in re.finditer(r"\b(" + "|".join(_COUNTS[2:]) + r")\b", text)]
    ways += [(m, m[0].replace(",", "")) for m in re.finditer(r"\b\d{1,3}(?:,\d{3})+\b", text)]
    if not ways:
        return None
    m, new = rng.choice(ways)
    before = text[: m.start()]
    if new.startswith("\0"):
        before, new = before[:-3] + "in ", new[1:]
    return before + new + text[m.end() :]


def name_changed(text: str, names: Sequence[str], rng: random.Random) -> str | None:
    """The text with one name, not its first word, replaced by another of as many words."""
    matches = [m for m in _NAME.finditer(text) if m[0] not in _MONTHS]
    if not matches:
        return None
    m = rng.choice(matches)
    for _ in range(8):
        new = rng.choice(names)
        if new.count(" ") == m[0].count(" ") and new.lower() not in text.lower():
            return text[: m.start()] + new + text[m.end() :]
    return None


def names_in(text: str) -> list[str]:
    """The names of a text but for the one that opens it."""
    return [m[0] for m in _NAME.finditer(text) if m[0] not in _MONTHS]


def negated(text: str, rng: random.Random) -> str | None:
    """The text with its first auxiliary negated, or its negation taken away."""
    if _NEGATED.search(text):
        return _NEGATED.sub(r"\1", text, count=1)
    m = _NEGATABLE.search(text)
    if not m:
        return None
    first, _, rest = m[0].partition(" ")
    return (
        f"{text[: m.start()]}{first} {rng.choice(('not', 'not', 'never'))}{' ' + rest if rest else ''}{text[m.end() :]}"
    )


def opposite(text: str, rng: random.Random) -> str | None:
    """The text with one word replaced by its opposite."""
    matches = list(_OPPOSITE.finditer(text))
    if not matches:
        return None
    m = rng.choice(matches)
    return text[: m.start()] + OPPOSITES[m[0]] + text[m.end() :]


def changed(
    premise: str, hypothesis: str, names: Sequence[str], rng: random.Random
) -> Iterator[tuple[str, str, int, str]]:
    """Pairs from one entailed pair, each with its label and the kind of change."""
    for kind, new, label in (
        ("number", number_changed(hypothesis, rng), CONTRADICTION),
        ("notation", number_written_otherwise(hypothesis, rng), ENTAILMENT),
        ("name", name_changed(hypothesis, names, rng), NOT_ENTAILED),
        ("negation", negated(hypothesis, rng), CONTRADICTION),
        ("opposite", opposite(hypothesis, rng), CONTRADICTION),
    ):
        if new and new != hypothesis:
            yield premise, new, label, kind


_THINGS = (
    "people",
    "houses",
    "books",
    "goals",
    "employees",
    "miles",
    "students",
    "songs",
    "films",
    "votes",
    "members",
    "medals",
    "ships",
    "islands",
)
_SAID = (
    "The company has {q} employees.", "There were {q} {t}.", "The museum holds {q} {t}.", "About the city: it counts {q} {t}.", "She scored {q} {t}.",
    "The team won {q} {t}.", "The village is home to {q} {t}.", "He collected {q} {t} in his career.", "The list names {q} {t}.",
)  # fmt: skip


def quantities(n: int, rng: random.Random) -> Iterator[tuple[str, str, int, str]]:
    """Numbers against bounds: "35 people" and "more than 30 people"."""
    for _ in range(n):
        frame, thing = rng.choice(_SAID), rng.choice(_THINGS)
        exact = rng.choice((rng.randint(3, 60), rng.randint(100, 999), rng.randint(1000, 90000)))
        other = max(1, exact + rng.choice((-1, 1)) * rng.randint(1, max(2, exact // 2)))

        def say(quantity: str, frame: str = frame, thing: str = thing) -> str:
            return frame.format(q=quantity, t=thing)

        over, under = (
            f"{rng.choice(('more than', 'over'))} {other}",
            f"{rng.choice(('fewer than', 'less than', 'under'))} {other}",
        )
        true, false = (over, under) if exact > other else (under, over)
        yield rng.choice(
            (
                (say(str(exact)), say(true), ENTAILMENT, "quantity"),
                (say(str(exact)), say(false), CONTRADICTION, "quantity"),
                (say(true), say(str(exact)), NEUTRAL, "quantity"),
                (say(str(exact)), say(f"at least {min(exact, other)}"), ENTAILMENT, "quantity"),
                (say(str(exact)), say(f"exactly {other}"), CONTRADICTION, "quantity"),
                (say(str(exact)), say(str(other)), CONTRADICTION, "quantity"),
            )
        )
