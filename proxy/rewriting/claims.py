"""Decides whether an English sentence is a claim: a statement that is right or wrong.

A claim is about the world and in the answer's own voice. Only claims are worth a hedge. "Here are some options:", "I'd
be happy to help", "Preheat the oven", "So we get x = 3" and "This script reads the file" would sound odd with one.
Rules exclude sentences that begin or end like these; a logistic regression over the words of the sentence and the
question decides the rest (`claims.json`, fitted by `benchmarks/fits/claim_gate.py`). When in doubt, a sentence is not a
claim: an unhedged claim is only what the model said anyway.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from math import fsum
from pathlib import Path
from typing import Any

from ...lexicon.text.english import AUXILIARIES, FINITE_VERBS
from ...lexicon.text.imperatives import instructs
from ...lexicon.text.shape import ANNOUNCES, without_disclaimer

WEIGHTS = Path(__file__).with_name("claims.json")

_MARKERS = re.compile(r"^(?:[\s>#*_•–—-]|\d{1,3}[.)]\s|\(?[a-z]\)\s)++|(?<![\s*_])[\s*_]++$")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_END = re.compile(r"(?:[.…][\"'”’)\]*_]*(?:\[\d+\]\.?)?|[A-Za-z0-9%)][\"'”’]?)$")
_TOKEN = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*|\d+(?:[.,]\d+)*|[^\w\s]")
_TITLE = re.compile(r"[\"“][^\"“”]{2,80}[\"”](?: \([^)]{1,40}\))? (?:[a-z]|(?:Season|Episode|Part|Chapter|Volume)\b)")
"""A title in quotation marks at the start ("Sugar, Sugar" is a song by ...), which is not a quotation of somebody."""
_QUOTED = re.compile(
    r"\"[^\"]{1,200}\"|“[^”]{1,200}”|(?<![\w*])\*[A-Z][^*\n]{2,100}\*(?!\*)|(?<!\w)'[A-Z][^'\n]{2,80}'(?!\w)"
)
"""Quoted or bracketed text: other people's words, titles ("If Loving You Is Wrong (I Don't Want to Be Right)")."""
_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")
_DIGIT = re.compile(r"(?!(?:1[0-9]|20)\d\d\b)(?<!\d)\d|[=√π]")
"""Numbers and signs of a calculation; a year is not one."""
_CODE = re.compile(r"[{};]|==|\(\)|\bdef\b|</")
_FORMULA = re.compile(r"[=+^*/]\s*\d|\\|\$")
LONGEST_SENTENCE, LONGEST_QUESTION = 600, 300
"""Characters that are read; of a question the beginning and the end, since it is asked after what is given."""
_MARKS = re.compile(
    r"`|[∈∉⊂⊆∘∀∃∑∫ℚℤℝℕℂ]|\$(?!\d)|\\[(\[]|≈|[=≠≤≥{}]|\[[A-Za-z]|\b\d+[a-z] [-+*/] ?\d|\d [-+*/] ?\d+[a-z]\b"
)
"""Code, formulas and placeholders."""
FEWEST_WORDS = 4


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NAMED = re.compile(r"[^.:,\n]{2,60}? [-–—] (?=[a-z])")
_PERSONS = {
    "you": _set("you your yours yourself you'll you're you've"),
    "we": _set("we our us ours let's we'll we're we've"),
    "I": _set("i me my mine i'm i'd i'll i've"),
}
"""First and second person: instructions, offers, worked solutions and stories."""
_NO_PERSON = re.compile(r"\bUS\b|\bi\.e\b")
_STEPS = _set(
    "then now next similarly otherwise wait alternatively assuming given introducing simplifying substituting using"
)
_CONCLUSIONS = _set("so therefore thus hence")
"""Words that open a step of a solution or a conclusion: "So, your bill is an estimate"."""
_REPLIES = _set(
    "sure certainly absolutely great okay ok yes no alright hello hi hey thanks thank sorry unfortunately apologies welcome"
)
_AGREES = re.compile(
    r"(?:sure|certainly|absolutely|of course|great|okay|ok|alright)(?:, |! )(?=\w)|"
    rf"{ANNOUNCES} (?=\S)",
    re.IGNORECASE,
)
"""Agreement or an announcement at the start ("Sure, here's how", "Here's the answer: ..."); only the text after it is examined."""
_OPENINGS = re.compile(
    r"(?:here(?:'s| is| are)|below|above|the following|as follows|in (?:this|the above|the following) (?:answer|article|example|guide|list|post|response|scenario|section|solution|story|table|text)|of course|"
    r"how to|step \d|key to|where (?=[a-z]\b)|by following (?:this|these|the)|(?:one|another) (?:possible|possibility|potential|common|popular)|a (?:possible|potential)|think of)\b|sources?:",
    re.IGNORECASE,
)
_GERUND = re.compile(
    r"(?!(?:during|king|according|following|spring|being|sterling|beijing)\b)[a-z]{2,20}ing\b(?![^,;:]{0,300}\b(?:is|are|was|were|has|have|had|can|could|may|might|will|would|does|did|began|led|took|came|"
    r"not only|provided|caused|helped|made|allowed|meant|reduced|increased|"
    r"(?:cause|create|require|help|allow|involve|make|mean|reduce|increase|play|lead|sound|feel|look|seem|take|come|need)s?)\b)",
    re.IGNORECASE,
)
"""An item without a finite verb: "Classifying the intent behind a text, ..."."""
_ADVICE = re.compile(
    r"\b(?:should(?:n't)?|ought to|(?:you|one|people|everyone) (?:must|need to|have to)|as an ai|language model|healthcare (?:professional|provider)s?|(?:an?|your|the) doctor|emergency|step by step|involves? (?:a few|several|the following) steps|"
    r"it(?:'s| is) (?:always |also |often )?(?:important|essential|best|beneficial|crucial|recommended|a good idea) to|is (?:very |also )?(?:important|essential|crucial|vital|key)(?: (?:to|for)|(?=\.$))|must carefully|can be better to|could benefit from|make sure to|it pays to|(?:might|may|can|could|would) (?:also )?be (?:(?:best|better|wise|helpful|useful) to|(?:helpful|useful|worthwhile)(?=\.$))|you(?:'ll| will| may| can| could| might| need| want| would)\b[^.]{0,40}?\b(?:consider|use|choose|try|demonstrate|want to|need to))\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"(?:however, )?(?:it|this|that|which)\b(?: \w+)? (?:depends?|vary)\b|there (?:are|is|were|have been) (?:many|several|various|multiple|numerous|a few|a number of|some|no sense)\b|"
    r"(?:however, )?\w+(?: \w+){0,8} (?:(?:may|can|might) (?:vary|differ|be different)|depends? on (?:many|several|various|multiple|a number of) (?:\w+ )?factors)\b",
    re.IGNORECASE,
)
"""Only says that something follows or exists, without saying what."""
_LISTED = re.compile(
    r"(?:the|these) (?:\w+ ){0,2}(?:points|reasons|steps|results|options|answers?|differences|examples|facts) (?:are|is) (?:as follows|(?:listed|given|shown|summarised|summarized)(?: \w+)?)\b|"
    r"the (?:answer|question|problem|process|solution) (?:has|consists of) (?:two|three|four|several|many) (?:parts|steps|stages|sides)\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\bI[' ]m\b|\bI (?:\w+ )?(?:recommend|suggest|advise|can|can't|cannot|could not|couldn't|am|don't|do not)\b|\byou can (?:also )?(?:check|see|look|find|expect|ask)\b",
    re.IGNORECASE,
)
"""What the author does or can do, or what the reader can do."""
_UNKNOWN = re.compile(
    r"\b(?:information|details?|data|specifics)\b[^.]{0,120}?\b(?:is|are|was|were) not (?:\w+ )?(?:available|found|specified|provided|given|known)\b|"
    r"\b(?:is|are) not (?:specified|mentioned|stated)\b|\b(?:is|are|was|were|remains?) (?:still |currently )?(?:unknown|uncertain|unclear)\b",
    re.IGNORECASE,
)
"""The sentence gives no answer."""
_LEADING = _set(
    "also additionally finally first second third then next however afterwards regularly carefully simply lastly secondly thirdly instead again"
)
_POLITE = re.compile(
    r"(?:thank|thanks|congratulations|good luck|(?:happy|merry) (?:birthday|anniversary|new year|holidays|christmas|easter)|i hope|i wish|i apologize|i appreciate|let me|let's|feel free|happy to|glad to|welcome|dear|best regards|"
    r"(?:i|we)(?:'d| would|'m| am|'re| are|'ll| will) (?:be )?(?:very |so |always )?(?:happy|glad|pleased|thrilled|excited|delighted|here|sorry|"
    r"look(?:ing)? forward|provide|explain|help|show|walk|give))\b",
    re.IGNORECASE,
)
_INTENDS = re.compile(r"I(?:'d like| would like| (?:want|wish|need|hope|intend|plan|aim)) to (?!say\b)[a-z]")
"""What the author intends to do; "I want to say it was 1990" is a hedge and not matched."""
_PROBLEM = re.compile(
    r"(?:\b(?:how (?:many|much|far|long|old|tall)|what(?:'s| is| are| will be| would be|) (?:the|its) (?:speed|probability|total|area|value|volume|sum|remainder|cost|price|average)|what distance|"
    r"what time (?:is it going to|will it|does)|calculate|compute|solve|prove|simplify|find (?:the|x|y|a|n)|true, false|which direction|the direction (?:towards|in) which|who is (?:\w+er|the \w+est)|express)\b)",
    re.IGNORECASE,
)
"""The questions that end word problems; the sentences before them are assumptions."""
_GIVEN = re.compile(
    r"\d[\d,.]*[^\d,.]\D*\d|(?:each (?:of|has|sister|person)|half|twice|probability|if|given|suppose|assume|statements?)\b|(?-i:[a-z0-9)])[.] +\w",
    re.IGNORECASE,
)
_VERBS = _set(
    """is are was were has have had does do did can could may might will would must should been be became won wrote made led began grew rose fell
    took gave came went held kept ran sold told left lost met paid put read said sent set spent stood taught thought understood found built bought
    brought born include contain involve require provide use occur tend remain allow help make form grow live work take come need cause mean lie
    vary depend consist differ act serve become reflect absorb produce sank sprang drank rang shrank bit blew broke chose drove fed fled hid laid rode shook shot slid spread
    struck swept threw tore woke cost hit cut set share play lead show support describe represent offer receive"""
)


def is_claim(sentence: str, question: str = "") -> bool:
    """Whether a hedge on an English sentence or list item would be useful.

    Time linear in its length.

    >>> is_claim("Marie Curie was born in Warsaw in 1867."), is_claim("Here are some popular options to consider:")
    (True, False)
    >>> is_claim("You can adjust the size with the slider."), is_claim("Therefore, the final answer is 12.")
    (False, False)
    """
    body = without_disclaimer(_MARKERS.sub("", sentence).replace("’", "'"))
    words = [word.lower() for word in _WORD.findall(body)]
    return may_be(body, words, question) and score(body, question) >= _fitted()["threshold"]


def may_be(body: str, words: list[str], question: str = "") -> bool:
    """Whether the rules leave open that a sentence is a claim. `words` is the sentence's words in lower case."""
    return (
        not is_problem(question)
        and not asks_for_proof(question)
        and len(words) >= 2
        and len(_TOKEN.findall(body[:LONGEST_SENTENCE])) > FEWEST_WORDS
        and _is_english_prose(body)
        and _has_verb(words)
        and not _opens_otherwise(body, words, question)
        and not any(pattern.search(_QUOTED.sub("", body)) for pattern in (_ADVICE, _OWN, _UNKNOWN))
        and not any(pattern.match(body) for pattern in (_VAGUE, _LISTED))
        and not _names_only(body)
    )


def ends(question: str) -> str:
    """The beginning and the end of a question, joined."""
    if len(question) <= LONGEST_QUESTION:
        return question
    return f"{question[: LONGEST_QUESTION * 2 // 3]} … {question[-LONGEST_QUESTION // 3 + 1 :]}"


def is_problem(question: str) -> bool:
    """Whether a question is a word problem, so that the sentences of its answer are steps of a solution.

    >>> is_problem("Ann has 3 apples and eats one. How many are left?"), is_problem("How many moons has Mars?")
    (True, False)
    """
    text = ends(question)
    return _PROBLEM.search(text) is not None and _GIVEN.search(text) is not None


_PROVES = re.compile(
    r"(?:^|[.:\n]\s*|please |how (?:do|can|would) (?:i|you|we) )(?:prove|proof|disprove|show that|verify that)\b",
    re.IGNORECASE,
)


def asks_for_proof(question: str) -> bool:
    """Whether the question asks for a proof: its sentences are derived, so none is a claim to be hedged.

    >>> asks_for_proof("Prove that 2 is prime."), asks_for_proof("What is the proof of life?")
    (True, False)
    """
    return _PROVES.search(ends(question)) is not None


_CALCULATES = re.compile(
    r"\b(?:(?:calculate|compute|solve|evaluate|simplify|multiply|subtract|divide|factori[sz]e|differentiate|integrate)\b|"
    r"(?:find|determine|what(?:'s| is| are| will be| would be)|give) (?:the |its )?(?:\w+ ){0,2}(?:area|volume|perimeter|circumference|hypotenuse|diagonal|sum|product|quotient|remainder|"
    r"probability|value|derivative|integral|average|mean|median|term|roots?|solutions?|slope|distance|speed|interest)\b)|\d ?[+*/×÷^] ?\d",
    re.IGNORECASE,
)


def asks_to_calculate(question: str) -> bool:
    """Whether the question asks for a calculation: what comes before the result are steps.

    >>> asks_to_calculate("Calculate the surface area of a cube of 5 cm."), asks_to_calculate("How high is Mont Blanc?")
    (True, False)
    """
    return is_problem(question) or _CALCULATES.search(ends(question)) is not None


def score(body: str, question: str) -> float:
    """The log-odds, by the logistic regression, that a sentence is a claim; higher means more likely."""
    return total(_fitted()["weights"], features(body, question))


def total(weights: Mapping[str, float], names: Iterable[str]) -> float:
    """The exact sum of the weights of these features.

    Exact, because rounding depends on the order in which a set is iterated, which could flip a decision at the
    threshold.
    """
    return fsum(weights.get(name, 0.0) for name in names)


@cache
def _fitted() -> dict[str, Any]:
    raw: dict[str, Any] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return raw


def features(body: str, question: str) -> set[str]:
    """Names of the features the logistic regression reads from a sentence (list marker removed) and its question."""
    tokens = _TOKEN.findall(body[:LONGEST_SENTENCE])
    small = ["0" if token[0].isdigit() else token.lower() for token in tokens]
    words = [token for token in small if token[0].isalpha()]
    names = {"constant", f"ends {body[-1:]}", f"words {min(len(words) // 4, 8)}", *small}
    names |= {f"{one} {other}" for one, other in pairwise(small)}
    names |= {f"first {' '.join(words[:n])}" for n in (1, 2)}
    names |= {f"first -{end}" for end in ("ing", "ly", "tion", "ed", "s") if words and words[0].endswith(end)}
    names |= set(_signs(body, tokens, words))
    if question:
        asked = {word.lower() for word in _WORD.findall(ends(question)) if len(word) > 3}
        names.add(f"takes up {min(len(asked.intersection(words)), 3)} of the question")
    return names | (_of_question(question) if question else {"no question"})


def _signs(body: str, tokens: list[str], words: list[str]) -> Iterator[str]:
    is_name = [False, *(token[:1].isupper() and before not in '.:!?"“' for before, token in pairwise(tokens))]
    yield f"names {min(sum(is_name), 4)}"
    shown = ["Name" if named else token.lower() for named, token in zip(is_name, tokens, strict=False)]
    yield from (f"{one} {other}" for one, other in pairwise(shown) if "Name" in (one, other))
    if _YEAR.search(body):
        yield "a year"
    if any(word.endswith("ed") for word in words[1:]):
        yield "a past tense"
    spoken = {word.lower() for word in _WORD.findall(_NO_PERSON.sub("", _QUOTED.sub("", body[:LONGEST_SENTENCE])))}
    for name, forms in _PERSONS.items():
        if not spoken.isdisjoint(forms):
            yield f"speaks of {name}"


def _of_question(question: str) -> set[str]:
    text = ends(question)
    tokens = _TOKEN.findall(text)
    words = [token.lower() for token in tokens if token[0].isalpha()]
    names = {f"asked {word}" for word in words} | {f"asked {at}: {word}" for at, word in enumerate(words[:3])}
    names.add(f"asked numbers {min(sum(token[0].isdigit() for token in tokens), 4)}")
    names.add(f"asked words {min(len(words) // 10, 5)}")
    signs = (("?", text.rstrip().endswith("?")), ("code", _CODE.search(text)), ("formula", _FORMULA.search(text)))
    return names | {f"asked {name}" for name, there in signs if there}


def may_claim(sentence: str) -> bool:
    """Whether the sentence that is the answer, or its first, can carry a hedge.

    Everything but announcements, instructions, advice and politeness. Short answers are fine, so length and verb are
    not checked.

    >>> may_claim("It is 42."), may_claim("Sure!"), may_claim("Call emergency services now."), may_claim("I hope this finds you well.")
    (True, False, False, False)
    """
    body = without_disclaimer(_AGREES.sub("", _MARKERS.sub("", sentence).replace("’", "'")))
    words = _WORD.findall(body[:200])
    if not words:
        return True  # a number, a formula or another script, which these patterns cannot judge
    first = words[0].lower()
    if instructs(body):
        return False
    is_name = (
        len(words) > 1 and words[1][0].isupper() and body[len(first) : len(first) + 1] == " "
    )  # a name of two words, such as "Great Britain"
    if len(words) < 4 and first in _REPLIES - {"yes", "no"} and not is_name:
        return False
    opens = any(pattern.match(body) for pattern in (_OPENINGS, _POLITE, _INTENDS))
    return not opens and _ADVICE.search(_QUOTED.sub("", body)) is None


def _is_english_prose(body: str) -> bool:
    """Whether the text ends like a statement, opens no quotation or bracket, and is mostly plain Latin letters."""
    opens_quotation = body[0] in "\"“'‘([{<|" and _TITLE.match(body) is None
    if _END.search(body[-12:]) is None or opens_quotation or _MARKS.search(body) is not None:
        return False
    plain = sum(character.isascii() and character.isalpha() for character in body)
    other = sum(character.isalpha() for character in body) - plain
    return other <= 0.15 * plain and plain >= 0.6 * (len(body) - body.count(" "))


def _names_only(body: str) -> bool:
    """Whether the text is only a series of names: "Car Wheel, Bicycle Wheel, Cart Wheel, etc."."""
    words = [word for word in _WORD.findall(body[:LONGEST_SENTENCE]) if len(word) > 3]
    has_verb = not (AUXILIARIES | FINITE_VERBS).isdisjoint(_WORD.findall(body))
    return len(words) > 1 and all(word[0].isupper() for word in words) and not has_verb


def _has_verb(words: list[str]) -> bool:
    return any(
        word in _VERBS
        or word in FINITE_VERBS
        or word.removesuffix("s") in _VERBS
        or (len(word) > 3 and word.endswith(("ed", "es", "s")))
        for word in words
    )


def _opens_otherwise(body: str, words: list[str], question: str) -> bool:
    """Whether the first words mark an instruction, a step or an announcement.

    In a list item, the words after its name are checked too ("Ideation - brainstorm ...").
    """
    if (named := _NAMED.match(body)) is not None:
        body = body[named.end() :]
        words = [word.lower() for word in _WORD.findall(body)]
        if len(words) < 2:
            return False
    while len(words) > 2 and words[0] in _LEADING:
        words = words[1:]
    if words[0] in _CONCLUSIONS and (not question or asks_to_calculate(question) or _DIGIT.search(body) is not None):
        return True
    return (
        instructs(body)
        or words[0] in _STEPS
        or words[0] == "let's"
        or any(pattern.match(body) for pattern in (_OPENINGS, _GERUND))
    )
