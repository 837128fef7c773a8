"""The rewriter without a model: puts the best hedge into the answer by grammatical rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from zlib import crc32

from ...lexicon import NO_HEDGE, Frame, FrameKind, Hedge, Match, load
from ...lexicon.text.english import AUXILIARIES, PARTICIPLES, PAST_VERBS
from ...lexicon.text.language import known_language_of
from ...lexicon.text.sentences import Piece
from ...lexicon.text.shape import Shape, led_in, shape
from ..computing import compute
from ..errors import StepFailed
from ..outcomes import Reason
from ..types import Rewrite, RewriteRequest
from ..upstreams.asking import RewriterFactory, RouteContext
from . import frames
from .asserting import (
    after_label,
    by_whom_at,
    hedges_itself,
    is_half_a_title,
    is_no_statement,
    main_sentence,
    takes_no_stand,
)
from .frames import KEPT_INSIDE, Surroundings, capitalise, lowers, nearest_foreign
from .guard import LONG
from .strip import Strippers
from .talk import is_cut_off

WITHIN: frozenset[FrameKind] = frozenset({"adverb", "modal", "fragment", "closing"})
"""Kinds of frames that put nothing before a clause."""
NEAR_TIE = 0.025
"""Wordings whose costs differ by less than this are equally good; the answer decides, so that wordings vary."""

_HEARSAY = frozenset({"reportedly", "allegedly", "supposedly", "potentially", "arguably", "theoretically"})
_SAID_AFTER = frozenset(
    f"{{fragment}}, {word}" for word in ("perhaps", "possibly", "quite possibly", "probably", "presumably")
)
_WE = re.compile(r"(?:^|, )(?:though )?we\b", re.IGNORECASE)
_SPEAKS = re.compile(r"\b(?:I|we|my)\b|, \{clause\}")
"""Wordings that must stay before an introductory phrase: "In Austria, I think that ..." would be about thinking there.
"""
_OUR = re.compile(r"\b[Ww]e\b|\bour\b")
_LAME = re.compile(
    r"(?:^|, )(?:and|which) (?:there|this|that|is)\b|^with |^as an? |^at my |"
    r"inconceivable|almost no chance|next to no|hardly any|remotely possible|barely possible|extremely unlikely|highly improbable|"
    r"though (?:this|that) is (?:\w+ ){0,2}(?:unlikely|improbable|likely|doubtful)|though probably not|though there is |but \{fragment|though I do not think so"
)
"""Clumsy wordings: a hedge in a second sentence after the answer, or one that calls the answer just given impossible.
"""
_AFTER_ANSWER_IS = re.compile(
    r"(?:according to|in|on|at|by|from|to|for|with|because|due|after|before|since|under|through|via|yes|no|true|false)\b",
    re.IGNORECASE,
)

_STILTED = re.compile(
    r"\bI feel\b|cannot recall|barely remember|chances are slight|sceptical|skeptical|doubtful, but|slam dunk|"
    r"(?:remember|recall|gather|assured|known|established|want to say) (?:that the answer is )?\{fragment|(?:nearly|virtually) certain(?:ly)?\b|vaguely|highly likely \{fragment"
)
"""Wordings that are unusual for a plain fact ("It was 1995, I feel.") or a bare name ("I vaguely remember Rome.")."""
_COMMON_NOUN = re.compile(r"\S+ [a-z]")
"""Two words, the second in lower case: the first has its capital probably as the first word, not as a name."""


@dataclass(frozen=True)
class TemplateRewriter:
    """Puts a hedge into the answer by its grammatical frames.

    Attributes:
        hedges: hedges that a draft may already have, to be removed first; the shipped English ones by default.
    """

    hedges: tuple[Hedge, ...] = field(default_factory=lambda: load().hedges)
    name: str = field(default="template", init=False)

    @cached_property
    def strippers(self) -> Strippers:
        """Removes a draft's own words of confidence, by language."""
        return Strippers(self.hedges)

    async def rewrite(self, request: RewriteRequest) -> Rewrite:
        """Word the draft at the best hedge that fits its grammar.

        Raises:
            StepFailed: where the draft asserts nothing, or no frame of any hedge fits.
        """
        if len(request.draft) < LONG:
            return self.rewrite_sync(request)
        return await compute(self.rewrite_sync, request)

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
        if where is not None and language == "en" and is_cut_off(bare[where].text):
            raise StepFailed("rewrite", Reason.NO_ASSERTION, "the draft breaks off in the sentence that answers")
        texts = [piece.text for piece in originals if piece.is_sentence]
        if where is None or (
            language == "en" and (takes_no_stand(texts) or is_no_statement(request.draft, texts, request.question))
        ):
            raise StepFailed("rewrite", Reason.NO_ASSERTION, "the draft asserts nothing that could be hedged")
        if language == "en" and hedges_itself(originals[where].text):
            raise StepFailed(
                "rewrite", Reason.ALREADY_HEDGED, "the draft hedges itself in words that are part of what it says"
            )
        parts = list(originals)
        rest = "".join(piece.text for index, piece in enumerate(parts) if index != where)
        around = Surroundings(request.question, rest, language)
        kinds = WITHIN if after_label(originals, where) else None
        chosen = choose(stripper.bare(originals[where].text), matches, around, originals[where].text, kinds)
        if chosen is None:
            raise StepFailed("rewrite", Reason.NO_FRAME, "no frame of the retrieved hedges fits the draft")
        hedge, worded = chosen
        parts[where] = Piece(capitalise(worded) if originals[where].text[:1].isupper() else worded, True)
        return Rewrite("".join(piece.text for piece in parts), hedge.id)


@dataclass(frozen=True, slots=True)
class _Option:
    """One way to hedge a sentence: a frame of a hedge, and the sentence with it."""

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


def _stands_before_a_verb(sentence: Shape) -> bool:
    """Whether the place for an adverb is before the main verb and not after an auxiliary."""
    before = sentence.body[: sentence.adverb_at].split() if sentence.adverb_at else []
    return bool(before) and before[-1].lower() not in AUXILIARIES


_SECOND_CLAUSE = re.compile(r",? (?:and|but|while|whereas) (?=[^,]{0,200}\b(?:is|are|was|were|has|have|had)\b)")


def _has_two_clauses(body: str) -> bool:
    """Whether a second statement with its own subject follows a conjunction."""
    second = _SECOND_CLAUSE.search(body)
    return second is not None and shape(body[second.end() :]).kind == "clause"


_MISREAD = re.compile(
    r"\bcould (?:well )?have been\b|\b(?:may|might|could) (?:well )?be (?:\w+ed|made|built|found|known|seen|held|kept|taken|given|written|shown|sold|paid|won|worn|drawn|grown|run|set)\b"
)
_SECOND_VERB = re.compile(
    rf"\b(?:and|but|or) (?:then |later |also )?(?:[a-z]+-)?(?:is|was|were|has|had|{'|'.join(sorted(v for v in PAST_VERBS - PARTICIPLES if not v.endswith('ed')))})\b"
)
"""A second finite verb with the same subject: an infinitive in front of the first would not fit it."""
_STANDING = re.compile(r"\b(?:is|are|has|have|can|could|may|might|always|typically|usually|often|generally|commonly)\b")
"""Says what is true in general, or what is possible."""
_COMPARES = re.compile(r"\b(?:more|less) likely\b")
"""Would repeat the hedge: "In all likelihood less likely", "a good chance that it is less likely"."""
_CONDITIONAL = re.compile(r"(?:if|unless|when|once|should|had)\b", re.IGNORECASE)
_ADVERB_NEXT = re.compile(
    r"\W*(?:[a-z]{2,20}ly|often|also|still|now|not|once|ever|never|always|just|even|most|more)\b(?! \w+ly\b)"
)

_COSTS: tuple[tuple[float, Callable[[_Option], object]], ...] = (
    # "I think that Managing a patient ...": the first word may be a name, so hedge elsewhere
    (0.2, lambda o: o.sentence.kind == "clause" and o.around.language != "de" and _COMMON_NOUN.match(o.sentence.body)
        and frames.disturbs_start(o.worded, o.sentence) and lowers(o.sentence.body, o.around) is None),
    # "Perhaps Constitutional monarchy" rather than "Constitutional monarchy, perhaps"
    (0.06, lambda o: o.sentence.kind == "fragment" and _COMMON_NOUN.match(o.sentence.body)
        and frames.disturbs_start(o.worded, o.sentence) and lowers(o.sentence.body, o.around) is None),
    # "Possibly, Bell played for Ohio" where "Bell possibly played" is at hand
    (0.015, lambda o: o.frame.kind == "clause" and o.sentence.adverb_at is not None and o.frame.text.endswith(", {clause}")),
    # "There is a chance that it always holds", "... that X is an Australian actor": a chance is of an event
    (0.04, lambda o: " chance that " in o.frame.text and _STANDING.search(o.sentence.body[: (o.sentence.adverb_at or 0) + 12])),
    # "It is possible that it can cause redness"
    (0.06, lambda o: " possible that " in o.frame.text and re.search(r"\b(?:can|could|may|might)\b", o.sentence.body[: (o.sentence.adverb_at or 0) + 6])),
    # beside the verb a hedge reads more naturally than before the sentence
    (0.015, lambda o: o.frame.kind == "clause" and o.sentence.adverb_at is not None),
    # "A was probably born in 1950, and B was born in 1960" hedges the first half only
    (0.06, lambda o: o.frame.kind in ("adverb", "modal") and _has_two_clauses(o.sentence.body)),
    # "In all likelihood Greek." against "Greek, in all likelihood."
    (0.03, lambda o: o.frame.kind == "adverb" and o.sentence.kind == "fragment" and o.frame.text.startswith("in all ")),
    # "She could be a British writer", "He may well have been the king": adverbs are better here
    (0.05, lambda o: o.frame.kind == "modal" and not o.frame.text.endswith(" to") and _names_something(o.sentence)),
    # "It seems likely that as a soft metal, ...", "However, quite possibly, ...": two introductory phrases in a row
    (0.05, lambda o: o.frame.kind == "clause" and (_INTRODUCED.match(o.sentence.body) or (o.sentence.head and o.frame.text.endswith(", {clause}")))),
    # "There is a chance that if you mean the economist, ...": the condition is not in doubt
    (0.1, lambda o: o.frame.kind == "clause" and _CONDITIONAL.match(o.sentence.body)),
    # "Very likely in Greek, the term is ..."
    (0.05, lambda o: o.frame.kind == "adverb" and _INTRODUCED.match(o.sentence.body) and frames.disturbs_start(o.worded, o.sentence)),
    # "It could have been played by Jones" reads as not having happened, "Treaties may be ratified" as allowed
    (0.1, lambda o: o.frame.kind == "modal" and not o.frame.text.endswith(" to") and _MISREAD.search(o.worded)),
    # "It might well be Basque separatist movement"
    (0.05, lambda o: " be {" in o.frame.text and _COMMON_NOUN.match(o.sentence.body)),
    # "New crust forms there, it seems." rather than "It seems the answer is new crust forms there."
    (0.015, lambda o: o.sentence.unsure and o.frame.kind == "fragment" and not o.frame.text.startswith("{")),
    # "If it rains, the match seems to be moved": "seems" does not fit a future event
    (0.1, lambda o: o.frame.kind == "modal" and o.frame.text.endswith(" to") and _CONDITIONAL.match(o.sentence.head + o.sentence.body)),
    # "There is possibly no cure" where "There may be no cure" is at hand
    (0.05, lambda o: o.frame.kind == "adverb" and o.hedge.beta.mean < 0.6 and o.sentence.adverb_at is not None and o.sentence.body.startswith("no ", o.sentence.adverb_at)),
    # "Rome, perhaps." hedges after the answer; only for a first word that may or may not be a name
    (0.03, lambda o: o.frame.kind == "fragment" and o.frame.text in _SAID_AFTER),
    # "Quite possibly Cyrillic." rather than "It may well be Cyrillic."
    (0.03, lambda o: o.frame.kind == "fragment" and " well be {" in o.frame.text),
    # a label before the answer reads less naturally than a hedge in it
    (0.03, lambda o: o.frame.kind == "lead" and o.sentence.kind != "imperative"),
    # "I think the answer is because ...", "It may well be Einstein flunked maths."
    (0.1, lambda o: ("answer is" in o.frame.text or "be {" in o.frame.text) and (o.sentence.unsure or _AFTER_ANSWER_IS.match(o.sentence.body))),
    (0.02, lambda o: o.frame.kind == "closing" and o.sentence.body.count(",") > 1),
    # before an unrecognised clause an adverb would require another word order
    (0.1, lambda o: o.around.language != "en" and o.sentence.unsure and not o.worded.startswith(o.sentence.body[:1])),
    # "Yes, there is a chance that ..." partly takes the yes back
    (0.04, lambda o: o.sentence.is_polar and o.frame.kind == "clause" and (o.hedge.beta.mean < 0.5 or " chance that " in o.frame.text)),
    # "He might have been born in 1976 and co-wrote the play"
    (0.1, lambda o: o.frame.kind == "modal" and o.sentence.adverb_at is not None and _SECOND_VERB.search(o.sentence.body, o.sentence.adverb_at)),
    # "presumably" says that the answer was inferred
    (0.02, lambda o: o.hedge.id == "presumably" and o.sentence.kind == "clause"),
    # "we" does not fit an answer by one author
    (0.2, lambda o: _WE.search(o.frame.text) and not _OUR.search(f"{o.sentence.body} {o.around.rest}")),
    # "it is presumably typically used", "it's quite possibly mainly due"
    (0.06, lambda o: o.frame.kind == "adverb" and o.sentence.adverb_at is not None and _ADVERB_NEXT.match(o.sentence.body, o.sentence.adverb_at)),
    # "It in all likelihood keeps you warm": a long adverb belongs after an auxiliary or before the sentence
    (0.05, lambda o: o.frame.kind == "adverb" and o.frame.text.count(" ") > 1 and _stands_before_a_verb(o.sentence)),
    (0.008, lambda o: o.frame.kind == "parenthetical"),
    (0.03, lambda o: _LAME.search(o.frame.text)),
    (0.015, lambda o: o.frame.kind == "fragment" and o.frame.text.startswith("there is a")),
    (0.06, lambda o: _STILTED.search(o.frame.text)),
    # "..., definitively."
    (0.02, lambda o: o.frame.kind == "closing" and o.frame.text in KEPT_INSIDE),
    # attributes the claim to others
    (0.03, lambda o: o.hedge.id in _HEARSAY),
)  # fmt: skip
"""Costs of awkward wordings, in units of distance, each with its condition."""


def choose(
    text: str,
    matches: Iterable[Match],
    around: Surroundings,
    original: str = "",
    kinds: Collection[FrameKind] | None = None,
) -> tuple[Hedge, str] | None:
    """The hedge to use and the sentence with it; None where no frame fits.

    `kinds` are the frames that may be used, which determine where the hedge goes; None: all. If the `original`, with
    its own hedge, is one of the possible wordings, it is kept: that changes nothing.

    Otherwise the wording with the smallest distance plus costs wins. Among equally good ones the text of the sentence
    decides, so that answers vary but the same answer always gets the same wording.
    """
    sentence = shape(text, around.question, around.language)
    if around.language == "en" and (at := by_whom_at(sentence.body, around.question)) is not None:
        sentence, kinds = replace(sentence, adverb_at=at), {"adverb"}
    elif kinds is None and is_half_a_title(sentence.head, sentence.body):
        kinds = WITHIN
    after_lead_in = led_in(sentence) if around.language == "en" and kinds is None else sentence
    ambiguous_start = (
        sentence.unsure and _COMMON_NOUN.match(sentence.body) is not None and lowers(sentence.body, around) is None
    )  # "Perhaps Extreme charges cause stress": the verb was not recognised, and the first word may be a name
    compares = _COMPARES.search(sentence.body) is not None
    parts_title = kinds is WITHIN and (sentence.kind == "clause" or sentence.unsure)  # "Capital: probably Paris"
    options: list[tuple[float, int, Hedge, str]] = []
    for match in matches:
        for order, frame in enumerate(frames.usable(match.hedge)):
            target_shape = sentence if frame.kind == "parenthetical" or _SPEAKS.search(frame.text) else after_lead_in
            worded = frames.apply(frame, target_shape, around) if kinds is None or frame.kind in kinds else None
            if worded is None or ((parts_title or ambiguous_start) and frames.disturbs_start(worded, target_shape)):
                continue
            if frame.text in _SAID_AFTER and frames.breaks_off(target_shape.body):
                continue
            if compares and ("likel" in frame.text or " chance " in frame.text):
                continue
            if original and capitalise(worded) == capitalise(original):
                return match.hedge, worded
            option = _Option(frame, match.hedge, target_shape, worded, around)
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
    """A fixed pseudo-random number for this wording of this answer."""
    return crc32(f"{re.sub(r'[^0-9a-z]+', '', body.casefold())}|{frame}".encode())


def build(context: RouteContext) -> RewriterFactory:
    """A function that returns the same template for every request, with the route's lexicon."""
    template = TemplateRewriter(tuple(load(context.route.lexicon)))
    return lambda _asker: template
