"""The values of a lexicon: hedges, their grammatical frames, the lexicon itself, a retrieved match."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from ...calibration import Beta

FrameKind = Literal["clause", "fragment", "adverb", "modal", "parenthetical", "closing", "lead"]
Register = Literal["plain", "formal", "casual"]
Source = Literal["people", "modelled", "standard"]
Voice = Literal["impersonal", "first_person"]

NO_HEDGE = "no-hedge"
"""The id of the plain assertion."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One grammatical form of a hedge in a sentence.

    Attributes
    ----------
    kind : FrameKind
        clause: governs a whole clause, `text` holds "{clause}" ("I think that {clause}", "It is unlikely that {clause}").
        fragment: governs a bare answer without a verb, `text` holds "{fragment}" ("Probably {fragment}").
        adverb: goes beside the finite verb ("probably": "It was probably Harold Pinter.").
        modal: takes the place of a form of "be" or "have", which follows it in the infinitive: "may" ("It may have been Harold Pinter.") or a
        verb with "to" ("be likely to", "appear to").
        parenthetical: between commas after the subject or first phrase ("as far as I know").
        closing: hangs on the end of the sentence before its full stop ("though I am far from certain").
        lead: a sentence or opening of its own that precedes the answer, `text` holds "{answer}"
        ("I am not sure about this, but my best guess: {answer}").
    text : str
        Written as in the middle of a sentence (lower case unless a name or "I"); the rewriter sets case and punctuation.
    """

    kind: FrameKind
    text: str


@dataclass(frozen=True, slots=True)
class Hedge:
    """A phrase with the confidence that it conveys.

    Attributes
    ----------
    id : str
        Stable name, kebab-case, unique in its lexicon ("almost-certainly"). `no-hedge` is the plain assertion.
    phrase : str
        As a person would quote it ("almost certainly"); "" for `no-hedge`.
    beta : Beta
        Perceived confidence: mean = where, concentration = how much readers agree.
    source : str
        "people" or "modelled" or "standard" (an official scale).
    readers : int
        How many people's readings stand behind it; 0 where none.
    frames : tuple[Frame, ...]
        Ways of saying it, best first; empty for `no-hedge`, and for words that are only read: put into an answer,
        "usually" would change what is claimed and not how sure it sounds.
    register : {"plain", "formal", "casual"}
    language : str
        ISO 639-1.
    basis : str
        How `beta` was obtained, for people to read: the surveys with their numbers of readers, or what it was modelled by.
    error : float or None
        Expected absolute error of the mean, in [0, 1], where it was modelled and the error was measured on phrases that
        the model had not seen.
    variants : tuple[str, ...]
        Other wordings that are read as this entry and never written ("meines Wissens").
    booster : bool
        Stresses a claim instead of weakening it. Only in lexicons of languages without a grammar of cues, which cannot tell.
    voice : {"impersonal", "first_person"} or None
        Who speaks. None: the phrase tells ("I think").
    """

    id: str
    phrase: str
    beta: Beta
    source: Source
    readers: int
    frames: tuple[Frame, ...]
    register: Register = "plain"
    language: str = "en"
    basis: str = ""
    error: float | None = None
    variants: tuple[str, ...] = ()
    booster: bool = False
    voice: Voice | None = None

    @property
    def is_plain(self) -> bool:
        """True for `no-hedge`: the answer is unchanged."""
        return self.id == NO_HEDGE

    @property
    def is_sayable(self) -> bool:
        """True if answers can be worded with it: it has frames, or it is the plain assertion."""
        return bool(self.frames) or self.is_plain


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Hedges of one language, in the order of their file; ids are unique.

    Attributes
    ----------
    negations, edges : frozenset of str
        Words that turn a hedge round, and conjunctions and marks that may be missing at the ends of its wordings. Empty for
        English, whose cues have a grammar.

    Examples
    --------
    >>> from hedgerow.lexicon import load
    >>> load()["i-think"].phrase
    'I think'
    """

    hedges: tuple[Hedge, ...]
    language: str = "en"
    title: str = ""
    negations: frozenset[str] = frozenset()
    edges: frozenset[str] = frozenset()
    by_id: Mapping[str, Hedge] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_id", MappingProxyType({hedge.id: hedge for hedge in self.hedges}))

    def __getitem__(self, id: str) -> Hedge:
        return self.by_id[id]

    def __len__(self) -> int:
        return len(self.hedges)

    def __iter__(self) -> Iterator[Hedge]:
        return iter(self.hedges)

    def __contains__(self, id: object) -> bool:
        return id in self.by_id

    def get(self, id: str) -> Hedge | None:
        """The hedge with this id, or None."""
        return self.by_id.get(id)


@dataclass(frozen=True, slots=True)
class Match:
    """A retrieved hedge and its 1-Wasserstein distance to the target, in [0, 1]; smaller = nearer."""

    hedge: Hedge
    distance: float


# Lexicons as text: JSON with one entry to two lines, so that a changed figure is one changed line.

DIGITS = 4
"""Decimals of alpha and beta in a file: their error moves a mean by less than 1e-4."""


def to_json(lexicon: Lexicon, extends: str | None = None) -> str:
    """A lexicon as the text of a file that `load` reads back, alone or on top of another."""
    head = {"version": 1, "language": lexicon.language, "title": lexicon.title}
    head |= {"extends": extends} if extends else {}
    head |= {name: " ".join(sorted(words)) for name in ("negations", "edges") if (words := getattr(lexicon, name))}
    lines = "".join(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)},\n" for key, value in head.items())
    rows = ",\n".join(_row(hedge) for hedge in lexicon)
    return f'{{\n{lines} "hedges": [\n{rows}\n ]\n}}\n'


def _row(hedge: Hedge) -> str:
    row: dict[str, Any] = {
        "id": hedge.id,
        "phrase": hedge.phrase,
        "alpha": round(hedge.beta.alpha, DIGITS),
        "beta": round(hedge.beta.beta, DIGITS),
        "source": hedge.source,
        "readers": hedge.readers,
        "register": hedge.register,
        "basis": hedge.basis,
    }
    if hedge.error is not None:
        row["error"] = round(hedge.error, 3)
    if hedge.variants:
        row["variants"] = hedge.variants
    if hedge.booster:
        row["booster"] = True
    if hedge.voice:
        row["voice"] = hedge.voice
    frames = [{frame.kind: frame.text} for frame in hedge.frames]
    head = json.dumps(row, ensure_ascii=False).removesuffix("}")
    return f'  {head},\n   "frames": {json.dumps(frames, ensure_ascii=False)}}}'
