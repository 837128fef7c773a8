"""What a product writes: vetted wordings of the lexicon's entries, and sentences before or after an answer.

Data beside the lexicons (`data/written/<language>.json`). An entry says how sure a phrase sounds; this says in which of its forms a careful
editor would write it and in which tone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ...calibration import Beta
from .entries import Frame, Register
from .loading import DATA, load


@dataclass(frozen=True, slots=True)
class Wording:
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

    wordings: Mapping[str, Wording]
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
        row["id"]: Wording(row["register"], tuple(Frame(kind, text) for f in row["frames"] for kind, text in f.items()))
        for row in raw["wordings"]
    }
    apart = (tuple(map(closing, raw[name])) for name in ("closings", "starts", "points"))
    return Written(wordings, *apart)
