"""Recognises, by their beginnings, English sentences that give no answer, so that there is nothing to hedge."""

from __future__ import annotations

import re

from ...lexicon.text.words import one_of

_DO_NOT = r"(?:do not|don['’]t|cannot|can['’]t|could not|couldn['’]t)"
_THINGS = r"(?:information|data|details|evidence)"
_LOOK_UP = one_of("refer check visit consult search browse")

_KNOWS_NO_MORE = (
    r"(?:\b(?:I|we|my|no|not|nothing|nobody|none|never|unavailable|unknown|limited|scarce|unclear|cannot|yet to|still in|"
    r"information|details|data)\b|n['’]t\b)"
)
_REST = rf"(?:(?!{_KNOWS_NO_MORE})(?:[^.]|\.(?=\S)))"
_SAYS_YET = (
    rf" {_REST}{{0,400}}?(?:\b(?:is|are|was|were|has|have|had|holds?|lives?|works?|remains?|stands?|serve[sd]?)\b|['’](?:s|re)\b)"
    rf"{_REST}{{0,400}}+(?:\.|$)"
)
"""The rest of a sentence that says something after all: "As of my last update, Tim Cook is the CEO of Apple." """

_THE_SPEAKER = (
    rf"I (?:{_DO_NOT}|am unable|have no|am not able|need more)\b",
    r"I ?(?: am|['’]m) (?:unable|not able|not aware|not familiar|uncertain|unsure|not (?:\w+ )?(?:sure|certain))\b",
    r"(?:well|hmm|oh|honestly),? I(?: am| ?['’]m) not sure\b",
    r"not (?:\w+ )?sure\b|(?:and )?(?:cannot|can['’]t|could not|couldn['’]t)\b",
    rf"we {_DO_NOT} (?:know|tell|say|determine)\b",
    r"(?:I['’]m |I am )?(?:very )?(?:sorry|afraid)\b|Unfortunately",
    r"(?:(?:additionally|also|moreover|furthermore|instead|therefore|as such|however),? )?"
    r"(?:as an? (?:AI|language)\b|I (?:respect|prioriti[sz]e|strive|aim|cannot|can['’]t|(?:was|am|have been) (?:programmed|trained|designed|created))\b)",
    r"I(?: am|['’]m) (?:trained|designed|programmed|only|just|an? (?:\w+ )?(?:AI|language|text|assistant|model))\b",
    rf"As an AI|As of my (?:last|latest|most recent|knowledge|current)\b(?!{_SAYS_YET})|It goes against my\b|(?:yes, |no, )?I (?:dis)?agree\b",
)
"""The speaker does not know, cannot say, or is a machine."""

_NOT_KNOWN = (
    r"(?:It is )?(?:unclear|unknown|not known)\b|No (?:answer|doubt)\b|(?:nobody|no one) (?:(?:really|actually|truly|yet|still) )?knows\b(?![^.]{0,120}\b(?:but|except|besides|apart from|other than)\b)",
    r".{0,120}\b(?:is|are|was|remains?) (?:currently |still )?(?:unknown|unclear|uncertain|not known|not specified)\b",
    r".{0,120}\b(?:cannot|can['’]t|could not|couldn['’]t) be (?:\w+ly )?(?:determined|known|answered|provided|inferred|said)\b",
    rf".{{0,120}}\b(?:has|have) not (?:yet )?been {one_of('announced confirmed released determined specified named disclosed revealed mentioned provided')}\b",
    rf"(?:There is )?no (?:reliable |verified |specific )?(?:record|{_THINGS})\b",
    r"There (?:is|are|was) no (?:\w+ )?(?:definit(?:e|ive) |specific |single |clear |correct |one |right )?answers?\b",
    rf"There is (?:very |only |too )?(?:limited|little) {_THINGS}\b|(?:There (?:is|was) )?(?:not|too little|insufficient) (?:enough |sufficient )?information\b",
    rf"(?:[^,]{{1,80}}, )?It(?:['’]s| is) (?:not possible|impossible) (?:for \w{{1,20}} )?to {one_of('answer apply determine predict say know tell provide give find calculate')}\b",
    rf"More (?:{_THINGS}|context) (?:is|are|would be) (?:needed|required)\b|[^.]{{0,80}}\bwe need more information\b",
)
"""Nobody knows, or the given material does not say."""

_DEPENDS = (
    r"(?:it|this|that)(?: all| really)? depends\b",
    r".{0,60}\bdepends on (?:the (?:specific|type|version|model|context)|your|which|what|how|where|whether)\b",
    r".{0,120}\b(?:(?:can|may) vary|var(?:y|ies)(?: \w+)? (?:depending|from \w+ to|by)|changes? (?:with every|with each|every|from \w+ to))\b",
)

_POLITE = (
    r"(?:sure|certainly|of course|okay)(?:[!.]|,(?! (?:(?:the|it|he|she|they|that)\b|\d|(?-i:(?!I\b|Here\b|Let\b)[A-Z]))))|"
    r"(?:hello|hi|thanks|thank you)\b[!,.]|Sorry\b|(?:good|great|excellent|interesting) question\b",
    r"I (?:can|could|would be happy to|am happy to|will) (?:provide|help|offer|give|look|try|tell you (?:more|about))|I(?: will|['’]ll)\b",
    r"(?:if you [^,]{1,200}, )?I(?:['’]d| would) be (?:happy|glad)\b",
)

_TO_THE_READER = (
    r"(?:(?:which|what|how|when|where|who|why)\b[^.?!]{0,60} )?(?:do|did|can|could|would|will|are|have) you\b",
    r"[^,]{1,200}, you (?:can|could|will|may)\b|[^,]{1,60}, if you\b",
    rf"you can (?:{_LOOK_UP}|{one_of('use try have add set write run do make create get simply also just easily follow adjust customise customize')})\b",
    r"To \w+[^,]{0,200}, (?:you|we|one|use|follow|first|start)\b|(?:this|that|it) will (?:give|allow|help|let|ensure|enable)\b",
)
"""What the reader can do, and what it is good for."""

_STEPS = (
    r"this (?:\w+ )?(?:problem|question|puzzle|riddle|task|exercise) (?:is|asks|involves|requires|can)\b",
    r"(?:because|since|if|as) [^,]{0,200}, (?:we|let us|let['’]s)\b",
    rf"(?:[^,]{{1,200}}, )?(?:we|let us|let['’]s) {one_of('can need must will get use find see know first start then')}\b|(?:[^,]{{1,200}}, )?(?:we|let us|let['’]s) have to\b",
    rf"(?:(?:first|next|then|now|finally|so|here|again|since)\b,? )?(?:we|we['’]re|we['’]ve) (?:\w+ly )?(?:are )?"
    rf"{one_of('want wish asked given told looking trying interested start begin know apply call denote define obtain consider claim have had must need can could may will would should get find use see let try first then now also')}\b",
)
"""Steps of a solution."""

NO_ASSERTION = re.compile(
    rf"(?:{'|'.join((*_THE_SPEAKER, *_NOT_KNOWN, *_DEPENDS, *_POLITE, *_TO_THE_READER, *_STEPS))})", re.IGNORECASE
)
