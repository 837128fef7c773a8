"""Decides whether "may", "might" and "could" express possibility, not permission, advice, a request or past ability."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from ..text.words import word_set
from .around import OTHERS, SUBJECT, WH, word_at
from .cues import Cue
from .not_knowing import GIVING

_WANTING = word_set("want wish like prefer choose begin proceed verify assume note")
_BEFALLING = word_set(
    "need have be not experience face find see encounter notice feel still even get lose miss receive wonder end run require already never always qualify owe know enjoy slip fall recognize recognise suffer discover hear become"
)
"""Verbs that are possible with "you may" without choice; with any other verb "you may" permits or advises."""
_DERIVED = word_set("solved shown written rewritten expressed obtained derived computed factored simplified")
"""Participles of steps of a derivation: "may be written" is always one."""
_PAST = word_set(
    "was were had did knew felt said told thought saw became came went found took began seemed looked gave kept stood heard wondered wished spent wrote drew grew chose"
)
_OBLIQUE = word_set("has have if would may might to is are be being can")
"""Words next to which a past form is not a past tense: "if it had been", "has had", "can be found"."""
_ASKING = word_set("so than if until before once wish wished hoping wondering")
"""Phrases before a "could" of ability or request: "I was hoping you could"."""
_ABLE = word_set("feel hear sense smell taste afford")
"""Verbs after which "could" is an ability and not a possibility: "I could feel it"."""
_ALLOWED = word_set("serve vote marry summon reelected elected appointed")
"""What somebody "may" do, or what "may be" done, by law."""
_DETERMINERS = word_set("a an the his her its their")
_HEADLESS = word_set("be not also cause have need require include contain lead help vary affect")
"""Verbs after a "may" that begins a note without a subject: "May cause drowsiness", not "May your days be merry"."""
_SUGGESTING = word_set("suggest suggests suggesting suggested indicate indicates indicating indicated")
_SKIPPED = word_set('also even then ( * _ ` " “ ‘')
"""Words between a modal and its verb."""


def says_what_may_be(words: Sequence[str], cue: Cue) -> bool:
    """As in "it may be": not "you may want to", "May I", "could you", "he could not read"."""
    head, before = words[cue.last], word_at(words, cue.first - 1)
    after = _verb(words, cue)
    if (
        not after.isalpha()
        or after == "of"
        or (words[-1] == "?" and (words[0] in WH | {"which"} or words[:2] == ["do", "you"]))
    ):
        return False
    if after == "look" and "what" in _clause(words[: cue.first]) and "like" in words[cue.last + 1 : cue.last + 3]:
        return False  # "what the future of it may look like"
    if not cue.first:
        return head != "could" and after in _HEADLESS
    if after in _WANTING and before in {"you", "we", "one", "i"} and head != "could":
        return after == "like" and "to" not in words[cue.last + 1 : cue.last + 4]  # "you might also like the sequel"
    if head != "could" and _is_purpose(words, cue):
        return False
    if head == "may":
        return after not in {"i", "we"} and not _is_permitted(words, cue, before, after)
    if head == "might":
        if after in {"you", "your", "i", "we", "they", "he", "she", "it"}:
            return False  # asks
        advice = before in {"you", "we", "one"} and word_at(words, cue.first - 2) in WH
        return (
            not advice and not _is_chosen(words, cue, before) and words[cue.last + 1 : cue.last + 3] != ["as", "well"]
        )
    return _is_possibility(words, cue, before, after)


def _verb(words: Sequence[str], cue: Cue) -> str:
    """The verb after a modal, also after an insertion between commas: "might, for example, be"."""
    first = cue.last + 1
    if word_at(words, first) == "," and "," in words[first + 1 : first + 5]:
        first = words.index(",", first + 1) + 1
    return next((word for word in words[first : first + 3] if word not in _SKIPPED), "")


def _is_permitted(words: Sequence[str], cue: Cue, before: str, after: str) -> bool:
    """As in "you may begin", "we may write", "it may be shown that"."""
    if before in {"you", "we", "one"}:
        return after not in _BEFALLING
    then = word_at(words, cue.last + 2)
    if (after in _ALLOWED and then != "as") or (after == "be" and then in _ALLOWED):
        return True
    return after == "be" and not _DERIVED.isdisjoint(words[cue.last + 2 : cue.last + 4])


def _is_possibility(words: Sequence[str], cue: Cue, before: str, after: str) -> bool:
    """Whether "could" is a possibility and not a past ability or a request."""
    if before in {"he", "she"} and after not in {"be", "have", "potentially", "possibly"}:
        return False
    return not (
        before in WH | {"if", "so", "wish"}
        or _is_chosen(words, cue, before)
        or word_at(words, cue.first - 2) in {"where", "no"}
        or (
            before == "i" and (after == "see" or "use" in words[cue.last + 1 : cue.last + 3])
        )  # "I could really use some help"
        or (before in {"you", "we", "one", "i"} and word_at(words, cue.first - 2) in WH)
        or (before == "i" and after in GIVING | {"suggest", "help", "create"})
        or _is_asked(_clause(words[max(0, cue.first - 4) : cue.first]))
        or _is_purpose(words, cue)
        or after
        in _ABLE
        | {"you", "i", "we", "it", "they", "he", "she", "there", "no", "hardly", "barely", "never", "only", "please"}
        or (after == "not" and word_at(words, cue.last + 2) != "have")
        or words[cue.last + 1 : cue.last + 3] == ["be", "further"]  # finds fault: "it could be further developed"
        or (_is_past(_said_to_be(_unquoted(words[: cue.first]))) and not _is_about(words, cue))
    )


def _is_purpose(words: Sequence[str], cue: Cue) -> bool:
    """As in "so that users could"."""
    return ("so", "that") in pairwise(_clause(words[max(0, cue.last - 12) : cue.last]))


def _is_asked(before: Sequence[str]) -> bool:
    """As in "so that users could", "I was hoping you could": not "so being late could upset them"."""
    follows = any(first == "so" and then.endswith("ing") for first, then in pairwise(before))
    return not follows and not _ASKING.isdisjoint(before)


def _is_chosen(words: Sequence[str], cue: Cue, before: str) -> bool:
    """As in "what kinds of models you could use"."""
    return (
        before in {"you", "we", "one"}
        and word_at(words, cue.first - 2).isalpha()
        and bool({"what", "which"} & set(words[max(0, cue.first - 6) : cue.first - 1]))
    )


def _clause(words: Sequence[str]) -> Sequence[str]:
    """The words after the last comma."""
    return words[max((at + 1 for at, word in enumerate(words) if word == ","), default=0) :]


def _unquoted(words: Sequence[str]) -> Sequence[str]:
    """The words without text inside straight quotation marks, which has its own tense."""
    if words.count('"') < 2:
        return words
    marks = list(accumulate(word == '"' for word in words))
    return [word for word, before in zip(words, marks, strict=True) if before % 2 == 0]


def _said_to_be(words: Sequence[str]) -> Sequence[str]:
    """The words after "suggesting that", if present: the suggestion has its own tense."""
    at = next((at for at in range(len(words) - 1, 0, -1) if words[at] == "that" and words[at - 1] in _SUGGESTING), None)
    return words if at is None else words[at + 1 :]


def _is_past(words: Sequence[str]) -> bool:
    """Whether the words before "could" are in the past, so that it is an ability.

    "If they had data, it could" is not.
    """
    return any(
        (word in _PAST or (word.endswith("ed") and _is_finite(words, at)))
        and _OBLIQUE.isdisjoint(words[max(0, at - 4) : at + 2])
        and "if" not in _clause(words[:at])
        for at, word in enumerate(words)
        if at
    )


def _is_finite(words: Sequence[str], at: int) -> bool:
    """Whether a form in -ed is a past tense: after a pronoun or before its object ("he built", "it included a").

    Not "based on".
    """
    return words[at - 1] in OTHERS | SUBJECT | {"it"} or word_at(words, at + 1) in _DETERMINERS


def _is_about(words: Sequence[str], cue: Cue) -> bool:
    """As in "could have been", "could be an opportunity": not "could be seen"."""
    after = next((at for at in range(cue.last + 1, cue.last + 4) if word_at(words, at) in {"have", "be"}), None)
    return after is not None and not (words[after] == "be" and word_at(words, after + 1).endswith(("ed", "en")))
