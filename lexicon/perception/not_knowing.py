"""Finds where a writer says that they do not know the answer: "I do not have enough information", "it is hard to say"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..text.words import word_set
from .around import BE, SUBJECT, within, word_at

_ASKED_FOR = word_set(
    "answer answers information details data figures price updates estimate date name number diagnosis value response context assessment explanation description summary calculation source sources record records formula article page website citation reference doi day month months year years dates names identity"
)
KNOWING = word_set(
    "information info context knowledge access data detail details figure figures record records source sources fact facts answer answers memory recollection awareness confirmation"
)
TELLING = word_set(
    "answer determine confirm verify locate say tell know recall remember identify ascertain predict pinpoint deduce infer assess diagnose guarantee conclude calculate describe guess specify name state estimate quantify compute validate"
)
FOUND_OUT = word_set("determined known confirmed verified ascertained predicted answered guaranteed")
_HARD_TO = word_set("answer determine say tell know predict pinpoint assess judge estimate")
GIVING = word_set("provide give offer find access")
AT_HAND = word_set("available memorized memorised hand")
"""Words after something the writer does not have: "I do not have that date on hand"."""
ASSURED = word_set(
    "reliable confirmed verified verifiable definitive authoritative exact precise accurate known canonical official"
)
"""Describe something the writer does not have: "I do not have a confirmed date"."""
_RIGHT = word_set("correct right accurate")
"""Describe the writer's source: "if my information is correct"."""
_HARD = word_set("hard harder difficult impossible")
"""Describe an action for which the writer lacks knowledge."""
_SCARCE = word_set("insufficient limited little unavailable lack")
"""Describe information that the writer lacks or has too little of."""
NOT_KNOWING = (
    KNOWING
    | _SCARCE
    | _RIGHT
    | TELLING
    | GIVING
    | FOUND_OUT
    | AT_HAND
    | ASSURED
    | _HARD_TO
    | word_set(
        "specific found can could not unable able hard difficult impossible possible to have be more need needed required"
    )
)
"""Words in the name of a marker for not knowing: "not have information", whatever the information is."""
_SURELY = word_set("confidently reliably accurately definitively conclusively")
"""Between "cannot" and "give"; then the thing given is an answer, whatever it is called."""
_MISSING = word_set("information info record records details data source sources")
_KEPT = word_set("data database knowledge records memory")
"""Where something is "not in my", if the writer does not know it."""
_ABOUT = word_set("available provided about on regarding to found")
"""After "no information", also after "is" or "has been", if the writer has none."""
_LEARNING = word_set("know determine verify confirm predict")
"""Actions that somebody without knowledge has no "capability to" do."""
_NEEDED = word_set("need needed required require")
_FINDABLE = word_set("my our value values solution solutions way root roots job time")
"""Things that somebody "cannot find", which is no lack of knowledge."""
_PHRASES = word_set("lie lies joke jokes story stories truth difference apart")
"""Objects of "cannot tell", which is no lack of knowledge."""
_THINGS = word_set("functions instrument instruments tools features devices software capabilities internet personal")
"""Things somebody has no access to, which is no lack of knowledge."""

_HEADS = (
    TELLING
    | GIVING
    | _HARD_TO
    | _MISSING
    | _SCARCE
    | _HARD
    | word_set("more further additional available my found have possess")
)
"""Words (and any word after "be") at which `not_knowing` looks for a marker."""
LACKED = _HEADS | FOUND_OUT | KNOWING | ASSURED | AT_HAND
"""Every phrase for not knowing has one of these words and one of `LACKING`."""
LACKING = _SCARCE | _NEEDED | word_set("not t dont cannot no if unable") | _HARD
"""Every phrase for not knowing has one of these words; "t" is the end of "can't"."""


def not_knowing(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Token ranges of phrases for not knowing.

    As in "I do not have enough information", "I cannot provide an accurate answer", "it is hard to say".
    """
    if LACKING.isdisjoint(words):
        return
    for index, word in enumerate(words):
        if word not in _HEADS and words[index - 1] != "be":
            continue
        if word in TELLING or word in GIVING or word in _HARD_TO:
            start = _inability(words, index)
            if start is not None and _is_answer(words, index):
                yield start, index
        elif word in _HARD and word_at(words, index + 1) == "to" and _for_want(words, index):
            yield index, index + 1
        elif word in _MISSING and (start := _missing(words, index)) is not None:
            yield start, index
        elif word in {"more", "further", "additional"} and (end := _needed(words, index)) is not None:
            yield index, end
        elif word == "available" and "not" in words[max(0, index - 2) : index] and words[index - 1] != "be":
            clause = _clause(words, index)
            if "if" not in clause and (not _MISSING.isdisjoint(clause) or "my" in words[index + 1 : index + 4]):
                yield words.index("not", max(0, index - 2)), index
        elif word in _SCARCE and (span := _scarce(words, index)) is not None:
            yield span
        elif word == "my" and words[max(0, index - 2) : index] == ["not", "in"]:
            if (end := within(words, index, _KEPT)) is not None:
                yield index - 2, end
        elif word == "my" and word_at(words, index - 1) == "if":
            if (end := within(words, index, _RIGHT)) is not None and words[end - 1] in BE:
                yield index - 1, end
        elif word == "found" and words[index - 2 : index - 1] != ["be"] and words[index - 1] == "not":
            if words[index + 1 : index + 2] == ["in"] and not _MISSING.isdisjoint(_clause(words, index)):
                yield index - 1, index
        elif words[max(0, index - 3) : index] in (["can", "not", "be"], ["could", "not", "be"]):
            if "if" in words[max(0, index - 7) : index]:
                continue  # an instruction: "if a date cannot be determined"
            if word in FOUND_OUT or (word == "found" and not _MISSING.isdisjoint(_clause(words, index))):
                yield index - 3, index
        elif word in {"have", "possess"} and word_at(words, index - 1) == "not":
            joined = word_at(words, index - 3) in {"and", "or"} and "i" in words[:index]
            own = joined or not SUBJECT.isdisjoint(words[max(0, index - 5) : index])
            end = _lacked(words, index) if own else None
            if end is not None and words[end - 1] != "to" and _THINGS.isdisjoint(words[end - 1 : end + 5]):
                yield index - 1, end


def _for_want(words: Sequence[str], index: int) -> bool:
    """As in "without knowing the magazine it is hard to": hard because of missing knowledge; not "this makes it hard"."""
    at = words.index("without") if "without" in words else len(words)
    lacked = not (KNOWING | {"knowing"}).isdisjoint(words[at + 1 : at + 4])
    return lacked and word_at(words, index - 2) not in {"make", "makes", "making", "made"}


def _scarce(words: Sequence[str], index: int) -> tuple[int, int] | None:
    """As in "there is insufficient information", "the information is unavailable", "I lack the information"; None elsewhere."""
    if words[index] == "lack":
        end = within(words, index, KNOWING | {"certainty", "confidence"}) if word_at(words, index - 1) == "i" else None
        return None if end is None else (index, end)
    if word_at(words, index + 1) in _MISSING and words[index] != "unavailable":
        there = {"there", "have"}.isdisjoint(words[max(0, index - 4) : index])
        return None if there else (index, index + 1)
    of = words[max(0, index - 8) : index]
    missing = (
        word_at(words, index - 1) in BE
        and not _MISSING.isdisjoint(of)
        and words[index] not in {"insufficient", "little"}
    )
    return (index, index) if missing else None


def _is_answer(words: Sequence[str], index: int) -> bool:
    """Whether the thing not given or told is an answer: not "cannot provide a loan", "cannot tell a lie"."""
    if words[index] == "tell":
        return within(words, index, _PHRASES) is None
    if words[index] == "find" and not SUBJECT.isdisjoint(words[max(0, index - 4) : index]):
        return within(words, index, _KEPT) is not None or _FINDABLE.isdisjoint(words[index + 1 : index + 4])
    asked = words[index] not in GIVING or words[index - 1] in _SURELY
    if words[index] == "access" and ("to", "verify") in pairwise(words[index:]):
        return True  # "I cannot access match reports to verify the minute"
    return asked or within(words, index, _ASKED_FOR | ASSURED) is not None


def _clause(words: Sequence[str], index: int) -> Sequence[str]:
    """The words of the clause before a word, at most ten."""
    start = max((at + 1 for at in range(index) if words[at] in {",", ";", ":", "but"}), default=0)
    return words[max(start, index - 10) : index]


def _lacked(words: Sequence[str], index: int) -> int | None:
    """Index of the last word of the object of "have": "the information", "a confirmed date", "her name memorized"."""
    if words[index + 1 : index + 3] in (["that", "specific"], ["the", "specific"]):
        return index + 2
    if (end := within(words, index, KNOWING | ASSURED)) is not None:
        return end
    if word_at(words, index + 1) in {"any", "a"}:
        return None
    return next((at for at in range(index + 2, min(index + 15, len(words))) if _is_at_hand(words, at)), None)


def _is_at_hand(words: Sequence[str], at: int) -> bool:
    """As in "on hand", "available", "in my training data"."""
    if words[at] in {"data", "memory"}:
        return "my" in words[at - 2 : at]
    return words[at] in AT_HAND and (words[at] != "hand" or words[at - 1] == "on")


def _missing(words: Sequence[str], index: int) -> int | None:
    """Index where "no information", "no reliable record" begins; not "there is no further information"."""
    lead = next((at for at in range(index - 2, max(index - 5, -1), -1) if words[at] == "no"), None)
    if lead is not None and not ASSURED.isdisjoint(words[lead + 1 : index]):
        return lead
    after = next(
        (word for word in words[index + 1 : index + 4] if word not in {"is", "was", "has", "have", "been"}), ""
    )
    if word_at(words, index - 1) == "enough" and "not" in words[max(0, index - 3) : index - 1]:
        return words.index("not", max(0, index - 3))
    if (
        words[index - 2 : index - 1] == ["no"]
        and after in {"available", "provided", "about", "on", "regarding"}
        and words[index - 1] not in {"further", "additional", "more"}
    ):
        return index - 2
    return index - 1 if word_at(words, index - 1) == "no" and after in _ABOUT else None


def _needed(words: Sequence[str], index: int) -> int | None:
    """Index of the last word of a phrase that asks for more information; None if there is none.

    As in "more information would be needed to confirm"; "more context to answer" after "I need"; "more information"
    after "to determine who won, we need".
    """
    if KNOWING.isdisjoint(words[index + 1 : index + 2]):
        return None
    own = not _NEEDED.isdisjoint(words[max(0, index - 1) : index]) and not SUBJECT.isdisjoint(words[max(0, index - 4) : index])  # fmt: skip
    if not own and _NEEDED.isdisjoint(words[index + 2 : index + 6]):
        return None
    for at in range(index + 2, min(index + 12, len(words))):
        if words[at] in TELLING and "to" in words[at - 2 : at]:
            return at
    return (
        index + 1
        if own and any(to == "to" and verb in TELLING | {"find"} for to, verb in pairwise(words[:index]))
        else None
    )


def _inability(words: Sequence[str], index: int) -> int | None:
    """Index where "cannot", "unable to", "hard to" or "not possible to" begins before a verb; None if there is none."""
    verb, to = words[index], index - 1
    if words[to].endswith("ly"):
        to -= 1
    before = words[max(0, to - 1) : to + 1]
    own = not (SUBJECT | {"one"}).isdisjoint(words[max(0, to - 4) : to])
    if before in (["can", "not"], ["could", "not"], ["unable", "to"]) and (verb in TELLING or verb in GIVING):
        joined = "i" in words[:to] and word_at(words, to - 2) in {"thus", "and", "so", "therefore", "but", "or"}
        return to - 1 if own or joined else None
    if word_at(words, to) != "to":
        return None
    if before in (["hard", "to"], ["difficult", "to"]):
        made = words[max(0, to - 3) : to - 1] in (["making", "it"], ["makes", "it"])
        easy = not made and word_at(words, to - 2) not in BE | {"very", "quite", "so", "bit"}
        return None if easy or verb not in _HARD_TO | GIVING else to - 1
    return next((at for at in range(max(0, to - 5), to) if _is_impossible(words, at)), None)


def _is_impossible(words: Sequence[str], at: int) -> bool:
    if words[at : at + 2] == ["not", "have"]:
        return words[at + 2] in {"the", "any"} and not _LEARNING.isdisjoint(
            words[at + 3 : at + 6]
        )  # "the ability to know"
    if words[at] == "no":
        return "way" in words[at + 1 : at + 4]  # "there is no reliable way to verify"
    return words[at] == "impossible" or words[at : at + 2] in (["not", "possible"], ["not", "able"])
