"""Putting a hedge into a sentence by one of its frames: pure string work, None where the frame does not fit."""

from __future__ import annotations

from lexicon import Frame
from proxy.rewriting.casing import capitalise, decapitalise, lowers
from proxy.rewriting.shape import Shape


def apply(frame: Frame, shape: Shape, question: str = "", context: str = "") -> str | None:
    """The sentence with the hedge in it, or None where this frame cannot take this sentence."""
    if shape.kind in ("none", "question"):
        return None
    make = {
        "clause": _clause,
        "fragment": _fragment,
        "adverb": _adverb,
        "parenthetical": _parenthetical,
        "closing": _closing,
        "lead": _lead,
    }[frame.kind]
    return make(frame.text, shape, question, context)


def disturbs_start(frame: Frame, shape: Shape) -> bool:
    """True where the frame puts words before the body, so that the body's first letter may have to change."""
    if frame.kind in ("clause", "fragment", "lead"):
        return True
    return frame.kind != "closing" and shape.adverb_at is None


def case_is_known(shape: Shape, question: str, context: str) -> bool:
    """False where nothing tells whether the first word is a name."""
    return lowers(shape.body, question, context) is not None


def _clause(text: str, shape: Shape, question: str, context: str) -> str | None:
    if shape.kind != "clause":
        return None
    return _before(text.replace("{clause}", decapitalise(shape.body, question, context)), shape, stop=True)


def _fragment(text: str, shape: Shape, question: str, context: str) -> str | None:
    if shape.kind != "fragment" or shape.head:
        return None
    stop = " " in text.replace("{fragment}", "").strip()
    return _before(text.replace("{fragment}", decapitalise(shape.body, question, context)), shape, stop=stop)


def _adverb(text: str, shape: Shape, question: str, context: str) -> str | None:
    if shape.kind == "fragment" and not shape.head:
        return _before(f"{text} {decapitalise(shape.body, question, context)}", shape, stop=False)
    if shape.adverb_at is None:
        return None
    left, right = shape.body[: shape.adverb_at].rstrip(), shape.body[shape.adverb_at :]
    return shape.head + f"{left} {text} {right}".rstrip() + shape.end


def _parenthetical(text: str, shape: Shape, question: str, context: str) -> str | None:
    if shape.kind == "imperative":
        return None
    if shape.kind == "fragment":
        return None if "," in shape.body else f"{shape.head}{shape.body}, {text}{shape.end}"
    if lowers(shape.body, question, context) is True or shape.adverb_at is None:
        return _before(f"{text}, {decapitalise(shape.body, question, context)}", shape, stop=False)
    left, right = shape.body[: shape.adverb_at].rstrip(), shape.body[shape.adverb_at :]
    return f"{shape.head}{left}, {text}, {right}{shape.end}"


def _closing(text: str, shape: Shape, question: str, context: str) -> str | None:
    if shape.end not in ("", ".", "!", "**", "**.", ".**"):
        return None
    return f"{shape.head}{shape.body}, {text}{shape.end or '.'}"


def _lead(text: str, shape: Shape, question: str, context: str) -> str | None:
    opening, _, rest = text.partition("{answer}")
    body = shape.head + shape.body if shape.head else shape.body
    if not opening.rstrip().endswith((".", "!", "?")):
        body = decapitalise(body, question, context)
    return capitalise(opening) + body + rest + (shape.end or ".")


def _before(text: str, shape: Shape, *, stop: bool) -> str:
    """Set after "Yes, " where there is a head, else as the opening of the sentence."""
    end = shape.end or ("." if stop else "")
    if shape.head and not shape.head.rstrip().endswith((".", "!")):
        return shape.head + text + end
    return shape.head + capitalise(text) + end
