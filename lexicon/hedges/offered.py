"""Which hedges an answer may be worded with: of a lexicon's entries, those that a careful editor would sign.

Every entry is read (an answer's own words are perceived through all of them); fewer are written.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from hedgerow.lexicon.errors import LexiconError
from hedgerow.lexicon.hedges.entries import NO_HEDGE, Lexicon, Register

REGISTERS: tuple[Register, ...] = ("plain", "formal")
"""Tones that are written by default: "I reckon" suits no product."""
_CONTRADICT = """i-do-not-know i-do-not-really-know i-have-no-idea i-cannot-recall i-barely-remember
    almost-no-chance hardly-any-chance inconceivable very-unlikely highly-unlikely extremely-unlikely highly-improbable improbable
    i-seriously-doubt i-do-not-think chances-are-slight little-chance barely-possible remotely-possible with-low-probability
    unlikely quite-unlikely somewhat-unlikely not-likely not-very-likely doubtful very-doubtful i-doubt probably-not i-would-be-surprised"""
"""Beside a statement they contradict it: "It is Paris, though I have no idea", "I doubt that it is Paris"."""
_OVERSTATE = "certainly i-know surely i-am-convinced"
"""The statement alone says as much."""
_INVENT = """the-evidence-suggests all-signs-point-to by-all-accounts reportedly allegedly supposedly according-to-what-i-have-read evidently
    we-believe we-doubt"""
"""Point to evidence, sources or other people that the answer does not have."""
_CONCLUDE = "must should in-my-view in-my-opinion i-would-argue"
"""Conclude, oblige or argue where only doubt is meant."""
UNSUITED = frozenset(f"{_CONTRADICT} {_OVERSTATE} {_INVENT} {_CONCLUDE}".split())
"""Ids of shipped entries that are read and, by default, not written."""


def offered(
    lexicon: Lexicon,
    *,
    boosters: bool = False,
    registers: Collection[Register] = REGISTERS,
    never: Collection[str] | None = None,
) -> Lexicon:
    """The lexicon with the hedges that may be written, `no-hedge` always among them where it is there.

    Parameters
    ----------
    boosters : whether entries read as surer than the plain assertion stay; without them a surer answer is left plain, because `no-hedge` is
        the nearest entry there is.
    registers : tones that stay.
    never : ids that go; None: `UNSUITED`.

    Raises
    ------
    LexiconError
        No hedge is left.

    Examples
    --------
    >>> from hedgerow.lexicon import load
    >>> "i-reckon" in load(), "i-reckon" in offered(load())
    (True, False)
    """
    plain, never = lexicon.get(NO_HEDGE), UNSUITED if never is None else never
    most = 1.0 if boosters or plain is None else plain.beta.mean
    hedges = tuple(
        hedge
        for hedge in lexicon
        if hedge.is_plain
        or (
            hedge.register in registers
            and hedge.beta.mean <= most
            and hedge.id not in never
            and hedge.basis.partition("en:")[2] not in never  # a translation is as unsuited as what it translates
        )
    )
    if not any(hedge.is_sayable and not hedge.is_plain for hedge in hedges):
        raise LexiconError(f"no hedge is left: none has a register of {', '.join(registers)} and is allowed")
    return replace(lexicon, hedges=hedges)
