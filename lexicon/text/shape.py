"""Classifies a sentence and finds where a hedge may go in it; without a tagger, so unsure cases are marked.

The analysis is shallow on purpose. It looks for a finite verb among words that can hardly be anything else, keeps track
of relative clauses, and skips quotations and brackets. Where it finds none, callers use wordings that fit any text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from . import english as w
from .imperatives import instructs
from .language import Grammar, grammar
from .opaque import masked

ShapeKind = Literal["clause", "fragment", "imperative", "question", "none"]

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_FOREIGN_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_STOP = re.compile(r"(?<![.!?…])[.!?…]++(?:\[\^?\d++\])*+$")
_STOP_WITHIN = re.compile(r"[.!?…]['’]?[\"”»“*_)\]]++$")
_ABBREVIATION = re.compile(r"(?:\b[^\W\d_]\.[^\W\d_]\.|\b(?:Jr|Sr|Inc|Ltd|Co|Corp|etc|St|Dr)\.)$")
_POLAR = re.compile(
    r"[*_]{0,3}(?:yes|no|yeah|nope|true|false|correct|neither)\b(?:[*_]*)(?:([,.!;:–—-]+)\s*|\s+[–—-]+\s*)",
    re.IGNORECASE,
)
ANNOUNCES = r"here(?:['’]s| is) (?:the|my|your) (?:\w{1,15} )?(?:answer|result):"
"""A pattern for what announces an answer: "Here's the answer: Canberra." """
_CANNOT = r"(?:i (?:cannot|can['’]t)|i(?: am|['’]m) (?:not |un)able to)"
_DISCLAIMER = (
    rf"(?:as an? (?:ai|artificial intelligence|(?:large )?language model)\b[^.,;:!?]{{0,40}}, (?:{_CANNOT}|i (?:do not|don['’]t)|i(?: am|['’]m) not)\b|"
    rf"(?:i (?:do not|don['’]t) have (?:[\w-]{{1,20}} ){{0,3}}(?:access|information|data|details|knowledge|updates|opinions?|beliefs?|preferences?)|{_CANNOT} (?:access|browse|predict|search))\b)"
    r"[^.;:!?]{0,160}?, but(?: to answer (?:the|your) question,)?"
)
"""A pattern for what a machine says of itself before it answers: "I don't have access to real-time information, but X." """
_DISCLAIMED = re.compile(rf"{_DISCLAIMER}\s+", re.IGNORECASE)
_CONNECTIVE = re.compile(
    rf"{_DISCLAIMER}\s+|"
    r"(?:(?:(?:so|and|but),? )?(?:however|moreover|furthermore|additionally|in addition|for (?:example|instance)|instead|in contrast|by contrast|finally|lastly|firstly|secondly|thirdly|overall|in fact|"
    r"in short|to answer (?:the|your) question|in conclusion|in summary|as a result|on the other hand|that said|nevertheless|still|then|also),|"
    r"(?:that(?:['’]s| is) (?:easy|simple|straightforward|an easy one)|hm+|um+|uh+|well|sure|okay)[,:;…–—-]+|"
    rf"{ANNOUNCES}|"
    r"(?:so|but|and|yet|thus|hence|therefore),?)\s+",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(?:\*\*|__)?[^.:!?\n]{1,80}(?<!\s\w\s):(?:\*\*|__)?[ \t]+")
_OPENS_SINGLE = re.compile(r"(?:^|\s)['‘](?!s\b)[^'’]*$")
_FORBIDS = re.compile(r"(?:do not|don['’]t|never|avoid)\b", re.IGNORECASE)
"""The part of a warning before its colon: "Do not mix them: the fumes kill." """
_INTRODUCTION = re.compile(
    r"(?:in|on|at|by|during|after|before|since|according|as|for|to(?!\b[^,;:]*\b(?:is|means|involves|requires)\b)|from|with|under|based|despite|throughout|among|if|when|while|"
    r"because|although|though|unless|once|until|had|should)\b[^,;:]*,\s+",
    re.IGNORECASE,
)
_HOW_TO = re.compile(
    r"^\W*(?:how (?:(?:can|could|do|should|would) (?:i|you|we|one)|to)\b|what (?:should|can|could)\b)", re.IGNORECASE
)
_CONTRACTED = re.compile(r"(?:i|he|she|it|they|we|you|that|there|who|what|here|this)'(?:s|re|m|ve|ll|d)")


@dataclass(frozen=True, slots=True)
class Shape:
    """A sentence split into parts; head + body + end is the sentence.

    Attributes:
        kind: clause (a finite verb was found), fragment (none was), imperative, question, none (no words).
        head: an introductory word ("Yes, ", "However, "); else "". A lone "Yes" is a fragment without a head.
        body: the part that a hedge is put into or before.
        end: the closing punctuation.
        stopped: whether the sentence ends with a full stop, in `end` or within the body ('... said "Stop."').
        adverb_at: offset in `body` where an adverb may go; None if no place is safe.
        unsure: True for a fragment that may be a clause with an unknown verb.
    """

    kind: ShapeKind
    head: str
    body: str
    end: str
    stopped: bool
    adverb_at: int | None = None
    unsure: bool = False


_BARE_FIRST = re.compile(r"[$€£]?\d[\d.,]*(?: [a-z]+)?, (?:but|although|though|which|and)\b")
_CONDITION = re.compile(
    r"(?:(?:so|then|and|but|thus|now),? )?(?:if|when|suppose|given that|assuming|since)\b", re.IGNORECASE
)


_NOBODY = re.compile(r"(?:^|, )(?i:neither\b|(?:none|nobody|nothing|no one|no|few)(?= (?-i:[a-z])))")
"""A subject that denies the rest of the sentence: only a hedge before it has all of the claim in its scope."""


def shape(sentence: str, question: str = "", language: str = "en") -> Shape:
    """Split and classify a sentence.

    The question helps to tell advice ("Diversify your investments.") from names.
    """
    body, end, stopped = _end(sentence)
    if not re.search(r"\w", body):
        return Shape("none", "", body, end, stopped)
    if "?" in end or body.rstrip("*_").endswith("?"):
        return Shape("question", "", body, end, stopped)
    head = leading(body, language)
    body = body[len(head) :]
    if language != "en":
        kind, position = _find_foreign_verb(body, grammar(language))
        return Shape(
            kind, head, body, end, stopped, position, kind == "fragment" and len(_FOREIGN_WORD.findall(body)) > 3
        )
    opened = body[:1].upper() + body[1:]  # same result with and without a hedge before it
    kind, position = _find_verb(opened)
    if _BARE_FIRST.match(body):
        kind, position = "fragment", None  # "1936, but another march was in 1636"
    if position is not None and _CONDITION.match(opened) and (opened.count(",") > 1 or "then" in opened[position:]):
        position = None  # the verb may belong to the condition
    if position is not None and (nobody := _NOBODY.search(opened)) is not None and nobody.start() < position:
        position = None  # "Nobody possibly won" does not mean that possibly nobody won
    unsure = kind == "fragment" and _may_have_verb(opened)
    if unsure and _HOW_TO.match(question):
        kind = "imperative"
    return Shape(kind, head, body, end, stopped, position, unsure)


def label_end(sentence: str) -> int:
    """Length of a label before the answer ("Answer: ", "**Capital:** "); 0 if there is none.

    Text before a colon is a label if it is short and has no verb of its own.
    """
    match = _LABEL.match(sentence)
    if match is None or not re.search(r"\w", sentence[match.end() :]) or _is_open(match.group()):
        return 0
    label = match.group().strip("*: \t")
    if _FORBIDS.match(label):
        return 0
    asks = (label.split() or [""])[0].lower() in w.RELATIVISERS | w.AUXILIARIES
    return match.end() if asks or _find_verb(label)[0] == "fragment" else 0


def _is_open(text: str) -> bool:
    """Whether a position is inside a bracket or quotation that the text does not close before it."""
    return (
        text.count("(") != text.count(")")
        or text.count('"') % 2 == 1
        or text.count("“") != text.count("”")
        or bool(_OPENS_SINGLE.search(text))
    )


def _end(sentence: str) -> tuple[str, str, bool]:
    """(body, closing punctuation, whether there is a full stop)."""
    if stop := _STOP.search(sentence):
        if stop.group() == "." and ends_with_abbreviation(sentence):
            return sentence, "", True
        return sentence[: stop.start()].rstrip(), stop.group(), True
    return sentence, "", bool(_STOP_WITHIN.search(sentence))


def ends_with_abbreviation(sentence: str) -> bool:
    """Whether the last full stop belongs to an abbreviation ("etc.", "U.S.")."""
    return bool(_ABBREVIATION.search(sentence[-24:]))


def without_disclaimer(sentence: str) -> str:
    """An English sentence without what a machine says of itself before it answers.

    >>> without_disclaimer("I don't have real-time data, but Tim Cook is the CEO of Apple.")
    'Tim Cook is the CEO of Apple.'
    """
    disclaimer = _DISCLAIMED.match(sentence)
    return sentence[disclaimer.end() :] if disclaimer else sentence


def leading(body: str, language: str = "en") -> str:
    """The introductory word of a sentence: "Yes, ", "However, "; "" if there is none."""
    match = _POLAR.match(body) or _CONNECTIVE.match(body) if language == "en" else grammar(language).polar.match(body)
    return match.group() if match and re.search(r"\w", body[match.end() :]) else ""


def _may_have_verb(body: str) -> bool:
    """Whether a longer fragment has a word that may be a verb ("Einstein flunked maths", "new crust forms there")."""
    tokens = _WORD.findall(masked(body))
    if len(tokens) < 3 or tokens[0].lower() in w.PREPOSITIONS | w.RELATIVISERS:
        return False
    return any(t[0].islower() and t.endswith(("s", "ed")) and t not in w.PREPOSITIONS for t in tokens[1:])


def _find_verb(body: str) -> tuple[ShapeKind, int | None]:
    """The kind of the body and the place for an adverb."""
    text = masked(body)
    introduction = _INTRODUCTION.match(text)
    offset = introduction.end() if introduction else 0
    tokens = list(_WORD.finditer(text, offset))
    if not tokens:
        return "fragment", None
    first = tokens[0].group().lower()
    if not introduction and first in w.RELATIVISERS - {"that"}:
        return "fragment", None
    if not introduction and instructs(text):
        return "imperative", None
    pending = 0
    for i, token in enumerate(tokens):
        lower = token.group().lower().replace("’", "'")
        if (i or introduction) and _opens_clause(tokens, i, lower):  # "According to the Gini index, which is ..."
            pending += not _has_unknown_verb(tokens, i)
            continue
        if _in_contact_clause(text, tokens, i):
            continue
        verb = _verb_at(tokens, i, lower, bool(introduction))
        if verb is not None and pending == 0:
            compares = i == len(tokens) - 1 and any(t.group() == "than" for t in tokens[:i])  # "... than dogs do"
            return "clause", None if compares or verb.adverb_at is None else _skip_space(text, verb.adverb_at)
        pending -= verb is not None
    return "fragment", None


def _find_foreign_verb(body: str, rules: Grammar) -> tuple[ShapeKind, int | None]:
    """The first finite verb of the list; a place for an adverb only if no other clause was opened before it."""
    text = masked(body)
    tokens = list(_FOREIGN_WORD.finditer(text))
    comma = text.find(",")
    opened = False
    for i, token in enumerate(tokens):
        lower = token.group().lower().replace("’", "'")
        if lower in rules.finite and (token.start() or "'" in lower or lower in rules.opening):
            after = i + 1 if i + 1 < len(tokens) and tokens[i + 1].group() in rules.subjects else i
            return "clause", None if opened else _skip_space(text, tokens[after].end())
        if i == 0 and lower in rules.relativisers:
            return "fragment", None
        opened |= lower in rules.relativisers or 0 <= comma < token.start()
    return "fragment", None


def _word(tokens: list[re.Match[str]], i: int) -> str:
    return tokens[i].group().lower().replace("’", "'") if 0 <= i < len(tokens) else ""


def _in_contact_clause(text: str, tokens: list[re.Match[str]], i: int) -> bool:
    """Whether a verb follows a pronoun directly after a noun ("the character you are referring to")."""
    if i < 2 or _word(tokens, i - 1) not in _PERSONS or tokens[i - 2].group()[0].isupper():
        return False
    before = _word(tokens, i - 2)
    between = text[tokens[i - 2].end() : tokens[i - 1].start()].strip()
    return (
        not between
        and before not in w.RELATIVISERS | w.CONJUNCTIVE_PREPOSITIONS | _JOINING
        and not before.endswith("ly")
    )


_PERSONS = frozenset({"i", "you", "he", "she", "we", "they"})
_JOINING = frozenset(
    {
        "and",
        "but",
        "or",
        "so",
        "then",
        "thus",
        "therefore",
        "yet",
        "for",
        "also",
        "today",
        "yesterday",
        "now",
        "here",
        "later",
        "soon",
    }
)


def _opens_clause(tokens: list[re.Match[str]], i: int, lower: str) -> bool:
    if lower in w.RELATIVISERS:
        return True
    return lower in w.CONJUNCTIVE_PREPOSITIONS and _word(tokens, i + 1) in w.SUBJECT_PRONOUNS


def _has_unknown_verb(tokens: list[re.Match[str]], i: int) -> bool:
    """Whether the clause opened at i has a verb, judged by its position alone ("that only eats", "which we drink")."""
    after = i + 1
    while _word(tokens, after) in w.ADVERBS or _word(tokens, after).endswith("ly"):
        after += 1
    if _word(tokens, after) in w.SUBJECT_PRONOUNS:
        after += 1
    verb = _word(tokens, after)
    known = verb in w.AUXILIARIES | w.FINITE_VERBS
    return not known and verb.endswith(("s", "ed")) and after < len(tokens) and tokens[after].group()[0].islower()


@dataclass(frozen=True, slots=True)
class _Verb:
    """A finite verb and the place for an adverb beside it; None if no place is safe."""

    adverb_at: int | None


def _verb_at(tokens: list[re.Match[str]], i: int, lower: str, introduced: bool) -> _Verb | None:
    """Token i as a finite verb; None if it is hardly one."""
    token, previous = tokens[i], _word(tokens, i - 1)
    small = token.group()[0].islower()
    if _CONTRACTED.fullmatch(lower) and (i == 0 or small):
        return _Verb(token.end())
    if i == 0 or not small or token.string[token.start() - 1] in "-'’":  # "co-wrote", "I 'd"
        return None
    if lower in w.AUXILIARIES:
        return _auxiliary(token, lower, _word(tokens, i + 1))
    if i == 1 and previous in w.CERTAIN_SUBJECTS and not lower.endswith("ly") and lower not in w.ADVERBS:
        return _Verb(None if introduced else token.start())
    following = _word(tokens, i + 1)
    if lower in w.PRESENT_VERBS and (
        i + 1 == len(tokens) or f"{following}s" in w.PRESENT_VERBS or following in w.AUXILIARIES
    ):
        return None  # "judicial functions", "red stars appear", "these higher costs are"
    if (
        lower in w.PRESENT_VERBS
        and not lower.endswith("s")
        and not (previous.endswith("s") or previous in w.SUBJECT_PRONOUNS)
    ):
        return None  # "the television show", but "bones contain"
    if _describes(tokens, i, lower, following):
        return None
    if lower in w.FINITE_VERBS and previous not in w.DETERMINERS | w.PREPOSITIONS | {"and", "or"} | w.BE:
        return _Verb(None if _may_be_participle(tokens, i, lower) else token.start())
    past = lower.endswith("ed") and len(lower) > 4 and i + 1 < len(tokens) and _after_subject(tokens, i)
    return _Verb(None) if past else None


def _describes(tokens: list[re.Match[str]], i: int, lower: str, following: str) -> bool:
    """Whether a participle describes a noun: "integers entered by the user", "the film, directed by Lee, ..."."""
    if not (lower.endswith("ed") or lower in w.PARTICIPLES):
        return False
    between = tokens[i].string[tokens[i - 1].end() : tokens[i].start()]
    return following == "by" or ("," in between and following in w.PREPOSITIONS)


def _may_be_participle(tokens: list[re.Match[str]], i: int, lower: str) -> bool:
    """Whether another verb follows in the same clause, as in "the character portrayed in Dune is"."""
    if not (lower.endswith("ed") or lower in w.PARTICIPLES):
        return False
    for j in range(i + 1, len(tokens)):
        word, between = _word(tokens, j), tokens[j].string[tokens[j - 1].end() : tokens[j].start()]
        if between.strip("*_ 0123456789") or word in w.RELATIVISERS | w.CONJUNCTIVE_PREPOSITIONS | {"and", "but", "or"}:
            return False
        if word in w.AUXILIARIES or (
            word in w.FINITE_VERBS and _word(tokens, j - 1) not in w.DETERMINERS | w.PREPOSITIONS
        ):
            return True
    return False


def _auxiliary(token: re.Match[str], lower: str, following: str) -> _Verb:
    """The place for an adverb at an auxiliary.

    After it; but before "do", a negated auxiliary, and "have" as a main verb.
    """
    before = lower in w.DO or lower == "cannot" or lower.endswith("n't")
    perfect = following in w.PARTICIPLES or following.endswith("ed") or following in w.ADVERBS | {"not"}
    return _Verb(token.start() if before or (lower in w.HAVE and not perfect) else token.end())


def _after_subject(tokens: list[re.Match[str]], i: int) -> bool:
    """Whether an "-ed" word is probably a past tense: directly after a name or a plural, and before more words."""
    previous = tokens[i - 1].group()
    if previous.lower() in w.ADVERBS | w.DETERMINERS or previous.endswith("ly"):
        return False
    return (previous[0].isupper() or previous.endswith("s")) and _word(tokens, i + 1) not in w.PREPOSITIONS - {
        "in",
        "on",
        "at",
    }


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] == " ":
        position += 1
    return position
