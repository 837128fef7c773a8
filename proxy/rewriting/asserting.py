"""Finds the sentence of a response that answers the question, and whether a sentence makes a claim that can be hedged."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...lexicon.text.language import grammar
from ...lexicon.text.numbers import SCALES, SMALL, TENS
from ...lexicon.text.opaque import masked
from ...lexicon.text.sentences import Piece
from ...lexicon.text.shape import shape
from ...lexicon.text.words import one_of
from .claims import asks_for_proof, asks_to_calculate, may_claim
from .guard import LONG
from .headings import is_answer_above
from .no_answer import NO_ASSERTION
from .talk import closed_up, is_taste, is_turn, tells_of_speaker

_ITEM = re.compile(r"\s*(?:[-*+•–]|\d{1,3}[.)])\s+\S")


_ABLE = one_of(
    "carry classify climb detect distinguish float fly hear hold identify jump lift play read recognise recognize seat sing speak store swim throw translate walk write"
)
_OWN_DOUBT = re.compile(
    rf"(?<!\bI )\bcould\b(?! \d| (?:(?:also|already|even|only) )?{_ABLE}\b)|\b(?:less|more) likely to\b(?![^.;]*\bthan\b)|"
    r"(?<!\bI )\b(?:might|(?-i:may)|must)\b(?! \d)|\b(?:seems?|looks?|sounds?) like\b|\b(?:appears?|seems?|seemed|appeared) (?:not )?to\b|\blikely (?:not )?to (?:be|have)\b|"
    r"\bunless\b|, no doubt\b|% (?:chance|probability)|\.\.\.|…|"
    r"\b(?:unlikely|reportedly|allegedly|supposedly|arguably|potentially|(?:said|reported|rumou?red|alleged) to|it is (?:\w+ )?(?:accepted|agreed|believed|thought|said|assumed) that|(?:sources|records|reports|accounts) (?:indicate|report|suggest|say)|(?:is|are|was|were) (?:\w{1,15} )?(?:believed|thought|assumed|presumed) to|(?:clearly|obviously) (?:the|an?))\b|, of course\b|"
    r"\b(?:is|are|was|were) (?:(?:also|still|now|\w+ly|often|sometimes) ){0,2}(?:considered|regarded|deemed|credited (?:with|as))\b|"
    r"\b(?:is|are|was|were) (?:also )?(?:often|sometimes|\w+ly) (?:attributed|credited|recogni[sz]ed|accepted|associated|believed|thought|cited|seen|viewed|held)\b",
    re.IGNORECASE,
)
"""Doubt that is part of the claim, so that removing it would change the meaning.

Either the sentence's own ("It might be X") or what others hold ("It is often attributed to X"). Not matched: "Theresa
May", an ability ("He could read at four"), a comparison ("more likely to fall ill than others").
"""
_ADVERB_OF_DOUBT = r"(?:possibly|probably|perhaps|maybe|likely|presumably)\b"
_OF_A_PART = re.compile(rf", (?:\w{{1,20}} ){{0,2}}{_ADVERB_OF_DOUBT} (?!it\b)")
"""Doubt about a part of the sentence only: "It was built around 1200, possibly by monks." """
_REPORTED = re.compile(
    r"(?<!\bI )\b(?:say|says|said|claims?|claimed|argue[sd]?|believe[sd]?|suggest(?:s|ed)?|thinks?|thought)\b"
)
"""A verb that reports what somebody says or thinks: "Critics say it is probably a hoax." """


_CORRECTS_ITSELF = re.compile(
    r"(?:['’]s|\b(?:is|was|are|were)) (?:incorrect|not (?:correct|accurate|the (?:correct|right|actual|answer|film|movie|song|book|one)\b))|"
    r"[,;] however\b|(?<=\S )no, it (?:is|was)\b|\bbut (?:that|this|it)(?: is|['’]s| was) an? (?:different|separate|another)\b|\bbut,? (?:no,|I (?:can |could )?f(?:ou|i)nd\b|(?:it|that|this|he|she) (?:is|was) not\b)",
    re.IGNORECASE,
)
"""The sentence corrects itself: "It was X, but it was not the film you are looking for".

A hedge would apply to both halves.
"""


def hedges_itself(sentence: str) -> bool:
    """Whether an English sentence has doubt of its own that no other hedge can replace, or corrects itself.

    Text inside quotation marks is ignored.
    """
    text = masked(sentence)
    part, reported = _OF_A_PART.search(text), _REPORTED.search(text)
    return (
        _OWN_DOUBT.search(text) is not None
        or _CORRECTS_ITSELF.search(text) is not None
        or (part is not None and len(text[: part.start()].split()) > 2)
        or (reported is not None and re.search(rf"\b{_ADVERB_OF_DOUBT}", text[reported.end() :]) is not None)
    )


def is_list(text: str) -> bool:
    """Whether an answer is a list of items, with or without a line before it that ends in a colon.

    A hedge on one item would not apply to the others.
    """
    lines = [line for line in text.splitlines() if any(c.isalnum() for c in line)]
    items = [_ITEM.match(line) is not None for line in lines]
    opens = bool(items) and (items[0] or lines[0].rstrip("*_ ").endswith(":"))
    return opens and sum(items[:3]) > 1 and _CONCLUDES.match(lines[-1]) is None


_FORMULA = re.compile(
    r"\\\[|\\\(|\$\$|\\boxed|\b\d{1,9}[a-z] [-+*/] ?\d|\d\)? equals \d|\d\s{0,2}[=≈]\s{0,2}[\d$(\\]|^[^\S\n]{0,8}\S{1,12} ?[=≈]",
    re.MULTILINE,
)
_STEPS = 3
"""Number of formulas from which an answer counts as a worked solution, whatever the question was."""
_CONCLUDES = re.compile(
    r"[*_\s]*(?:(?:and )?(?:so|therefore|thus|hence|consequently|in conclusion)\b|(?:the|our) (?:final |correct )?(?:answer|result) (?:is|was)\b)",
    re.IGNORECASE,
)
_ANSWERS_FIRST = re.compile(r"[*_\s]*(?:yes|no|true|false|the (?:final |correct )?(?:answer|result))\b", re.IGNORECASE)


def is_worked_solution(text: str, question: str = "") -> bool:
    """Whether a text works something out step by step, so that only its last line is the answer.

    Where the question asks for a calculation, one formula is enough, or a last line that draws the conclusion.
    """
    if not asks_to_calculate(question):
        return len(_FORMULA.findall(text)) >= _STEPS
    last = text.rstrip().rpartition("\n")
    return _FORMULA.search(text) is not None or (last[1] != "" and _CONCLUDES.match(last[2]) is not None)


def main_sentence(parts: Sequence[Piece], language: str = "en", question: str = "") -> int | None:
    """Index of the sentence that answers the question; None for a proof, a list or a question back to the user.

    Usually the first sentence that makes a claim. Exceptions: the last sentence of a worked solution if it makes a
    claim; the last sentence if it draws the conclusion ("So ..."); the first sentence with a number if an English
    question asks for a number.
    """
    indices = [index for index, piece in enumerate(parts) if piece.is_sentence]
    alone = len(indices) == 1
    if not indices or asks_for_proof(question) or is_list("".join(piece.text for piece in parts)):
        return None
    first = indices[0]
    if _ASKS_BACK.search(parts[first].text) or _TERM.search("".join(piece.text for piece in parts[: first + 1])):
        return None
    if is_worked_solution("".join(piece.text for piece in parts), question):
        indices = _result_of(parts, indices, language)
    asserting = [
        index
        for index in indices
        if (
            alone
            or not _is_line(parts[index].text, language, is_first=index == indices[0])
            or (index == first and is_answer_above(parts, index, question))
        )
        and (index == first or not parts[index].text[:1].islower() or parts[first].text[:1].islower())
        and asserts(parts[index].text, language)
    ]
    if len(asserting) > 1 and _concludes(parts[asserting[0]].text, parts[asserting[-1]].text):
        return asserting[-1]
    if len(asserting) > 1 and " not " in parts[asserting[0]].text:  # "It was not X. The film instead starred Y."
        asserting.sort(key=lambda index: _INSTEAD.search(parts[index].text) is None)
    asserting.sort(key=lambda index: is_background(parts[index].text, question))
    if language == "en":
        asserting.sort(key=lambda index: defines(parts[index].text))
    if (verb := _VERB_OF_WHO.search(question[:LONG])) is not None:
        asserting.sort(key=lambda index: f" {verb.group(1)[:4]}" not in parts[index].text)
    for asks, answers in _ASKED:
        if asks.search(question[:LONG]):
            asserting.sort(key=lambda index: answers.search(parts[index].text) is None)
    return next(iter(asserting), None)


def _result_of(parts: Sequence[Piece], indices: Sequence[int], language: str) -> list[int]:
    """The last sentence of a worked solution, or the first if only that states the result.

    Example of the second case: "The answer is 10. Here is how: ...".
    """
    last = [index for index in indices[-1:] if _REMARK.match(parts[index].text) is None]
    if (
        any(asserts(parts[index].text, language) for index in last)
        or _ANSWERS_FIRST.match(parts[indices[0]].text) is None
    ):
        return last
    return [indices[0]]


def takes_no_stand(texts: Sequence[str]) -> bool:
    """Whether an English answer says after its first sentence that it found nothing, disagrees or needs more input."""
    return any(map(_GIVES_UP.match, texts[1:]))


def is_no_statement(draft: str, texts: Sequence[str], question: str = "") -> bool:
    """Whether an English answer makes no claim at all.

    That is: a question back, a refusal, an invented example, small talk about oneself, a list of ideas, or a non-answer
    that ends by asking for details. `texts` are the sentences of `draft`.
    """
    if not texts:
        return False
    asks = (
        len(texts) > 1
        and NO_ASSERTION.match(texts[0]) is not None
        and (_GIVES_UP.match(texts[-1]) or _IF_YOU_COULD.match(texts[-1])) is not None
    )
    return (
        asks
        or (_DECLINES.match(texts[0]) is not None and not any(map(_ANSWERS_YET.search, texts)))
        or _ASKS_BACK.search(texts[0]) is not None
        or _REFUSES.match(texts[0]) is not None
        or _ILLUSTRATES.match(texts[0]) is not None
        or any(map(_NOT_KNOWN.search, texts))
        or any(map(_ASKS_FOR_MORE.match, texts))
        or is_turn(texts)
        or _lists_ideas(draft, question)
    )


def _lists_ideas(draft: str, question: str) -> bool:
    """Whether an answer is a list of ideas, by the question or the line before the list: neither right nor wrong."""
    return is_list(draft) and (_IDEAS.match(draft) or _ASKS_FOR_IDEAS.search(question[:LONG])) is not None


_IDEAS = re.compile(
    r"[^\n]*\b(?:tips|recipe|ideas|suggestions|curriculum|outline|plan|template)\b[^\n]*:[*_ ]*\n",
    re.IGNORECASE,
)
_ASKS_FOR_IDEAS = re.compile(
    r"\b(?:tips|ideas|suggest\w*|advice|ways to|recommendations?|alternatives?|strateg(?:y|ies)|positive (?:things?|aspects?))\b",
    re.IGNORECASE,
)
_NOT_KNOWN = re.compile(
    r"\bthere is no (?:(?:\w{1,20} )?information (?:provided|available|given)|(?:definit(?:e|ive)|single|clear|specific|correct|right|simple) answer)\b|"
    r"\bthe (?:given |provided )?(?:text|passage|article|narrative|story|paragraph|prompt|input|sentence|dialogue)s? (?:does|do|did) not (?:\w{1,20} )?(?:provide|mention|specify|state|contain|include|say|give|indicate)\b",
    re.IGNORECASE,
)
_DECLINES = re.compile(
    r"(?:unfortunately\b[^.]{0,80}?|(?:I['’]m |I am )?(?:very )?(?:sorry|afraid)\b[^.]{0,40}?|as an? (?:AI|language)\b[^.]{0,60}?)?\bI (?:do not|don['’]t|cannot|can['’]t|could not|couldn['’]t|am (?:unable|not able) to) "
    r"(?:have (?:enough|any|access|information|the)|predict|determine|provide|find|tell|answer|identify|access|verify|confirm)\b|"
    r"it is (?:unclear|unknown|not known|not clear)\b",
    re.IGNORECASE,
)
"""Start of an answer that does not know; unless a "However" follows, the rest is no answer either."""
_ANSWERS_YET = re.compile(
    r"\b(?:however|but|though|although|that said|still|nevertheless|in general|generally|based on|assuming|according to|likely|probably|guess|would be|think|believe)\b",
    re.IGNORECASE,
)
_IF_YOU_COULD = re.compile(
    r"if you (?:can|could|would|have)(?: please)? (?:provide|give|share|clarify|specify|tell|any|more)\b", re.IGNORECASE
)


def after_label(parts: Sequence[Piece], index: int) -> bool:
    """Whether a sentence follows a label that may be the first half of a title ("Half-Life 2: Episode Two").

    A hedge between the two would split the title.
    """
    before = parts[index - 1].text if index else ""
    labels = (
        before.rstrip().endswith((":", ":**", ":__")) and not before.endswith("\n") and "answer" not in before.lower()
    )
    return labels and _BEGINS.match(parts[index].text) is None


def is_half_a_title(head: str, body: str) -> bool:
    """Whether the text before a colon may be half a title ("Batman: the Black Mirror"), not a label ("Answer: ...")."""
    return head.rstrip("*_ ").endswith(":") and "answer" not in head.lower() and _BEGINS.match(body) is None


_BEGINS = re.compile(r"[*_]*(?:The|An?|It|He|She|They|This|These|There|In|On|Yes|No)\b")
"""Words that begin a sentence but not the second half of a title."""


def _concludes(first: str, last: str) -> bool:
    """Whether the last of several sentences draws the conclusion, and the first does not already give it."""
    known = set(re.findall(r"\d+", last))
    return (
        _CONCLUDES.match(last) is not None
        and _ANSWERS_FIRST.match(first) is None
        and not (known and known == set(re.findall(r"\d+", first)))
    )


_REMARK = re.compile(r"(?:however|note|remember|alternatively|in (?:practice|general))\b", re.IGNORECASE)
"""Start of a remark that comes after the result."""
_ASKS_BACK = re.compile(r"\byou\b.*\?$")
"""A question to the user that must be answered first: "Which cup do you mean?" """
_ILLUSTRATES = re.compile(
    r"(?:(?:sure|certainly|of course|yes|okay)[,!.] )?(?:(?:let['’]s |let us |please )?(?:consider|imagine|suppose|picture)\b(?! (?:is|was|by)\b)|let['’]s say)\b|.{0,80}\bI can (?:imagine|picture)\b",
    re.IGNORECASE,
)
"""Start of an invented example: "Sure, consider a farmer who sells his milk." """
_REFUSES = re.compile(
    r"(?:I['’]m sorry,? (?:but )?)?as an AI\b[^.]{0,40}, I (?:cannot|can['’]t|am not able to|am unable to) (?:provide|give|create|evaluate|offer|generate|express|engage|do)\b",
    re.IGNORECASE,
)
_ASKS_FOR_MORE = re.compile(
    r"(?:can|could|would) you (?:please )?(?:provide|clarify|specify|give|share|rephrase)\b[^?]*\?", re.IGNORECASE
)
"""A request for details: "I see that you drew two marbles. Could you please clarify what you would like to know?" """
_INSTEAD = re.compile(r"\b(?:instead|actually)\b")
_TERM = re.compile(r"^[*_]*(?!.*\banswer\b)\w[^\s:]* [^:\n.?!]{2,60}:[*_]* (?:It|This|They)\b", re.IGNORECASE)
"""A term followed by its definition: "Factory Method: It is a pattern ..."."""
_GIVES_UP = re.compile(
    r"(?:however|but),? I (?:believe|found|suspect)\b|(?:however, |but )?I (?:(?:could not|couldn['’]t|cannot|can['’]t|was not able to|am not able to|was unable to|am unable to) (?:verify|confirm|find|determine|identify|locate))\b|"
    r"(?:can|could|would) you (?:please )?(?:provide|clarify|specify|give|share|rephrase)\b|please (?:provide|clarify|specify)\b",
    re.IGNORECASE,
)
"""What an answer says after a first sentence that it does not stand by."""
_ASKS_FOR_A_NUMBER = re.compile(
    r"\bhow (?:many|much|old|long|far|tall|high|big|large|often)\b|\bwhen\b|\b(?:what|which) (?:year|date|day|age|number)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(rf"\d|\b(?:{'|'.join((*SMALL, *TENS, *SCALES))})\b", re.IGNORECASE)
_ASKED: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (_ASKS_FOR_A_NUMBER, _NUMBER),
    (re.compile(r"\bwhere\b.*\b(?:begin|start|end|originate)", re.IGNORECASE), re.compile(r"\b(?:begin|start|end|originat|ris)", re.IGNORECASE)),
    *(
        (re.compile(rf"\bwho(?:se voice)? (?:\w+ ){{0,2}}?(?:{asked})", re.IGNORECASE), re.compile(rf"\b(?:{said})", re.IGNORECASE))
        for asked, said in (
            ("play|voice|star", "play|portray|voice|star"), ("sing|sang|sung|perform", "sing|sang|sung|perform|record|vocal"),
            ("wrote|write|compose", "wr[io]t|compose|author|by "), ("direct|produce", "direct|produce"), ("invent|discover|found|create|built", "invent|discover|found|create|buil|develop"),
            ("won|win", "won|win|champion"), ("kill|murder|shot", "kill|murder|shot"),
        )
    ),
)  # fmt: skip
"""Pairs (pattern in the question, pattern in the sentence that answers it): earlier sentences are background."""


_BY = re.compile(
    r"(?:, |\b(?:song|track|single|film|movie|character|series|show|book|novel|play|poem|story|album|opera|painting) )"
    r"(?=(?:(?:\w{1,20} )?(?:portrayed|played|voiced|written|sung|performed|directed|recorded|created|produced|composed|invented|discovered|founded|designed|built|painted|sculpted)(?:,| and)? ){1,3}by\b)"
)


def is_background(sentence: str, question: str) -> bool:
    """Whether a sentence is background: undisputed or already said, and without what was asked.

    Example: "Marie Curie was a famous scientist".
    """
    return _BACKGROUND.match(sentence) is not None and by_whom_at(sentence, question) is None


def defines(sentence: str) -> bool:
    """Whether a sentence defines a common word.

    Anybody can look that up, so a hedge is more useful in another sentence.

    >>> defines("Sales forecasting refers to the process of predicting sales."), defines("The Battle of Hastings is a type of dance.")
    (True, False)
    """
    return _DEFINES.match(sentence) is not None and _NAME.search(sentence, 1) is None


_DEFINES = re.compile(
    r"(?:an? |the (?:term|word|concept) )?[^,.:]{2,60}? (?:(?:is|are) (?:an? |the )?(?:defined as|(?:competitive |general |common )?(?:process|practice|act|type|kind|form|branch|method|measure|term|concept|activity|rate|ability|study|tendency)(?: of| that| used| in| at| to)?\b)|refers? to (?:the|an?|how|when|what)\b)",
    re.IGNORECASE,
)
_NAME = re.compile(r"\d|\b[A-Z][a-z]+")
_BACKGROUND = re.compile(
    r"[^,.]{1,80}? (?:is|was|are|were) (?:an?|the|one of the(?: most)?) (?:\w{1,20} ){0,2}(?:famous|fictional|well-known|renowned|character (?:from|in|on))\b|In other words\b"
)
_VERB_OF_WHO = re.compile(
    r"\bwho (?:first |originally |actually )?(?!is\b|was\b|are\b|were\b|do|did\b|has\b|have\b|can\b|will\b|the\b)([a-z]{3,})"
)
_SAYS_WHAT = re.compile(r"[^,]{1,80}?\b(?:is|was|are|were) (?:an?|the|one)\b")


def by_whom_at(body: str, question: str) -> int | None:
    """Offset of the words that name the maker, if the question asks for the maker; a hedge goes there.

    Example: "Phasma is a character in Star Wars, portrayed by Gwendoline Christie" has it before "portrayed".
    """
    if not re.search(r"\bwho", question[:LONG], re.IGNORECASE) or _SAYS_WHAT.match(body) is None:
        return None
    match = _BY.search(body)
    return None if match is None else match.end()


def _is_line(sentence: str, language: str, *, is_first: bool) -> bool:
    """Whether one of several sentences is a heading, a table row, a formula or a remnant.

    That is: it has no full stop, or is a fragment and not the first.
    """
    form = shape(sentence, language=language)
    if form.kind == "clause":
        return not (form.stopped or is_first)
    return not (form.stopped and (is_first or form.unsure)) or "=" in form.body


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
