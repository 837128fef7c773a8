"""Removes a text's own hedges and boosters, so that only the new hedge remains.

Two sources: the frames of the lexicon applied in reverse, so that inserted hedges can be removed again; and patterns
for how models usually express confidence in English. Quotations, code and brackets are not touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ...lexicon import Frame, Hedge, load
from ...lexicon.text.opaque import masked
from ...lexicon.text.sentences import Piece, pieces
from ...lexicon.text.shape import ends_with_abbreviation, leading
from ...lexicon.text.words import straight

_DEGREE = (
    r"(?:(?:very|quite|fairly|pretty|rather|really|reasonably|absolutely|completely|entirely|fully|totally|almost|nearly|"
    r"extremely|highly|somewhat|not|100%|far from|at all|too|so|exactly|a bit|a little|overly|personally) )*"
)
_SURE = r"(?:sure|certain|confident|positive|convinced|unsure|uncertain)"
_ABOUT = r"(?: (?:about|of|on|in) (?:(?:this|that|the)(?: exact)?(?: \w++)?|it|my answer)(?: though)?)?"
_I_AM = r"I(?:'m| am)"
_CANNOT = r"I (?:can't|cannot|could not|couldn't)"

_BEFORE_BUT = (
    rf"{_I_AM} {_DEGREE}{_SURE}{_ABOUT}",
    rf"{_I_AM} not (?:\w+ )?(?:familiar|aware)[^,.;]{{0,60}}",
    r"I (?:do not|don't) (?:really |actually )?know(?: for (?:sure|certain))?(?: the exact \w+)?",
    rf"{_CANNOT} (?:be {_DEGREE}{_SURE}|verify this|confirm this|say for (?:sure|certain))",
    r"I (?:could|may|might) be (?:wrong|mistaken)",
)
"""Openings that come before the answer with "but"."""

_BEFORE_CLAUSE = (
    rf"{_I_AM} {_DEGREE}{_SURE}",
    r"I (?:really |honestly |strongly |firmly |do |would |personally |'d )?(?:think|believe|guess|suspect|suppose|assume|reckon|imagine|presume)",
    r"I(?:'d| would) (?:say|guess|bet|imagine|venture)",
    r"it (?:seems|appears|would seem|would appear)(?: likely)?(?! like(?:ly)?\b)",
    r"(?:my|the) (?:(?:best|random|wild|educated|most likely) )?guess (?:is|would be)",
    r"(?:my|the) (?:best|most likely) answer (?:is|would be)",
    r"chances are",
    r"I can (?:tell you|say)",
)
"""Openings before a clause, with or without "that"."""

_BEFORE_THAT = (
    r"(?:it is|it's) (?:(?:very|quite|highly|almost|fairly|entirely|extremely|generally|widely) )*(?:likely|unlikely|probable|possible|certain|clear|obvious|evident|conceivable|plausible)",
    r"there (?:is|'s) (?:no|little|some) doubt",
    r"there (?:is|'s) (?:a|some|no) (?:(?:good|fair|slim|small|strong|real) )?(?:chance|possibility|probability)",
)
"""Openings before a clause, with "that" only ("it is likely to rain" means something else)."""

_OPENING = (
    r"as far as (?:I know|I can tell|I am aware|I'm aware|I can determine|I remember|I recall)", r"to (?:the best of )?my knowledge",
    r"if I(?:'m| am) not mistaken", r"if (?:I|my memory) (?:remember|recall|serves)(?: me)?(?: correctly| right)?", r"in my (?:opinion|view)",
    r"without (?:a |any )?(?:shadow of a )?doubt", r"of course", r"undoubtedly", r"undeniably", r"unquestionably", r"certainly", r"definitely",
    r"surely", r"clearly", r"obviously", r"presumably", r"apparently", r"conceivably", r"probably", r"possibly", r"perhaps", r"maybe", r"(?:most|very|quite) (?:likely|probably|possibly)",
    r"almost certainly",
)  # fmt: skip
"""Adverbials at the start of a sentence, with or without a comma."""

_CLOSING = (
    rf"(?:but|though|although|however,?) {_I_AM} {_DEGREE}{_SURE}{_ABOUT}",
    rf"(?:but|though|although) {_CANNOT} (?:be {_DEGREE}{_SURE}{_ABOUT}|confirm (?:it|this|that)|say for (?:sure|certain)|(?:fully |independently )?verify (?:it|this|that)(?: here)?)",
    r"(?:but|though|although) I (?:could|may|might) be (?:wrong|mistaken|misremembering)",
    r"(?:but|though|although) I (?:do not|don't) (?:really )?know(?: for (?:sure|certain))?",
    r"I (?:think|believe|guess|suppose)", r"as far as I (?:know|can tell|am aware|can determine)", r"to (?:the best of )?my knowledge",
    r"if I(?:'m| am) not mistaken", r"if I (?:remember|recall) (?:correctly|right)", r"without (?:a |any )?(?:shadow of a )?doubt", r"for (?:sure|certain)",
)  # fmt: skip
"""Phrases at the end of a sentence, after a comma or a dash."""

_ADVERBS = (
    r"(?:almost|most|virtually|nearly|quite) certainly", r"(?:very|most|quite|just) (?:probably|possibly|likely|definitely)", r"probably", r"possibly", r"perhaps", r"maybe",
    r"(?:(?<=is )|(?<=was )|(?<=are )|(?<=were )|(?<=will )|(?<=would )|(?<=could )|(?<=should )|(?<=has )|(?<=have )|(?<=had ))likely(?! to\b)",
    r"certainly", r"definitely", r"undoubtedly", r"undeniably", r"unquestionably", r"surely", r"presumably", r"conceivably", r"indisputably",
)  # fmt: skip
"""Adverbs beside the verb."""
_SLOTS = ("{clause}", "{fragment}", "{answer}")
_NEEDS_THAT = frozenset({"i know", "i feel", "i expect", "i want to say", "i know for a fact"})
_NO_ADVERB_AFTER = ("the", "a", "an", "more", "less", "as", "so", "how", "of")
_WINDOW = 300
"""Number of characters at both ends of a sentence that are searched for hedges; three times the longest wording."""
_SHORTEST = 6
"""Length in characters of the shortest sentence that can contain a hedge."""
_ROUNDS = 4
"""Largest number of hedges removed from a sentence: "I think it was probably ..., but I am not sure" has three."""
_NO_OBJECT = r"(?!\s++(?:that|to|of|for|about|if|whether|in|with|who|what|when|where|which|how|not)\b)"
"""After "I think" without "that": a clause may follow, an object may not ("I think of ...", "I know what ...")."""
_CONTRACTIONS = tuple((re.compile(long, re.IGNORECASE), short) for long, short in (
    (r"\bI am\b", "I'm"), (r"\bI would\b", "I'd"), (r"\bI have\b", "I've"), (r"\bdo not\b", "don't"), (r"\bcannot\b", "can't"),
    (r"\b(it|this|that|there) is\b", r"\1's"), (r"\bcould not\b", "couldn't"), (r"\bis not\b", "isn't"), (r"\bwould not\b", "wouldn't"),
))  # fmt: skip


@dataclass(frozen=True)
class Stripper:
    """Removes hedges and boosters from texts in one language.

    Attributes:
        hedges: whose frames are removed; hedges without frames stay, since "usually" is part of a claim.
        language: of the texts; the built-in patterns are for English only.
    """

    hedges: tuple[Hedge, ...] = ()
    language: str = "en"

    @property
    def _english(self) -> bool:
        return self.language == "en"

    def strip(self, text: str) -> str:
        """The text without its hedges and boosters; unchanged where it has none."""
        return "".join(self.sentence(piece.text) if piece.is_sentence else piece.text for piece in self.pieces(text))

    def pieces(self, text: str) -> list[Piece]:
        """The text cut into pieces, without separate leads such as "My best guess: " and the gap after them."""
        kept: list[Piece] = []
        gap_goes = False
        for piece in pieces(text):
            if self._lead.fullmatch(straight(piece.text)):
                gap_goes = piece.is_sentence
            elif not (gap_goes and not piece.text.strip()):
                kept.append(piece)
                gap_goes = False
        return kept

    def sentence(self, sentence: str) -> str:
        """One sentence without its hedges and boosters; it keeps a capital at its start."""
        if len(sentence) < _SHORTEST:
            return sentence
        bare = self.bare(sentence)
        return capitalise(bare) if sentence[:1].isupper() else bare

    def bare(self, sentence: str) -> str:
        """One sentence without its hedges, its first letter as it was after the hedge (lower case unless in a name)."""
        for _ in range(_ROUNDS):
            before = sentence
            sentence = self._once(sentence)
            if sentence == before:
                break
        return sentence

    def _once(self, sentence: str) -> str:
        plain = straight(sentence)
        head = leading(sentence, self.language)
        closing = self._closing.search(plain, max(0, len(plain) - _WINDOW))
        if closing and re.search(r"\w", plain[: closing.start()]):
            kept, end = sentence[: closing.start()].rstrip(), sentence[closing.start("end") :]
            if not kept.endswith(".") and ends_with_abbreviation(kept + end):
                return kept  # the full stop belongs to the abbreviation, as in "Sammy Davis Jr."
            return kept + (end[1:] if kept.endswith(".") and end.startswith(".") else end)
        if opening := self._opening.match(plain, len(head), len(head) + _WINDOW):
            return head + sentence[opening.end() :]
        return self._without_inner(sentence, masked(plain))

    def _without_inner(self, sentence: str, plain: str) -> str:
        match = self._parenthetical.search(plain) or self._adverb.search(plain)
        return sentence[: match.start()] + sentence[match.end() :] if match else sentence

    def _frames(self, *kinds: str) -> Iterator[str]:
        for kind, wordings in self._wordings:
            if kind in kinds:
                yield from wordings

    @cached_property
    def _wordings(self) -> list[tuple[str, set[str]]]:
        """Every frame that can be removed, with its kind and its contracted forms."""
        return [(frame.kind, variants(frame.text)) for hedge in self.hedges for frame in usable(hedge)]

    @cached_property
    def _opening(self) -> re.Pattern[str]:
        """A hedge before an answer: "I think that ...", "Probably ...", "My best guess: ..."."""
        openings = [text.partition("{")[0].strip() for text in self._frames("clause", "fragment", "lead")]
        governing = {text.removesuffix(" that") for text in openings if text.endswith(" that")}
        governing_que = {text.removesuffix(" que") for text in openings if text.endswith(" que")}
        strict = {text for text in governing if text.casefold() in _NEEDS_THAT}
        bare = {
            text
            for text in governing - strict
            if not text.startswith(("it is", "it's", "there is", "there's", "the chances"))
        }
        plain = {text.rstrip(",:") for text in openings if not text.endswith((" that", " que"))}
        plain.update(self._frames("adverb", "parenthetical"))
        apart = [
            any_of(text for text in plain if " that " in text) + r"\s*+[,:]\s++"
        ]  # "there is a chance that this is right:"
        apart += [any_of(governing) + r"\s++that\s++", any_of(governing_que) + r"\s++qu(?:e\s++|')"]
        joined = [any_of(plain - {""}) + r"(?:\s*+[,:])?\s++", any_of(bare) + _NO_OBJECT + r"(?:\s*+[,:])?\s++"]
        if self._english:
            before_clause = rf"(?:{'|'.join(_BEFORE_CLAUSE)})"
            apart += [
                rf"(?:{'|'.join(_BEFORE_BUT)})\s*+[,;—–-]*+\s*+(?:but|though|however)\b,?\s++",
                rf"(?:{'|'.join(_BEFORE_THAT)})\s++that\s++",
                rf"{before_clause}\s++that\s++",
            ]
            joined += [
                rf"{before_clause}{_NO_OBJECT}(?:\s*+[,:—–])?\s++",
                rf"(?:{'|'.join(_OPENING)})(?:\s*+,)?\s++",
            ]
        not_denied = r"(?!\W*not\b)"  # "probably not" denies what follows
        return re.compile(rf"(?:{'|'.join(apart)}|(?:{'|'.join(joined)}){not_denied})(?=\W*\w)", re.IGNORECASE)

    @cached_property
    def _lead(self) -> re.Pattern[str]:
        """A lead on its own that ends with a colon, before an answer."""
        openings = [text.partition("{")[0].strip() for text in self._frames("lead", "clause", "fragment")]
        return re.compile(any_of(text for text in openings if text.endswith(":")) + r"\s*", re.IGNORECASE)

    @cached_property
    def _closing(self) -> re.Pattern[str]:
        """A hedge at the end: "..., though I am not sure"."""
        tails = {_after_slot(text) for text in self._frames("fragment", "clause")}
        ends = any_of(tails | set(self._frames("closing", "parenthetical")))
        if self._english:
            ends = rf"(?:{ends}|{'|'.join(_CLOSING)})"
        return re.compile(rf"(?:[,;–—]|\s-)\s*+{ends}(?P<end>[.!…]*+[*_\"”]*+)$", re.IGNORECASE)

    @cached_property
    def _parenthetical(self) -> re.Pattern[str]:
        inner = any_of(self._frames("parenthetical"))
        if self._english:
            inner = rf"(?:{inner}|{'|'.join(_CLOSING)})"
        return re.compile(rf",\s++{inner},(?=\s)", re.IGNORECASE)

    @cached_property
    def _adverb(self) -> re.Pattern[str]:
        inner = any_of(text for text in self._frames("adverb") if text not in KEPT_INSIDE)
        if self._english:
            inner = rf"(?:{'|'.join(_ADVERBS)}|{inner})"
        not_after = "".join(rf"(?<!\b{word})" for word in _NO_ADVERB_AFTER if self._english)
        return re.compile(rf"(?<=[^\s;:—–-]){not_after}\s++{inner}(?=[\s.!,;:*]|$)", re.IGNORECASE)


def _after_slot(text: str) -> str:
    """The text after the slot of a frame that begins with its slot; else the empty string."""
    return next((text[len(slot) :].strip(" ,") for slot in _SLOTS if text.startswith(slot)), "")


@dataclass(frozen=True)
class Strippers:
    """The strippers of all languages; kept, because building one takes a third of a second.

    Attributes:
        hedges: the English ones; other languages use their shipped lexicons.
    """

    hedges: tuple[Hedge, ...]

    def of(self, language: str) -> Stripper:
        """The stripper for texts of this language."""
        return self._english if language == "en" else _foreign(language)

    @cached_property
    def _english(self) -> Stripper:
        return _built(self.hedges)


@lru_cache(maxsize=16)
def _built(hedges: tuple[Hedge, ...]) -> Stripper:
    """The stripper for these English hedges, cached.

    Callers keep the result, since hashing a lexicon for the cache is slow.
    """
    return Stripper(hedges)


@lru_cache(maxsize=8)
def _foreign(language: str) -> Stripper:
    return Stripper(load(language=language).hedges, language)


class _Node(dict[str, "_Node"]):
    """A node of a word trie: the words that may follow; `ends` where a phrase is complete."""

    ends = False


def contracted(text: str) -> str:
    """The phrase with contractions: "I am not sure" -> "I'm not sure"."""
    for long, short in _CONTRACTIONS:
        text = long.sub(short, text)
    return text


def variants(phrase: str) -> set[str]:
    """A phrase without contractions, with all of them, and with each one alone."""
    return {phrase, contracted(phrase)} | {long.sub(short, phrase) for long, short in _CONTRACTIONS}


def any_of(phrases: Iterable[str]) -> str:
    """A pattern for the longest of the phrases, in any case and with any spaces; it matches nothing for no phrases."""
    root = _Node()
    for phrase in phrases:
        node = root
        for word in straight(phrase).lower().split():
            node = node.setdefault(word, _Node())
        node.ends = node is not root
    return _pattern(root) if root else r"(?!)"


def _pattern(node: _Node) -> str:
    branches = [
        re.escape(word) + (_tail(child) if child else "")
        for word, child in sorted(node.items(), key=lambda item: (-len(item[0]), item[0]))
    ]
    return f"(?:{'|'.join(branches)})"


def _tail(node: _Node) -> str:
    following = rf"\s++{_pattern(node)}"
    return f"(?:{following})?" if node.ends else following


_DENIAL = re.compile(
    r"\b(?:doubt|doubtful|not|surprised|unlikely|improbable|inconceivable|remotely|barely|whether|"
    r"(?:little|slight|small|slim|remote|low|outside|no|any|tiny|faint) (?:chance|probability|possibility)|slight)\b"
)
KEPT_INSIDE = frozenset(
    {"clearly", "absolutely", "definitively", "obviously", "potentially", "likely", "assuredly", "plausibly"}
)
"""Adverbs that inside a sentence rarely express the speaker's confidence ("clearly visible", "the likely cause").

They are inserted and removed only at the start of a sentence.
"""


def capitalise(text: str) -> str:
    """The text with its first letter in upper case, after any leading markup and brackets."""
    match = re.match(r"^[*_(\[¿¡]*", text)
    start = match.end() if match else 0
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]


def denies(frame: Frame) -> bool:
    """Whether the frame denies the answer instead of hedging it ("it is unlikely that ...", "probably not ...").

    In a draft these words are part of the content, so they are neither inserted nor removed.
    """
    if frame.kind not in ("clause", "fragment"):
        return False
    opening = frame.text.partition("{")[0].rstrip(" ,:")
    return bool(_DENIAL.search(opening)) and not opening.endswith(("but", "aber", "mais", "pero"))


def usable(hedge: Hedge) -> tuple[Frame, ...]:
    """The frames of a hedge that do not deny the answer."""
    return tuple(frame for frame in hedge.frames if not denies(frame))
