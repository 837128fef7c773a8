"""Taking a text's own hedges and boosters out, so that the new one stands alone.

Two sources: the frames of the lexicon, run backwards (so that what was put in comes out again), and a list of ways in which models
commonly word their confidence. Quotations, code and brackets are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from lexicon import Frame, Hedge
from proxy.rewriting.casing import capitalise
from proxy.rewriting.sentences import pieces

_DEGREE = r"(?:very |quite |fairly |pretty |rather |really |reasonably |absolutely |completely |entirely |fully |totally |almost |nearly |extremely |highly |somewhat |not |a hundred percent |100% |far from |by no means )*"
_SURE = r"(?:sure|certain|confident|positive|convinced|clear)"
_ABOUT = r"(?: (?:about|of|on) (?:this|that|it)(?: one)?)?"
_I_AM = r"I(?:['’]m| am)"

CLAUSE_CUES = (
    rf"{_I_AM} {_DEGREE}{_SURE}{_ABOUT},? (?:but|though|however)",
    rf"{_I_AM} {_DEGREE}{_SURE}",
    r"I (?:really |honestly |strongly |would |['’]d )?(?:do |don['’]t )?(?:think|believe|guess|suspect|suppose|assume|reckon|imagine|presume|doubt)",
    r"I(?:['’]d| would) (?:say|guess|bet|imagine|venture)",
    r"I (?:can|can['’]t|cannot) (?:confirm|say for sure|say for certain|be sure)",
    r"I (?:don['’]t|do not) (?:really )?know(?: for (?:sure|certain))?, but",
    r"(?:It is|It['’]s) (?:very |quite |highly |almost |fairly |entirely |extremely )*(?:likely|unlikely|probable|possible|certain|clear|obvious|doubtful|evident|conceivable|plausible)",
    r"It (?:seems|appears|would seem|would appear)(?: likely)?",
    r"There (?:is|['’]s) (?:no doubt|little doubt|a (?:good |fair |slim |small |strong |real )?(?:chance|possibility|probability))",
    r"(?:The|My) (?:most likely|best) (?:answer|guess) (?:is|would be|:)",
    r"My (?:best |random |wild |educated )?guess(?: is|:| would be)",
    r"Chances are",
    r"I have no doubt",
)
OPENING_CUES = (
    r"As far as I (?:know|can tell|am aware|remember|recall)",
    r"To (?:the best of )?my knowledge",
    r"If I(?:['’]m not mistaken| am not mistaken| remember correctly| recall correctly)",
    r"In my (?:opinion|view|estimation)",
    r"Without (?:a |any )?doubt",
    r"No doubt",
    r"Of course",
    r"In all (?:likelihood|probability)",
    r"Most likely",
    r"Most probably",
    r"Almost certainly",
    r"Very likely",
    r"Quite possibly",
    r"Probably",
    r"Possibly",
    r"Perhaps",
    r"Maybe",
    r"Certainly",
    r"Definitely",
    r"Undoubtedly",
    r"Undeniably",
    r"Unquestionably",
    r"Surely",
    r"Clearly",
    r"Obviously",
    r"Presumably",
    r"Apparently",
    r"Conceivably",
    r"Absolutely",
)
ADVERB_CUES = (
    r"almost certainly", r"most certainly", r"most probably", r"very probably", r"very likely", r"quite possibly", r"very possibly", r"quite likely", r"most definitely", r"probably", r"possibly", r"perhaps", r"maybe", r"certainly",
    r"definitely", r"undoubtedly", r"undeniably", r"unquestionably", r"surely", r"presumably", r"conceivably", r"indisputably",
)  # fmt: skip
CLOSING_CUES = (
    rf"(?:but|though|although) {_I_AM} {_DEGREE}{_SURE}{_ABOUT}",
    rf"(?:but|though|although) I (?:can['’]t|cannot|could not|couldn['’]t) (?:be (?:{_DEGREE}{_SURE})|confirm (?:it|this|that)|say for sure|verify (?:it|this|that))",
    r"(?:but|though|although) I (?:could|may|might) be (?:wrong|mistaken)",
    r"(?:but|though|although) I don['’]t know for (?:sure|certain)",
    r"I (?:think|believe|guess|suppose)",
    r"as far as I (?:know|can tell|am aware|can determine)",
    r"to (?:the best of )?my knowledge",
    r"if I(?:['’]m not mistaken| am not mistaken| remember correctly| recall correctly)",
    r"without (?:a |any )?doubt",
    r"for (?:sure|certain)",
)


@dataclass(frozen=True)
class Stripper:
    """Removes hedges: its own frames run backwards and the common cues of models.

    Attributes:
        hedges: whose frames can be taken out again.
        cues: whether the built-in English cues are removed too.
    """

    hedges: tuple[Hedge, ...] = ()
    cues: bool = True

    def strip(self, text: str) -> str:
        """The text without its hedges and boosters; unchanged where it has none."""
        text = self._without_leads(text)
        return "".join(self._sentence(piece.text) if piece.is_sentence else piece.text for piece in pieces(text))

    def _without_leads(self, text: str) -> str:
        """Leads may hold a full stop, so they go before the text is cut into sentences."""
        match = self._lead.match(text) if self._lead else None
        return capitalise(text[match.end() :]) if match and match.end() < len(text) else text

    def _sentence(self, sentence: str) -> str:
        for _ in range(4):
            before = sentence
            sentence = self._once(sentence)
            if sentence == before:
                return sentence
        return sentence

    def _once(self, sentence: str) -> str:
        opening = self._opening.match(sentence)
        if opening and re.search(r"\w", sentence[opening.end() :]):
            head = opening.group("head") or ""
            rest = sentence[opening.end() :]
            return head + (rest if head else capitalise(rest))
        if (closing := self._closing.search(sentence)) and re.search(r"\w", sentence[: closing.start()]):
            return sentence[: closing.start()] + closing.group("end")
        return self._without_adverbs(sentence)

    def _without_adverbs(self, sentence: str) -> str:
        opaque = [m.span() for m in _OPAQUE.finditer(sentence)]

        def drop(match: re.Match[str]) -> str:
            return match.group() if any(a <= match.start() < b for a, b in opaque) else str(match.group("after"))

        return self._adverb.sub(drop, self._inner.sub(drop, sentence))

    def _texts(self, *kinds: str) -> Iterable[str]:
        return (frame.text for hedge in self.hedges for frame in hedge.frames if frame.kind in kinds)

    @cached_property
    def _lead(self) -> re.Pattern[str] | None:
        openings = {_flexible(text.partition("{answer}")[0].rstrip()) for text in self._texts("lead")} - {""}
        return re.compile(rf"^(?:{_alternatives(openings)})\s+", re.IGNORECASE) if openings else None

    @cached_property
    def _opening(self) -> re.Pattern[str]:
        prefixes = {_flexible(_prefix(text)) for text in self._texts("clause", "fragment", "lead")} - {""}
        clause = [*prefixes, *(CLAUSE_CUES if self.cues else ())]
        comma = [*(_flexible(t) for t in self._texts("adverb", "parenthetical")), *(OPENING_CUES if self.cues else ())]
        alternatives = rf"(?:{_alternatives(clause)})(?: that)?(?=\W)[,:]?\s+|(?:{_alternatives(comma)}),?\s+"
        return re.compile(rf"^(?P<head>(?:yes|no)\b[,:;.!–—-]*\s+)?(?:{alternatives})", re.IGNORECASE)

    @cached_property
    def _closing(self) -> re.Pattern[str]:
        texts = [*(_flexible(t) for t in self._texts("closing", "parenthetical")), *(CLOSING_CUES if self.cues else ())]
        return re.compile(rf"\s*[,;–—-]+\s*(?:{_alternatives(texts)})(?P<end>[.!…]*[*_\"”]*)$", re.IGNORECASE)

    @cached_property
    def _inner(self) -> re.Pattern[str]:
        texts = [*(_flexible(t) for t in self._texts("parenthetical")), *(CLOSING_CUES if self.cues else ())]
        return re.compile(rf",\s+(?:{_alternatives(texts)}),(?P<after>\s)", re.IGNORECASE)

    @cached_property
    def _adverb(self) -> re.Pattern[str]:
        texts = [*(_flexible(t) for t in self._texts("adverb")), *(ADVERB_CUES if self.cues else ())]
        guarded = r"(?<!\bthe)(?<!\ba)(?<!\ban)(?<!\bmore)(?<!\bless)(?<!\bas)(?<!\bnot)(?<!\bso)(?<!\bhow)"
        return re.compile(
            rf"(?<=[\w'’)\"”*]){guarded}\s+(?:{_alternatives(texts)})(?P<after>(?=[\s.!,;:]|$))", re.IGNORECASE
        )


_OPAQUE = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|\([^()]*\)")


def _prefix(text: str) -> str:
    """What stands before the slot, without the "that" that is matched apart."""
    for slot in ("{clause}", "{fragment}", "{answer}"):
        text = text.partition(slot)[0]
    return re.sub(r"\s+that$", "", text.strip())


def _flexible(text: str) -> str:
    """The phrase as a pattern: either apostrophe, any run of spaces."""
    return re.escape(text).replace("'", "['’]").replace("’", "['’]").replace(r"\ ", r"\s+") if text else ""


def _alternatives(patterns: Iterable[str] | Sequence[str]) -> str:
    """Longest first, so that "almost certainly" goes before "certainly"."""
    return "|".join(sorted({p for p in patterns if p}, key=len, reverse=True)) or r"(?!)"


def known(hedges: Iterable[Hedge]) -> Stripper:
    """A stripper that can take out whatever these hedges' frames put in."""
    return Stripper(tuple(hedges))


__all__ = ["Frame", "Stripper", "known"]
