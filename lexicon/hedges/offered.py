"""The hedges with which answers may be worded: the entries of a lexicon that a careful editor would use.

All entries are used to read perceived confidence; fewer are written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache

from ...calibration import Beta
from ..errors import LexiconError
from .entries import NO_HEDGE, Frame, Hedge, Lexicon, Register, Voice
from .loading import DATA, builtin_names, load

# What a product writes: vetted wordings of the lexicon's entries, and sentences before or after an answer.
#
# Data beside the lexicons (`data/written/<language>.json`). An entry says how sure a phrase sounds; this says in which
# of its forms a careful editor would write it and in which tone.


@dataclass(frozen=True, slots=True)
class WrittenHedge:
    """How an entry of the lexicon is written.

    Attributes
    ----------
    register : {"plain", "formal", "casual"}
    frames : tuple[Frame, ...]
        The forms that read well, best first.
    """

    register: Register
    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class Closing:
    """A sentence that stands apart from the claims that it is about.

    Attributes
    ----------
    text : str
    beta : Beta
        Its perceived confidence.
    hedge : str or None
        The lexicon's entry whose words it says; None where it has a figure of its own.
    """

    text: str
    beta: Beta
    hedge: str | None


@dataclass(frozen=True, slots=True)
class Written:
    """The vetted wordings of one language.

    Attributes
    ----------
    wordings : mapping of str to Wording
        By the id of the lexicon's entry.
    closings : tuple[Closing, ...]
        Sentences after an answer.
    starts : tuple[Closing, ...]
        Sentences before an answer; none in some languages.
    points : tuple[Closing, ...]
        Sentences after an answer that name what is in doubt, with the slot "{points}"; none in some languages.
    """

    wordings: Mapping[str, WrittenHedge]
    closings: tuple[Closing, ...]
    starts: tuple[Closing, ...]
    points: tuple[Closing, ...]


@cache
def written(language: str = "en") -> Written:
    """The vetted wordings of a language; none where no file has any: then the whole lexicon is written, and nothing apart from a claim.

    Examples
    --------
    >>> written().wordings["probably"].register, written().closings[0].text
    ('plain', 'This is probably right.')
    """
    path = DATA / "written" / f"{language}.json"
    if not path.exists():
        return Written({}, (), (), ())
    raw = json.loads(path.read_text(encoding="utf-8"))
    hedges = load(language=language)

    def closing(row: dict[str, str | float]) -> Closing:
        if "hedge" in row:
            hedge = hedges[str(row["hedge"])]
            return Closing(str(row["text"]), hedge.beta, hedge.id)
        return Closing(str(row["text"]), Beta.from_mean(float(row["mean"]), float(row["concentration"])), None)

    wordings = {
        row["id"]: WrittenHedge(
            row["register"], tuple(Frame(kind, text) for f in row["frames"] for kind, text in f.items())
        )
        for row in raw["wordings"]
    }
    apart = (tuple(map(closing, raw[name])) for name in ("closings", "starts", "points"))
    return Written(wordings, *apart)


IMPERSONAL: tuple[Voice, ...] = ("impersonal",)

_CONTRADICT = """i-do-not-know i-have-no-idea i-cannot-recall i-barely-remember
    almost-no-chance hardly-any-chance inconceivable very-unlikely highly-unlikely extremely-unlikely highly-improbable improbable
    i-seriously-doubt i-do-not-think chances-are-slight little-chance barely-possible remotely-possible with-low-probability
    unlikely quite-unlikely somewhat-unlikely not-likely not-very-likely doubtful very-doubtful i-doubt probably-not i-would-be-surprised"""
"""Beside a statement they contradict it: "It is Paris, though I have no idea", "I doubt that it is Paris"."""
_OVERSTATE = "certainly i-know surely i-am-convinced"
"""They add nothing to the plain statement, or overstate it."""
_INVENT = """the-evidence-suggests all-signs-point-to by-all-accounts reportedly allegedly supposedly according-to-what-i-have-read evidently
    we-believe we-doubt"""
"""They refer to evidence, sources or other people that the answer does not have."""
_CONCLUDE = "must should in-my-view in-my-opinion i-would-argue"
"""Conclude, oblige or argue where only doubt is meant."""
UNSUITED = frozenset(f"{_CONTRADICT} {_OVERSTATE} {_INVENT} {_CONCLUDE}".split())
"""Ids of shipped entries that are read but by default not written."""


_SPEAKER = {
    "en": re.compile(r"\b(?:I|my|me|we|our|mine)\b"),
    "de": re.compile(r"\b(?:ich|mein\w*|mir|mich|wir)\b", re.IGNORECASE),
    "fr": re.compile(r"\b(?:je|j|mon|ma|me|moi|nous)\b", re.IGNORECASE),
    "es": re.compile(r"\b(?:yo|creo|me|sepa|recuerdo|estoy|tengo|diría)\b", re.IGNORECASE),
}
"""Words of who speaks, by language."""


def offered(
    lexicon: Lexicon,
    *,
    voices: Collection[Voice] = IMPERSONAL,
) -> Lexicon:
    """The lexicon with the hedges that may be written, always including `no-hedge` if it exists.

    Parameters
    ----------
    voices : who may speak; "I think" is first person.

    Of the shipped entries those stay that a product would say, each in the forms that read well, and none that is surer than the plain assertion:
    a surer answer is left plain. Entries of the user's own stay as they are: whoever wrote them means them to be written.

    Raises
    ------
    LexiconError
        No hedge is left.

    Examples
    --------
    >>> from hedgerow.lexicon import load
    >>> "i-reckon" in load(), "i-reckon" in offered(load())
    (True, False)
    >>> "i-think" in offered(load()), "i-think" in offered(load(), voices=("impersonal", "first_person"))
    (False, True)
    """
    plain = lexicon.get(NO_HEDGE)
    most = 1.0 if plain is None else plain.beta.mean

    mine, form = own_entries(lexicon), _vetted(lexicon.language)

    def suits(hedge: Hedge) -> bool:
        return hedge.is_plain or (
            (hedge.register == "plain" or hedge.id in mine)
            and voice_of(hedge) in voices
            and hedge.beta.mean <= most
            and hedge.id not in UNSUITED
            and hedge.basis.partition("en:")[2] not in UNSUITED  # a translation is as unsuitable as its original
        )

    written_forms = (hedge if hedge.id in mine else form(hedge) for hedge in lexicon)
    hedges = tuple(hedge for hedge in written_forms if hedge is not None and suits(hedge))
    if not any(hedge.is_sayable and not hedge.is_plain for hedge in hedges):
        raise LexiconError(f"no hedge is left: none that may be said is {' or '.join(voices)}")
    return replace(lexicon, hedges=hedges)


def voice_of(hedge: Hedge) -> Voice:
    """Whether a phrase is said by someone ("I think", "to my knowledge"): as its entry says, or as its words tell."""
    if hedge.voice is not None:
        return hedge.voice
    speaker = _SPEAKER.get(hedge.language)
    return "first_person" if speaker is not None and speaker.search(hedge.phrase) else "impersonal"


def own_entries(lexicon: Lexicon) -> Mapping[str, Hedge]:
    """The entries of a lexicon that are missing or different in the shipped lexicon of its language, by id."""
    shipped = load(language=lexicon.language).by_id if lexicon.language in builtin_names() else {}
    return {hedge.id: hedge for hedge in lexicon if shipped.get(hedge.id) != hedge}


def _vetted(language: str) -> Callable[[Hedge], Hedge | None]:
    """A shipped entry in its vetted forms; None if it is not written."""
    vetted = written(language).wordings

    def form(hedge: Hedge) -> Hedge | None:
        if hedge.is_plain or not vetted:
            return hedge
        wording = vetted.get(hedge.id)
        return None if wording is None else replace(hedge, frames=wording.frames, register=wording.register)

    return form
