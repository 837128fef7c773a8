"""What is marked, and how plainly, at a calibrated confidence. No grammar: `realise` and the editor find the words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Band = Literal["plain", "light", "doubt", "front"]
"""How an answer is to sound.

plain: as it is. light: with a light hedge ("probably", "I think"). doubt: with a plain doubt, preferably first ("I'm not sure, but"). front: with the doubt
said up front, in words of its own ("I don't really know this; my best guess is").
"""
BANDS: Mapping[Band, float] = MappingProxyType({"plain": 0.8, "light": 0.45, "doubt": 0.2, "front": 0.0})
"""The lower ends of the bands, each included; the upper end is the next one's lower end, excluded."""


def band_of(mean: float, bands: Mapping[Band, float] = BANDS) -> Band:
    """The band of a calibrated mean in [0, 1]: the one with the highest lower end that the mean reaches.

    >>> band_of(0.8), band_of(0.45), band_of(0.2), band_of(0.199)
    ('plain', 'light', 'doubt', 'front')
    """
    reached = [band for band, lower in bands.items() if mean >= lower]
    return max(reached, key=lambda band: bands[band], default="front")
