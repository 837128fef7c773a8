"""Finds the words of confidence in an English text: frames, adverbs, modal verbs, "is thought to", caveats.

They are located, not removed. Works on words in lower case, with contractions expanded and punctuation left out. A
denial ("it is unlikely that", "I doubt it") does not count: it is part of the content.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from ...lexicon import Hedge
from ...lexicon.text.words import word_set
from .frames import usable
from .strip import any_of
from .words import spoken

DoubtKind = Literal["frame", "adverb", "modal", "infinitive", "caveat"]

_DEGREE = (
    r"(?:(?:very|quite|fairly|pretty|rather|really|reasonably|absolutely|completely|entirely|fully|totally|almost|nearly|extremely|highly|"
    r"somewhat|moderately|relatively|mostly|not|less|only|but|100 %|far from|at all|all that|too|so|exactly|a bit|a little|overly|personally) )*+"
)
_SURE = rf"{_DEGREE}(?:sure|certain|confident|positive|convinced|unsure|uncertain)"
_RIGHT = r"(?:right|correct|accurate|exact|true|complete|so|the case|up to date)"
_NO_LINK = r"(?!(?:i|my|though|although|but|so|as|since|because|however|still|please)\b)"
_THING = rf"(?:(?:{_NO_LINK}[^\W\d_][\w-]* ){{0,7}}{_NO_LINK}[^\W\d_][\w-]*)"
"""What a caveat is about; its words are checked separately by `_is_about`."""
_LINK = r"(?:though|although|but|so|and|as|since|because|however|still|that said|please note that|note that)"
_CHECK = r"(?:double-check|recheck|verify|check|confirm|consult|look up)"
_CHECKING = r"(?:double-checking|rechecking|verifying|checking|confirming|consulting)"
_CHECKED = r"(?:double-checked|rechecked|verified|checked|confirmed|verify|check|confirm)"
_AGAINST = rf"(?: (?:against|with|in|on|from) {_THING})?(?: (?:first|yourself|for yourself|to be (?:sure|safe)|(?:before|if) (?:you|relying|acting|citing|using|it)(?: [a-z]+){{0,3}}))?"
"""Where and when something should be looked up."""
_CLAUSES = (
    rf"i am {_SURE}(?: (?:that|whether|if) (?:{_THING}|all of (?:this|it)) (?:is|are) {_RIGHT})?"
    rf"(?: (?:of|about|on|in|regarding) {_THING})?",
    r"i (?:do|can|could) not (?:(?:really|fully|entirely|completely|actually|independently|be|personally) )*+"
    rf"(?:know|{_SURE}|say|vouch for {_THING}|{_CHECK} {_THING}|guarantee {_THING})(?: for (?:sure|certain))?(?: (?:of|about|on) {_THING})?",
    rf"i (?:may|might|could) (?:well )?be (?:wrong|mistaken|off|incorrect|misremembering)(?: here| (?:(?:about|on|in) )?{_THING})?",
    rf"i have (?:only )?(?:very )?(?:little|limited|low|some|moderate|reasonable) (?:confidence|certainty|doubts?) (?:in|about) {_THING}",
    rf"i (?:do |really |firmly )?(?:believe|think|suspect) (?:that )?(?:this|that|it) is {_RIGHT}",
    rf"i have not (?:yet |been able to )?(?:independently )?{_CHECKED}(?: {_THING})?|i (?:was|am|have been) (?:not able|unable) to {_CHECK} {_THING}",
    rf"(?:i (?:would|will|should)|you (?:would|will|should|may|might|can|could)) (?:(?:well|also|still) )?(?:want to |wish to |like to )?{_CHECK} {_THING}{_AGAINST}",
    rf"i (?:would )?(?:recommend|suggest|advise)(?: that you {_CHECK}| {_CHECKING}) {_THING}{_AGAINST}",
    rf"{_THING} (?:is|are) (?:only |just |partly |all )?(?:from memory|(?:my|an?) (?:best |rough |educated )?(?:guess|estimate|recollection)|approximate|"
    r"to the best of my knowledge|uncertain|not certain)",
    rf"(?:{_THING} )?(?:may|might|could) (?:well |also )?(?:not )?(?:be (?:slightly |somewhat )?(?:out of date|outdated|inaccurate|incorrect|imprecise|"
    r"incomplete|wrong|mistaken|approximate|exact|accurate|current|off)|have (?:since )?changed(?: since)?|differ|vary|have been updated)(?: (?:slightly|somewhat|since))?",
    rf"take {_THING} with (?:(?:a grain|a pinch) of salt|(?:some )?caution)",
    rf"(?:it is|it would be|it may be) (?:also )?(?:worth|wise|best|good|advisable|sensible|a good idea|prudent|safer|safest) (?:to )?(?:{_CHECK}|{_CHECKING})(?: {_THING})?{_AGAINST}",
    rf"please (?:do )?{_CHECK}(?: {_THING})?{_AGAINST}",
    r"(?:that|this|it) is (?:only |just )?my (?:best )?(?:guess|understanding|recollection|impression)",
    r"here is my (?:best )?(?:guess|recollection|understanding|answer)",
    rf"i (?:may|might|could) (?:well )?have {_THING} (?:wrong|mixed up|confused|backwards|mistaken)|i (?:may|might|could) (?:well )?be (?:mixing|confusing) {_THING}(?: up)?",
    rf"i (?:may|might|could) (?:well )?have (?:misremembered|confused|mixed up|misread) {_THING}",
    rf"less so (?:of|about) {_THING}",
    r"this is from memory",
)
"""Clauses in which a speaker comments on how certain the answer is."""
_CLAUSE = f"(?:{'|'.join(_CLAUSES)})"
_NOT_FAMILIAR = rf"i am not (?:\w+ )?(?:familiar with|aware of) {_THING}"
"""The same, accepted only before "but": alone, that somebody is not aware of a thing may be the answer itself."""
_ABOUT = word_set(
    "least go visit rely act buy decide one two either neither both another other official reliable primary original independent website page site documentation docs notes release reference "
    "rate rates price prices hours address location locations class category spelling weight height length age distance count title author "
    "answer answers claim claims date dates detail details figure figures fact facts name names number numbers order point points part parts place "
    "places information year years value values percentage percentages spelling source sources reasoning result results summary estimate exact exactly "
    "specific specifics precise particular given above here this that these those it its them his her their my your the a an of in for and or on at by to with about "
    "all any some every each other others most first last of which who when where how whether is are was were be been recent latest current independently "
    "record records credits credit chart charts map maps label manual listing listings catalogue catalog schedule calendar register "
    "elsewhere again before relying important exchange rate elevation awards calculation statistics stats season day month release quantities spellings description translation quotation events list items item quote wording"
)
"""Words that a caveat may be about, in addition to the words of the answer."""
_FIXED = frozenset(re.findall(r"[a-z][a-z-]*", " ".join((_CLAUSE, _LINK)))) | _ABOUT


_LONGEST = 40
"""Largest number of words in a caveat."""
_FEW_WORDS = rf"(?=(?:\S++ ){{0,{_LONGEST}}}+\S*+$)"


@dataclass(frozen=True, slots=True)
class _Caveats:
    """Patterns of a caveat: as a whole sentence, as an opening before "but", and at the end of a sentence."""

    whole: re.Pattern[str]
    opening: re.Pattern[str]
    closing: re.Pattern[str]


@cache
def _caveats() -> _Caveats:
    """The caveat patterns, compiled on first use: compiling takes 0.1 s, which would slow down every start."""
    return _Caveats(
        whole=re.compile(
            rf"{_FEW_WORDS}(?:{_LINK} )?{_CLAUSE}(?: (?:{_LINK} )?{_CLAUSE}){{0,3}}(?: though| however| at least| here)*"
        ),
        opening=re.compile(rf"(?:\S+ ){{0,2}}?(?P<caveat>(?:{_CLAUSE}|{_NOT_FAMILIAR}) but )(?=\S)"),
        closing=re.compile(rf"(?:though|although|but|however) {_FEW_WORDS}{_CLAUSE}(?: {_LINK} {_CLAUSE}){{0,3}}$"),
    )


_NOT_TAKEN = frozenset({"likely", "it seems", "it appears"})
"""Phrases for which more specific patterns exist below."""
_DENIES = re.compile(r"\bdoubt it\b|think so|probably not|no chance|hardly any|little chance|next to no|surprised")
_BELIEVE = r"(?:think|believe|guess|suspect|suppose|assume|reckon|imagine|presume|gather|understand)"
_NO_OBJECT = r"(?! (?:of|for|about|if|whether|in|with|who|what|when|where|which|how|to)\b)"
_FRAMES = (
    rf"i (?:(?:do|really|firmly|strongly|honestly|personally|would) )?{_BELIEVE}(?: but (?:i )?am {_SURE})?(?: that)?{_NO_OBJECT}",
    r"i (?:know|feel|expect|recall|remember|find it likely)(?: for a fact)? that",
    rf"i am {_SURE}(?: of this)?(?: that)?{_NO_OBJECT}",
    r"i (?:would|am inclined to) (?:say|guess|argue|think|believe|bet|imagine|venture)(?: that)?",
    r"i (?:want to say|seem to (?:recall|remember))(?: that)?",
    r"my (?:(?:best|educated|tentative|rough) )?(?:guess|understanding|impression|recollection|belief|sense) is(?: that)?",
    r"it (?:would )?(?:seems?|appears?)(?: to me| likely)*(?: that)?(?! (?:to|like|as)\b)",
    r"it looks as (?:if|though)",
    r"it is (?:(?:very|quite|highly|fairly|entirely|extremely|almost|most) )?(?:likely|probable|possible|plausible|conceivable|certain|clear|believed|"
    r"thought|assumed|understood|presumed) that",
    r"it (?:may|might|could) (?:(?:well|possibly|very well) )?be that",
    r"there is an? (?:(?:very|good|fair|decent|reasonable|strong|real|high|distinct|serious|excellent) )*(?:chance|possibility|probability|likelihood)(?: that)?",
    r"(?:the )?chances are(?: good)?(?: that)?",
    r"(?:at least )?as far as i (?:know|can tell|am aware|can see|can determine|recall|remember|understand)",
    r"(?:at least )?to (?:the best of )?my (?:knowledge|recollection|understanding|memory)",
    r"(?:at least )?from (?:memory|what i (?:know|recall|remember|understand|can tell))",
    r"if i (?:(?:remember|recall|understand)(?: it)?(?: correctly| rightly| right)?|am not mistaken)|unless i am mistaken",
    r"if (?:my )?memory serves(?: me)?(?: correctly| right| well)?",
    r"(?:according to|based on|going by) (?:what i (?:know|recall|remember|understand)|my (?:knowledge|memory|recollection))",
    r"as i (?:understand(?: it)?|recall|remember)|in my (?:view|opinion|estimation|understanding)|in all (?:likelihood|probability)",
    r"(?:without|beyond) (?:(?:a|any) )?(?:shadow of a )?doubt|there is no doubt that|no doubt",
    r"more likely than not",
)
_ADVERB = (
    r"(?:(?:most|very|quite|almost|just|more than|virtually|nearly) )?(?:probably|possibly|perhaps|maybe|presumably|apparently|seemingly|arguably|"
    r"conceivably|certainly|definitely|undoubtedly|undeniably|surely|unquestionably|evidently|indisputably|plausibly|reportedly|allegedly|supposedly|"
    r"clearly|obviously|potentially)"
)
_LIKELY = r"(?<!\bmore )(?<!\bless )(?<!\bnot )(?<!\bas )(?<!\bhow )(?<!\bequally )(?<!\bthe )(?<!\ba )(?<!\bso )(?:(?:most|very|quite) )?likely(?! to\b)"
_MODAL = r"(?:may|might|could)(?: (?:very )?(?:well|possibly|perhaps|conceivably|potentially))?(?! (?:not be able|as well)\b)"
_INFINITIVE = r"(?:(?:is|are) (?:thought|believed|assumed|understood|presumed|known|said|(?:(?:very|quite|highly) )?likely)|seems?|appears?)(?: likely)? to"
_WOULD = re.compile(r"would (?:most |very |quite )?(?:likely|probably|presumably)(?= be(?!\S))")


@dataclass(frozen=True, slots=True)
class Doubt:
    """Words of confidence: words `start` (included) to `end` (excluded) of a text."""

    start: int
    end: int
    kind: DoubtKind
    phrase: str


class Doubts:
    """Finds words of confidence, including those that the given hedges use."""

    def __init__(self, hedges: Iterable[Hedge]) -> None:
        whole, bare = _phrases(hedges)
        self._kinds: tuple[tuple[DoubtKind, re.Pattern[str]], ...] = (
            ("adverb", re.compile(rf"(?:{_ADVERB}|{_LIKELY})(?!\S)")),
            ("frame", re.compile(rf"(?:{'|'.join(_FRAMES)})(?!\S)")),
            ("frame", re.compile(rf"{any_of(whole)}(?!\S)")),
            ("infinitive", re.compile(rf"{_INFINITIVE}(?!\S)")),
            ("modal", re.compile(rf"{_MODAL}(?!\S)")),
        )
        openings = r"(?:the|my) answer (?:is|was|would be)|(?:it|that|this) (?:is|was|would be|(?:may|might|could) (?:well )?(?:be|have been))"
        self._bare = re.compile(
            rf"(?:{any_of(bare)}|(?:(?:{'|'.join(_FRAMES)}|{_ADVERB}) )?(?:{openings})(?: (?:{_ADVERB}|{_LIKELY}))?)(?!\S)"
        )

    def within(
        self, sentence: Sequence[str], known: Collection[str], *, fragment: bool = False, would: bool = False
    ) -> list[Doubt]:
        """The words of confidence of one sentence, in order.

        Args:
            sentence: its words in lower case.
            known: the words of the answer, which a caveat may be about.
            fragment: whether the answer is a fragment; then "the answer is" before it counts as part of the hedge.
            would: whether "would likely be" counts as a hedge: only if the answer has no "would" of its own.
        """
        text = " ".join(sentence)
        starts = _starts(sentence)
        if len(sentence) <= _LONGEST and _caveats().whole.fullmatch(text) and _is_about(sentence, known):
            return [Doubt(0, len(sentence), "caveat", text)]
        result: list[Doubt] = []
        begin, end = 0, len(text)
        if (match := _caveats().opening.match(text)) and _is_about(match["caveat"].split(), known):
            result.append(_doubt(starts, match.start("caveat"), match.end("caveat") - 1, "frame", text))
            begin = match.end()
        tail = max([begin, *(start for start, word in starts.items() if word == len(sentence) - _LONGEST)])
        if (
            (match := _caveats().closing.search(text, tail))
            and match.start()
            and _is_about(match.group().split(), known)
        ):
            end = match.start()
        result += self._inside(text, begin, end, starts, fragment=fragment, would=would)
        if end < len(text):
            result.append(_doubt(starts, end, len(text), "frame", text))
        return result

    def is_caveat(self, sentence: str, known: Collection[str]) -> bool:
        """Whether a sentence only says how certain the answer is."""
        words = spoken(sentence)
        return [doubt.kind for doubt in self.within(words, known)] == ["caveat"]

    def _inside(
        self, text: str, begin: int, end: int, starts: dict[int, int], *, fragment: bool, would: bool
    ) -> Iterator[Doubt]:
        """The longest words of confidence that begin at each word of a stretch, without overlaps."""
        for start in starts:
            if not begin <= start < end:
                continue
            matches = [(kind, match) for kind, pattern in self._kinds if (match := pattern.match(text, start, end))]
            if fragment and start == 0 and (match := self._bare.match(text, 0, end)):
                matches.append(("frame", match))
            if would and (match := _WOULD.match(text, start, end)):
                matches.append(("infinitive", match))
            if matches:
                kind, longest = max(matches, key=lambda pair: pair[1].end())
                begin = longest.end()
                yield _doubt(starts, start, begin, kind, text)


def _doubt(starts: dict[int, int], start: int, end: int, kind: str, text: str) -> Doubt:
    phrase = text[start:end].strip()
    start += len(text[start:end]) - len(text[start:end].lstrip())
    first = starts[start]
    return Doubt(first, first + len(phrase.split()), kind, phrase)  # type: ignore[arg-type]


def _starts(words: Sequence[str]) -> dict[int, int]:
    """Index of the word that begins at each character offset of the words joined by spaces."""
    starts, position = dict[int, int](), 0
    for index, word in enumerate(words):
        starts[position] = index
        position += len(word) + 1
    return starts


def _is_about(words: Iterable[str], known: Collection[str]) -> bool:
    return all(word in _FIXED or word in known or word.removesuffix("s") in known for word in words)


def _phrases(hedges: Iterable[Hedge]) -> tuple[set[str], set[str]]:
    """The phrases that hedges put around a sentence, and those that they put around a bare answer."""
    whole, bare = set[str](), set[str]()
    for hedge in hedges:
        for kind, text in _pieces(hedge):
            (bare if kind == "fragment" and re.search(r"\b(?:is|be|was)$", text) else whole).add(text)
    return whole - {""}, bare - {""}


def _pieces(hedge: Hedge) -> Iterator[tuple[str, str]]:
    for frame in usable(hedge):
        opening, slot, tail = frame.text.partition("{")
        parts = (opening, tail.partition("}")[2]) if slot else (frame.text,)
        for part in parts:
            words = " ".join(spoken(part))
            if words and not _DENIES.search(words) and words not in _NOT_TAKEN:
                yield frame.kind, words


@lru_cache(maxsize=8)
def doubts_of(hedges: tuple[Hedge, ...]) -> Doubts:
    """The finder for these hedges, built once per lexicon.

    Callers keep the result, since hashing a lexicon for the cache is slow.
    """
    return Doubts(hedges)
