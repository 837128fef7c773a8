"""Parses wishes in plain words: `plain_wrong <= 5%`, `worded(>= .8) wrong <= 20%`, `abstain as little as possible`.

A wish names a set of answers and the largest share of it that may be wrong. The sets are nested: every plain answer is
also worded at 0.8 or more, and every worded one is answered. So thresholds of several wishes can be found together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..errors import CalibrationError

Subject = Literal["answered", "worded", "plain", "plain_and_wrong", "abstain"]

SAYABLE = (
    "plain_wrong <= 5%                of the answers that go out without a hedge, at most 5 % are wrong",
    "worded(>= .8) wrong <= 20%       of those worded at a confidence of 0.8 or more (plain ones too), at most 20 % are wrong",
    "answered_wrong <= 30%            of all that are answered, hedged or not, at most 30 % are wrong",
    "plain_and_wrong <= 2%            of all questions, at most 2 % get a plain answer that is wrong; also: ... on average",
    "abstain <= 40%                   at most 40 % of all questions are not answered",
    "abstain as little as possible    of what keeps the other wishes, the least is left unanswered (a goal, not a promise)",
)
"""The supported forms, one per line; errors show them. `right >= 95%` is the same as `wrong <= 5%`."""
_LONGEST = 200
_NUMBER = r"(\d{0,3}(?:\.\d{1,9})?)"
_SHARE = rf"{_NUMBER} ?(%|percent)?"
_TAIL = re.compile(rf"(plain|answered|worded ?\( ?>?=? ?{_NUMBER} ?(%?) ?\)) (wrong|right) ?(<=|>=) ?{_SHARE}")
_JOINT = re.compile(rf"plain and wrong ?<= ?{_SHARE}( on average)?")
_ABSTAIN = re.compile(rf"abstain ?<= ?{_SHARE}")
_LEAST = re.compile(r"abstain (?:as little as possible|least|rarely)")


class WishError(CalibrationError):
    """A wish cannot be read, or wishes contradict each other; the message shows the supported forms."""


@dataclass(frozen=True, slots=True, order=True)
class Wish:
    """What an operator wants for a set of answers.

    Attributes
    ----------
    subject : str
        "answered", "worded" and "plain": the share wrong among these. "plain_and_wrong": the share of all questions that get a plain
        answer that is wrong. "abstain": the share of all questions that are not answered.
    limit : float or None
        The largest share, in (0, 1); of "abstain" in [0, 1). None: as little as possible.
    words_from : float or None
        Of "worded": the confidence from which on an answer belongs to the set, in (0, 1).
    on_average : bool
        Whether the limit holds in expectation over the labels (conformal risk control), not with a probability.
    """

    subject: Subject
    limit: float | None
    words_from: float | None = None
    on_average: bool = False

    @property
    def text(self) -> str:
        """The canonical form of the wish, which `parse` reads.

        Examples
        --------
        >>> Wish("worded", 0.2, words_from=0.8).text
        'worded(>= 0.8) wrong <= 20 %'
        """
        if self.limit is None:
            return "abstain as little as possible"
        limit = f"<= {self.limit * 100:.6g} %"
        if self.subject == "worded":
            return f"worded(>= {self.words_from:.6g}) wrong {limit}"
        if self.subject in ("plain", "answered"):
            return f"{self.subject}_wrong {limit}"
        return f"{self.subject} {limit}{' on average' if self.on_average else ''}"

    @property
    def sentence(self) -> str:
        """The wish as a plain sentence, without a full stop.

        Examples
        --------
        >>> Wish("plain", 0.05).sentence
        'plain answers wrong at most 5 %'
        """
        if self.limit is None:
            return "as few questions as possible left unanswered"
        limit = f"at most {self.limit * 100:.6g} %"
        if self.subject == "worded":
            return f"answers worded at {self.words_from:.6g} or more wrong {limit}"
        if self.subject == "plain_and_wrong":
            return f"questions with a plain wrong answer {limit}{' on average' if self.on_average else ''}"
        return {"plain": "plain answers wrong ", "answered": "answers wrong ", "abstain": "questions left unanswered "}[
            self.subject
        ] + limit

    @property
    def rank(self) -> float:
        """Order of the nested sets: 0 for answered, the words' confidence for worded, 1 for plain.

        Higher = fewer answers.
        """
        return {"answered": 0.0, "worded": self.words_from or 0.0}.get(self.subject, 1.0)


def parse(text: str) -> Wish:
    """Parse a wish.

    Parameters
    ----------
    text : str
        One of the forms of `SAYABLE`; case, underscores and spaces do not matter.

    Raises
    ------
    WishError
        If it has none of these forms, or its limit is trivial or cannot be tested.

    Examples
    --------
    >>> parse("plain_wrong <= 5%")
    Wish(subject='plain', limit=0.05, words_from=None, on_average=False)
    >>> parse("Worded(>= .8) right at least 80 %").text
    'worded(>= 0.8) wrong <= 20 %'
    """
    plain = _normal(text)
    if _LEAST.fullmatch(plain):
        return Wish("abstain", None)
    if match := _TAIL.fullmatch(plain):
        return _tail(text, match)
    if match := _JOINT.fullmatch(plain):
        limit = _share(text, match[1], match[2])
        return Wish("plain_and_wrong", _sensible(text, limit), on_average=match[3] is not None)
    if match := _ABSTAIN.fullmatch(plain):
        limit = _share(text, match[1], match[2])
        return Wish("abstain", limit if limit == 0.0 else _sensible(text, limit))
    raise WishError(_cannot(text, _why_not(plain)))


def parse_all(texts: Iterable[str]) -> tuple[Wish, ...]:
    """Parse several wishes that must be compatible; each text may have several, separated by ; or commas.

    Returns
    -------
    tuple of Wish
        Without repetitions, in the order of `Wish.rank`.

    Raises
    ------
    WishError
        If one cannot be read, two set different limits to the same thing, or none says what may go wrong.

    Examples
    --------
    >>> [wish.text for wish in parse_all(["plain wrong <= 5%; worded(>= .8) wrong <= 20%"])]
    ['worded(>= 0.8) wrong <= 20 %', 'plain_wrong <= 5 %']
    """
    wishes = [parse(part) for text in texts for part in re.split(r"[;,\n]", text) if part.strip()]
    unique = sorted(dict.fromkeys(wishes), key=lambda wish: (wish.rank, wish.subject, wish.words_from or 0.0))
    if all(wish.subject == "abstain" for wish in unique):
        raise WishError("there is nothing to promise: say what may be wrong. " + _shown())
    seen: dict[tuple[object, ...], Wish] = {}
    for wish in unique:
        same = (wish.subject, wish.words_from, wish.on_average, wish.limit is None)
        if same in seen:
            raise WishError(f"{seen[same].text!r} and {wish.text!r} contradict each other: keep one of them")
        seen[same] = wish
    return tuple(unique)


def _normal(text: str) -> str:
    if len(text) > _LONGEST:
        raise WishError(_cannot(text[:40] + "...", f"it is longer than {_LONGEST} characters"))
    plain = " ".join(text.lower().replace("_", " ").split()).rstrip(".")
    for symbol, meant in (("≤", "<="), ("≥", ">="), ("at most", "<="), ("at least", ">="), ("per cent", "percent")):
        plain = plain.replace(symbol, meant)
    plain = re.sub(r"(?<![<>])([<>])(?!=)", r"\1=", plain)
    return re.sub(r" (?:answers|are|is)(?= )", "", plain)


def _tail(text: str, match: re.Match[str]) -> Wish:
    subject: Subject = "worded" if match[1].startswith("worded") else "plain" if match[1] == "plain" else "answered"
    limit = _share(text, match[6], match[7])
    if (match[4], match[5]) in (("wrong", ">="), ("right", "<=")):
        raise WishError(_cannot(text, "a promise bounds what is wrong from above"))
    wrong = limit if match[4] == "wrong" else round(1.0 - limit, 12)
    if subject != "worded":
        return Wish(subject, _sensible(text, wrong))
    words_from = _share(text, match[2], match[3])
    if not 0.0 < words_from < 1.0:
        raise WishError(_cannot(text, f"words stand at a confidence between 0 and 1, not at {words_from:g}"))
    return Wish("worded", _sensible(text, wrong), words_from=words_from)


def _share(text: str, number: str, unit: str | None) -> float:
    if number in ("", "."):
        raise WishError(_cannot(text, "a number is missing"))
    value = float(number)
    if unit:
        return round(value / 100.0, 12)
    if value > 1.0:
        raise WishError(_cannot(text, f"{number} is more than everything; write {number}% or {value / 100:g}"))
    return value


def _sensible(text: str, limit: float) -> float:
    if limit <= 0.0:
        raise WishError(
            _cannot(text, "no number of labels can show that nothing ever goes wrong; choose a limit above 0")
        )
    if limit >= 1.0:
        raise WishError(_cannot(text, "everything may be wrong then; choose a limit below 100 %"))
    return limit


def _why_not(plain: str) -> str:
    if plain.endswith("on average"):
        return "only plain_and_wrong can be had on average: a share of a set that moves with the threshold cannot"
    if plain.startswith("abstain") and ">=" in plain:
        return "abstaining can be bounded from above only"
    return "it is not one of the forms below"


def _cannot(text: str, why: str) -> str:
    return f"the wish {text.strip()!r} cannot be used: {why}. " + _shown()


def _shown() -> str:
    return "What can be said:\n" + "\n".join(f"  {line}" for line in SAYABLE)
