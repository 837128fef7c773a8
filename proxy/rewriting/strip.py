"""Taking a text's own hedges and boosters out, so that the new one stands alone.

Two sources: the frames of the lexicon run backwards, so that what was put in comes out again, and the cues of `cues.py`.
Quotations, code and brackets are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hedgerow.lexicon import Hedge
from hedgerow.lexicon.text.sentences import Piece, pieces
from hedgerow.lexicon.text.shape import ends_with_abbreviation, leading
from hedgerow.proxy.rewriting import cues
from hedgerow.proxy.rewriting.casing import capitalise
from hedgerow.proxy.rewriting.frames import usable
from hedgerow.proxy.rewriting.languages import lexicon_of
from hedgerow.proxy.rewriting.phrases import any_of, straight, variants

_SLOTS = ("{clause}", "{fragment}", "{answer}")
_NEEDS_THAT = frozenset({"i know", "i feel", "i expect", "i want to say", "i know for a fact"})
_NO_ADVERB_AFTER = ("the", "a", "an", "more", "less", "as", "so", "how", "of")
_ROUNDS = 4
"""Layers of hedging that are taken off one sentence: "I think it was probably ..., but I am not sure" has three."""
_NO_OBJECT = r"(?!\s+(?:that|to|of|for|about|if|whether|in|with|who|what|when|where|which|how|not)\b)"
"""After "I think" without "that": a clause may follow, an object may not ("I think of ...", "I know what ...")."""
_OPAQUE = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|\([^()]*\)")


@dataclass(frozen=True)
class Stripper:
    """Removes hedges and boosters.

    Attributes:
        hedges: whose frames can be taken out again; those without frames are left, since "usually" is part of a claim.
        language: of the texts; the built-in cues are English.
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
        """The text cut into sentences, less the leads that stand apart from them ("My best guess: "), in a line or before one."""
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
        """One sentence without its hedges and boosters, with a capital where it had one."""
        bare = self.bare(sentence)
        return capitalise(bare) if sentence[:1].isupper() else bare

    def bare(self, sentence: str) -> str:
        """The same with the first letter as it stood after the hedge: small, unless it is a name's."""
        for _ in range(_ROUNDS):
            before = sentence
            sentence = self._once(sentence)
            if sentence == before:
                break
        return sentence

    def _once(self, sentence: str) -> str:
        plain = straight(sentence)
        head = leading(sentence, self.language)
        if (closing := self._closing.search(plain)) and re.search(r"\w", plain[: closing.start()]):
            kept, end = sentence[: closing.start()], sentence[closing.start("end") :]
            if not kept.endswith(".") and ends_with_abbreviation(kept + end):
                return kept  # "Sammy Davis Jr" had no stop of its own
            return kept + (end[1:] if kept.endswith(".") and end.startswith(".") else end)
        if opening := self._opening.match(plain, len(head)):
            return head + sentence[opening.end() :]
        return self._without_inner(sentence, plain)

    def _without_inner(self, sentence: str, plain: str) -> str:
        opaque = [m.span() for m in _OPAQUE.finditer(plain)]
        for pattern in (self._parenthetical, self._adverb):
            for match in pattern.finditer(plain):
                if not any(a <= match.start() < b for a, b in opaque):
                    return sentence[: match.start()] + sentence[match.end() :]
        return sentence

    def _frames(self, *kinds: str) -> Iterator[str]:
        for hedge in self.hedges:
            for frame in usable(hedge):
                if frame.kind in kinds:
                    yield from variants(frame.text)

    @cached_property
    def _opening(self) -> re.Pattern[str]:
        """What stands before an answer: "I think that ...", "Probably ...", "My best guess: ..."."""
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
            any_of(text for text in plain if " that " in text) + r"\s*[,:]\s+"
        ]  # "there is a chance that this is right:"
        apart += [any_of(governing) + r"\s+that\s+", any_of(governing_que) + r"\s+qu(?:e\s+|')"]
        joined = [any_of(plain - {""}) + r"\s*[,:]?\s+", any_of(bare) + _NO_OBJECT + r"\s*[,:]?\s+"]
        if self._english:
            before_clause = rf"(?:{'|'.join(cues.BEFORE_CLAUSE)})"
            apart += [
                rf"(?:{'|'.join(cues.BEFORE_BUT)})\s*[,;—–-]*\s*(?:but|though|however)\b,?\s+",
                rf"(?:{'|'.join(cues.BEFORE_THAT)})\s+that\s+",
                rf"{before_clause}\s+that\s+",
            ]
            joined += [
                rf"{before_clause}{_NO_OBJECT}\s*[,:—–]?\s+",
                rf"(?:{'|'.join(cues.OPENING)})\s*,?\s+",
            ]
        not_denied = r"(?!\W*not\b)"  # "probably not" says the opposite of what follows
        return re.compile(rf"(?:{'|'.join(apart)}|(?:{'|'.join(joined)}){not_denied})(?=\W*\w)", re.IGNORECASE)

    @cached_property
    def _lead(self) -> re.Pattern[str]:
        """What ends with a colon before an answer, by itself."""
        openings = [text.partition("{")[0].strip() for text in self._frames("lead", "clause", "fragment")]
        return re.compile(any_of(text for text in openings if text.endswith(":")) + r"\s*", re.IGNORECASE)

    @cached_property
    def _closing(self) -> re.Pattern[str]:
        """What hangs on the end: "..., though I am not sure"."""
        tails = {_after_slot(text) for text in self._frames("fragment", "clause")}
        ends = any_of(tails | set(self._frames("closing", "parenthetical")))
        if self._english:
            ends = rf"(?:{ends}|{'|'.join(cues.CLOSING)})"
        return re.compile(rf"\s*(?:[,;–—]|\s-)\s*{ends}(?P<end>[.!…]*[*_\"”]*)$", re.IGNORECASE)

    @cached_property
    def _parenthetical(self) -> re.Pattern[str]:
        inner = any_of(self._frames("parenthetical"))
        if self._english:
            inner = rf"(?:{inner}|{'|'.join(cues.CLOSING)})"
        return re.compile(rf",\s+{inner},(?=\s)", re.IGNORECASE)

    @cached_property
    def _adverb(self) -> re.Pattern[str]:
        inner = any_of(text for text in self._frames("adverb") if text not in cues.KEPT_INSIDE)
        if self._english:
            inner = rf"(?:{'|'.join(cues.ADVERBS)}|{inner})"
        not_after = "".join(rf"(?<!\b{word})" for word in _NO_ADVERB_AFTER if self._english)
        return re.compile(rf"(?<=[^\s;:—–-]){not_after}\s+{inner}(?=[\s.!,;:*]|$)", re.IGNORECASE)


def _after_slot(text: str) -> str:
    """What stands after a slot that comes first."""
    return next((text[len(slot) :].strip(" ,") for slot in _SLOTS if text.startswith(slot)), "")


@dataclass(frozen=True)
class Strippers:
    """The strippers of all languages; building one takes a third of a second, so they are kept.

    Attributes:
        hedges: the English ones; the other languages bring their own.
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
    """Asked once by each who keeps it: hashing a lexicon is not free."""
    return Stripper(hedges)


@lru_cache(maxsize=8)
def _foreign(language: str) -> Stripper:
    return Stripper(lexicon_of(language).hedges, language)
