"""Which sentences of real answers are claims, on labelled ones.

tests/data/claims.tsv: split, claim (yes, no, or either: an editor might hedge it or not), kind, source, row, whether the answer holds a code block, the
beginning and end of its question, the sentence. Drawn at random from answers of MT-Bench, Arena-Hard (both Apache-2.0, chat models), Factcheck-GPT,
EVOUNA, HaluQuestQA (Apache-2.0), HaluEval, FActScore and HotpotQA answers (MIT); rare kinds were written for it ("own"). Labelled by one reader. No prompt of `held`, `last` and `unseen` is in what
was fitted on; rules and weights were made looking at the other splits alone. `python -m benchmarks.fits.claim_gate --check` prints the figures by kind.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from benchmarks.fits.claim_gate import precision_and_recall, read
from hedgerow.proxy.rewriting.claims import asks_to_calculate, features, is_claim, is_problem, may_claim

LABELLED = read()


def called(rows: list) -> list[bool]:
    return [is_claim(row.text, row.question) for row in rows]


@pytest.mark.parametrize(("split", "fewest"), [("held", (0.95, 0.8)), ("last", (0.94, 0.88)), ("unseen", (0.95, 0.85))])
def test_what_would_be_hedged_is_a_claim(split: str, fewest: tuple[float, float]) -> None:
    """On prompts that nothing was fitted on, of requests that are calibrated at all."""
    some = [row for row in LABELLED if row.split == split and row.reaches]
    precision, recall, _ = precision_and_recall(some, np.array(called(some)))
    assert precision >= fewest[0]
    assert recall >= fewest[1]


def test_no_prompt_is_in_both_splits() -> None:
    tuned, held, fresh, more, last, newest, unseen = (
        {
            row.prompt
            for row in LABELLED
            if row.split == split and ":" in row.prompt and not row.prompt.startswith("own")
        }
        for split in ("tuned", "held", "fresh", "more", "last", "newest", "unseen")
    )
    assert not (tuned | more | newest) & (held | last | unseen)
    assert not fresh & (tuned | held | last)
    assert len(LABELLED) >= 2_000


@pytest.mark.parametrize(
    "kind",
    [
        "presents",
        "instructs",
        "polite",
        "performative",
        "refusal",
        "safety",
        "code",
        "question",
        "reasons",
        "heading",
        "other language",
    ],
)
def test_kinds_that_a_hedge_would_spoil(kind: str) -> None:
    """Announcements, instructions, politeness and the like are all but never taken for claims, in either split."""
    some = [row for row in LABELLED if row.kind == kind and row.reaches]
    taken = Counter(called(some))
    assert taken[True] <= 0.05 * taken.total()


@pytest.mark.parametrize(
    "question",
    [
        "David has three sisters. Each of them has one brother. How many brothers does David have?",
        "A train travels 60 km in 45 minutes. What is its speed in km/h?",
        "What is the probability that two dice show 12?",
    ],
)
def test_the_steps_of_a_word_problem_are_no_claims(question: str) -> None:
    assert is_problem(question)
    assert not is_claim("The first train was built in Berlin in 1867.", question)


@pytest.mark.parametrize(
    "question",
    [
        "How many moons has Mars?", "Who wrote Hamlet?", "How tall is the Eiffel Tower?", "How many US. Supreme Court justices are there?",
        "Who is the observer? If I sit on a rock, who ages slower?", "Find the cost of a house worth $289,000", "",
    ],
)  # fmt: skip
def test_a_question_of_fact_is_not_a_problem(question: str) -> None:
    assert not is_problem(question)
    assert is_claim("The tower was finished in 1889 and stands in Paris.", question)


@pytest.mark.parametrize(
    "text",
    [
        "Sure!", "I'd be happy to help you draw a hopscotch game on your driveway.", "I hope this message finds you well.",
        "Thank you for choosing our services.", "Call emergency services now.", "Here are some popular options to consider:",
        "**Meaning:**", "so $c = -a - b.$ Then", "Combine like terms and set the result to zero.", "",
        "Sure, here's how you can make $1 using 19 coins:", "I can't help with that.", "No doubt about it", "Therefore, 38 people got on the bus at the terminal.", "日本で一番高い山は富士山です。",
    ],
)  # fmt: skip
def test_sentences_that_were_hedged_and_should_not_have_been(text: str) -> None:
    """Found in answers that an earlier version served."""
    assert not is_claim(text)


@pytest.mark.parametrize(
    "hurt",
    ["." * 20_000 + "x", " " * 20_000, "Paris " + " " * 20_000 + "x", "to be " * 5_000, "((" * 10_000, "a " * 20_000],
)
def test_hostile_text_is_read_in_linear_time(hurt: str) -> None:
    """Nothing here looks twice at a long run; the suite's timeout is the bound."""
    assert is_claim(hurt) is False


@pytest.mark.parametrize("name", ["Great Britain", "Great Expectations.", "Hello Dolly", "Sure Shot"])
def test_a_name_that_opens_like_a_reply_is_an_answer(name: str) -> None:
    assert may_claim(name)


def test_a_conclusion_is_a_claim_where_nothing_is_worked_out() -> None:
    drawn = "So, the bill reflects a general estimation of the energy that was used in the house."
    assert is_claim(drawn, "How does my electric company know what is using the electricity?")
    assert not is_claim(drawn, "Calculate the energy used by a heater of 1500 W in 5 minutes.")


@pytest.mark.parametrize(
    ("sentence", "claims"),
    [
        ("The city where he was born is not specified.", False),
        ("The information about the school is not found in available data.", False),
        ('The song "I Don\'t Want to Be Right" was recorded by Luther Ingram in 1972.', True),
        ("The Titanic sank in the North Atlantic Ocean in April 1912.", True),
        ("In this reaction, copper displaces iron from ferrous sulfate.", True),
        ("Hunting these animals not only provided food but also materials for clothing.", True),
    ],
)
def test_kinds_that_an_earlier_gate_got_wrong(sentence: str, claims: bool) -> None:
    """Found in the half that the rules are made by."""
    assert is_claim(sentence, "What is known of it?") is claims


def test_a_computer_is_no_calculation_and_the_us_is_nobody_spoken_to() -> None:
    assert not asks_to_calculate("Why do computer chargers need those big adapters?")
    assert "speaks of we" not in features("The US dollar is used everywhere.", "")
    assert "speaks of I" not in features('The song "I Want You" was recorded in 1977.', "")
    assert "speaks of we" in features("It gives us energy.", "")


def test_what_is_asked_at_the_end_of_a_long_question_is_read() -> None:
    given = "Two trains start 10 km from each other. " + "They are on the same line. " * 20
    assert is_problem(given + "What distance will the first one cover?")
    assert not is_problem(given + "Who built them?")


@pytest.mark.parametrize(
    "text",
    ["The main points are listed below.", "Car Wheel, Bicycle Wheel, Ferris Wheel, etc.", "where k is a constant of the material.", "A good cooling system is also important."],
)  # fmt: skip
def test_announcements_rows_of_names_and_tips_are_no_claims(text: str) -> None:
    assert not is_claim(text, "What is known of it?")


def test_the_steps_of_a_proof_are_no_claims() -> None:
    assert not is_claim("The sum of two even numbers was shown to be even in 1867.", "Prove that 4 + 6 is even.")
    assert is_claim("The sum was shown to be even by Gauss in 1867.", "Who proved it first?")
