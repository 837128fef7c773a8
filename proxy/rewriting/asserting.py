"""Finds the sentence of a response that answers the question, and whether a sentence makes a claim that can be hedged."""

from __future__ import annotations

import re

from ...lexicon.text.language import grammar
from ...lexicon.text.shape import shape
from .claims import may_claim
from .no_answer import NO_ASSERTION
from .talk import closed_up, is_taste, tells_of_speaker


def asserts(sentence: str, language: str = "en") -> bool:
    """Whether a sentence makes a claim.

    False for questions, non-answers, announcements, instructions, politeness, formulas and text without words.
    """
    form = shape(closed_up(sentence), language=language)
    no_answer = NO_ASSERTION if language == "en" else grammar(language).no_answer
    if (
        form.kind in ("none", "question")
        or no_answer.match(form.body)
        or (language == "en" and (tells_of_speaker(form.body) or is_taste(form.body)))
        or _NO_WORDING.search(sentence)
        or _SYMBOLS.fullmatch(sentence)
        or _ABOUT_THE_TEXT.search(form.body)
        or _OPENS_QUOTATION.match(sentence)
    ):
        return False
    if form.body.rstrip("*_ ").endswith(":") and (language == "en" or form.kind == "fragment"):
        return False  # the list that follows is the answer
    return language != "en" or may_claim(sentence)


_OPENS_QUOTATION = re.compile(r"[*_]*(?:“[^”]*$|\"[^\"]*$)")
"""Start of a quotation that spans several sentences."""
_NO_WORDING = re.compile(
    r"^(?i:therefore|thus|hence|so|then|finally|and)\W*$|^\$[^$\\]{0,300}\\[a-z][^$]{0,300}\$[.\s]{0,9}$|^(?=.*[\\/~^_|])(?!.*(?:[^\W_]{2}|\d))| \| |^[\[(|][^A-Za-z]*[\])|]$|^(?:Oh|Ah|Well|Haha|Ha)\b,? .*!$|^(?:well|yeah|so|oh) (?:i|it|he|she|they|we|that|there)\b|^That ?['’]s (?:an? )?\w+(?: \w+)? ?!$|^One (?:\w+ )?(?:example|type|kind|way) of\b|^(?i:Oh|Ah|Haha|Ha|Yeah|Yep|Sure),? (?:sure|right|yes|yeah|of course|great)\b"
    r"|^(?:According to|In) (?:the )?(?:\w+ )?(?:Bible|Book of|book of|Torah|Qur['’]?an|Quran|Gospels?|scriptures?|legends?|myths?|mythology|folklore|tradition)\b",
    re.DOTALL,
)
"""Drawings, table rows, exclamations, and content of scripture or legend, where a hedge makes no sense."""
_ABOUT_THE_TEXT = re.compile(
    r"\b(?:has|have) had (?:several|many|various|numerous)\b|\bas follows\b|\bI (?:do not|don['’]t) have (?:\w{1,20} )?(?:knowledge|information|access)\b|\b[Ii]f you (?:can |could |would )?(?:provide|give|share|clarify|specify|tell)\b|"
    r"^(?:The|This|These) (?:given |above |following )?(?:paragraphs?|passage|text|lyrics|article|excerpt|dialogue|sentence|poem|statement|story|example|quote|speaker|author) "
    r"(?:describes?|suggests?|discuss(?:es)?|mentions?|states?|says?|explains?|argues?|highlights?|refers?|conveys?|depicts?|implies|imply|shows?|talks?|expresses|emphasi[sz]es)\b"
)
"""Announces something, describes a given text ("The paragraph describes ...") or asks for more.

Not matched: "The show has had several moderators".
"""
_SYMBOLS = re.compile(
    r"(?!.*\bis\b)(?=.*(?:[=≈≠≤≥→⇌↔^]|->| [+×÷·] ))"
    r"(?>(?:[A-Z][a-z]?[\d⁰-₎²³]*){1,8}(?!\w)|\b(?:and|sin|cos|tan|log|exp|sqrt)\b|(?<![^\W\d_])[^\W\d_]{1,2}(?![^\W\d_])|[\W\d_⁰-₎²³])++"
)
"""An equation, a reaction or a term on its own: signs, numbers and symbols of one or two letters."""
