"""A number that a text states of its own confidence is read as that number."""

from __future__ import annotations

import pytest

from hedgerow.lexicon import perceive
from tests.support.tables import cases


@cases(
    ("text", "mean"),
    [
        ("I'm only 30% confident.", 0.3), ("I am 20 % sure.", 0.2), ("There is a 5% chance.", 0.05), ("There is a 95% chance it is Paris.", 0.95),
        ("It is 1% likely.", 0.01), ("It is Paris (Confidence: 10%).", 0.1), ("Confidence: low", 0.25), ("Certainty: 2/10", 0.2), ("The odds are 1 to 9.", 0.1),
        ("The probability that it is Paris is 10%.", 0.1), ("I have a confidence of 0.8 in this.", 0.8), ("Paris, with 90 percent certainty.", 0.9),
        ("Confidence level: 7 out of 10", 0.7),
    ],
)  # fmt: skip
def test_a_stated_number_is_how_sure_the_text_sounds(text, mean):
    assert perceive(text).beta.mean == pytest.approx(mean, abs=0.01)


@cases(
    "text",
    [
        "Water covers 71% of the Earth.",
        "There is a 30% chance of rain.",
        "The 95% interval is narrow.",
        "I'm not 100% sure.",
        "The probability that a fair coin lands heads is 30%.",
        "There is a 30% chance that it will rain tomorrow.",
        "I'm not even 100% sure.",
    ],
)
def test_a_number_of_the_content_or_denied_is_none(text):
    """These read as they did: by their words."""
    other = text.replace("71", "17").replace("30", "85").replace("95", "20").replace("100%", "entirely")
    assert perceive(text).beta.mean == pytest.approx(perceive(other).beta.mean, abs=0.15)
