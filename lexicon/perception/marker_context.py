"""What stands around a cue: whether it says how sure the writer is. "It may be Rome" does; "you may begin", "a possible cause" and "they believe" do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from hedgerow.lexicon.perception.cues import Cue
from hedgerow.lexicon.text.words import word_set

BE = word_set("am is are was were be been being remains remain remained")
SUBJECT = word_set("i we")
_OTHERS = word_set("you they he she who")
_MODIFIERS = word_set(
    "not also even still very quite fairly really only just about honestly personally strongly truly firmly do did would will can have always"
)
_COMPARING = word_set("more less equally as how")
_EVIDENCE = word_set("evidence information biographies accounts research study studies data records record reports report sources source statistics stats findings results history literature experts analysis analyses survey surveys symptoms pattern patterns mismatch correlation trends observations tests experiments theory theories estimates calculations this these it that which")  # fmt: skip
_POINTING = word_set("this these it that which")
_ASKED_FOR = word_set(
    "answer answers information details data figures price updates estimate date name number diagnosis value response context assessment explanation description calculation source sources record records formula"
)
KNOWING = word_set("information context knowledge access data details record records memory recollection awareness")
TELLING = word_set(
    "answer determine confirm verify say tell know recall remember identify ascertain predict pinpoint deduce infer assess diagnose guarantee conclude calculate describe guess specify name state"
)
_KNOWN = word_set("determined known confirmed verified ascertained predicted answered guaranteed")
_HARD_TO = word_set("answer determine say tell know predict pinpoint assess judge")
GIVING = word_set("provide give offer find")
NOT_KNOWING = (
    KNOWING
    | TELLING
    | GIVING
    | _KNOWN
    | _HARD_TO
    | word_set("can could not unable able hard difficult impossible possible to have be")
)
"""What stands in the name of a marker by which the writer does not know: "not have information", whatever information it is."""
_WANTING = word_set("want wish like prefer choose begin proceed verify assume note")
_BEFALLING = word_set(
    "need have be not experience face find see encounter notice feel still even get lose miss receive wonder end run require already never always qualify owe know enjoy"
)
"""What "you may" without choosing it; with any other verb "you may" permits or advises."""
_DERIVED = word_set("solved shown written rewritten expressed obtained derived computed factored simplified")
"""What "may be" done with a formula, always."""
_PAST = word_set(
    "was were had did knew felt said told thought saw became came went found took began seemed looked gave kept stood heard wondered wished"
)
_OBLIQUE = word_set("has have if would may might to is are be being can")
"""Beside which a past form is no past: "if it had been", "has had", "can be found"."""
_ASKING = word_set("so than if until once wish wished hoping wondering")
"""Before "could" of an ability or a request: "I was hoping you could"."""
_THINGS = word_set("functions instrument instruments tools features devices software capabilities internet personal")
"""What somebody has no access to without lacking knowledge."""
_REPORTING = word_set("last widely generally commonly often currently now sometimes usually long")
_ABLE = word_set("feel hear sense smell see taste afford")
"""What somebody "could" do rather than what may be: "I could feel it"."""
_SKIPPED = word_set('also even then ( * _ ` " “ ‘')
"""Between a modal and its verb."""
_OPENING_A_CLAUSE = word_set(
    ", the this that these those it he she they we i you there a an every each no not if in some my his her their our its"
)
_WH = word_set("how why what where who when")
_FAR = 5
"""Words after "cannot provide" or "do not have" within which its object is looked for."""


def _word(words: Sequence[str], index: int) -> str:
    return words[index] if 0 <= index < len(words) else ""


def _before(words: Sequence[str], cue: Cue) -> str:
    """The word before a cue and its adverbs."""
    return _word(words, _index_before(words, cue))


def _index_before(words: Sequence[str], cue: Cue) -> int:
    index = cue.first - 1
    while index >= 0 and (words[index] in _MODIFIERS or words[index].endswith("%")):
        index -= 1
    return index


def counts(words: Sequence[str], cue: Cue) -> bool:
    """Whether a cue says how sure the writer is."""
    test = _TESTS.get(cue.base)
    return test is None or test(words, cue)


def _head(words: Sequence[str], cue: Cue) -> str:
    return words[cue.last]


def _is_predicate(words: Sequence[str], cue: Cue) -> bool:
    """As in "it is doubtful", "unsure whether": not "a doubtful person", "if you are unsure"."""
    at = _index_before(words, cue)
    if _word(words, at) in BE and _word(words, at - 1) in _OTHERS:
        return False
    return _stands_alone(words, cue)


def _stands_alone(words: Sequence[str], cue: Cue) -> bool:
    """After a form of "be", at the head of a clause, or before what it is said of."""
    before, after = _before(words, cue), _word(words, cue.last + 1)
    if before == "," and not _OTHERS.isdisjoint(words[: cue.first]):
        return False  # "she wandered on, unsure of what was real"
    if after in {"to", "that", "whether", "if"}:
        return True
    return before in BE | {",", "(", "seems", "seem", "seemed", "feel", "feels", "felt"} or (
        not before and not after.isalpha()
    )


def _sure(words: Sequence[str], cue: Cue) -> bool:
    """As in "I'm sure", "it is not certain", "is sure to": not "make sure", "a certain amount", "they were sure"."""
    head, before, after = _head(words, cue), _before(words, cue), _word(words, cue.last + 1)
    if after == "to":
        return head in {"sure", "certain"} and before in BE - {"be"}
    leading = _word(words, _index_before(words, cue) - 1)
    if before == "be" and (leading == "to" or not leading.isalpha()):
        return False  # "Be sure that it is shut.", "I want to be sure"
    if before == "and" and head == "confident":
        return "am" in words[: cue.first] and after in _OPENING_A_CLAUSE | {"that"}
    if before not in BE | {"feel", "felt", "", ",", "but", "seem", "seems"}:
        return False
    subject = _word(words, _index_before(words, cue) - 1)
    if before in BE and subject in _OTHERS:
        return False
    if head in {"positive", "convinced", "assured", "confident"}:
        return subject in SUBJECT
    if before in BE | {"feel", "felt"}:
        return True
    opens = after in _OPENING_A_CLAUSE | {"that", "about", "whether"} or not after.isalpha()
    return opens and cue.first < cue.last  # "Fairly sure it was Rome", not "only certain folders"


def _surely(words: Sequence[str], cue: Cue) -> bool:
    """Whether it is said of a claim: "Certainly, here it is" agrees; "clearly" is also a manner, and counts at the head of a clause and after "is"."""
    head, before, after = _head(words, cue), _word(words, cue.first - 1), _word(words, cue.last + 1)
    if head in {"certainly", "definitely"} and not cue.first:
        return after not in {",", "!", "."}
    if head not in {"clearly", "obviously"}:
        return True
    if not cue.first:  # not an instruction: "Clearly define it"
        return after in _OPENING_A_CLAUSE
    if before == "and" and _word(words, cue.first - 2).endswith("ly"):
        return False  # "slowly and clearly"
    if before == "," and after not in _OPENING_A_CLAUSE:
        return after.endswith("ed")  # "Then, clearly define it"
    return (before in BE | {"", ";", "—", "–", "-", "and", "but"} and words[cue.first] != "not") or after == ","


def _fact(words: Sequence[str], cue: Cue) -> bool:
    """As in "it is clear that", "it is not clear who"."""
    leads = words[max(0, cue.first - 4) : cue.first]
    return "it" in leads and _within(words, cue.last, _WH | {"that", "whether", "if"}) is not None


def _doubt(words: Sequence[str], cue: Cue) -> bool:
    """As in "there is little doubt", "I doubt"."""
    return _before(words, cue) in SUBJECT or "there" in words[max(0, cue.first - 3) : cue.first]


def _likely(words: Sequence[str], cue: Cue) -> bool:
    """Not "more likely to survive", which compares."""
    if _word(words, cue.last + 1) == "to" and _word(words, cue.first - 2) in {"who", "that", "which"}:
        return words[cue.first] != "most"  # compares: "clients who are most likely to come"
    return _word(words, cue.first - 1) not in _COMPARING and (
        _head(words, cue) != "plausible" or _is_predicate(words, cue)
    )


def _possible(words: Sequence[str], cue: Cue) -> bool:
    """As in "it is possible that", not "possible causes", "as soon as possible" or "it is possible to"."""
    if _head(words, cue) not in {"possible", "conceivable"}:
        return True
    leads, after = words[max(0, cue.first - 3) : cue.first], _word(words, cue.last + 1)
    if words[cue.first] == "not" and not after.isalpha():
        return False  # "Otherwise, it is not possible."
    is_said = "it" in leads and _before(words, cue) in BE | {"seems", "seem", "seemed"}
    return is_said and after not in {"to", "for", "in", "with", "by", "because", "due"}


def _modal(words: Sequence[str], cue: Cue) -> bool:
    """As in "it may be": not "you may want to", "May I", "could you", "he could not read"."""
    head, before = _head(words, cue), _word(words, cue.first - 1)
    after = next((word for word in words[cue.last + 1 : cue.last + 4] if word not in _SKIPPED), "")
    if not after.isalpha() or (words[-1] == "?" and words[0] in _WH | {"which"}):
        return False
    if after == "look" and "what" in words[max(0, cue.first - 4) : cue.first]:
        return False
    if not cue.first:
        return after == "be"
    if after in _WANTING and before in {"you", "we", "one", "i"} and head != "could":
        return False
    if head == "may":
        return not _is_permitted(words, cue, before, after)
    if head == "might":
        advice = before in {"you", "we", "one"} and _word(words, cue.first - 2) in _WH
        return not advice and words[cue.last + 1 : cue.last + 3] != ["as", "well"]
    return _is_possibility(words, cue, before, after)


def _is_permitted(words: Sequence[str], cue: Cue, before: str, after: str) -> bool:
    """As in "you may begin", "we may write", "it may be shown that"."""
    if before in {"you", "we", "one"}:
        return after not in _BEFALLING
    return after == "be" and not _DERIVED.isdisjoint(words[cue.last + 2 : cue.last + 4])


def _is_possibility(words: Sequence[str], cue: Cue, before: str, after: str) -> bool:
    """Whether "could" says what may be, and not what somebody was able to do or is asked for."""
    if before in {"he", "she"} and after not in {"be", "have", "potentially", "possibly"}:
        return False
    return not (
        before in _WH | {"if", "so", "wish"}
        or (before in {"you", "we", "one", "i"} and _word(words, cue.first - 2) in _WH)
        or (before == "i" and after in GIVING | {"suggest", "help", "create"})
        or not _ASKING.isdisjoint(words[max(0, cue.first - 4) : cue.first])
        or after in _ABLE | {"you", "i", "we", "no", "hardly", "barely", "never", "only", "please"}
        or (after == "not" and _word(words, cue.last + 2) != "have")
        or (_is_past(words[: cue.first]) and not _is_about(words, cue))
    )


def _is_past(words: Sequence[str]) -> bool:
    """Whether what stands before "could" tells of the past: then it says what somebody was able to do."""
    return any(
        (word in _PAST or (word.endswith("ed") and words[at - 1] in _OTHERS | SUBJECT | {"it"}))
        and _OBLIQUE.isdisjoint(words[max(0, at - 4) : at + 2])
        for at, word in enumerate(words)
        if at
    )


def _is_about(words: Sequence[str], cue: Cue) -> bool:
    """As in "could have been", "could be an opportunity": not "could be seen"."""
    after = next((at for at in range(cue.last + 1, cue.last + 4) if _word(words, at) in {"have", "be"}), None)
    return after is not None and not (words[after] == "be" and _word(words, after + 1).endswith(("ed", "en")))


def _first_person(words: Sequence[str], cue: Cue) -> bool:
    return _before(words, cue) in SUBJECT | {"my", "our"}


def _think(words: Sequence[str], cue: Cue) -> bool:
    """As in "I think", "is thought to": not "they think", "think of", "believe in"."""
    head, before, after = _head(words, cue), _before(words, cue), _word(words, cue.last + 1)
    if after in {"of", "about", "in"}:
        return False
    if head == "assumed" and before not in SUBJECT:
        return False  # what a calculation takes as given
    if head == "imagine" and after in {"a", "an"}:
        return False  # a scene
    if head in {"believe", "imagine", "think"} and not {"can", "could"}.isdisjoint(
        words[max(0, cue.first - 2) : cue.last]
    ):
        return False
    if head == "assuming":
        return _word(words, cue.first - 1) == "am"
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
    at = _index_before(words, cue)
    return (
        _word(words, at) == "i"
        and _word(words, cue.last + 1).isalpha()
        and _word(words, at - 1) != "did"
        and _word(words, at - 1)
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
    return "i" in leads and not {"might", "could", "may", "not"}.isdisjoint(leads)


def _seem(words: Sequence[str], cue: Cue) -> bool:
    """As in "it seems", "appears to be", "evidence suggests": not "appeared in", "make it seem", "the quote suggests"."""
    head, before = _head(words, cue), _before(words, cue)
    if head.startswith("appear"):
        return _appears(words, cue, before)
    if head in {"suggested", "indicated"} and _word(words, cue.last + 1) != "that":
        return not {"have", "has"}.isdisjoint(words[max(0, cue.first - 2) : cue.first]) and before in _EVIDENCE
    if head.startswith("suggest"):
        if before in {"that", "which"}:  # "a bearing that suggests resolve" is not evidence
            return _word(words, cue.first - 2) in _EVIDENCE | {","}
        if before == "and":
            earlier = words[max(0, cue.first - 20) : cue.first]
            return _word(words, cue.last + 1) == "that" and not (_EVIDENCE - _POINTING).isdisjoint(earlier)
        return before in _EVIDENCE or _is_evidence(words, cue)
    if head.startswith("indicate"):
        return before in _EVIDENCE - _POINTING or _is_evidence(words, cue)
    if not head.startswith("seem") or head == "seemingly":
        return True
    if not {"can", "could"}.isdisjoint(words[max(0, cue.first - 1) : cue.last]):
        return False
    following = words[cue.last + 1 : cue.last + 8]
    return (
        not _is_made(words, cue)
        and ("to", "you") not in pairwise(following)
        and ("to", "them") not in pairwise(following)
    )


def _is_made(words: Sequence[str], cue: Cue) -> bool:
    """As in "makes it seem"."""
    return not {"make", "makes", "making", "made"}.isdisjoint(words[max(0, cue.first - 4) : cue.first])


def _is_evidence(words: Sequence[str], cue: Cue) -> bool:
    """As in "the pattern in the numbers suggests that": evidence heads the clause."""
    start = max((at + 1 for at in range(cue.first) if words[at] in {",", ";", ":", "that"}), default=0)
    return not (_EVIDENCE - _POINTING).isdisjoint(words[start : start + 4])


def _appears(words: Sequence[str], cue: Cue, before: str) -> bool:
    """As in "it appears to be": not "mails that appear to be from a bank", "appear smooth"."""
    after = _word(words, cue.last + 1)
    if _is_made(words, cue) or (before == "it" and after in {"in", "on", "at", "as", "alongside"}):
        return False
    if _word(words, cue.first - 1) == "can" or (_head(words, cue) == "appear" and before in {"that", "which"}):
        return False
    if after == "that" and before != "it":
        return False  # "a form appears that asks for it"
    likewise = after == "as" and _word(words, cue.last + 2) in {"if", "though"}
    return after in {"to", "that", "likely", "very"} or before == "it" or likewise


def _chance(words: Sequence[str], cue: Cue) -> bool:
    """As in "there is a good chance that": not "a chance to win"."""
    if any(word[0].isdigit() or word == "in" for word in words[max(0, cue.last - 2) : cue.last]):
        return False  # worked out: "a 7.7% chance", "a one in six chance"
    leads = words[max(0, cue.first - 4) : cue.first]
    return _word(words, cue.last + 1) != "to" and ("there" in leads or "be" in leads[-2:])


def _is_reported(words: Sequence[str], cue: Cue) -> bool:
    return _before(words, cue) in BE | _REPORTING and _word(words, cue.last + 1) in {"to", "that"}


def _recall(words: Sequence[str], cue: Cue) -> bool:
    return _first_person(words, cue) and (
        cue.symbol.startswith("neg") or _word(words, cue.last + 1) in {"that", "correctly"}
    )


def _idiom(words: Sequence[str], cue: Cue) -> bool:
    """Fixed phrases that also mean something else: "he said to her", "for certain types", "deepen my understanding"."""
    phrase = " ".join(words[cue.first : cue.last + 1])
    before, after = _before(words, cue), _word(words, cue.last + 1)
    if phrase.endswith("know"):
        return before not in _OTHERS
    if phrase == "not aware":
        return before in {"am"}
    if phrase in {"coin toss", "coin flip", "toss up"}:
        return _word(words, cue.first - 2) in BE  # "it is a coin toss", not the tossing of a coin
    if phrase in {"in theory", "in principle"}:
        return _word(words, cue.first - 1) not in {"used", "made", "change", "course"}
    if phrase in {"said to", "believed to", "thought to", "bound to"}:
        return before in BE | _REPORTING | {","} and after not in {"the", "a", "himself", "herself", "her", "him"}
    if phrase in {"for certain", "for sure", "with certainty"}:
        return not after.isalpha()
    if phrase in {"my understanding", "my impression"}:
        return after in {"is", "was", ",", "that"}
    return not phrase.startswith(("looks", "sounds")) or _is_impression(words, cue, before, after)


def _is_impression(words: Sequence[str], cue: Cue, before: str, after: str) -> bool:
    """As in "it looks like you are lost": not "a button that looks like this"."""
    if before == "that" and _word(words, cue.first - 2).isalpha():
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
    "modal": _modal,
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
    "confidence": _chance,
    "idiom": _idiom,
}
"""By class of cue; a class that is missing always counts."""


def not_knowing(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """As in "I do not have enough information", "I cannot provide an accurate answer", "it is hard to say": token ranges."""
    for index, word in enumerate(words):
        if word in TELLING or word in GIVING or word in _HARD_TO:
            start = _inability(words, index)
            if start is not None and (word not in GIVING or _within(words, index, _ASKED_FOR)):
                yield start, index
        elif word in _KNOWN and words[max(0, index - 3) : index] == ["can", "not", "be"]:
            yield index - 3, index
        elif word == "have" and _word(words, index - 1) == "not":
            own = not SUBJECT.isdisjoint(words[max(0, index - 5) : index])
            end = _within(words, index, KNOWING) if own else None
            if end is not None and words[end - 1] != "to" and _THINGS.isdisjoint(words[end - 1 : end + 5]):
                yield index - 1, end


def _inability(words: Sequence[str], index: int) -> int | None:
    """Where "cannot", "unable to", "hard to" or "not possible to" begins before a verb and its adverb, None where nothing of the kind does."""
    verb, to = words[index], index - 1
    if words[to].endswith("ly"):
        to -= 1
    before = words[max(0, to - 1) : to + 1]
    own = not (SUBJECT | {"one"}).isdisjoint(words[max(0, to - 4) : to])
    if before in (["can", "not"], ["could", "not"], ["unable", "to"]) and (verb in TELLING or verb in GIVING):
        joined = "i" in words[:to] and _word(words, to - 2) in {"thus", "and", "so", "therefore", "but", "or"}
        return to - 1 if own or joined else None
    if _word(words, to) != "to":
        return None
    if before in (["hard", "to"], ["difficult", "to"]):
        easy = _word(words, to - 2) not in BE | {"very", "quite", "so", "bit"}
        return None if easy or verb not in _HARD_TO | GIVING else to - 1
    return next((at for at in range(max(0, to - 5), to) if _is_impossible(words, at)), None)


def _is_impossible(words: Sequence[str], at: int) -> bool:
    if words[at : at + 2] == ["not", "have"]:
        return words[at + 2] in {"the", "any"} and "know" in words[at + 3 : at + 6]  # "the ability to know"
    return words[at] == "impossible" or words[at : at + 2] in (["not", "possible"], ["not", "able"])


def _within(words: Sequence[str], index: int, wanted: frozenset[str]) -> int | None:
    """The index of the first wanted word among the next ones of the clause."""
    for at in range(index + 1, min(index + 1 + _FAR, len(words))):
        if words[at] in wanted:
            return at
        if words[at] in {",", ".", ";"}:
            return None
    return None
