"""Decides whether an English sentence may carry a hedge at all.

"Here are some options:", "I'd be happy to help" and "Preheat the oven" would sound odd with one. When in doubt, a sentence may: this
is the check of rewrites, not the choice of what is hedged (which is the reading's, `lexicon/reading`).
"""

from __future__ import annotations

import re

from ...lexicon.text.imperatives import instructs
from ...lexicon.text.shape import ANNOUNCES, without_disclaimer

_MARKERS = re.compile(r"^(?:[\s>#*_•–—-]|\d{1,3}[.)]\s|\(?[a-z]\)\s)++|(?<![\s*_])[\s*_]++$")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_QUOTED = re.compile(
    r"\"[^\"]{1,200}\"|“[^”]{1,200}”|(?<![\w*])\*[A-Z][^*\n]{2,100}\*(?!\*)|(?<!\w)'[A-Z][^'\n]{2,80}'(?!\w)"
)
"""Quoted or bracketed text: other people's words, titles ("If Loving You Is Wrong (I Don't Want to Be Right)")."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


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
_ADVICE = re.compile(
    r"\b(?:should(?:n't)?|ought to|(?:you|one|people|everyone) (?:must|need to|have to)|as an ai|language model|healthcare (?:professional|provider)s?|(?:an?|your|the) doctor|emergency|step by step|involves? (?:a few|several|the following) steps|"
    r"it(?:'s| is) (?:always |also |often )?(?:important|essential|best|beneficial|crucial|recommended|a good idea) to|is (?:very |also )?(?:important|essential|crucial|vital|key)(?: (?:to|for)|(?=\.$))|must carefully|can be better to|could benefit from|make sure to|it pays to|(?:might|may|can|could|would) (?:also )?be (?:(?:best|better|wise|helpful|useful) to|(?:helpful|useful|worthwhile)(?=\.$))|you(?:'ll| will| may| can| could| might| need| want| would)\b[^.]{0,40}?\b(?:consider|use|choose|try|demonstrate|want to|need to))\b",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"(?:thank|thanks|congratulations|good luck|(?:happy|merry) (?:birthday|anniversary|new year|holidays|christmas|easter)|i hope|i wish|i apologize|i appreciate|let me|let's|feel free|happy to|glad to|welcome|dear|best regards|"
    r"(?:i|we)(?:'d| would|'m| am|'re| are|'ll| will) (?:be )?(?:very |so |always )?(?:happy|glad|pleased|thrilled|excited|delighted|here|sorry|"
    r"look(?:ing)? forward|provide|explain|help|show|walk|give))\b",
    re.IGNORECASE,
)
_INTENDS = re.compile(r"I(?:'d like| would like| (?:want|wish|need|hope|intend|plan|aim)) to (?!say\b)[a-z]")
"""What the author intends to do; "I want to say it was 1990" is a hedge and not matched."""


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
