"""Recognises small talk: the speaker's life and taste, questions to the other person, and text that breaks off.

A hedge in it would doubt something that nobody asked about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...lexicon.text.opaque import masked
from .frames import breaks_off

_SPACED = re.compile(r"(?<=\w) (?=(?:n['’]t|['’](?:s|m|re|ve|ll|d))\b)|(?<=[\w\"”)]) (?=[.,!?](?:\s|$))")
_OFTEN = r"(?:just|also|really|never|always|still|recently|actually|only|even|personally|honestly|do not|don['’]t|did not|didn['’]t|have not|haven['’]t)"
_OF_MYSELF = re.compile(
    rf"(?:(?i:yes|no|yeah|oh|well|so|and|but|wow|haha|me too)\b[,.!]? )*[Ii](?:['’]ve| have)? (?:{_OFTEN} )*(?:used to|did(?: not|n['’]t)?|(?:have|had) (?:not|never|n['’]t)|got an?|haven['’]t|loved?|liked?|enjoy(?:ed)?|"
    r"hated?|prefer(?:red)?|lived?|grew|went|saw|seen|heard|watch(?:ed)?|play(?:ed)?|wish(?:ed)?|work(?:ed)?|tried|bought|own(?:ed)?|visit(?:ed)?|met|miss(?:ed)?|agree|wonder|wanna|gotta|ate|eat|feel|felt|"
    r"have an?|have (?:two|three|some|my)|had an?|bet|hear you|go to|listen(?:ed)?|do my|see (?:that|how)|rode|ride|drive|drove|collect(?:ed)?|travell?ed|moved|was (?:so|born|raised|very|really|just|in|a kid|a child|never|always)|cried|laughed|take|took|would (?:like|love)|know (?!that\b|for\b|of no\b)\w+|provide|process|answer|generate|assist|exist|guess I|think so)\b"
    rf"|(?:(?i:yes|no|yeah|oh|well|so|and|but)\b[,.!]? )*[Ii](?:['’]m| am) (?:{_OFTEN} )*(?:a (?:huge|big) fan|from|into|more of|obsessed|so|glad|(?!(?:guess|think|assum|suppos|lean)ing\b)[a-z]+ing\b|allergic|scared|jealous|interested|currently|new to|fascinated|a vegetarian|a vegan)\b"
)
"""The speaker talks about himself ("I used to eat meat"); "I Love Lucy" is a title and not matched."""
_PERSONAL = re.compile(
    r"\bmy (?:favou?rites?|mother|father|mom|dad|parents|brother|sister|son|daughter|niece|nephew|family|wife|husband|kids|friends?|fav|town|life|childhood)\b|\b[Ii]['’]m obsessed\b|"
    r"\b[Ii] (?:(?:really|actually|just|also|always|still) ){0,2}(?:love|like|enjoy|want|hate|used to)\b|\b[Ii] thought (?:he|she|it|they)\b|\b[Ii](?:['’]ve| have) been (?:\w+ing|programmed)\b"
)
"""A personal preference: "Kurt Cobain was my favorite singer." """
_TO_THE_OTHER = re.compile(
    r"\b(?:have you (?:ever|been|seen|heard|read|tried|played)|did you know|do you (?:like|have|enjoy|play|watch|know (?:of|any|who|what|how|if|anything)|ever|think|listen|live|prefer|own|follow)|what about you|how about you|"
    r"are you (?:a|an|from|into|familiar|interested)|what(?:['’]s| is) your|what do you|is that your|where do you|who do you|who is your)\b[^.!?]{0,200}\?",
    re.IGNORECASE,
)
"""A question that keeps a conversation going."""
_BROKEN_BEGINNING = re.compile(r"\s*[,;:)]|\s*(?:and|or) [a-z]|\s*(?i:not to mention)\b")
_JUDGED = (
    r"(?:breath-?taking|beautiful|gorgeous|stunning|amazing|awesome|wonderful|fantastic|fascinating|interesting|insane|crazy|cool|fun|funny|hilarious|valuable|invaluable|challenging|exciting|"
    r"lovely|delicious|tasty|nice|scary|memorable|impressive|incredible|terrible|horrible|boring|weird|worth it|remarkable|inspiring|enjoyable|pleasant|great|good|cute|sad|useful|helpful|important|essential|crucial|vital|tricky|difficult|easy|simple|hard|popular|unfortunate)"
)
_TASTE = re.compile(
    rf"(?:\b(?:is|are|was|were|can be|seems|seemed|looks|sounds|sounded|remains?)|['’](?:s|re)) (?:(?:also|truly|really|very|so|such|quite|both|just|definitely|pretty|an?|the most|most|all|indeed) )*{_JUDGED}"
    rf"(?:,? (?:and|but|yet|or)? ?(?:{_JUDGED}|\w+(?:ing|ful|ous)))?"
    r"(?:$|[.!,;]| (?:to|for|because|due|when|as|sight|tool|part|way|place|experience|example|topic|subject|role|aspect|thing|one|skill|resource|choice|option|idea|problem|question|alternative|solution|time|story|show|movie|actor|singer|player|person|people|feeling|addition|step|feature|asset|sport|hobby)s?\b)"
)
"""A judgement of taste or value, which cannot be verified: "It is a breathtaking sight."."""
_LIKENS = re.compile(
    r"(?:\b(?:is|are|was|were)|['’]s) (?:(?:just|kind of|sort of|a bit|a lot|much) )*like\b|\bplays? an? (?:\w{1,20} )?(?:role|part)\b(?! in)"
)
"""A comparison that explains, or a closing remark."""
_EXCLAIMS = re.compile(
    r"(?:that|this|it)(?: is|['’]s| was| sounds| must be) (?:an? |so |such |very |really |pretty )*(?-i:[a-z])\w*(?: (?-i:[a-z])\w*)? ?!",
    re.IGNORECASE,
)
"""An exclamation: "That's great!"; an answer is none: "It's Canberra!"."""
_NO_END = re.compile(
    r"\b(?:an?|the|of|and|or|but|is|was|are|were|be|been|to|in|on|at|by|for|from|with|as|that|which|who|whose|not|actually|however|also|his|her|its|their|because|than|both|named|called|titled)$",
    re.IGNORECASE,
)
_WORDS_OF_A_STATEMENT = 24
"""Number of words from which a sentence without a full stop counts as cut off."""


def closed_up(text: str) -> str:
    """A tokenised text with normal spacing: "I 'm not sure ." becomes "I'm not sure."."""
    return _SPACED.sub("", text)


def tells_of_speaker(sentence: str) -> bool:
    """Whether a sentence begins with what its speaker did, has or likes.

    >>> tells_of_speaker("I grew up in Ohio ."), tells_of_speaker("I think it was Ohio."), tells_of_speaker("I Love Lucy ran for six years.")
    (True, False, False)
    """
    return _OF_MYSELF.match(closed_up(sentence)) is not None


def is_turn(texts: Sequence[str]) -> bool:
    """Whether an answer is a turn of small talk.

    Its speaker talks about himself or asks the other person about himself; or the text lacks its beginning.
    """
    spoken = [masked(closed_up(text)) for text in texts]
    return (
        any(_PERSONAL.search(text) or _EXCLAIMS.match(text) for text in spoken[:2])
        or any(_OF_MYSELF.match(text) for text in spoken[:3])
        or any(_TO_THE_OTHER.search(text) for text in spoken)
        or _BROKEN_BEGINNING.match(texts[0]) is not None
    )


_FELT = re.compile(
    r"(?:(?:yes|no|well|but|so|and|oh),? )?(?:it|that|this)(?:['’]s| is| was) (?:too|really|so|very|pretty|quite|super) [a-z]+(?: \w+)?[.!]?",
    re.IGNORECASE,
)
"""An impression: "It's too mysterious." """


_OPEN = re.compile(
    r"\b(?:is|are|was|['’]s) (?:\w+ )?(?:subjective|debatable|a matter of (?:\w+ )?(?:taste|opinion|preference|debate|perspective|choice))\b|"
    r"\bthere (?:is|are|has been|remains) (?:some|much|considerable|ongoing|a lot of) (?:debate|disagreement|controversy|dispute)\b",
    re.IGNORECASE,
)
"""An answer that takes no side: "That is subjective." """


def is_taste(sentence: str) -> bool:
    """Whether a sentence is a judgement of taste or value and not a fact.

    >>> is_taste("The beach at sunset is a breathtaking sight."), is_taste("Britain is a great power of the time."), is_taste("It is a 1995 film.")
    (True, False, False)
    """
    text = masked(closed_up(sentence))
    return (
        _TASTE.search(text) or _OPEN.search(text) or _LIKENS.search(text) or _FELT.fullmatch(text)
    ) is not None and not any(c.isdigit() for c in sentence)


def is_cut_off(sentence: str) -> bool:
    """Whether a sentence is cut off, so that its claim is unknown.

    >>> is_cut_off("Senator Boren was involved in the proposal but it was David Boren, a former senator, who actually"), is_cut_off("Harold Pinter")
    (True, False)
    """
    text = sentence.rstrip()
    return (
        text[-1:].isalnum()
        and breaks_off(text)
        and (len(text.split()) >= _WORDS_OF_A_STATEMENT or _NO_END.search(text) is not None)
    )
