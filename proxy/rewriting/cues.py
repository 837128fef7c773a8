"""How models commonly word their own confidence in English, beyond what the lexicon's frames would find.

Patterns, not phrases: degrees and objects vary. Used only to take a draft's own confidence out.
"""

from __future__ import annotations

_DEGREE = (
    r"(?:(?:very|quite|fairly|pretty|rather|really|reasonably|absolutely|completely|entirely|fully|totally|almost|nearly|"
    r"extremely|highly|somewhat|not|100%|far from|at all|too|so|exactly|a bit|a little|overly|personally) )*"
)
_SURE = r"(?:sure|certain|confident|positive|convinced|unsure|uncertain)"
_ABOUT = r"(?: (?:about|of|on|in) (?:(?:this|that|the)(?: exact)?(?: \w+)?|it|my answer)(?: though)?)?"
_I_AM = r"I(?:'m| am)"
_CANNOT = r"I (?:can't|cannot|could not|couldn't)"

BEFORE_BUT = (
    rf"{_I_AM} {_DEGREE}{_SURE}{_ABOUT}",
    rf"{_I_AM} not (?:\w+ )?(?:familiar|aware)[^,.;]*",
    r"I (?:do not|don't) (?:really |actually )?know(?: for (?:sure|certain))?(?: the exact \w+)?",
    rf"{_CANNOT} (?:be {_DEGREE}{_SURE}|verify this|confirm this|say for (?:sure|certain))",
    r"I (?:could|may|might) be (?:wrong|mistaken)",
)
"""Openings that lead to the answer by "but"."""

BEFORE_CLAUSE = (
    rf"{_I_AM} {_DEGREE}{_SURE}",
    r"I (?:really |honestly |strongly |firmly |do |would |personally |'d )?(?:think|believe|guess|suspect|suppose|assume|reckon|imagine|presume)",
    r"I(?:'d| would) (?:say|guess|bet|imagine|venture)",
    r"it (?:seems|appears|would seem|would appear)(?: likely)?(?! likely\b)",
    r"(?:my|the) (?:(?:best|random|wild|educated|most likely) )?(?:guess|answer) (?:is|would be)",
    r"chances are",
    r"I can (?:tell you|say)",
)
"""Openings that govern a clause, with or without "that"."""

BEFORE_THAT = (
    r"(?:it is|it's) (?:(?:very|quite|highly|almost|fairly|entirely|extremely|generally|widely) )*(?:likely|unlikely|probable|possible|certain|clear|obvious|evident|conceivable|plausible)",
    r"there (?:is|'s) (?:no|little|some) doubt",
    r"there (?:is|'s) (?:a|some|no) (?:(?:good|fair|slim|small|strong|real) )?(?:chance|possibility|probability)",
)
"""Openings that govern a clause with "that" only ("it is likely to rain" is another thing)."""

OPENING = (
    r"as far as (?:I know|I can tell|I am aware|I'm aware|I can determine|I remember|I recall)", r"to (?:the best of )?my knowledge",
    r"if I(?:'m| am) not mistaken", r"if (?:I|my memory) (?:remember|recall|serves)(?: me)?(?: correctly| right)?", r"in my (?:opinion|view)",
    r"without (?:a |any )?(?:shadow of a )?doubt", r"of course", r"undoubtedly", r"undeniably", r"unquestionably", r"certainly", r"definitely",
    r"surely", r"clearly", r"obviously", r"presumably", r"apparently", r"conceivably", r"probably", r"possibly", r"perhaps", r"maybe", r"(?:most|very|quite) (?:likely|probably|possibly)",
    r"almost certainly",
)  # fmt: skip
"""Adverbials that open a sentence, with a comma or without."""

CLOSING = (
    rf"(?:but|though|although|however,?) {_I_AM} {_DEGREE}{_SURE}{_ABOUT}",
    rf"(?:but|though|although) {_CANNOT} (?:be {_DEGREE}{_SURE}{_ABOUT}|confirm (?:it|this|that)|say for (?:sure|certain)|(?:fully |independently )?verify (?:it|this|that)(?: here)?)",
    r"(?:but|though|although) I (?:could|may|might) be (?:wrong|mistaken|misremembering)",
    r"(?:but|though|although) I (?:do not|don't) (?:really )?know(?: for (?:sure|certain))?",
    r"I (?:think|believe|guess|suppose)", r"as far as I (?:know|can tell|am aware|can determine)", r"to (?:the best of )?my knowledge",
    r"if I(?:'m| am) not mistaken", r"if I (?:remember|recall) (?:correctly|right)", r"without (?:a |any )?(?:shadow of a )?doubt", r"for (?:sure|certain)",
)  # fmt: skip
"""What hangs on the end of a sentence after a comma or a dash."""

ADVERBS = (
    r"(?:almost|most|virtually|nearly|quite) certainly", r"(?:very|most|quite|just) (?:probably|possibly|likely|definitely)", r"probably", r"possibly", r"perhaps", r"maybe",
    r"(?:(?<=is )|(?<=was )|(?<=are )|(?<=were ))likely(?! to\b)",
    r"certainly", r"definitely", r"undoubtedly", r"undeniably", r"unquestionably", r"surely", r"presumably", r"conceivably", r"indisputably",
)  # fmt: skip
"""What stands beside the verb."""

KEPT_INSIDE = frozenset(
    {"clearly", "absolutely", "definitively", "obviously", "potentially", "likely", "assuredly", "plausibly"}
)
"""Adverbs that inside a sentence more often say how a thing is than how sure the speaker is ("clearly visible", "the likely
cause"): neither put in nor taken out there, only at the start."""

NOT_PUT_INSIDE = KEPT_INSIDE | {"maybe"}
"""Taken out where a draft has them, but not put in: "it will maybe die" is no good English."""
