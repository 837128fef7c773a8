"""Is it a claim? Whether an English sentence says something of the world that can be right or wrong, in the answer's own voice.

Only claims are worth a hedge: "Here are some options:", "I'd be happy to help", "Preheat the oven", "So we get x = 3" and "This script
reads the file" would be odd or worse with one. The signs are the first words of a sentence, who it speaks to, its marks and its end; no
parser. Short answers ("Jupiter.") answer a question by being given, and are not looked at here. Figures on sentences of real answers:
`tests/unit/proxy/rewriting/test_claims.py`. In doubt a sentence is not a claim: an unhedged claim is what the model said anyway.
"""

from __future__ import annotations

import re

_MARKERS = re.compile(r"^(?:[\s>#*_•–—-]|\d{1,3}[.)]\s|\(?[a-z]\)\s)++|(?<![\s*_])[\s*_]++$")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_END = re.compile(r"[.…][\"'”’)\]*_]*(?:\[\d+\]\.?)?$")
_MARKS = re.compile(r"`|\$|\\[(\[]|≈|[=≠≤≥{}]|\[[A-Za-z]")
"""Code, formulas, placeholders."""
FEWEST_WORDS = 4


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PERSONS = _set(
    "you your yours yourself we our ours us i me my mine let's i'm i'd i'll i've we'll we're we've you'll you're you've"
)
"""Who speaks or is spoken to: instructions, offers, worked solutions and stories."""
_IMPERATIVES = _set(
    """add adjust allow always analyze apply ask assign assume assuming attach avoid bake be begin bring build calculate call celebrate chop
    choose clean click collect combine compare complete compute conduct configure confirm connect consider consult contact continue convert
    cook copy create cut decide declare define delete demonstrate describe determine develop discuss diversify divide don't download draw drink dry eat
    emphasize encourage engage enjoy ensure establish evaluate expand experiment explain explore export factor feel filter find focus fold
    follow foster gather get give go given heat highlight hold identify imagine implement import include incorporate increase increment
    initialize insert install introduce introducing invite iterate join keep label learn let leverage limit listen load look loop make maintain
    measure mix monitor move multiply navigate never note notice observe offer open optimize organize pass paste peel perform picture place
    plan please plug pour practice prepare press print promote provide put read recall recognize reduce refer register remain remember remove
    repeat replace research respond rest return review rinse run save say schedule seek select serve set share show sign simmer simplify
    simplifying sketch sleep slice solving sort speak start stay stir store subscribe substitute substituting subtract suppose take tell test
    think train traverse try turn understand update use using utilize verify visit wait wash watch wear welcome write"""
)
_NOUN_AFTER = _set("is are was were has have had can may might will would of in on")
"""After these an imperative's verb was a noun: "Practice is ...", "Use of ..."."""
_STEPS = _set("so therefore thus hence then now next since from if similarly otherwise wait alternatively")
_REPLIES = _set(
    "sure certainly absolutely great okay ok yes no alright hello hi hey thanks thank sorry unfortunately apologies welcome"
)
_OPENINGS = re.compile(
    r"(?:here(?:'s| is| are)|below|above|the following|as follows|in (?:this|the above|the following) \w+|for (?:example|instance)|of course|"
    r"how to|step \d|key to|(?:overall|in conclusion|to summarize|to conclude),|source:)\b",
    re.IGNORECASE,
)
_OWN_WORK = re.compile(
    r"(?:this|the|these|that|each|both of these|it)\s+(?:\w+\s+){0,3}?(?:code|function|script|program|implementation|example|class|method|methods|"
    r"template|snippet|query|command|solution|approach|output|response|version|outline|guide|table|formula|loop|variable|conversation|story|poem|"
    r"dialogue|essay|article|email|letter|passage|summary|translation|answer|recipe|constraint|equation|expression|statement)\b|this will\b|it simply\b",
    re.IGNORECASE,
)
"""What the answer itself brings: code, a text, a step of the solution."""
_ADVICE = re.compile(
    r"\b(?:should(?:n't)?|ought to|(?:you|one|people|everyone) (?:must|need to|have to)|as an ai|language model|healthcare (?:professional|provider)s?|doctor|emergency|step by step|involves? (?:a few|several|the following) steps|"
    r"it(?:'s| is) (?:also |often )?(?:important|essential|best|beneficial|crucial|recommended|a good idea) to)\b",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"(?:thank|thanks|i hope|i wish|i apologize|i appreciate|let me|let's|feel free|happy to|glad to|welcome|dear|best regards|"
    r"(?:i|we)(?:'d| would|'m| am|'re| are|'ll| will) (?:be )?(?:very |so |always )?(?:happy|glad|pleased|thrilled|excited|delighted|here|sorry|"
    r"look(?:ing)? forward|provide|explain|help|show|walk|give))\b",
    re.IGNORECASE,
)
_PURPOSE = re.compile(
    r"to \w+ (?:(?!\b(?:is|was|are|were)\b)[^,:]){0,200}[,:]\s*(?:follow|first|use|one|it)\b", re.IGNORECASE
)
_VERBS = _set(
    """is are was were has have had does do did can could may might will would must should been be became won wrote made led began grew rose fell
    took gave came went held kept ran sold told left lost met paid put read said sent set spent stood taught thought understood found built bought
    brought born include contain involve require provide use occur tend remain allow help make form grow live work take come need cause mean lie
    vary depend consist differ act serve become reflect absorb produce"""
)


def is_claim(sentence: str) -> bool:
    """Whether a hedge on an English sentence of running text or of a list would tell a reader something. Linear in its length.

    >>> is_claim("Marie Curie was born in Warsaw in 1867."), is_claim("Here are some popular options to consider:")
    (True, False)
    >>> is_claim("You can adjust the size with the slider."), is_claim("Therefore, the final answer is 12.")
    (False, False)
    """
    body = _MARKERS.sub("", sentence).replace("’", "'")
    words = [word.lower() for word in _WORD.findall(body)]
    return (
        len(words) >= FEWEST_WORDS
        and _is_english_prose(body)
        and _has_verb(words)
        and not _PERSONS.intersection(words)
        and not _opens_otherwise(body, words)
        and _ADVICE.search(body) is None
    )


def may_claim(sentence: str) -> bool:
    """Whether a sentence that is the answer, or opens it, can carry a hedge: everything but announcements, instructions, advice and politeness.

    An answer is short for a reason, so nothing is asked of its length or its verb.

    >>> may_claim("It is 42."), may_claim("Sure!"), may_claim("Call emergency services now."), may_claim("I hope this finds you well.")
    (True, False, False, False)
    """
    body = _MARKERS.sub("", sentence).replace("’", "'")
    words = _WORD.findall(body[:200])
    if not words:
        return True  # a number, a formula, another script: not for these signs to judge
    first = words[0].lower()
    if len(words) > 2 and first in _IMPERATIVES and words[1][0].islower() and words[1].lower() not in _NOUN_AFTER:
        return False
    is_name = len(words) > 1 and words[1][0].isupper() and body[len(first) : len(first) + 1] == " "  # "Great Britain"
    if len(words) < FEWEST_WORDS and first in _REPLIES - {"yes", "no"} and not is_name:
        return False
    return _OPENINGS.match(body) is None and _POLITE.match(body) is None and _ADVICE.search(body) is None


def _is_english_prose(body: str) -> bool:
    """Ends like a statement, opens no quotation or bracket, and is mostly made of plain letters."""
    if _END.search(body[-12:]) is None or body[0] in "\"“'‘([{<|" or _MARKS.search(body) is not None:
        return False
    plain = sum(character.isascii() and character.isalpha() for character in body)
    other = sum(character.isalpha() for character in body) - plain
    return other <= 0.15 * plain and plain >= 0.6 * (len(body) - body.count(" "))


def _has_verb(words: list[str]) -> bool:
    return any(
        word in _VERBS or word.removesuffix("s") in _VERBS or (len(word) > 4 and word.endswith(("ed", "es", "s")))
        for word in words
    )


def _opens_otherwise(body: str, words: list[str]) -> bool:
    """Whether the first words make it a reply, a step, an instruction, an announcement, or a word on the answer's own work."""
    first, second = words[0], words[1]
    if first in _IMPERATIVES and second not in _NOUN_AFTER:
        return True
    if first in _STEPS or (first in _REPLIES and body[len(first) : len(first) + 1] in {",", "!", ".", ":"}):
        return True
    return any(pattern.match(body) for pattern in (_OPENINGS, _OWN_WORK, _PURPOSE))
