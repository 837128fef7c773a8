"""Which parts of a draft are claims, and how the confidence in claims becomes that of a sentence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hedgerow.calibration import Beta
from hedgerow.lexicon.reading.local import read
from hedgerow.proxy.clustering.support import borne_out
from hedgerow.proxy.pipeline.claims import claims_if_long, claims_of, of_sentences, statements
from hedgerow.proxy.types import ClaimConfidence

CHAT = """Here's a summary of her life:

Marie Curie was born in Warsaw in 1867. You should read her letters.

- Polonium (1898)
- two children
- She won the Nobel Prize in Physics in 1903.

Would you like to know more?"""


def claim(sentence: int | None, mean: float) -> ClaimConfidence:
    return ClaimConfidence("", 0, 0, sentence, Beta.from_mean(0.5, 9), Beta.from_mean(mean, 9), ())


def test_introductions_offers_and_instructions_claim_nothing() -> None:
    assert [claim.text for claim in claims_of(read(CHAT))] == [
        "Marie Curie was born in Warsaw in 1867.",
        "Polonium (1898)",
        "She won the Nobel Prize in Physics in 1903.",
    ]


def test_an_answer_is_long_by_what_it_states() -> None:
    """Sentences of running text, list items that are sentences, rows of a table; not the fragments of a list."""
    table = "| France | Paris | 1 |\n| Peru | Lima | 2 |"
    for text, count in ((CHAT, 2), (table, 2), ("- Paris\n- Rome\n- Bonn", 0)):
        assert statements(read(text), claims_of(read(text))) == count


LINES = st.sampled_from(
    ["She was born in Rome in 1867.", "He died. They moved to Bonn.", "- Paris is in France.", "1. Rome is old. It has hills.", "| France | Paris |",
     "|---|---|", "> Bonn is a town.", "# Rome", "```", "Answer: it is Lima.", "", "   | Peru | Lima |"]
)  # fmt: skip


@given(st.lists(LINES, max_size=12).map("\n".join), st.integers(1, 5))
def test_a_look_at_the_pieces_never_takes_a_long_answer_for_a_short_one(draft: str, minimum: int) -> None:
    reading = read(draft)
    claims = claims_of(reading)
    assert claims_if_long(reading, minimum) == (claims if statements(reading, claims) >= minimum else None)


def test_a_language_that_is_not_known_has_no_claims() -> None:
    assert claims_of(read("东京是日本的首都。它在1868年成为首都。")) == ()
    assert len(claims_of(read("Marie Curie wurde 1867 in Warschau geboren. Sie starb 1934 in Frankreich."))) == 2


def test_a_sentence_is_as_sure_as_its_weakest_claim() -> None:
    claims = [claim(0, 0.9), claim(0, 0.4), claim(2, 0.7), claim(None, 0.1)]
    assert [beta and round(beta.mean, 6) for beta in of_sentences(claims, 4)] == [0.4, None, 0.7, None]


def test_an_answer_bears_a_claim_out_where_it_has_its_numbers_and_most_of_its_names() -> None:
    others = [
        "Curie, a Pole, was born in Warsaw in 1867.",
        "Curie was born in Paris in 1867.",
        "Curie was born in Warsaw in 1869.",
        "I'm sorry, I can't help with that.",
        "",
    ]
    ((*said,),) = borne_out("Who was Marie Curie?", ["She was born in Warsaw in 1867."], others)
    assert said == [True, None, None, None, None]
