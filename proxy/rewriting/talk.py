"""Recognises small talk: the speaker's life and taste, questions to the other person, and text that breaks off.

A hedge in it would doubt something that nobody asked about.
"""

from __future__ import annotations

import re

from ...lexicon.text.opaque import masked

_SPACED = re.compile(r"(?<=\w) (?=(?:n['’]t|['’](?:s|m|re|ve|ll|d))\b)|(?<=[\w\"”)]) (?=[.,!?](?:\s|$))")
_OFTEN = r"(?:just|also|really|never|always|still|recently|actually|only|even|personally|honestly|do not|don['’]t|did not|didn['’]t|have not|haven['’]t)"
_OF_MYSELF = re.compile(
    rf"(?:(?i:yes|no|yeah|oh|well|so|and|but|wow|haha|me too)\b[,.!]? )*[Ii](?:['’]ve| have)? (?:{_OFTEN} )*(?:used to|did(?: not|n['’]t)?|(?:have|had) (?:not|never|n['’]t)|got an?|haven['’]t|loved?|liked?|enjoy(?:ed)?|"
    r"hated?|prefer(?:red)?|lived?|grew|went|saw|seen|heard|watch(?:ed)?|play(?:ed)?|wish(?:ed)?|work(?:ed)?|tried|bought|own(?:ed)?|visit(?:ed)?|met|miss(?:ed)?|agree|wonder|wanna|gotta|ate|eat|feel|felt|"
    r"have an?|have (?:two|three|some|my)|had an?|bet|hear you|go to|listen(?:ed)?|do my|see (?:that|how)|rode|ride|drive|drove|collect(?:ed)?|travell?ed|moved|was (?:so|born|raised|very|really|just|in|a kid|a child|never|always)|cried|laughed|take|took|would (?:like|love)|know (?!that\b|for\b|of no\b)\w+|provide|process|answer|generate|assist|exist|guess I|think so)\b"
    rf"|(?:(?i:yes|no|yeah|oh|well|so|and|but)\b[,.!]? )*[Ii](?:['’]m| am) (?:{_OFTEN} )*(?:a (?:huge|big) fan|from|into|more of|obsessed|so|glad|(?!(?:guess|think|assum|suppos|lean)ing\b)[a-z]+ing\b|allergic|scared|jealous|interested|currently|new to|fascinated|a vegetarian|a vegan)\b"
)
"""The speaker talks about himself ("I used to eat meat"); "I Love Lucy" is a title and not matched."""
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


def closed_up(text: str) -> str:
    """A tokenised text with normal spacing: "I 'm not sure ." becomes "I'm not sure."."""
    return _SPACED.sub("", text)


def tells_of_speaker(sentence: str) -> bool:
    """Whether a sentence begins with what its speaker did, has or likes.

    >>> tells_of_speaker("I grew up in Ohio ."), tells_of_speaker("I think it was Ohio."), tells_of_speaker("I Love Lucy ran for six years.")
    (True, False, False)
    """
    return _OF_MYSELF.match(closed_up(sentence)) is not None


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
