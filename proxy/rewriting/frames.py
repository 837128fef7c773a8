"""Putting a hedge into a sentence by one of its frames: pure string work, None where the frame does not fit."""

from __future__ import annotations

import re

from hedgerow.lexicon import Frame, Hedge
from hedgerow.lexicon.text.english import SUBJECT_PRONOUNS
from hedgerow.lexicon.text.shape import Shape
from hedgerow.proxy.rewriting.casing import Surroundings, capitalise, decapitalise, lowers
from hedgerow.proxy.rewriting.cues import NOT_PUT_INSIDE

SLOTS = {"clause": "{clause}", "fragment": "{fragment}", "lead": "{answer}"}
_DENIAL = re.compile(
    r"\b(?:doubt|doubtful|not|surprised|unlikely|improbable|inconceivable|remotely|barely|whether|"
    r"(?:little|slight|small|slim|remote|low|outside|no|any|tiny|faint) (?:chance|probability|possibility)|slight)\b"
)
_SAYS_NO = re.compile(r"(?:not|nicht|pas)\s", re.IGNORECASE)
"""Openings that a word of doubt before them would join and deny: "Probably not an answer" says another thing than "Not an answer"."""
_HANGS_ON = re.compile(r"(?:and|though|but|although|aber|mais|pero|aunque) |to be taken", re.IGNORECASE)
_VOWELS = frozenset("aeiouyàâéèêëîïôûù")
_SPEAKER = re.compile(r"(?:I|we|it|je|ich|yo) |or so", re.IGNORECASE)


def denies(frame: Frame) -> bool:
    """True where the frame takes the answer back instead of doubting it ("it is unlikely that ...", "probably not ...").

    As a draft's own words these say the opposite of what follows, so they are neither put in nor taken out.
    """
    if frame.kind not in ("clause", "fragment"):
        return False
    opening = frame.text.partition("{")[0].rstrip(" ,:")
    return bool(_DENIAL.search(opening)) and not opening.endswith(("but", "aber", "mais", "pero"))


def usable(hedge: Hedge) -> tuple[Frame, ...]:
    """The frames of a hedge that keep the answer an answer."""
    return tuple(frame for frame in hedge.frames if not denies(frame))


def apply(frame: Frame, shape: Shape, around: Surroundings) -> str | None:
    """The sentence with the hedge in it, or None where this frame cannot take this sentence."""
    if shape.kind in ("none", "question") or (_SAYS_NO.match(shape.body) and _joins(frame)):
        return None
    make = {
        "clause": _clause,
        "fragment": _fragment,
        "adverb": _adverb,
        "parenthetical": _parenthetical,
        "closing": _closing,
        "lead": _lead,
    }[frame.kind]
    return make(frame.text, shape, around)


def _joins(frame: Frame) -> bool:
    """True for words that would stand right before the sentence and be read with a "not" that opens it."""
    return frame.kind not in ("closing", "lead") and " that {clause}" not in frame.text


def disturbs_start(text: str, shape: Shape) -> bool:
    """True where the words of this result before the body may clash with the body's first letter."""
    return not text.startswith(shape.head + shape.body[:12])


def _clause(text: str, shape: Shape, around: Surroundings) -> str | None:
    if shape.kind != "clause":
        return None
    opening = text.partition("{clause}")[0].rstrip(" ,")
    if shape.head and opening.endswith((" but", " aber", " mais", " pero")):
        whole = decapitalise(shape.head + shape.body, around)
        return capitalise(text.replace("{clause}", whole)) + _full_stop(shape)
    body = decapitalise(shape.body, around)
    if around.language == "fr" and opening.endswith(" que") and body[:1].lower() in _VOWELS:
        return _opened(text.replace("e {clause}", "'" + body), shape, _full_stop(shape))
    return _opened(text.replace("{clause}", body), shape, _full_stop(shape))


def _fragment(text: str, shape: Shape, around: Surroundings) -> str | None:
    if shape.kind != "fragment" or shape.head:
        return None
    opening, _, rest = text.partition("{fragment}")
    if not opening:
        closed = shape.stopped and not shape.end and not shape.body.endswith(".")
        return None if closed or _is_list(shape) else shape.body + rest + (shape.end or ".")
    end = _full_stop(shape) if " " in opening.strip() else shape.end
    return capitalise(opening) + decapitalise(shape.body, around) + rest + end


def _adverb(text: str, shape: Shape, around: Surroundings) -> str | None:
    if shape.kind == "fragment" and not shape.head:
        end = _full_stop(shape) if " " in text else shape.end
        return capitalise(f"{text} {decapitalise(shape.body, around)}") + end
    if shape.adverb_at is None or text in NOT_PUT_INSIDE:
        return None
    left, right = shape.body[: shape.adverb_at].rstrip(), shape.body[shape.adverb_at :]
    return shape.head + f"{left} {text} {right}".rstrip() + shape.end


def _parenthetical(text: str, shape: Shape, around: Surroundings) -> str | None:
    if shape.kind != "clause" or _HANGS_ON.match(text):
        return None
    inside = shape.adverb_at is not None and "," not in shape.body[: shape.adverb_at]
    if inside and (_SPEAKER.match(text) or lowers(shape.body, around) is not True):
        left, right = shape.body[: shape.adverb_at].rstrip(), shape.body[shape.adverb_at :]
        if not right or left.lower() in SUBJECT_PRONOUNS:
            return None
        return f"{shape.head}{left}, {text}, {right}{shape.end}"
    if _SPEAKER.match(text):
        return None
    return _opened(f"{text}, {decapitalise(shape.body, around)}", shape, shape.end)


def _closing(text: str, shape: Shape, around: Surroundings) -> str | None:
    del around
    if (
        _is_list(shape)
        or shape.end not in ("", ".", "!")
        or (shape.stopped and not shape.end and not shape.body.endswith("."))
    ):
        return None
    return f"{shape.head}{shape.body}, {text}."


def _lead(text: str, shape: Shape, around: Surroundings) -> str | None:
    if _is_list(shape):
        return None
    opening, _, rest = text.partition("{answer}")
    body = shape.head + shape.body
    if not opening.rstrip().endswith((".", ":", "!", "?")):
        body = decapitalise(body, around)
    return capitalise(opening) + body + rest + _full_stop(shape)


def _opened(text: str, shape: Shape, end: str) -> str:
    """Set after "Yes, " where there is a head that leads on, else as the opening of a sentence."""
    leads_on = shape.head and not shape.head.rstrip().endswith((".", "!"))
    return shape.head + (text if leads_on else capitalise(text)) + end


def _full_stop(shape: Shape) -> str:
    """What ends a whole sentence: the draft's own stop, one of ours where it has none."""
    return shape.end if shape.stopped or _is_list(shape) else "."


def _is_list(shape: Shape) -> bool:
    """A body that ends with a colon leads to something that follows; nothing may hang on it."""
    return shape.body.endswith(":")
