"""Requests for a text, a program or a tip are told apart from those that ask for something that can be right or wrong."""

from __future__ import annotations

import json
from pathlib import Path

from hedgerow.proxy.pipeline.asked import ends, wants_a_text
from hedgerow.proxy.pipeline.eligibility import asks_for_claim
from tests.support.tables import cases

LABELLED = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "data" / "requests.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_most_labelled_requests_are_told_apart() -> None:
    """On what it was fitted on; `python -m benchmarks.fits.request_gate --check` prints the held-out figures."""
    read = [row for row in LABELLED if row["by"] == "reading"]
    passed = {asks: [asks_for_claim(row["request"]) for row in read if row["asks"] == asks] for asks in ("yes", "no")}
    assert len(read) == 650
    assert sum(passed["yes"]) >= 0.9 * len(passed["yes"])
    assert sum(passed["no"]) <= 0.2 * len(passed["no"])


@cases(
    "request_",
    [
        "Construct a limerick out of these words.", "New Yorker style cartoon captions about a cat", "Think of a new ice cream flavour.",
        "Transform this sentence into a slogan.\nWe sell shoes.", "Modify this script so that it reads a csv file", "Reword the paragraph below so that it sounds friendlier.",
        "Can you illustrate the concept of cause and effect?", "Describe the scene of a cat with its owner.", "Make 10 sentences with the word 'big'.",
        "Yeah, good shoes really help.", "Oh wow, that sounds fantastic. I'm sure their candy is tasty.", "Do you have any symptoms?", "what s up",
        "Based on the given recipe, suggest some variations.", "Koan about a quirky topic of your choosing.", "Give five examples of the word 'secure' used in different contexts.",
        "Provide me with a breakfast recipe that is quick to make.", "Reverse engineer these lyrics: \"Riding high\"", "Evaluate the relevancy of this example: a restaurant",
        "Describe the quality and quantity of the data provided.\nThe set has 20 rows.", "Describe the antagonist's defining traits.\nThe antagonist is a thief.",
        "Give me a list of items representing the five elements.", "Name 3 positive things about living in a city.",
        "not really, although it depends who you ask sometimes.", "yeah, i just have no idea what can get me to do that. maybe i'll start drinking more coffee?",
        "Me too I love all shades of green but emerald green most.", "Agreed and for legal hunters there are rules, regulations and limits in place",
    ],
)  # fmt: skip
def test_a_text_made_to_order_is_not_a_claim(request_: str) -> None:
    assert not asks_for_claim(request_)


@cases(
    "request_",
    [
        "Who wrote The Caretaker?", "capital of australia", "Explain how a transistor works.", "What is the best known work of Ibsen?",
        "Name the largest moon of Saturn.", "And in 1990?", "Wer hat Hamlet geschrieben?", "Tell me about Ada Lovelace.", "List the planets in order.", "Paris or Lyon, which is larger?",
        "Context: The tower was finished in 1889.\n\nQuestion: When was it finished?\nAnswer:", "Convert 5 miles to kilometres", "Answer with a single word: the largest ocean",
        "Use the passage to answer.\nQ: Who built it?\nIt was built by Eiffel.",
        "In what year did Chevalley give an algebraic approach to the cohomology of Lie groups?", "Up to how far off can it be?",
        "A Simple Plan was a novel that led to a film starring whom?", "who sings i want to dance with you", "The largest ocean is the ____.",
        "Specify the day, month, and year Baidu announced its partnership.", "A projective test with ambiguous pictures is the",
        "He filed a motion to exclude the drugs. His motion will most likely be", "The case went up. How should the court rule?", "yeah but who won in 1998?",
        "If the plaintiff asserts a claim, will the plaintiff prevail?", "A person who is ambivalent would most likely be in which stage of change?", "Do you have any information on the Battle of Hastings?",
        "The accountant decides to modify the report. Under these circumstances, the accountant should",
        "A belief that has one of four goals is most consistent with:", "Sources of variation include all of the following except",
        "The pigeon pecks at a yellow light also. This illustrates", "Yes, but who was the second king of Portugal after him",
        "Which novel is it? The main character is a boy with a scar.", "yeah, and who wrote that", "Name three positive effects of the New Deal.", "What data was provided to the court?",
        "If an equal number of vehicles passed on each day, calculate the total number of cars of each of the remaining days.",
    ],
)  # fmt: skip
def test_a_request_for_facts_is_one(request_: str) -> None:
    assert asks_for_claim(request_)


def test_of_a_long_request_the_beginning_and_the_end_are_read() -> None:
    assert ends("A" * 400 + "b" * 10_000 + "C" * 400) == "a" * 300 + "\n" + "c" * 300
    assert not wants_a_text("x " * 50_000 + "\nWho wrote it?")
