"""Decides by the words around a cue whether it expresses the writer's confidence.

"It may be Rome" does; "you may begin", "a possible cause" and "they believe" do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from ..text.words import word_set
from .around import BE, OTHERS, SUBJECT, WH, index_before, within, word_at, word_before
from .cues import Cue
from .marker_modals import says_what_may_be

_COMPARING = word_set("more less equally as how")
_EVIDENCE = word_set("evidence clues information biographies account accounts indications research study studies data records record reports report sources source references reference documentation statistics stats census findings results history literature experts analysis analyses survey surveys symptoms pattern patterns mismatch correlation trend trends observations tests experiments theory theories estimates calculations curve curves imaging scan scans this these it that which")  # fmt: skip
_MEASURED = word_set(
    "unemployment gdp inflation growth employment price prices defect weight height differences intelligence"
)
_FOUND = word_set("found concluded discovered detected observed measured showed shows")
"""Verbs for findings, which then "suggest a" result."""
_POINTING = word_set("this these it that which")
_SAYING = word_set(
    "message messages word words phrase sentence quote text title name term expression saying poem symbol sign arrow color colour code flag icon notation label argument statement statements prompt person people value values score number"
)
"""Things that "indicate that" by their content and not as evidence."""
_TENDING = word_set("seem seems seemed appear appears appeared tend tends tended")
_CLOSING = word_set(", . ; from in yet and but however") | {""}
"""Words after a "not clear" that is said of the subject."""
_REPORTING = word_set(
    "previously traditionally typically last widely generally commonly often currently now sometimes usually long"
)
_OPENING_A_CLAUSE = word_set(
    ", the this that these those it he she they we i you there a an every each no not if in some my his her their our its"
)


def counts(words: Sequence[str], cue: Cue) -> bool:
    """Whether a cue expresses the writer's confidence."""
    test = _TESTS.get(cue.base)
    return test is None or test(words, cue)


def _head(words: Sequence[str], cue: Cue) -> str:
    return words[cue.last]


def _is_predicate(words: Sequence[str], cue: Cue) -> bool:
    """As in "it is doubtful", "unsure whether", "my tentative answer": not "a doubtful person", "if you are unsure"."""
    if _head(words, cue).startswith("tentative"):
        return not {"i", "my"}.isdisjoint(words[max(0, cue.first - 3) : cue.first])
    at = index_before(words, cue)
    if word_at(words, at) in BE and word_at(words, at - 1) in OTHERS:
        return False
    return _stands_alone(words, cue)


def _stands_alone(words: Sequence[str], cue: Cue) -> bool:
    """Whether a cue follows a form of "be", begins a clause, or precedes the clause it is about."""
    before, after = word_before(words, cue), word_at(words, cue.last + 1)
    if before == "," and not OTHERS.isdisjoint(words[: cue.first]):
        return False  # "she wandered on, unsure of what was real"
    if after in {"to", "that", "whether", "if"}:
        return True
    return (
        before in BE | {",", "(", "seems", "seem", "seemed", "feel", "feels", "felt", "somewhat"}
        or words[cue.first] == "bit"
        or (not before and not after.isalpha())
    )


def _sure(words: Sequence[str], cue: Cue) -> bool:
    """As in "I'm sure", "it is not certain", "is sure to": not "make sure", "a certain amount", "they were sure"."""
    head, before, after = _head(words, cue), word_before(words, cue), word_at(words, cue.last + 1)
    if head == "certain" and not {"means", "meaning"}.isdisjoint(words[max(0, cue.first - 6) : cue.first]):
        return False  # "a probability of 1 means that an event is certain" explains
    if before == "," and after == "that":
        leads = words[: cue.first]  # "I slept, certain that it was shut", not "she slept, certain that it was"
        return not SUBJECT.isdisjoint(leads) and OTHERS.isdisjoint(leads)
    leading = word_at(words, index_before(words, cue) - 1)
    if after == "to":
        return head in {"sure", "certain"} and (before in BE - {"be"} or leading == "can")
    if before == "be" and (leading == "to" or not leading.isalpha()):
        return False  # "Be sure that it is shut.", "I want to be sure"
    if before == "and" and head == "confident":
        return "am" in words[: cue.first] and after in _OPENING_A_CLAUSE | {"that"}
    if before not in BE | {"feel", "felt", "", ",", ":", "but", "seem", "seems"}:
        return False
    subject = word_at(words, index_before(words, cue) - 1)
    if before in BE and (subject in OTHERS or (subject == "but" and SUBJECT.isdisjoint(words[: cue.first]))):
        return False  # "they are sure", "somebody else said so but was not sure"
    if head in {"positive", "convinced", "assured", "confident"}:
        return subject in SUBJECT
    if before in BE | {"feel", "felt"}:
        return subject != "there"  # "there are certain times"
    opens = after in _OPENING_A_CLAUSE | WH | {"that", "about", "whether", "but"} or not after.isalpha()
    return opens and cue.first < cue.last  # "Fairly sure it was Rome", not "only certain folders"


def _surely(words: Sequence[str], cue: Cue) -> bool:
    """Whether an adverb is about a claim.

    "Certainly, here it is" only agrees; "clearly" may be a manner and counts only at the start of a clause and after
    "is".
    """
    head, before, after = _head(words, cue), word_at(words, cue.first - 1), word_at(words, cue.last + 1)
    if head in {"certainly", "definitely"} and not cue.first:
        return after not in {",", "!", "."}
    if head not in {"clearly", "obviously"}:
        return True
    if not any(word.isalpha() for word in words[: cue.first]):  # not an instruction: "Clearly define it"
        return after in _OPENING_A_CLAUSE
    if before == "and" and word_at(words, cue.first - 2).endswith("ly"):
        return False  # "slowly and clearly"
    if before == "," and after not in _OPENING_A_CLAUSE:
        return after.endswith("ed")  # "Then, clearly define it"
    return (before in BE | {"", ";", "—", "–", "-", "and", "but"} and words[cue.first] != "not") or after == ","


def _fact(words: Sequence[str], cue: Cue) -> bool:
    """As in "it is clear that", "it is not clear who", "the reason is not clear": not "you are not clear"."""
    leads = words[max(0, cue.first - 4) : cue.first]
    if word_before(words, cue) in {"it", "become", "becomes", "became", "made"}:
        return False  # "make it clear that", "it became clear that"
    if _head(words, cue) == "clear" and words[cue.first] == "not" and word_at(words, cue.last + 1) in _CLOSING:
        return word_before(words, cue) in BE and word_at(words, index_before(words, cue) - 1) not in OTHERS | SUBJECT
    return "it" in leads and within(words, cue.last, WH | {"that", "whether", "if"}) is not None


def _doubt(words: Sequence[str], cue: Cue) -> bool:
    """As in "there is little doubt", "I doubt", "I have doubts"."""
    leads = words[max(0, cue.first - 3) : cue.first]
    return word_before(words, cue) in SUBJECT or "there" in leads or ("i" in leads and "have" in leads)


def _likely(words: Sequence[str], cue: Cue) -> bool:
    """Not "more likely to survive", which compares."""
    after = word_at(words, cue.last + 1)
    if after == "to" and words[cue.first] == "most":  # compares: "clients who are most likely to come"
        return {"who", "that", "which", "what"}.isdisjoint(words[max(0, cue.first - 4) : cue.first])
    if word_at(words, cue.first - 1) == "more":  # "more likely it was Rome", not "the more likely a man is"
        opens = after == "," and word_at(words, cue.first - 2) in {
            "",
            ",",
            "but",
            "or",
        }  # "but more likely, it was Rome"
        compares = (
            not (after.isalpha() or opens) or after in {"to", "than", "for"} or word_at(words, cue.first - 2) == "the"
        )
        return not compares and not _is_made(words, cue)
    if word_at(words, cue.first - 1) in _COMPARING:
        return False
    return _head(words, cue) != "plausible" or _is_predicate(words, cue)


def _possible(words: Sequence[str], cue: Cue) -> bool:
    """As in "it is possible that", not "possible causes", "as soon as possible" or "it is possible to"."""
    if _head(words, cue) not in {"possible", "conceivable"}:
        return True
    leads, after = words[max(0, cue.first - 3) : cue.first], word_at(words, cue.last + 1)
    if words[cue.first] == "not" and not after.isalpha():
        return False  # "Otherwise, it is not possible."
    is_said = "it" in leads and word_before(words, cue) in BE | {"seems", "seem", "seemed"}
    return is_said and after not in {"to", "for", "in", "with", "by", "because", "due"}


def _first_person(words: Sequence[str], cue: Cue) -> bool:
    """As in "I guess", "my guess", "I am guessing"."""
    at = index_before(words, cue)
    return word_at(words, at - 1 if word_at(words, at) == "am" else at) in SUBJECT | {"my", "our"}


def _think(words: Sequence[str], cue: Cue) -> bool:
    """As in "I think", "is thought to": not "they think", "think of", "believe in"."""
    head, before, after = _head(words, cue), word_before(words, cue), word_at(words, cue.last + 1)
    if after in {"of", "in"} or (after == "about" and not word_at(words, cue.last + 2)[:1].isdigit()):
        return False
    if before in SUBJECT and word_at(words, index_before(words, cue) - 1) in {"what", "than"}:
        return False  # "it was later than I thought"
    if head == "assumed" and before not in SUBJECT:
        return False  # what a calculation takes as given
    if head == "imagine" and (after in {"a", "an"} or word_at(words, cue.first - 2) == "as"):
        return False  # a scene, or "as hard as I imagine"
    if head in {"believe", "imagine", "think"} and not {"can", "could"}.isdisjoint(
        words[max(0, cue.first - 2) : cue.last]
    ):
        return False
    if head == "assume" and not {"example", "here", "simplicity"}.isdisjoint(words[: cue.first]):
        return False  # what an example takes as given
    if head == "assuming":
        return word_at(words, cue.first - 1) == "am"
    if head in {"thought", "assumed", "believed"} and before in SUBJECT:
        return True
    if before in BE and "it" in words[max(0, cue.first - 3) : cue.first]:
        return True
    if head.endswith("ed") or head == "thought":
        return before in BE | _REPORTING and after in {
            "to",
            "that",
            "at",
            "by",
        } - {"by"}
    return before == "i" or (before == "we" and head in {"think", "believe", "suspect"})


def _know(words: Sequence[str], cue: Cue) -> bool:
    """As in "I know you are": not "as I know", "let me know"."""
    at = index_before(words, cue)
    return (
        word_at(words, at) == "i"
        and word_at(words, cue.last + 1).isalpha()
        and word_at(words, cue.last + 1) not in {"about", "of"}
        and word_at(words, at - 1) != "did"
        and word_at(words, at - 1)
        not in {
            "as",
            "that",
            "all",
            "what",
            "once",
            "if",
            "when",
            "until",
            "before",
        }
    )


def _wrong(words: Sequence[str], cue: Cue) -> bool:
    """As in "I may be wrong"."""
    leads = words[max(0, cue.first - 4) : cue.first]
    may = not {"might", "could", "may", "not"}.isdisjoint(leads)
    return may and "i" in leads and word_before(words, cue) in {"be", "been"}


def _seem(words: Sequence[str], cue: Cue) -> bool:
    """As in "it seems", "appears to be", "evidence suggests": not "appeared in", "make it seem", "the quote suggests"."""
    head, before = _head(words, cue), word_before(words, cue)
    if head in {"point", "points"}:
        to = word_at(words, cue.last + 1) in {"to", "toward", "towards"}
        return to and before != "data" and (before in _EVIDENCE - _POINTING or _is_evidence(words, cue))
    if head == "seeming":
        return word_at(words, cue.last + 1) == "to"
    if word_at(words, cue.first - 1) == "to" and word_at(words, cue.first - 2) not in _TENDING:
        return False  # "it was used to indicate perfection"
    if head in {"suggesting", "indicating"}:
        return before in _EVIDENCE - _POINTING or (before == "," and _follows(words, cue))
    if head.startswith("appear"):
        return _appears(words, cue, before)
    if head == "suggested" and before == "been" and word_at(words, cue.last + 1) == "as":
        return True  # "a performance has been suggested as a possibility"
    if head in {"suggested", "indicated"} and word_at(words, cue.last + 1) != "that":
        has = not {"have", "has"}.isdisjoint(words[max(0, cue.first - 2) : cue.first])
        return (has and before in _EVIDENCE) or before in {"paper", "study", "research", "evidence", "trial"}
    if head.startswith("suggest"):
        if head == "suggested" and before in BE and "it" in words[max(0, cue.first - 3) : cue.first]:
            return True  # "it has been suggested that"
        if before in {"that", "which"}:  # "a bearing that suggests resolve" is not evidence
            return word_at(words, cue.first - 2) in _EVIDENCE | {","}
        if before == "and":
            earlier = words[max(0, cue.first - 20) : cue.first]
            return word_at(words, cue.last + 1) == "that" and not (_EVIDENCE - _POINTING).isdisjoint(earlier)
        return (
            before in _EVIDENCE
            or _is_evidence(words, cue)
            or _is_measured(words, cue)
            or _suggests_what_may_be(words, cue)
        )
    if head.startswith("indicate"):
        if words[cue.first - 2 : cue.last + 2] == ["it", "can", "indicate", "that"]:
            return True
        return (
            before in _EVIDENCE - _POINTING
            or _is_evidence(words, cue)
            or _is_measured(words, cue)
            or _indicates(words, cue)
        )
    if not {"can", "could"}.isdisjoint(words[max(0, cue.first - 1) : cue.last]):
        return False
    following = words[cue.last + 1 : cue.last + 8]
    return (
        not _is_made(words, cue)
        and ("to", "you") not in pairwise(following)
        and ("to", "them") not in pairwise(following)
    )


def _follows(words: Sequence[str], cue: Cue) -> bool:
    """As in "it is longer, suggesting that it is older": what was said is the evidence; not "she wrote, suggesting that we meet"."""
    before, after = words[: cue.first], word_at(words, cue.last + 1)
    if after in {"a", "an"}:  # evidence of a thing: "rare elements were found, suggesting an origin elsewhere"
        return ("there", "is") in pairwise(before) or not _FOUND.isdisjoint(before)
    if not (OTHERS | SUBJECT).isdisjoint(before):
        return False
    if _head(words, cue) == "suggesting" and after not in {"the", "that"} and not BE.isdisjoint(before[-8:]):
        return True  # "it is of Spanish origin, suggesting roots in Spain"
    return after in {"that", "it", "they", "he", "she"}


def _suggests_what_may_be(words: Sequence[str], cue: Cue) -> bool:
    """As in "the sizes suggest they might be sold in bars": any subject but a person counts as evidence."""
    says = word_at(words, cue.last + 1) in {"it", "they"} and word_at(words, cue.last + 2) in {"may", "might", "could"}
    return says and OTHERS.isdisjoint(words[max(0, cue.first - 4) : cue.first])


def _is_made(words: Sequence[str], cue: Cue) -> bool:
    """As in "makes it seem"."""
    return not {"make", "makes", "making", "made"}.isdisjoint(words[max(0, cue.first - 4) : cue.first])


def _is_measured(words: Sequence[str], cue: Cue) -> bool:
    """As in "a shrinking GDP indicates", "the weight and height indicate": something measured.

    Not "a positive value indicates" nor "this may indicate".
    """
    subject = words[max(0, cue.first - 5) : cue.first]
    return not _MEASURED.isdisjoint(subject) and {"to", "which", "that", "necessarily"}.isdisjoint(subject)


def _indicates(words: Sequence[str], cue: Cue) -> bool:
    """As in "a lower RMS error indicates that": any subject but signs, texts, code and persons."""
    clause = words[max((at + 1 for at in range(cue.first) if words[at] in {",", ";", ":"}), default=0) : cue.first]
    no_evidence = {"that", "which", "it", "to", '"', "“", "”"} | _SAYING | OTHERS | SUBJECT
    return word_at(words, cue.last + 1) == "that" and bool(clause) and no_evidence.isdisjoint(clause)


def _is_evidence(words: Sequence[str], cue: Cue) -> bool:
    """As in "the pattern in the numbers suggests that": evidence at the start of the clause."""
    start = max((at + 1 for at in range(cue.first) if words[at] in {",", ";", ":", "that"}), default=0)
    return not (_EVIDENCE - _POINTING).isdisjoint(words[start : start + 4])


def _appears(words: Sequence[str], cue: Cue, before: str) -> bool:
    """As in "it appears to be": not "mails that appear to be from a bank", "appear smooth"."""
    after = word_at(words, cue.last + 1)
    if _is_made(words, cue) or (before == "it" and after in {"in", "on", "at", "as", "alongside"}):
        return False
    if word_at(words, cue.first - 1) == "can" or (_head(words, cue) == "appear" and before in {"that", "which"}):
        return False
    if after == "that" and before != "it":
        return False  # "a form appears that asks for it"
    likewise = after == "as" and word_at(words, cue.last + 2) in {"if", "though"}
    return after in {"to", "that", "likely", "very"} or before == "it" or likewise


def _chance(words: Sequence[str], cue: Cue) -> bool:
    """As in "there is a good chance that": not "a chance to win"."""
    if any(word[0].isdigit() or word == "in" for word in words[max(0, cue.last - 2) : cue.last]):
        return False  # worked out: "a 7.7% chance", "a one in six chance"
    leads = words[max(0, cue.first - 4) : cue.first]
    is_one = _head(words, cue) == "possibility" and word_before(words, cue) in BE  # "Rome is a possibility"
    return word_at(words, cue.last + 1) != "to" and (is_one or "there" in leads or "be" in leads[-2:])


def _confidence(words: Sequence[str], cue: Cue) -> bool:
    """As in "with little confidence", "I have no certainty": not "with confidence", "I have great confidence in you"."""
    before, after = word_before(words, cue), word_at(words, cue.last + 1)
    leads = words[max(0, cue.first - 5) : cue.first]
    if after == "in" and word_at(words, cue.last + 2) not in {"this", "that", "it", "my"}:
        return False
    own = "i" in leads and "have" in leads and ("not" in leads or cue.first < cue.last)
    return own or (before == "with" and cue.first < cue.last)


def _is_reported(words: Sequence[str], cue: Cue) -> bool:
    impersonal = word_at(words, index_before(words, cue) - 1) == "it"  # "it is reported she was there"
    return word_before(words, cue) in BE | _REPORTING and (impersonal or word_at(words, cue.last + 1) in {"to", "that"})


def _recall(words: Sequence[str], cue: Cue) -> bool:
    """As in "I do not recall", "I recall that", "I recall it being Rome": not "I recall her smile"."""
    about_claim = (
        word_at(words, cue.last + 1) in {"that", "correctly", "reading", "seeing"}
        or "being" in words[cue.last + 1 : cue.last + 5]
    )
    return _first_person(words, cue) and (about_claim or cue.symbol.startswith("neg"))


def _idiom(words: Sequence[str], cue: Cue) -> bool:
    """Fixed phrases that also mean something else: "he said to her", "for certain types", "deepen my understanding"."""
    phrase = " ".join(words[cue.first : cue.last + 1])
    before, after = word_before(words, cue), word_at(words, cue.last + 1)
    if phrase in {"it is said", "it was said"}:
        return after != "by"
    if phrase.endswith("know"):
        return before not in OTHERS
    if phrase in {"not aware", "not informed", "not familiar", "unaware", "unfamiliar"}:
        return before == "am" or (before == ":" and after == "of")  # "The poem: not aware of any."
    if phrase in {"coin toss", "coin flip", "toss up"}:
        return word_at(words, cue.first - 2) in BE  # "it is a coin toss", not the tossing of a coin
    if phrase in {"in theory", "in principle"}:
        return word_at(words, cue.first - 1) not in {"used", "made", "change", "course"}
    if phrase in {"said to", "believed to", "thought to", "bound to"}:
        leads = BE | _REPORTING | {",", ";", "("}
        return before in leads and after not in {"the", "a", "himself", "herself", "her", "him"}
    if phrase in {"for certain", "for sure", "with certainty"}:
        return not after.isalpha() or before == "know"
    if phrase in {"my understanding", "my impression"}:
        return after in {"is", "was", ",", "that"}
    return not phrase.startswith(("looks", "sounds")) or _is_impression(words, cue, before, after)


def _is_impression(words: Sequence[str], cue: Cue, before: str, after: str) -> bool:
    """As in "it looks like you are lost": not "a button that looks like this"."""
    if before == "that" and word_at(words, cue.first - 2).isalpha():
        return False
    return before in {"it", "this", "that", "so", "", '"', "“"} and after not in {"this", ":", ""}


_TESTS: Mapping[str, Callable[[Sequence[str], Cue], bool]] = {
    "sure": _sure,
    "surely": _surely,
    "fact": _fact,
    "unsure": _is_predicate,
    "doubt": _doubt,
    "likely": _likely,
    "unlikely": _stands_alone,
    "possible": _possible,
    "modal": says_what_may_be,
    "guess": _first_person,
    "suspect": _first_person,
    "bet": _first_person,
    "think": _think,
    "know": _know,
    "idea": lambda words, cue: "no" in words[cue.first : cue.last + 1] or "not" in words[cue.first : cue.last + 1],
    "recall": _recall,
    "wrong": _wrong,
    "seem": _seem,
    "hearsay": lambda words, cue: _head(words, cue) != "reported" or _is_reported(words, cue),
    "chance": _chance,
    "confidence": _confidence,
    "certainty": _confidence,
    "idiom": _idiom,
}
"""The test for each class of cue; cues of other classes always count."""
