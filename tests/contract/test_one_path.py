"""The proxy and `hedgerow rewrite --json` word the same answer at the same confidence in the same words, byte for byte."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from hedgerow.lexicon.text.sentences import sentences
from hedgerow.proxy.cli import app
from tests.support.tables import cases
from tests.support.upstream import Upstream, says

SHORT = (
    ("Which planet is the largest?", "Jupiter."),
    ("Which planet is the largest?", "**Jupiter**"),
    ("Who wrote The Caretaker?", "It was definitely Harold Pinter."),
    ("Who wrote The Caretaker?", "It might have been Harold Pinter, though I am not sure."),
    ("When was the Atomium built?", "1958"),
    ("When was the Atomium built?", "The Atomium was built for the World's Fair of 1958."),
    ("How tall is the Atomium?", "It is 102 metres (335 ft) tall."),
    ("Is a tomato a fruit?", "Yes, a tomato is a fruit."),
    ("Is a whale a fish?", "No — whales are mammals."),
    ("What is the capital of Australia?", "The capital of Australia is Canberra. Sydney is larger."),
    ("What is the capital of Australia?", "Answer: Canberra"),
    ("Who said it?", 'Churchill said, "Maybe, but I am not sure."'),
    ("What is 17 times 3?", "17 * 3 = 51"),
    ("What is 17 times 3?", "So $x = 51$."),
    ("What is the sentiment? Reply with only the label.", "positive"),
    ("Which endpoint lists users?", "GET /v1/users"),
    ("Where is the file?", "https://example.com/a.txt"),
    ("Give me the record.", '{"name": "Ada", "born": 1815}'),
    ("Give me the record.", "name: Ada\nborn: 1815"),
    ("How do I print in Python?", "```python\nprint(1)\n```"),
    ("How do I print in Python?", "Use `print()`; it writes to standard output."),
    ("Write a poem about rain.", "Rain falls on roofs."),
    ("Hello!", "Hello! How can I help you today?"),
    ("Who painted the Night Watch?", "I don't know who painted it."),
    ("Can I take ibuprofen with warfarin?", "You should not take ibuprofen with warfarin."),
    ("My father has chest pain.", "Call emergency services now."),
    ("Which rivers flow into the Rhine?", "- Neckar\n- Main\n- Moselle"),
    ("Which rivers flow into the Rhine?", "1. The Neckar joins the Rhine at Mannheim.\n2. The Main joins it at Mainz."),
    ("Compare the towers.", "| tower | height |\n|---|---|\n| Atomium | 102 m |\n| Eiffel | 330 m |"),
    ("Wer schrieb den Faust?", "Goethe hat den Faust geschrieben."),
    ("Qui a écrit Les Misérables ?", "C'est Victor Hugo qui a écrit Les Misérables."),
    ("¿Quién escribió el Quijote?", "El Quijote fue escrito por Miguel de Cervantes."),
    ("日本で一番高い山は?", "日本で一番高い山は富士山です。"),
    ("Kto odkrył rad?", "Rad odkryła Maria Skłodowska-Curie."),
    ("Why is the sky blue?", "Sure! The sky is blue because air scatters short waves more than long ones."),
    ("Who was first on the moon?", "Neil Armstrong 🚀 was the first man on the moon."),
    ("Who is faster?", "Is it a race on land?"),
    ("If it rains, what happens?", "If it rains, the match is moved to Sunday."),
    ("Which is heavier?", "Lead is heavier than iron but lighter than gold."),
    ("Did Einstein fail maths?", "Actually, Einstein did not fail maths; that is a common myth."),
    ("What does the note say?", "> The treaty was signed in 1648.\n\nIt ended a war of thirty years."),
    ("Who discovered penicillin?", "Penicillin was discovered by Alexander Fleming in 1928.[1]\n\n[1] Nature, 1929"),
)
LONG = (
    (
        "Tell me about the Atomium.",
        "The Atomium stands in Brussels. It was designed by André Waterkeyn. It is {} metres tall. It was built in {}.",
    ),
    (
        "Who was Ada Lovelace?",
        "Ada Lovelace was born in London in {}.\n\n- She wrote notes on the Analytical Engine.\n- She died in {}.\n\nHer father was "
        "Lord Byron. Her mother was Annabella Milbanke.",
    ),
    (
        "Explain the Rhine.",
        "# The Rhine\n\nThe Rhine is {} kilometres long. It rises in Switzerland. It flows through Basel, Cologne and Rotterdam. It "
        "carries about {} tonnes of goods a year.\n\nLet me know if you need more!",
    ),
)


def asked(client: Any, question: str) -> tuple[str, Any]:
    """The text, and the extra field; of what is passed on byte for byte, status and reason as the headers tell them."""
    raw = client.chat.completions.with_raw_response.create(model="m", messages=[{"role": "user", "content": question}])
    answer = raw.parse()
    in_headers = {name: raw.headers.get(f"x-hedgerow-{name}") for name in ("status", "reason")}
    return answer.choices[0].message.content, in_headers | (answer.model_extra or {}).get("hedgerow", {})


def _ending(text: str, field: Any) -> tuple[str, str]:
    """Status and reason, but for an answer that asks back: only several answers show whether most of them do."""
    return ("", "") if text.endswith("?") else (field["status"], field["reason"])


def row_of(question: str, draft: str, field: Any) -> dict[str, Any]:
    """What the command reads: the answer with the confidences that the proxy reported."""
    beta = field.get("calibrated") or {"alpha": 1.0, "beta": 1.0}
    row = {"question": question, "answer": draft, "alpha": beta["alpha"], "beta": beta["beta"]}
    if "sentences" in field:
        size = beta["alpha"] + beta["beta"]
        means = [sentence["confidence"] for sentence in field["sentences"]]
        row["claims"] = [
            {"text": text, "alpha": mean * size, "beta": (1 - mean) * size}
            for text, mean in zip(sentences(draft), means, strict=True)
            if mean is not None
        ]
    return row


def reworded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    done = CliRunner().invoke(app, ["rewrite", "--json"], input="\n".join(map(json.dumps, rows)))
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("turn", [0, 1])
def test_the_command_says_what_the_proxy_serves(serve: Any, client_of: Any, upstream: Upstream, turn: int) -> None:
    """Each answer at two confidences, from one sample of ten to all of them, over every kind that has a gate of its own."""
    client = client_of(serve())
    served, rows = [], []
    for number, (question, draft) in enumerate(SHORT):
        same = 1 + (7 * number + 4 * turn) % 10
        upstream.default = says(
            *[draft] * same, *(f"Nothing of the kind {i}, but {chr(65 + i)}zorb." for i in range(10 - same))
        )
        text, field = asked(client, question)
        served.append((text, *_ending(text, field)))
        rows.append(row_of(question, draft, field))
    assert [(row["text"], *_ending(row["text"], row)) for row in reworded(rows)] == served
    assert {"hedged", "plain", "passed", "unhedged"} <= {status for _, status, _ in served}


def test_so_it_does_for_long_answers(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """At the confidence of each claim."""
    client = client_of(serve(rewriting={"hedge_uncalibrated_sentences": True}))
    served, rows = [], []
    for question, form in LONG:
        drafts = [form.format(1200 + 13 * i, 1900 if i % 3 else 1950 + i) for i in range(10)]
        upstream.default = says(*drafts)
        text, field = asked(client, question)
        served.append((text, field["status"]))
        rows.append(row_of(question, drafts[0], field))
        assert rows[-1]["claims"]
    assert [(row["text"], row["status"]) for row in reworded(rows)] == served
    assert "hedged" in {status for _, status in served}


def test_a_long_answer_without_claims_is_worded_as_one() -> None:
    """Its confidence is given, although those of its claims are not."""
    question, form = LONG[0]
    draft = form.format(102, 1958)
    (done,) = reworded([{"question": question, "answer": draft, "alpha": 4, "beta": 6}])
    assert done["status"] == "hedged"
    assert done["text"].endswith(draft[-40:])


def test_a_person_gets_the_text_and_one_line_about_it() -> None:
    done = CliRunner().invoke(app, ["rewrite", "Jupiter.", "-q", "Which planet is the largest?", "--confidence", "0.6"])
    assert done.exit_code == 0, done.stderr
    assert done.stdout.strip() != "Jupiter."
    assert "Jupiter" in done.stdout
    assert done.stderr.startswith("hedged with ")


@cases("asked", [{}, {"question": None}, {"question": ""}])
def test_an_answer_is_worded_where_its_question_is_not_known(asked: dict[str, Any]) -> None:
    """What is not known is not an empty message, to which nothing is hedged."""
    row = {"answer": "The capital of Australia is Canberra.", "alpha": 6.0, "beta": 4.0} | asked
    done = CliRunner().invoke(app, ["rewrite", "--json"], input=json.dumps(row) + "\n")
    assert json.loads(done.stdout)["status"] == "hedged"


def test_a_claim_that_is_not_in_the_answer_is_named() -> None:
    row = {"answer": "It is in Rome.", "alpha": 4, "beta": 6, "claims": [{"text": "in Paris", "alpha": 1, "beta": 1}]}
    done = CliRunner().invoke(app, ["rewrite", "--json"], input=json.dumps(row))
    assert done.exit_code == 2
    assert "line 1: the claim 'in Paris' does not stand in the answer" in done.stderr


def test_the_page_and_the_terminal_show_the_same_words(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """`hedgerow ask` and the page to try a route, of the same samples."""
    question, draft = SHORT[6]  # not a sentence: its confidence is exactly 6 of 10
    samples = [draft] * 6 + [f"Nothing of the kind {i}, but {chr(65 + i)}zorb." for i in range(4)]
    (said,) = reworded([{"question": question, "answer": draft, "alpha": 6, "beta": 4}])
    upstream.default = says(*samples)
    address = serve()
    with httpx.Client(base_url=address) as client:
        csrf = re.search(r'name="csrf" value="(\w+)"', client.get("/").text)
        assert csrf
        reply = client.post("/try", json={"question": question, "csrf": csrf[1], "route": "test", "model": "m"})
    shown = {name: part for line in reply.text.splitlines() for name, part in json.loads(line).items()}
    upstream.default = says(*samples)
    config = tmp_path / "config.yaml"
    routes = [{"name": "test", "upstream": "scripted", "mode": "on"}]
    upstreams = {"scripted": {"provider": "openai", "base_url": upstream.url}}
    config.write_text(
        json.dumps({"upstreams": upstreams, "routes": routes, "maps": {"folder": str(tmp_path / "maps")}})
    )
    printed = CliRunner().invoke(app, ["ask", question, "-c", str(config)], env={"COLUMNS": "300"})
    assert said["status"] == "hedged"
    assert said["text"] in html.unescape(shown["wording"])
    assert said["text"] in printed.stdout
