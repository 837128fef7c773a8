"""Lexicon files are read, and refused with the line at fault."""

from lexicon import NO_HEDGE, load


def test_the_shipped_lexicon_covers_the_range() -> None:
    lexicon = load()
    assert len(lexicon) >= 200
    assert lexicon[NO_HEDGE].is_plain
    means = sorted(hedge.beta.mean for hedge in lexicon if hedge.is_sayable)
    assert means[0] < 0.05
    assert means[-1] > 0.9
