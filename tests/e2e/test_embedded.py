"""The first command a newcomer types: `hedgerow serve` as committed, with the real embedded model, spoken to by the real client."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from hedgerow.proxy.dashboard.site import EXAMPLES
from tests.support.needs import EMBEDDED
from tests.support.waiting import address_of

ROOT = Path(__file__).parent.parent.parent
pytestmark = [pytest.mark.embedded, EMBEDDED]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`hedgerow serve` with the committed configuration, on a free port, in an empty folder."""
    folder = tmp_path_factory.mktemp("serve")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HEDGEROW_AUDIT__URL": f"sqlite:///{folder}/audit.db"}
    command = [
        sys.executable,
        "-m",
        "hedgerow.proxy.cli",
        "serve",
        "--config",
        str(ROOT / "config.yaml"),
        "--port",
        "0",
    ]
    log = folder / "log"
    with log.open("wb") as out:
        running = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=out)
    try:
        yield address_of(running, log)
    finally:
        running.terminate()
        assert running.wait(timeout=30) == 0, log.read_text()


@pytest.fixture
def client(address: str) -> Iterator[openai.OpenAI]:
    """The three lines of the README."""
    with openai.OpenAI(base_url=f"{address}/v1", api_key="unused", timeout=120) as client:
        yield client


def _ask(client: openai.OpenAI, question: str, **more: Any) -> Any:
    return client.chat.completions.create(model="any", messages=[{"role": "user", "content": question}], **more)


def test_a_real_answer_with_its_confidence(client: openai.OpenAI, address: str) -> None:
    """Ten real samples, real clusters, a Beta from their sizes, hedges, and an audit row with all of it."""
    answer = _ask(client, "What is the capital of France?")
    field = answer.model_extra["hedgerow"]
    sizes = field["clusters"]
    assert field["uncalibrated"] is False
    assert field["map"].startswith("embedded-smollm2-135m")
    assert field["samples"] == sum(sizes) == 10
    assert field["raw"]["alpha"] == max(sizes)
    assert "Paris" in answer.choices[0].message.content
    assert answer.usage.completion_tokens >= 1
    row = httpx.get(f"{address}/v1/audit/{field['id']}").json()
    assert len(row["texts"]["samples"]) == 10
    assert row["texts"]["answer"] == answer.choices[0].message.content


def test_what_the_model_cannot_know_is_worded_less_surely(client: openai.OpenAI) -> None:
    """The confidence in a question that scatters the samples is below that of one that does not, and calls for a hedge: whether a wording fits
    depends on what so small a model writes.
    """
    obscure = _ask(client, "Who was the second deputy mayor of Tromsø in 1911?").model_extra["hedgerow"]
    known = _ask(client, "What is the capital of France?").model_extra["hedgerow"]
    assert obscure["confidence"] < known["confidence"]
    assert obscure["status"] in ("hedged", "unhedged")


def test_the_embedded_model_streams_when_off(client: openai.OpenAI) -> None:
    """Without calibration its tokens come as they are made, with `usage` at the end when asked for."""
    chunks = list(
        _ask(
            client,
            "Name three colours.",
            stream=True,
            stream_options={"include_usage": True},
            max_tokens=12,
            extra_headers={"x-hedgerow-mode": "off"},
        )
    )
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text.strip()
    assert chunks[-1].usage.completion_tokens <= 12
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] in ("stop", "length")


def test_log_probabilities_are_those_of_the_answer(client: openai.OpenAI) -> None:
    """One per token, none above zero; a seed and temperature 0 give the same answer twice."""
    first, second = (
        _ask(client, "What is the capital of France?", logprobs=True, temperature=0, seed=1).choices[0]
        for _ in range(2)
    )
    assert first.message.content == second.message.content
    values = [token.logprob for token in first.logprobs.content]
    assert values
    assert max(values) <= 0.0


def test_a_question_too_long_for_the_model_is_refused_with_its_size(client: openai.OpenAI) -> None:
    """One clear sentence instead of a crash of the runtime."""
    with pytest.raises(openai.BadRequestError, match="the embedded model takes"):
        _ask(client, "word " * 5000)


@pytest.mark.parametrize(
    ("question", "low", "high", "answered"),
    [(EXAMPLES[0], 7.5, 10.0, "London"), (EXAMPLES[1], 4.5, 8.5, "Berlin"), (EXAMPLES[2], 1.0, 2.5, None)],
)
def test_the_examples_of_the_page_agree_as_they_are_meant_to(
    client: openai.OpenAI, question: str, low: float, high: float, answered: str | None
) -> None:
    """About 9, 6 and 1 of ten, on average over seeds; where most agree the answer is right, and where few do nobody is to rely on it."""
    answers = [_ask(client, question, seed=1000 * seed) for seed in range(5)]
    fields = [answer.model_extra["hedgerow"] for answer in answers]
    assert low <= sum(max(one["clusters"]) for one in fields) / len(fields) <= high
    if answered is not None:
        assert sum(answered in answer.choices[0].message.content for answer in answers) >= 3
    else:
        assert sum(one["confidence"] for one in fields) / len(fields) < 0.3


def test_ask_draws_the_method(tmp_path: Path) -> None:
    """`hedgerow ask`: samples, confidence, hedges, answer and times, in the terminal."""
    command = [sys.executable, "-m", "hedgerow.proxy.cli", "ask", "What is the capital of France?"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    for part in (
        "Samples",
        "10 answers",
        "Confidence",
        "calibrated",
        "Hedges",
        "W1",
        "draft",
        "a reader believes",
        "Milliseconds",
        "Paris",
    ):
        assert part in done.stdout
