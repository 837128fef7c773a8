"""The rewriter that calls no model: the best-ranked hedge goes into the answer's own grammar."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from zlib import crc32

import anyio.to_thread

from hedgerow.lexicon import NO_HEDGE, Frame, FrameKind, Hedge, Match, load
from hedgerow.lexicon.text.language import grammar, known_language_of
from hedgerow.lexicon.text.numbers import SCALES, SMALL, TENS
from hedgerow.lexicon.text.opaque import masked
from hedgerow.lexicon.text.sentences import Piece
from hedgerow.lexicon.text.shape import Shape, shape
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.rewriting import frames
from hedgerow.proxy.rewriting.claims import asks_for_proof, asks_to_calculate, may_claim
from hedgerow.proxy.rewriting.frames import KEPT_INSIDE, Surroundings, capitalise, lowers, nearest_foreign
from hedgerow.proxy.rewriting.guard import LONG
from hedgerow.proxy.rewriting.strip import Strippers
from hedgerow.proxy.types import Rewrite, RewriteRequest
from hedgerow.proxy.upstreams.asking import RewriterFactory, RouteContext

NEAR_TIE = 0.025
"""Wordings whose costs differ by less than this are equally good; which is taken depends on the answer, so that they vary."""

NO_ASSERTION = re.compile(
    r"(?:(?:I['’]m |I am )?(?:very )?(?:sorry|afraid)\b|I (?:do not|don['’]t|cannot|can['’]t|could not|couldn['’]t|am unable|have no|am not able|need more)\b|"
    r"I['’]m (?:unable|not able|not aware|not familiar)|I(?:['’]m| am) not (?:\w+ )?(?:sure|certain)\b|Unfortunately|(?:There is )?no (?:reliable |verified |specific )?(?:record|information|data|details|evidence)\b|"
    r"I (?:can|could|would be happy to|am happy to|will) (?:provide|help|offer|give|look|try|tell you (?:more|about))|(?:good|great|excellent|interesting) question\b|(?:sure|certainly|of course|hello|hi|thanks|thank you|okay)\b[!,.]|As an AI|As of my (?:last|knowledge)|(?:It is )?(?:unclear|unknown|not known)\b|.{0,120}\b(?:(?:can|may) vary|var(?:y|ies)(?: \w+)? (?:depending|from \w+ to|by))\b|.{0,120}\b(?:has|have) not (?:yet )?been (?:announced|confirmed|released|determined|specified|named|disclosed|revealed|mentioned|provided)\b|[^,]{1,200}, you (?:can|could|will|may)\b|(?:this|that|it) will (?:give|allow|help|let|ensure|enable)\b|you can (?:use|try|have|add|set|write|run|do|make|create|get|simply|also|just|easily|follow)\b|(?:because|since|if|as) [^,]{0,200}, (?:we|let us|let['’]s)\b|.{0,60}\bdepends on (?:the (?:specific|type|version|model|context)|your|which|what|how|where|whether)\b|(?:[^,]{1,80}, )?It(?:['’]s| is) (?:not possible|impossible) to (?:determine|say|know|tell|provide|give|find|calculate)\b|We (?:do not|don['’]t|cannot|can['’]t) (?:know|tell|say|determine)\b|(?:[^,]{1,200}, )?(?:we|let us|let['’]s) (?:can|need|have to|must|will|get|use|find|see|know|first|start|then)\b|To \w+[^,]{0,200}, (?:you|we|one|use|follow|first|start)\b|(?:and )?(?:cannot|can['’]t|could not|couldn['’]t)\b|Sorry\b|Not (?:\w+ )?sure\b|I(?: will|['’]ll)\b|(?:it|this|that)(?: all| really)? depends\b|[^,]{1,60}, if you\b|(?:if you [^,]{1,200}, )?I(?:['’]d| would) be (?:happy|glad)\b|this (?:\w+ )?(?:problem|question|puzzle|riddle|task|exercise) (?:is|asks|involves|requires|can)\b|I don['’]t know|(?:yes, |no, )?I (?:dis)?agree\b|.{0,120}\b(?:is|are|was|remains?) (?:currently |still )?(?:unknown|unclear|not known|not specified)\b|(?:There (?:is|was) )?(?:not|too little|insufficient) (?:enough |sufficient )?information\b|I(?: am|['’]m) (?:unsure|uncertain|trained|designed|programmed|only|just|an? (?:\w+ )?(?:AI|language|text|assistant|model))\b|(?:(?:first|next|then|now|finally|so|here|again|since)\b,? )?(?:we|we['’]re|we['’]ve) (?:\w+ly )?(?:want|wish|are (?:asked|given|told|looking|trying|interested)|start|begin|know|apply|call|denote|define|obtain|consider|claim|have|had|must|need|can|could|may|will|would|should|get|find|use|see|let|try|first|then|now|also)\b)",
    re.IGNORECASE,
)
"""How sentences begin that give no answer: there is nothing to be sure or unsure of."""
_OF_MYSELF = re.compile(
    r"[Ii](?:['’]ve| have)? (?:(?:just|also|really|never|always|still|recently|actually|do not|don['’]t) )*(?:used to|did(?: not|n['’]t)?|(?:have|had) (?:not|never|n['’]t)|got an?|haven['’]t|loved?|liked?|enjoy(?:ed)?|"
    r"hated?|prefer(?:red)?|lived?|grew|went|saw|watch(?:ed)?|play(?:ed)?|wish(?:ed)?|work(?:ed)?|tried|bought|own(?:ed)?|visit(?:ed)?|met|miss(?:ed)?|agree|wonder)\b"
)
"""What somebody tells of himself ("I used to eat meat"); "I Love Lucy" is a title."""

_HEARSAY = frozenset({"reportedly", "allegedly", "supposedly", "potentially", "arguably", "theoretically"})
_ITEM = re.compile(r"\s*(?:[-*+•–]|\d{1,3}[.)])\s+\S")
_WE = re.compile(r"(?:^|, )(?:though )?we\b", re.IGNORECASE)
_OUR = re.compile(r"\b[Ww]e\b|\bour\b")
_LAME = re.compile(
    r"(?:^|, )(?:and|which) (?:there|this|that|is)\b|^with |^as an? |^at my |"
    r"inconceivable|almost no chance|next to no|hardly any|remotely possible|barely possible|extremely unlikely|highly improbable|"
    r"though (?:this|that) is (?:\w+ ){0,2}(?:unlikely|improbable|likely|doubtful)|though probably not|though there is |but \{fragment|though I do not think so"
)
"""Wordings that say after the answer what could be said with it, or that give an answer and call it impossible in one breath."""
_AFTER_ANSWER_IS = re.compile(
    r"(?:according to|in|on|at|by|from|to|for|with|because|due|after|before|since|under|through|via|yes|no|true|false)\b",
    re.IGNORECASE,
)

_STILTED = re.compile(
    r"\bI feel\b|cannot recall|barely remember|chances are slight|sceptical|skeptical|doubtful, but|slam dunk|"
    r"(?:remember|recall|gather|assured|known|established|want to say) (?:that the answer is )?\{fragment|(?:nearly|virtually) certain(?:ly)?\b|vaguely|highly likely \{fragment"
)
"""Wordings that nobody uses of a plain fact ("It was 1995, I feel."), or not with a bare name ("I vaguely remember Rome.")."""
_COMMON_NOUN = re.compile(r"\S+ [a-z]")
"""Two words of which the second is small: the first one's capital is likely that of a sentence, not of a name."""


@dataclass(frozen=True)
class TemplateRewriter:
    """Puts a hedge into the answer by its grammatical frames.

    Attributes:
        hedges: every hedge that may stand in a draft already and has to come out first; the shipped English ones by default.
    """

    hedges: tuple[Hedge, ...] = field(default_factory=lambda: load().hedges)
    name: str = field(default="template", init=False)

    def __post_init__(self) -> None:
        self.strippers.of("en").strip("Paris.")  # built now, not within the first request

    @cached_property
    def strippers(self) -> Strippers:
        """What takes a draft's own words of confidence out, by language."""
        return Strippers(self.hedges)

    async def rewrite(self, request: RewriteRequest) -> Rewrite:
        """Word the draft at the best hedge that fits its grammar.

        Raises:
            StepFailed: where the draft asserts nothing, or no frame of any hedge fits.
        """
        if len(request.draft) < LONG:
            return self.rewrite_sync(request)
        return await anyio.to_thread.run_sync(self.rewrite_sync, request)

    def rewrite_sync(self, request: RewriteRequest) -> Rewrite:
        """Synchronous version of `rewrite`."""
        language = request.language or known_language_of(request.draft, request.question)
        if language is None:
            raise StepFailed("rewrite", Reason.UNKNOWN_LANGUAGE, "the answer is not in a language that has hedges")
        matches = request.hedges if language == "en" else nearest_foreign(language, request.target, len(request.hedges))
        refused = request.refused | {NO_HEDGE} if request.must_hedge else request.refused
        matches = tuple(match for match in matches if match.hedge.id not in refused)
        if not matches:
            raise StepFailed("rewrite", Reason.NO_FRAME, "every retrieved hedge was refused")
        if not request.must_hedge and frames.is_plain(request.target, matches):
            return Rewrite(request.draft, NO_HEDGE)
        stripper = self.strippers.of(language)
        originals = stripper.pieces(request.draft)
        bare = [Piece(stripper.sentence(p.text), True) if p.is_sentence else p for p in originals]
        where = main_sentence(bare, language, request.question)
        if where is None:
            raise StepFailed("rewrite", Reason.NO_ASSERTION, "the draft asserts nothing that could be hedged")
        if language == "en" and hedges_itself(originals[where].text):
            raise StepFailed(
                "rewrite", Reason.ALREADY_HEDGED, "the draft hedges itself in words that are part of what it says"
            )
        parts = list(originals)
        rest = "".join(piece.text for index, piece in enumerate(parts) if index != where)
        around = Surroundings(request.question, rest, language)
        chosen = choose(stripper.bare(originals[where].text), matches, around, originals[where].text)
        if chosen is None:
            raise StepFailed("rewrite", Reason.NO_FRAME, "no frame of the retrieved hedges fits the draft")
        hedge, worded = chosen
        parts[where] = Piece(capitalise(worded) if originals[where].text[:1].isupper() else worded, True)
        return Rewrite("".join(piece.text for piece in parts), hedge.id)


_OWN_DOUBT = re.compile(
    r"(?<!\bI )\b(?:might|may|could|must)\b(?! \d)|\b(?:seems?|looks?|sounds?) like\b|\b(?:appears?|seems?|seemed|appeared|likely) (?:not )?to (?:be|have)\b|"
    r"\b(?:less|more) likely to\b|\bunless\b|\bneither\b|, no doubt\b|% (?:chance|probability)|\.\.\.|…|"
    r"\b(?:unlikely|reportedly|allegedly|supposedly|arguably|potentially|(?:said|reported|rumou?red|alleged) to|it is (?:\w+ )?(?:believed|thought|said|assumed) that|(?:clearly|obviously) (?:the|an?))\b|, of course\b",
    re.IGNORECASE,
)
"""Doubt that is part of what a sentence says ("It might be X"): without it the sentence would say something else."""
_ADVERB_OF_DOUBT = r"(?:possibly|probably|perhaps|maybe|likely|presumably)\b"
_OF_A_PART = re.compile(rf", (?:\w{{1,20}} ){{0,2}}{_ADVERB_OF_DOUBT} (?!it\b)")
""" "It was built around 1200, possibly by monks." """
_REPORTED = re.compile(
    r"(?<!\bI )\b(?:say|says|said|claims?|claimed|argue[sd]?|believe[sd]?|suggest(?:s|ed)?|thinks?|thought)\b"
)
""" "Critics say it is probably a hoax." """


def hedges_itself(sentence: str) -> bool:
    """Whether an English sentence has doubt of its own that another hedge cannot take the place of; quotations are not looked into."""
    text = masked(sentence)
    part, reported = _OF_A_PART.search(text), _REPORTED.search(text)
    return (
        _OWN_DOUBT.search(text) is not None
        or (part is not None and len(text[: part.start()].split()) > 2)
        or (reported is not None and re.search(rf"\b{_ADVERB_OF_DOUBT}", text[reported.end() :]) is not None)
    )


def is_list(text: str) -> bool:
    """Whether an answer is a list of items, bare or after a line that ends in a colon: a hedge on one of them would not speak for the others."""
    lines = [line for line in text.splitlines() if line.strip()]
    items = [_ITEM.match(line) is not None for line in lines]
    opens = bool(items) and (items[0] or lines[0].rstrip("*_ ").endswith(":"))
    return opens and sum(items[:3]) > 1 and _CONCLUDES.match(lines[-1]) is None


_FORMULA = re.compile(r"\\\[|\\\(|\$\$|\\boxed|\d\s{0,2}[=≈]\s{0,2}[\d$(\\]|^[^\S\n]{0,8}\S{1,12} ?[=≈]", re.MULTILINE)
_STEPS = 3
"""Formulas from which an answer is a worked solution, whatever was asked."""
_CONCLUDES = re.compile(
    r"[*_\s]*(?:(?:and )?(?:so|therefore|thus|hence|consequently|in conclusion)\b|(?:the|our) (?:final |correct )?(?:answer|result) (?:is|was)\b)",
    re.IGNORECASE,
)
_ANSWERS_FIRST = re.compile(r"[*_\s]*(?:yes|no|true|false|the (?:final |correct )?(?:answer|result))\b", re.IGNORECASE)


def is_worked_solution(text: str, question: str = "") -> bool:
    """Whether a text works something out step by step: then only its last line is an answer. One formula is enough where a calculation was asked for."""
    return len(_FORMULA.findall(text)) >= (1 if asks_to_calculate(question) else _STEPS)


def main_sentence(parts: Sequence[Piece], language: str = "en", question: str = "") -> int | None:
    """Index of the sentence that answers, the first that asserts something, but: of a worked solution the last one where it does; the last one too where
    it draws the conclusion ("So ..."); where a number was asked for in English, the first with one. A proof, a list and what asks back have no such sentence.
    """
    indices = [index for index, piece in enumerate(parts) if piece.is_sentence]
    alone = len(indices) == 1
    asks_back = bool(indices) and _ASKS_BACK.search(parts[indices[0]].text) is not None
    if asks_back or asks_for_proof(question) or is_list("".join(piece.text for piece in parts)):
        return None
    if is_worked_solution("".join(piece.text for piece in parts), question):
        indices = [index for index in indices[-1:] if _REMARK.match(parts[index].text) is None]
    asserting = [
        index
        for index in indices
        if (alone or not _is_line(parts[index].text, language, is_first=index == indices[0]))
        and asserts(parts[index].text, language)
    ]
    if len(asserting) > 1 and _concludes(parts[asserting[0]].text, parts[asserting[-1]].text):
        return asserting[-1]
    for asks, answers in _ASKED:
        if asks.search(question[:LONG]):
            asserting.sort(key=lambda index: answers.search(parts[index].text) is None)
    return next(iter(asserting), None)


def _concludes(first: str, last: str) -> bool:
    """Whether the last of some sentences draws the conclusion, and the first has not given it yet."""
    known = set(re.findall(r"\d+", last))
    return (
        _CONCLUDES.match(last) is not None
        and _ANSWERS_FIRST.match(first) is None
        and not (known and known == set(re.findall(r"\d+", first)))
    )


_REMARK = re.compile(r"(?:however|note|remember|alternatively|in (?:practice|general))\b", re.IGNORECASE)
"""What stands after a result."""
_ASKS_BACK = re.compile(r"\byou\b.*\?$")
"""What has to be known before there is an answer: "Which cup do you mean?" """
_ASKS_FOR_A_NUMBER = re.compile(
    r"\bhow (?:many|much|old|long|far|tall|high|big|large|often)\b|\bwhen\b|\b(?:what|which) (?:year|date|day|age|number)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(rf"\d|\b(?:{'|'.join((*SMALL, *TENS, *SCALES))})\b", re.IGNORECASE)
_ASKED: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (_ASKS_FOR_A_NUMBER, _NUMBER),
    *(
        (re.compile(rf"\bwho(?:se voice)? (?:\w+ ){{0,2}}?(?:{asked})", re.IGNORECASE), re.compile(rf"\b(?:{said})", re.IGNORECASE))
        for asked, said in (
            ("play|voice|star", "play|portray|voice|star"), ("sing|sang|sung|perform", "sing|sang|sung|perform|record|vocal"),
            ("wrote|write|compose", "wr[io]t|compose|author|by "), ("direct|produce", "direct|produce"), ("invent|discover|found|create|built", "invent|discover|found|create|buil|develop"),
            ("won|win", "won|win|champion"), ("kill|murder|shot", "kill|murder|shot"),
        )
    ),
)  # fmt: skip
"""What is asked for, and what the sentence that answers has in it: what stands before that is background."""


def _is_line(sentence: str, language: str, *, is_first: bool) -> bool:
    """Whether a sentence among others is a heading, a row, a formula or a leftover: without a stop, or a fragment after the first."""
    form = shape(sentence, language=language)
    if form.kind == "clause":
        return not (form.stopped or is_first)
    return not (form.stopped and (is_first or form.unsure)) or "=" in form.body


def asserts(sentence: str, language: str = "en") -> bool:
    """False for questions, for sentences that give no answer, that announce, instruct or are polite, and for what has no words or is a formula."""
    form = shape(sentence, language=language)
    no_answer = NO_ASSERTION if language == "en" else grammar(language).no_answer
    if (
        form.kind in ("none", "question")
        or no_answer.match(form.body)
        or (language == "en" and _OF_MYSELF.match(form.body))
        or _NO_WORDING.search(sentence)
        or _SYMBOLS.fullmatch(sentence)
        or _OPENS_QUOTATION.match(sentence)
    ):
        return False
    if form.body.rstrip("*_ ").endswith(":") and (language == "en" or form.kind == "fragment"):
        return False  # the list that follows is the answer
    return language != "en" or may_claim(sentence)


_OPENS_QUOTATION = re.compile(r"[*_]*(?:“[^”]*$|\"[^\"]*$)")
"""A sentence that begins a quotation of several."""
_NO_WORDING = re.compile(
    r"^(?i:therefore|thus|hence|so|then|finally|and)\W*$|^\$[^$\\]{0,300}\\[a-z][^$]{0,300}\$[.\s]{0,9}$|^(?=.*[\\/~^_|])(?!.*(?:[^\W_]{2}|\d))| \| |^[\[(|][^A-Za-z]*[\])|]$|^(?:Oh|Ah|Well|Haha|Ha)\b,? .*!$|^(?:Oh|Ah|Haha|Ha|Yeah|Yep|Sure),? (?:sure|right|yes|yeah|of course|great)\b",
    re.DOTALL,
)
"""Drawings, rows of tables, exclamations."""
_SYMBOLS = re.compile(
    r"(?!.*\bis\b)(?=.*(?:[=≈≠≤≥→⇌↔^]|->| [+×÷·] ))"
    r"(?>(?:[A-Z][a-z]?[\d⁰-₎²³]*){1,8}(?!\w)|\b(?:and|sin|cos|tan|log|exp|sqrt)\b|(?<![^\W\d_])[^\W\d_]{1,2}(?![^\W\d_])|[\W\d_⁰-₎²³])++"
)
"""An equation, a reaction or a term by itself: signs, numbers and symbols of a letter or two."""


@dataclass(frozen=True, slots=True)
class _Option:
    """A frame of a hedge in a sentence, and the sentence as it reads with it."""

    frame: Frame
    hedge: Hedge
    sentence: Shape
    worded: str
    around: Surroundings


_INTRODUCED = re.compile(
    r"(?:according to|in|on|at|by|during|after|before|since|as|for|to|from|with|under|despite|if|when|while|because|although|once)\b[^,]{0,120},|[a-z]{3,20}ly,",
    re.IGNORECASE,
)
_NOUN_PHRASE = re.compile(r"[*_\"“]*(?:(?:an?|the|one|his|her|its|their|my|this|that)\b|[A-Z\d])")


def _names_something(sentence: Shape) -> bool:
    """Whether a noun or a name follows the verb."""
    return sentence.adverb_at is not None and _NOUN_PHRASE.match(sentence.body[sentence.adverb_at :]) is not None


_SECOND_CLAUSE = re.compile(r",? (?:and|but|while|whereas) (?=[^,]{0,200}\b(?:is|are|was|were|has|have|had)\b)")


def _has_two_clauses(body: str) -> bool:
    """Whether a second statement with a subject of its own follows a conjunction."""
    second = _SECOND_CLAUSE.search(body)
    return second is not None and shape(body[second.end() :]).kind == "clause"


_CONDITIONAL = re.compile(r"(?:if|unless|when|once|should|had)\b", re.IGNORECASE)
_ADVERB_NEXT = re.compile(
    r"\W*(?:[a-z]{2,20}ly|often|also|still|now|not|once|ever|never|always|just|even|most|more)\b(?! \w+ly\b)"
)

_COSTS: tuple[tuple[float, Callable[[_Option], object]], ...] = (
    # "I think that Managing a patient ...": or is it a name? What stands beside the verb or at the end does not ask
    (0.2, lambda o: o.sentence.kind == "clause" and o.around.language != "de" and _COMMON_NOUN.match(o.sentence.body)
        and frames.disturbs_start(o.worded, o.sentence) and lowers(o.sentence.body, o.around) is None),
    # "Perhaps Constitutional monarchy"
    (0.03, lambda o: o.sentence.kind == "fragment" and _COMMON_NOUN.match(o.sentence.body)
        and frames.disturbs_start(o.worded, o.sentence) and lowers(o.sentence.body, o.around) is None),
    # "Possibly, Bell played for Ohio" where "Bell possibly played" is at hand
    (0.015, lambda o: o.frame.kind == "clause" and o.sentence.adverb_at is not None and o.frame.text.endswith(", {clause}")),
    # beside the verb a hedge reads more naturally than before the sentence
    (0.015, lambda o: o.frame.kind == "clause" and o.sentence.adverb_at is not None),
    # "A was probably born in 1950, and B was born in 1960" doubts the one and not the other
    (0.06, lambda o: o.frame.kind in ("adverb", "modal") and _has_two_clauses(o.sentence.body)),
    # "In all likelihood Greek." against "Greek, in all likelihood."
    (0.03, lambda o: o.frame.kind == "adverb" and o.sentence.kind == "fragment" and o.frame.text.startswith("in all ")),
    # "She could be a British writer", "He may well have been the king": what somebody is, "perhaps" and "probably" say better
    (0.05, lambda o: o.frame.kind == "modal" and not o.frame.text.endswith(" to") and _names_something(o.sentence)),
    # "It seems likely that as a soft metal, ...", "However, quite possibly, ...": two openings in a row
    (0.05, lambda o: o.frame.kind == "clause" and (_INTRODUCED.match(o.sentence.body) or (o.sentence.head and o.frame.text.endswith(", {clause}")))),
    # "New crust forms there, it seems." rather than "It seems the answer is new crust forms there."
    (0.015, lambda o: o.sentence.unsure and o.frame.kind == "fragment" and not o.frame.text.startswith("{")),
    # "If it rains, the match seems to be moved": an appearance of what has not happened
    (0.1, lambda o: o.frame.kind == "modal" and o.frame.text.endswith(" to") and _CONDITIONAL.match(o.sentence.body)),
    # a label before the answer reads less naturally than a hedge in it
    (0.03, lambda o: o.frame.kind == "lead" and o.sentence.kind != "imperative"),
    # "I think the answer is because ...", "It may well be Einstein flunked maths."
    (0.1, lambda o: ("answer is" in o.frame.text or "be {" in o.frame.text) and (o.sentence.unsure or _AFTER_ANSWER_IS.match(o.sentence.body))),
    (0.02, lambda o: o.frame.kind == "closing" and o.sentence.body.count(",") > 1),
    # before a clause that was not seen as one, an adverb would call for another word order
    (0.1, lambda o: o.around.language != "en" and o.sentence.unsure and not o.worded.startswith(o.sentence.body[:1])),
    # "Yes, there is a chance that ..." half takes the yes back
    (0.04, lambda o: o.sentence.is_polar and o.hedge.beta.mean < 0.5 and o.frame.kind == "clause"),
    # "presumably" says that it was inferred
    (0.02, lambda o: o.hedge.id == "presumably" and o.sentence.kind == "clause"),
    # the answer speaks for one person
    (0.2, lambda o: _WE.search(o.frame.text) and not _OUR.search(f"{o.sentence.body} {o.around.rest}")),
    # "it is presumably typically used", "it's quite possibly mainly due"
    (0.06, lambda o: o.frame.kind == "adverb" and o.sentence.adverb_at is not None and _ADVERB_NEXT.match(o.sentence.body, o.sentence.adverb_at)),
    (0.008, lambda o: o.frame.kind == "parenthetical"),
    (0.03, lambda o: _LAME.search(o.frame.text)),
    (0.015, lambda o: o.frame.kind == "fragment" and o.frame.text.startswith("there is a")),
    (0.06, lambda o: _STILTED.search(o.frame.text)),
    # "..., definitively."
    (0.02, lambda o: o.frame.kind == "closing" and o.frame.text in KEPT_INSIDE),
    # says that others say so
    (0.03, lambda o: o.hedge.id in _HEARSAY),
)  # fmt: skip
"""What a wording loses against a better one, in units of distance, and where."""


def choose(
    text: str,
    matches: Iterable[Match],
    around: Surroundings,
    original: str = "",
    kinds: Collection[FrameKind] | None = None,
) -> tuple[Hedge, str] | None:
    """The hedge to use and the sentence with it; None where no frame fits.

    `kinds` are the frames that may be used, which say where in the sentence a hedge goes; None: all.

    The `original`, from before its own confidence was taken out, stays where it is one of the wordings on offer: it costs no change.

    The nearest hedge wins, less what is awkward about its wording here. Among wordings that are as good, the sentence itself
    decides, so that answers do not all sound alike and the same answer always sounds the same.
    """
    sentence = shape(text, around.question, around.language)
    options: list[tuple[float, int, Hedge, str]] = []
    for match in matches:
        for order, frame in enumerate(frames.usable(match.hedge)):
            worded = frames.apply(frame, sentence, around) if kinds is None or frame.kind in kinds else None
            if worded is None:
                continue
            if original and capitalise(worded) == capitalise(original):
                return match.hedge, worded
            option = _Option(frame, match.hedge, sentence, worded, around)
            awkward = sum(cost for cost, applies in _COSTS if applies(option))
            options.append(
                (match.distance + 0.003 * order + awkward, _lot(sentence.body, frame.text), match.hedge, worded)
            )
    if not options:
        return None
    best = min(cost for cost, *_ in options)
    _, _, hedge, worded = min((o for o in options if o[0] <= best + NEAR_TIE), key=lambda option: option[1])
    return hedge, worded


def _lot(body: str, frame: str) -> int:
    """A number drawn for this wording of this answer, the same every time."""
    return crc32(f"{re.sub(r'[^0-9a-z]+', '', body.casefold())}|{frame}".encode())


def build(context: RouteContext) -> RewriterFactory:
    """One for all requests, with the route's lexicon."""
    template = TemplateRewriter(tuple(load(context.route.lexicon)))
    return lambda _asker: template
