"""Which sentences a rewrite may hedge at all."""

from __future__ import annotations

from hedgerow.proxy.rewriting.claims import may_claim
from tests.support.tables import cases


@cases("name", ["Great Britain", "Great Expectations.", "Hello Dolly", "Sure Shot"])
def test_a_name_that_opens_like_a_reply_is_an_answer(name: str) -> None:
    assert may_claim(name)


@cases(
    "text",
    [
        "Sure!", "I'd be happy to help you draw a hopscotch game on your driveway.", "I hope this message finds you well.",
        "Thank you for choosing our services.", "Call emergency services now.", "Here are some popular options to consider:",
        "Combine like terms and set the result to zero.", "Sure, here's how you can make $1 using 19 coins:",
    ],
)  # fmt: skip
def test_sentences_that_no_rewrite_may_hedge(text: str) -> None:
    """Found in answers that an earlier version served."""
    assert not may_claim(text)
