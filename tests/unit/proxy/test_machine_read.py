"""Formats that programs read are never hedged; prose for people is not taken for one.

tests/data/machine_formats.jsonl: replies as serialisers, agents, chat front ends, evaluators and guard models ask for them, one of each, written for it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fits.reading_acts import read
from hedgerow.proxy.pipeline.machine_read import is_machine_read
from tests.support.tables import cases

FORMATS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "machine_formats.jsonl").read_text(encoding="utf-8").splitlines()
]

ANSWERS = [
    '<tool_call>\n{"name": "get_weather"}\n</tool_call>', "<answer>Paris</answer>", "https://en.wikipedia.org/wiki/Paris",
    "SELECT name FROM users WHERE id = 3;", "select count(*) from t", "[[ ## answer ## ]]\nParis\n[[ ## completed ## ]]",
    "diff --git a/x b/x\n--- a/x\n+++ b/x", "--- a/file.py\n+++ b/file.py\n@@ -1 +1 @@\n-a\n+b", "Thought: I should search.\nAction: search\nAction Input: Paris",
    "Final Answer: 42", "unsafe\nS1", "safe", "'positive'", '"B"', "me@example.com", "/usr/local/bin/python", "#ff8800",
    "2026-11-22", "2026-11-22T10:00:00Z", "name: Paris\ncountry: France", "city = Paris\ncountry = France", "a,b,c\n1,2,3\n4,5,6", "PASS", "ENTAILMENT",
    "550e8400-e29b-41d4-a716-446655440000", "get_weather(city='Paris')", "true", "null", "MATCH (n:Person) RETURN n", "/^\\d+$/g", "positive",
    "query: capital of France", "<|im_start|>assistant",
]  # fmt: skip
PROSE = [
    "Paris.", "78.37 °C", "The capital of France is Paris.", "It is 42.", "42", "B", "Yes.", "No, whales are mammals.", "Canberra, not Sydney.",
    "There are three types: igneous, sedimentary and metamorphic.", "Note: the treaty was signed in 1648.", "NATO was founded in 1949.",
    "Select committees examine policy.", "About 5 < 6 people.", "Updated rules apply from 2024.", "J. K. Rowling", "Ada Lovelace (1815-1852)",
    "- Lima\n- Quito\n- Bogota", "1. Mercury\n2. Venus\n3. Earth", "Paris, France", "Lima, Peru, in 1535", "Rome; it was founded in 753 BC.", "About $20,000 a year.",
    "**Answer:** Canberra", "Answer: Canberra", "Capital: Lima. Currency: the sol.", "Two of them: Phobos and Deimos.", "A, B and O.", "C. It is the third.", "x = 3", "3/4",
    "He said: \"I came, I saw, I conquered.\"", "\"Hamlet\" was written by Shakespeare.", "[1] Nature, 1929", "Tea, coffee and cocoa contain it.", "Yes, 12 of them.",
    "The function returns None.", "See https://example.com for the details of the treaty.", "It lies at 12° S, 77° W.", "The class of 1968 met in Rome.", "From 1914 to 1918.",
    "Import duties rose in 1930.", "Find the bridge; it is the oldest.", "Let it rest for an hour.", "Plan A failed in 1943.", "| city | country |\n|---|---|\n| Lima | Peru |",
    "Mars has two moons:\n\n- Phobos\n- Deimos", "Born: 1815\nDied: 1852, in London, of a long illness that her doctors could not name.", "e4 is the most common first move.",
]  # fmt: skip
REQUESTS: list[dict[str, Any]] = [
    {"guided_choice": ["a", "b"]}, {"grammar": "root ::= x"}, {"structured_outputs": {"regex": "x"}}, {"max_tokens": 1},
    {"max_completion_tokens": 3}, {"messages": [{"role": "user", "content": "Capital?"}, {"role": "assistant", "content": "The answer is"}]},
    {"messages": [{"role": "system", "content": "Respond only with valid JSON."}, {"role": "user", "content": "Capital?"}]},
    {"messages": [{"role": "user", "content": "Classify the sentiment. Answer with exactly one word: positive or negative."}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "Return only the SQL query."}]}]},
    {"messages": [{"role": "user", "content": "Given the conversation, rephrase the follow up as a standalone question."}]},
    {"messages": [{"role": "user", "content": "Create a concise, 3-5 word title for the chat."}]},
    {"messages": [{"role": "user", "content": "Which? A) Rome B) Paris. Respond with only the letter A or B, no other text."}]},
]  # fmt: skip


@cases("form", FORMATS, ids=lambda form: str(form["name"]).replace(" ", "-"))
def test_a_form_that_a_program_reads(form: dict[str, Any]) -> None:
    said = [{"role": role, "content": form[role]} for role in ("system", "user") if form[role]]
    assert is_machine_read({"messages": said, **form["more"]}, form["answer"])


def test_the_forms_are_over_a_hundred_and_differ() -> None:
    assert (
        len({form["answer"] + form["system"] + form["user"] + str(form["more"]) for form in FORMATS})
        == len(FORMATS)
        >= 200
    )


WHOLE = ("fitted", "apart")
"""Splits with the sentences of whole answers, code among them."""


@pytest.mark.slow
def test_sentences_of_real_answers_are_for_people() -> None:
    """What people were told in chats, and how they asked: facts, advice, lists, introductions."""
    people = [
        row
        for row in read()
        if row.split not in WHOLE and row.kind in ("fact", "definition", "advice", "presents", "opinion", "either")
    ]
    taken = [row.text for row in people if is_machine_read({}, row.text)]
    assert len(people) > 1_500
    assert not taken
    asked = {row.question for row in people if row.question and row.kind in ("fact", "definition")}
    bound = [one for one in asked if is_machine_read({"messages": [{"role": "user", "content": one}]}, "It is.")]
    assert len(bound) <= 0.01 * len(asked)


@cases("answer", ANSWERS)
def test_an_answer_in_a_form_that_programs_read(answer: str) -> None:
    assert is_machine_read({}, answer)


@cases("answer", PROSE)
def test_prose_is_for_people(answer: str) -> None:
    assert not is_machine_read(
        {"messages": [{"role": "user", "content": "What is the capital? Only one of them is right."}]}, answer
    )


@cases(
    ("question", "answer", "expected"),
    [
        ("Who launched Hubble?", "NASA", False),
        ("What does the letter U stand for in the NATO alphabet?", "UNIFORM", False),
        ("Which queue does it go to: BILLING or SALES?", "BILLING", True),
        ("What is the sentiment of the review?", "POSITIVE", True),
        ("What follows?", "ENTAILMENT", True),
        ("Who measures the temperature of the sea?", "NOAA", False),
        ("Route the request.", "BILLING", True),
    ],
)
def test_an_abbreviation_that_answers_a_question_is_not_a_label(question: str, answer: str, expected: bool) -> None:
    assert is_machine_read({"messages": [{"role": "user", "content": question}]}, answer) is expected


@cases("body", REQUESTS)
def test_a_request_that_binds_the_form_of_its_answer(body: dict[str, Any]) -> None:
    assert is_machine_read(body, "Paris")


@cases(
    "question",
    [
        "What is the only mammal that can fly?",
        "Just tell me who wrote Hamlet.",
        "Which country has only one neighbour?",
        "Answer briefly: who painted Guernica?",
    ],
)
def test_questions_of_people_bind_nothing(question: str) -> None:
    assert not is_machine_read({"messages": [{"role": "user", "content": question}], "max_tokens": 200}, "Portugal")


@cases(
    "hurt",
    [
        "<" * 20_000,
        "a: " * 10_000,
        "select " * 5_000,
        "=" * 20_000,
        "a=" * 10_000,
        "(" * 20_000,
        "\n" * 20_000,
        ", " * 10_000,
    ],
)
def test_hostile_text_is_read_in_bounded_time(hurt: str) -> None:
    """The suite's timeout is the bound; as an answer and as a prompt."""
    assert is_machine_read({"messages": [{"role": "user", "content": hurt}]}, hurt) in (True, False)
