"""Lexicons as text: JSON with one entry to two lines, so that a changed figure is one changed line."""

from __future__ import annotations

import json
from typing import Any

from .entries import Hedge, Lexicon

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
