"""What a program reads reaches the client as the model wrote it, measured and marked, through the real client."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.upstream import Upstream, says

ASK = "Which country borders Portugal?"
ANSWERS = ("Spain", "France", "Spain", "Morocco", "Spain", "France", "Andorra", "Spain", "France", "Italy")


def asked(client: Any, content: str, **more: Any) -> Any:
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": content}], **more)


@pytest.mark.parametrize(
    ("content", "more", "form"),
    [
        (ASK, {"max_tokens": 2}, "{}"),
        (ASK, {"extra_body": {"guided_choice": list(set(ANSWERS))}}, "{}"),
        (f"{ASK} Respond with only the name, no other text.", {}, "{}"),
        (ASK, {}, "<answer>{}</answer>"),
        (ASK, {}, "SELECT name FROM countries WHERE name = '{}';"),
        (ASK, {}, "https://example.com/{}"),
    ],
)
def test_it_is_measured_and_left_as_it_is(
    serve: Any, client_of: Any, upstream: Upstream, content: str, more: dict[str, Any], form: str
) -> None:
    """The confidence stands in the field; the text is one of the model's, byte for byte."""
    answers = [form.format(answer) for answer in ANSWERS]
    upstream.default = says(*answers)
    answer = asked(client_of(serve(claims_only=False)), content, **more)
    field = answer.model_extra["hedgerow"]
    assert answer.choices[0].message.content in answers
    assert (field["status"], field["reason"]) == ("plain", "machine_read")
    assert 0.0 < field["confidence"] < 1.0


@pytest.mark.parametrize(
    ("system", "question", "answer"),
    [
        ("", "Which one is the capital?\nA. Sydney\nB. Canberra\nC. Perth\nAnswer:", "{}"),
        ("", "Which one is the capital?\n(1) Sydney (2) Canberra (3) Perth", "({})"),
        ("End with GRADE: C for correct or GRADE: I for incorrect.", "Is it right? It is Canberra.", "GRADE: {}"),
        (
            "When there is nothing left, say exactly 'Option {} is done.'",
            "Who is the mayor of Rome?",
            "Option {} is done.",
        ),
        ("", "Which queue takes it? Respond with {} or sales.", "{}"),
    ],
)
def test_words_that_the_request_names_are_left(
    serve: Any, client_of: Any, upstream: Upstream, system: str, question: str, answer: str
) -> None:
    """Labels, marks and phrases that a program compares."""
    label = "2" if "(1)" in question else "C"
    others = [answer.format(each) for each in ("1A" if label == "2" else "AB")]
    upstream.default = says(answer.format(label), *others, answer.format(label), answer.format(label))
    asked = [{"role": "system", "content": system.format(label)}] if system else []
    asked.append({"role": "user", "content": question.format(label)})
    got = client_of(serve(claims_only=False)).chat.completions.create(model="m", messages=asked)
    assert got.choices[0].message.content == answer.format(label)
    assert got.model_extra["hedgerow"]["reason"] == "machine_read"


def test_the_same_answers_to_a_person_are_hedged(serve: Any, client_of: Any, upstream: Upstream) -> None:
    upstream.default = says(*ANSWERS)
    answer = asked(client_of(serve()), ASK)
    assert answer.model_extra["hedgerow"]["status"] == "hedged"
    assert answer.choices[0].message.content not in ANSWERS
