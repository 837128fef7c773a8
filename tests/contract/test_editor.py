"""`rewriting.by: editor` through the real edge: a model marks the answer; what it may not do, the local way does, and row and field say so."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx
import pytest
from starlette.responses import JSONResponse

from hedgerow.calibration import Beta
from hedgerow.proxy.config import Settings
from hedgerow.proxy.pipeline.given import Given, word_given
from hedgerow.proxy.pipeline.job import job_of
from hedgerow.proxy.pipeline.result import Result, Run
from hedgerow.proxy.rewriting.editor_check import Checking, check
from hedgerow.proxy.services.services import open_pipelines
from tests.support.editing import edits, scripted
from tests.support.needs import EMBEDDED
from tests.support.upstream import Upstream, completion, fails, never, says, spent
from tests.support.waiting import until

CAPITAL = "The capital is Canberra."
RIGHT, WRONG = f"{CAPITAL} It has a lake.", "The capital is Sydney."
ANSWERS = [RIGHT] * 6 + [WRONG] * 4
MARK = {"sentence": 1, "from": "The capital is", "to": "I think the capital is", "hedge": "I think"}
MARKED = "I think the capital is Canberra. It has a lake."
ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]


def ask(serve: Any, client_of: Any, messages: list[Any] = ASK, **route: Any) -> tuple[str, Any]:
    rewriting = {"by": "editor"} | route.pop("rewriting", {})
    address = serve(rewriting=rewriting, **route)
    return asked_at(address, client_of, messages)


def asked_at(address: str, client_of: Any, messages: list[Any] = ASK) -> tuple[str, Any]:
    answer = client_of(address).chat.completions.create(model="m", messages=messages)
    field = answer.model_extra["hedgerow"]
    return answer.choices[0].message.content, field | field.get("rewrite", {})


def test_an_editors_edit_is_served(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """One call at temperature 0; its tokens are told; the rest of the answer is as it was."""
    asked = scripted(upstream, edits(MARK), *ANSWERS)
    text, field = ask(serve, client_of)
    assert (text, field["status"], field["rewriter"], field["attempts"]) == (MARKED, "hedged", "editor", [])
    assert field["usage"]["rewrite"] == spent(900, 40)
    (call,) = asked
    assert (call["temperature"], call["max_tokens"], call["model"]) == (0.0, 1000, "m")
    shown = call["messages"][1]["content"]
    assert "[1] The capital is Canberra. [2] It has a lake." in shown
    assert "What is the capital of Australia?" in shown
    assert f"{field['confidence']:.2f}, light" in shown


@pytest.mark.parametrize("where", ["start", "end"])
def test_a_note_is_served(serve: Any, client_of: Any, upstream: Upstream, where: str) -> None:
    note = {"text": "This is probably right.", "where": where, "hedge": None}
    scripted(upstream, edits(note=note), *ANSWERS)
    text, field = ask(serve, client_of)
    expected = f"{note['text']} {RIGHT}" if where == "start" else f"{RIGHT} {note['text']}"
    assert (text, field["rewriter"]) == (expected, "editor")


def test_an_answer_in_which_the_editor_sees_no_claim_stands(serve: Any, client_of: Any, upstream: Upstream) -> None:
    scripted(upstream, edits(claims=()), *ANSWERS)
    text, field = ask(serve, client_of)
    assert (text, field["status"], field["reason"], field["rewriter"]) == (RIGHT, "plain", "no_assertion", "editor")


def test_a_sure_answer_costs_no_call(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """All ten agree: .95 and more."""
    asked = scripted(upstream, edits(MARK), RIGHT)
    text, field = ask(serve, client_of)
    assert (text, field["status"], field["reason"], asked) == (RIGHT, "plain", "no_hedge_needed", [])
    assert field["usage"]["rewrite"] == spent(0, 0)


def test_the_editor_is_told_which_words_were_used_before(serve: Any, client_of: Any, upstream: Upstream) -> None:
    asked = scripted(upstream, edits(MARK), *ANSWERS)
    before = [
        {"role": "user", "content": "And of Austria?"},
        {"role": "assistant", "content": "It is probably Vienna."},
    ]
    ask(serve, client_of, [*before, *ASK])
    assert "Used in the last answers: probably" in asked[0]["messages"][1]["content"]


WRONG_FORM = {
    "prose": "I would put probably into the first sentence.",
    "an empty reply": "",
    "half an object": '{"claims": [1], "edits": [{"sentence": 1, "from": "The',
    "words beside the object": "Here it is: " + edits(MARK),
    "a sentence that is not there": edits(MARK | {"sentence": 3}),
    "words that are not there": edits(MARK | {"from": "The town is"}),
    "words of another sentence": edits(MARK | {"sentence": 2}),
    "words that stand there twice": edits(MARK | {"from": "a", "to": "maybe a"}),
    "edits that overlap": edits(MARK, MARK | {"from": "capital is Canberra", "to": "capital may be Canberra"}),
    "ten thousand edits": edits(*[MARK] * 10_000),
    "a field of its own": edits(MARK | {"why": "it is doubtful"}),
    "a number as a word": edits(MARK | {"sentence": "1"}),
    "a note of two sentences": edits(note={"text": "I am not sure. Ask a friend.", "where": "end", "hedge": None}),
    "a note in the middle": edits(note={"text": "I am not sure.", "where": "middle", "hedge": None}),
    "a note without end": edits(note={"text": "I am not sure, " * 20, "where": "end", "hedge": None}),
    "the answer rewritten": MARKED,
}


@pytest.mark.parametrize("name", WRONG_FORM)
def test_a_reply_of_another_form_leaves_it_to_the_local_way(
    serve: Any, client_of: Any, upstream: Upstream, name: str
) -> None:
    """The reply is counted among the attempts and its tokens are told; not a word of it is served."""
    scripted(upstream, WRONG_FORM[name], *ANSWERS)
    text, field = ask(serve, client_of)
    assert field["attempts"][0] == "editor:editor_nonsense"
    assert field["rewriter"] != "editor"
    assert field["usage"]["rewrite"] == spent(900, 40)
    assert "I think" not in text
    assert "Canberra" in text


def test_a_fenced_reply_is_read(serve: Any, client_of: Any, upstream: Upstream) -> None:
    scripted(upstream, f"```json\n{edits(MARK)}\n```", *ANSWERS)
    assert ask(serve, client_of)[0] == MARKED


def test_what_the_guard_refuses_is_not_served(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """A fact that neither question nor answer has."""
    scripted(upstream, edits(MARK | {"to": "I think, since 1913, the capital is"}), *ANSWERS)
    text, field = ask(serve, client_of)
    assert field["attempts"][0].startswith("editor:")
    assert field["rewriter"] != "editor"
    assert "1913" not in text


def test_an_editor_that_is_down_late_or_cut_off(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Each has its reason code, and the local way words the answer."""
    cut = completion(edits(MARK))
    cut["choices"][0]["finish_reason"] = "length"
    for editor, reason in (
        (fails(500, {"error": {"message": "down"}}), "editor_failed"),
        (never(), "editor_late"),
        (lambda _request, _body: JSONResponse(cut), "editor_too_long"),
        (says(edits(MARK), usage=(900, 1001)), "editor_too_long"),
    ):
        scripted(upstream, editor, *ANSWERS)
        text, field = ask(serve, client_of, rewriting={"timeout_s": 1})
        assert (field["attempts"][0], field["status"]) == (f"editor:{reason}", "hedged")
        assert field["rewriter"] != "editor"
        assert "Canberra" in text


def test_the_editor_leaves_time_for_the_rest(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """A short deadline of the route is kept, with a worded answer."""
    scripted(upstream, never(), *ANSWERS)
    _, field = ask(serve, client_of, deadline_s=3)
    assert (field["status"], field["attempts"][0]) == ("hedged", "editor:editor_late")


def test_a_model_that_refuses_temperature_and_max_tokens_is_asked_without(
    serve: Any, client_of: Any, upstream: Upstream
) -> None:
    """As reasoning models do; from the second answer on at once."""
    reply = says(edits(MARK))

    def strict(request: Any, body: Any) -> Any:
        if "temperature" in body or "max_tokens" in body:
            return fails(400, {"error": {"message": "use max_completion_tokens"}})(request, body)
        return reply(request, body)

    asked = scripted(upstream, strict, *ANSWERS)
    address = serve(rewriting={"by": "editor"}, sampling={"share": False})
    assert [asked_at(address, client_of)[0] for _ in range(2)] == [MARKED, MARKED]
    assert [call.get("max_completion_tokens") for call in asked] == [None, 1000, 1000]


def test_unreadable_replies_switch_the_editor_off_for_a_while(
    serve: Any, client_of: Any, upstream: Upstream, lines: Any
) -> None:
    """Three in a row: `/health`, metric and log say so, and the next answers cost no call. Each of them is worded locally."""
    asked = scripted(upstream, "I am sorry, I cannot help with that.", *ANSWERS)
    address = serve(rewriting={"by": "editor"})
    fields = [asked_at(address, client_of)[1] for _ in range(5)]
    assert len(asked) == 3
    assert [bool(field["attempts"]) for field in fields] == [True, True, True, False, False]
    assert {field["status"] for field in fields} == {"hedged"}
    told = httpx.get(address + "/health").json()["problems"]["unchecked-editor:scripted"]
    assert told.startswith("requests pass without editor:scripted: m: the reply is not of the requested form")
    metrics = httpx.get(address + "/metrics").text
    assert 'hedgerow_problem{problem="unchecked-editor:scripted"} 1.0' in metrics
    assert 'hedgerow_edited_answers_total{outcome="editor_nonsense",route="test"} 3.0' in metrics
    assert 'hedgerow_edited_answers_total{outcome="not_asked",route="test"} 2.0' in metrics
    (line,) = lines.of("problem")
    assert "sorry" not in json.dumps(line)


def test_an_unknown_model_is_tried_by_the_first_answer(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """`auto`, the client's key: one unreadable reply is enough to word locally; a readable one makes it the editor."""
    asked = scripted(upstream, "UNCHANGED", *ANSWERS)
    address = serve(rewriting={"by": "auto"})
    assert [asked_at(address, client_of)[1]["rewriter"] == "editor" for _ in range(2)] == [False, False]
    assert len(asked) == 1
    scripted(upstream, edits(MARK), *ANSWERS)
    text, field = asked_at(serve(rewriting={"by": "auto"}), client_of)
    assert (text, field["rewriter"]) == (MARKED, "editor")


GOOD_CHECK = edits({"sentence": 1, "from": "The ferry", "to": "I'm not sure, but the ferry"}, claims=(1, 2))
BAD_CHECK = edits({"sentence": 2, "from": "Bicycles", "to": "Perhaps bicycles"}, claims=(1, 2))


@pytest.mark.parametrize(("reply", "state"), [(GOOD_CHECK, "ready"), (BAD_CHECK, "off"), ("no", "off")])
def test_a_model_with_a_key_is_checked_at_the_start(
    serve: Any, client_of: Any, upstream: Upstream, reply: str, state: str
) -> None:
    """One small call in the background, before any request; a model that fails is not asked."""
    asked = scripted(upstream, reply, *ANSWERS)
    address = serve(rewriting={"by": "auto"}, model="m", upstream_settings={"api_key": "sk-own"})
    until(lambda: len(asked) == 1)
    if state == "ready":
        until(lambda: bool(asked_at(address, client_of)) and len(asked) > 1)
    else:
        asked_at(address, client_of)
        assert len(asked) == 1


@pytest.mark.embedded
@EMBEDDED
def test_the_embedded_model_is_no_editor(lines: Any) -> None:
    """The real model: it fails the check, and where a route insists on it the local way words the answer."""
    settings = Settings.model_validate(
        {
            "upstreams": {"small": {"provider": "embedded"}},
            "routes": [
                {"name": "r", "upstream": "small", "mode": "on", "rewriting": {"by": "editor", "timeout_s": 120}}
            ],
        }
    )

    async def tried() -> tuple[str | None, Result]:
        async with open_pipelines(settings) as opened:
            route, wording = settings.routes[0], opened.steps["r"]
            assert wording.editor is not None
            problem = await check(wording.editor, Checking("any"), limit_s=120)
            wording.editor.readiness.succeeded(wording.editor.key(Checking("any")))
            body = {"model": "any", "messages": ASK}
            run = Run(job_of(route.model_copy(update={"deadline_s": 200.0}), "/chat/completions", body, {}))
            await word_given(run, wording, CAPITAL, Given(Beta(6.0, 4.0)))
            return problem, run.result

    problem, result = anyio.run(tried)
    assert problem is not None
    assert result.rewording is not None
    assert (result.status, result.rewording.rewriter == "editor") == ("hedged", False)
    assert result.rewording.attempts[0].startswith("editor:editor_")
    assert "Canberra" in (result.text or "")


def test_append_gets_one_closing_note(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The reader has the answer already: the model is told so, and an edit is no reply to that."""
    note = {"text": "This is probably right.", "where": "end", "hedge": None}
    asked = scripted(upstream, edits(note=note), *ANSWERS)
    address = serve(rewriting={"by": "editor"}, stream="append", sampling={"share": False})

    def streamed() -> str:
        chunks = client_of(address).chat.completions.create(model="m", messages=ASK, stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    text = streamed()
    assert "reply without edits" in asked[0]["messages"][1]["content"]
    assert text.endswith(note["text"])
    scripted(upstream, edits(MARK), *ANSWERS)
    assert "I think" not in streamed()
