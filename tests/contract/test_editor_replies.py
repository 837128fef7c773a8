"""Recorded replies of an editor (tests/data/editor_replies.jsonl), replayed through the real client: what each makes of its answer, and no word of a wrong one."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from hedgerow.calibration import Beta
from hedgerow.lexicon.reading.local import read
from hedgerow.lexicon.text.sentences import spans as spans_of
from hedgerow.proxy.config import Settings
from hedgerow.proxy.pipeline.given import Given, in_sentences, word_given
from hedgerow.proxy.pipeline.job import job_of
from hedgerow.proxy.pipeline.result import Result, Run
from hedgerow.proxy.pipeline.steps import RouteWording
from hedgerow.proxy.rewriting.editor import read_reply
from hedgerow.proxy.rewriting.editor_prompt import PROMPT, Rated, Task
from hedgerow.proxy.rewriting.policy import band_of
from hedgerow.proxy.services.services import open_pipelines
from tests.support.editing import good, is_editing, recorded, wrong
from tests.support.upstream import Json, Upstream, says

OBSERVATIONS = 10.0
REFUSED = 0.15
"""Largest share of the replies given in earnest that the guard may refuse."""


def task_of(row: Json) -> Task:
    """The answer as its editor was shown it."""
    spans = spans_of(row["answer"])
    claims = tuple(
        Rated(text, index, beta.mean) for index, text, beta in _claims(row, [row["answer"][a:b] for a, b in spans])
    )
    return Task(row["question"], row["answer"], spans, given_of(row).answer.mean, claims)


def _claims(row: Json, sentences: list[str]) -> Iterator[tuple[int, str, Beta]]:
    for index, beta in enumerate(given_of(row).sentences or ()):
        if beta is not None:
            yield index, sentences[index], beta


def given_of(row: Json) -> Given:
    """The confidences of an item; that of an answer with claims is their mean."""
    claims = [(claim["text"], Beta.from_mean(claim["confidence"], OBSERVATIONS)) for claim in row.get("claims", ())]
    mean = row.get("confidence") or sum(beta.mean for _, beta in claims) / len(claims)
    sentences = in_sentences(row["answer"], claims) if claims else None
    return Given(Beta.from_mean(mean, OBSERVATIONS), sentences)


@asynccontextmanager
async def wordings(upstream: Upstream) -> AsyncIterator[tuple[Any, RouteWording]]:
    """A route with an editor at the scripted upstream, and its parts."""
    settings = Settings.model_validate(
        {
            "upstreams": {"scripted": {"provider": "openai", "base_url": upstream.url, "retries": 0}},
            "routes": [{"name": "test", "upstream": "scripted", "mode": "on", "rewriting": {"by": "editor"}}],
        }
    )
    async with open_pipelines(settings) as opened:
        yield settings.routes[0], opened.steps["test"]


async def worded(route: Any, wording: RouteWording, upstream: Upstream, row: Json) -> tuple[Result, list[Json]]:
    """An item through the pipeline from its confidence on, and the calls of the editor. A failure before does not count."""
    assert wording.editor is not None
    wording.editor.readiness.succeeded(("scripted", "m"))
    upstream.calls.clear()
    upstream.default = says(row["reply"], usage=(900, 60))
    before = [{"role": "assistant", "content": text} for text in row.get("last", ())]
    body = {"model": "m", "messages": [*before, {"role": "user", "content": row["question"]}]}
    run = Run(job_of(route, "/chat/completions", body, {}))
    await word_given(run, wording, row["answer"], given_of(row))
    return run.result, [call for call in upstream.calls if is_editing(call)]


def test_the_replies_are_to_this_prompt_and_of_many_kinds() -> None:
    """Whoever changes the prompt answers the items by it anew."""
    assert {row["prompt"] for row in recorded()} == {hashlib.sha256(PROMPT.encode()).hexdigest()[:16]}
    languages = Counter(row["language"] for row in good())
    assert len(good()) >= 300
    assert len({row["kind"] for row in good()}) >= 30
    assert len(languages) - 1 >= 8
    assert sum(languages.values()) - languages["en"] >= 60
    unmarked = sum(task_marks(row) == row["answer"] for row in good())
    assert unmarked / len(good()) >= 0.25
    assert len(wrong()) >= 40


def task_marks(row: Json) -> str:
    """The answer as a reply would have it."""
    return read_reply(row["reply"], task_of(row)).on(read(row["answer"], row["question"]))[0]


def test_the_prompts_examples_are_none_of_these() -> None:
    """An example that is an item would show the model its answer."""
    assert not [row["id"] for row in good() if len(row["answer"]) >= 12 and row["answer"] in PROMPT]


def test_each_reply_makes_of_its_answer_what_it_says_or_is_refused_by_the_guard(upstream: Upstream) -> None:
    """One call where the answer needs a mark and its request is one of fact; what is served is the reply's text or, with a reason, not the editor's."""
    refused, asked = list[tuple[str, str]](), 0

    async def replay() -> None:
        nonlocal asked
        async with wordings(upstream) as (route, wording):
            for row in good():
                result, calls = await worded(route, wording, upstream, row)
                if not calls:
                    assert result.text == row["answer"] or result.rewording is None, row["id"]
                    continue
                asked += 1
                words = result.rewording
                assert words is not None, row["id"]
                if words.rewriter == "editor":
                    assert result.text == task_marks(row), row["id"]
                    assert (result.status == "hedged") == (result.text != row["answer"]), row["id"]
                    assert words.usage.completion == 60
                else:
                    reason = words.attempts[0].partition("editor:")[2]
                    assert reason, row["id"]
                    refused.append((row["id"], reason))

    anyio.run(replay)
    assert asked > 200
    assert len(refused) / asked <= REFUSED, Counter(reason for _, reason in refused)


def test_no_wrong_reply_is_served(upstream: Upstream) -> None:
    """Each has its reason, and the local way or the plain answer comes out."""
    faults = list[str]()

    async def replay() -> None:
        async with wordings(upstream) as (route, wording):
            for row in wrong():
                result, calls = await worded(route, wording, upstream, row)
                words = result.rewording
                assert words is not None, (row["wrong"], result.status, result.reason)
                if row["refused"] == "none":
                    assert (result.text, words.rewriter, result.reason) == (row["answer"], "editor", "no_assertion")
                    continue
                reason = words.attempts[0].partition("editor:")[2] if words.attempts else "served"
                is_fine = reason == row["refused"] or (row["refused"] == "guard" and reason not in ("", "served"))
                if len(calls) != 1 or words.rewriter == "editor" or not is_fine:
                    faults.append(f"{row['wrong']}: {reason}: {result.text!r}")

    anyio.run(replay)
    assert not faults, "\n".join(faults)


OTHERS = ("Quito.", "A heron.", "Basalt.", "In May.", "Forty.", "Ida Lund.", "The tuba.", "Lemon juice.", "A comet.")
"""Answers that mean none of the others."""
AGREEING = {"front": 1, "doubt": 3, "light": 6}
"""Samples of ten that give the recorded answer, so that its confidence lies in the band of the item."""


def at_the_edge(upstream: Upstream, row: Json, *, streamed: bool = False) -> None:
    """Let the upstream draw ten answers of which as many agree as the item's confidence asks for, and reply as recorded; `streamed`: one of these is the
    client's own, whichever call comes first.
    """
    k = AGREEING[band_of(row["confidence"])] - streamed
    draws, edits = says(*[row["answer"]] * k, *OTHERS[: 10 - k], *OTHERS[: max(0, 1 - k)]), says(row["reply"])
    own = says(row["answer"])
    upstream.default = lambda request, body: (
        edits if is_editing(body) else own if streamed and body.get("stream") else draws
    )(request, body)


SHORT = [row for row in good() if "confidence" in row and row["language"] == "en" and len(row["answer"]) < 300][::5]


@pytest.fixture
def edge(serve: Any) -> Any:
    """The proxy with an editor, whose answers are always measured as a whole."""

    def start(**route: Any) -> str:
        rewriting = {"by": "editor", "by_sentence_from": 0}
        address: str = serve(rewriting=rewriting, claims_only=False, sampling={"share": False}, **route)
        return address

    return start


@pytest.mark.parametrize("stream", [False, True])
def test_short_answers_through_the_clients_own_library(
    edge: Any, client_of: Any, upstream: Upstream, stream: bool
) -> None:
    """Streamed or not: the reply's text, or what the local way made of the answer, and nothing third."""
    client, marked = client_of(edge()), 0
    for row in SHORT:
        at_the_edge(upstream, row)
        asked: Any = {"model": "m", "messages": [{"role": "user", "content": row["question"]}]}
        if stream:
            chunks = list(client.chat.completions.create(**asked, stream=True))
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
            field = next(chunk.model_extra["hedgerow"] for chunk in chunks if "hedgerow" in (chunk.model_extra or {}))
        else:
            answer = client.chat.completions.create(**asked)
            text, field = answer.choices[0].message.content, answer.model_extra["hedgerow"]
        if (field.get("rewrite") or {}).get("rewriter") == "editor":
            assert text == task_marks(row), row["id"]
            marked += text != row["answer"]
        else:
            assert "rewrite" not in field or field["rewrite"]["attempts"][0].startswith("editor:"), row["id"]
    assert marked >= 8


def test_notes_through_append(edge: Any, client_of: Any, upstream: Upstream) -> None:
    """The reader has the answer; its note follows, or, with the reason, the closing sentence of the local way."""
    client = client_of(edge(stream="append"))
    for row in good():
        note = json.loads(row["reply"])["note"]
        if "confidence" not in row or row["language"] != "en" or note is None:
            continue
        at_the_edge(upstream, row, streamed=True)
        asked: Any = {"model": "m", "messages": [{"role": "user", "content": row["question"]}], "stream": True}
        chunks = list(client.chat.completions.create(**asked))
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        field = next(chunk.model_extra["hedgerow"] for chunk in chunks if "hedgerow" in (chunk.model_extra or {}))
        assert text.startswith(row["answer"].rstrip()), row["id"]
        if field["status"] == "passed":  # the answer holds code
            continue
        if field["rewrite"]["rewriter"] == "editor":
            assert text.endswith(note["text"]), row["id"]
        else:
            assert field["rewrite"]["attempts"][0].startswith("editor:"), row["id"]
