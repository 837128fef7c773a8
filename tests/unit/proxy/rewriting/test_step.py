"""The rewriting step: editor, template and guard on a short answer, and the command."""

from __future__ import annotations

from dataclasses import replace

import anyio
import orjson
import pytest
from typer.testing import CliRunner

from hedgerow.calibration import Beta
from hedgerow.lexicon import Match, load
from hedgerow.proxy.cli import app
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.rewriting import (
    Choice,
    DirectBetaRewriter,
    HedgedQaRewriter,
    reword,
)
from hedgerow.proxy.types import RewriteRequest, Usage
from tests.support.rewriting import GUARD, TEMPLATE, Editor, appended, request_for, reworded


def test_an_editor_that_does_well_is_taken_at_its_word() -> None:
    done = reworded(request_for("It was Paris.", 0.65), Editor("<answer>I believe it was Paris.</answer>"))
    assert (done.text, done.status, done.rewriter, done.hedge) == (
        "I believe it was Paris.",
        "hedged",
        "direct_beta",
        None,
    )
    assert done.usage == Usage(100, 10)
    assert done.perceived is not None


def test_an_editor_is_told_why_it_was_refused_and_asked_once_more() -> None:
    editor = Editor("I believe it was London.", "I believe it was Paris.")
    done = reworded(request_for("It was Paris.", 0.65), editor)
    assert (done.text, done.attempts) == ("I believe it was Paris.", ("direct_beta:content_added",))
    assert 'lost "Paris" and added "London"' in editor.asked[1][1]
    assert "refused" not in editor.asked[0][1]


def test_the_template_follows_a_failing_editor_and_every_refusal_is_counted() -> None:
    done = reworded(request_for("It was Paris."), Editor("London.", "Rome."))
    assert (done.status, done.rewriter) == ("hedged", "template")
    assert done.attempts == ("direct_beta:content_added", "direct_beta:content_added")


def test_an_editor_that_cannot_be_asked_is_passed_over() -> None:
    async def down(system: str, user: str) -> tuple[str, Usage]:
        raise StepFailed("rewrite", Reason.EDITOR_FAILED)

    done = anyio.run(
        lambda: reword(request_for("It was Paris."), rewriters=[DirectBetaRewriter(down), TEMPLATE], guard=GUARD)
    )
    assert (done.rewriter, done.attempts) == ("template", ("direct_beta:editor_failed",))


def test_where_nothing_passes_the_draft_stands_marked() -> None:
    done = anyio.run(
        lambda: reword(request_for("It was Paris."), rewriters=[DirectBetaRewriter(Editor("", ""))], guard=GUARD)
    )
    assert (done.text, done.status, done.reason, done.rewriter) == ("It was Paris.", "unhedged", "empty", None)


def test_the_draft_stands_where_no_hedge_is_nearest() -> None:
    request = RewriteRequest("", "It was Paris.", load()["no-hedge"].beta, (Match(load()["no-hedge"], 0.0),))
    done = reworded(request)
    assert (done.text, done.status, done.hedge) == ("It was Paris.", "plain", "no-hedge")


@pytest.mark.parametrize("editor", [None, Editor("It was Paris.")])
def test_a_guess_does_not_become_a_fact_where_no_hedge_is_nearest(editor: Editor | None) -> None:
    plain, draft = load()["no-hedge"], "It was likely Paris, though I have no idea."
    done = reworded(RewriteRequest("", draft, plain.beta, (Match(plain, 0.0),)), editor)
    assert (done.text, done.status, done.hedge) == (draft, "plain", "no-hedge")


def test_what_asserts_nothing_stands_and_is_no_failure() -> None:
    done = reworded(request_for("I don't know."))
    assert (done.text, done.status, done.reason) == ("I don't know.", "plain", "no_assertion")


def test_the_baselines_see_what_the_paper_lets_them_see() -> None:
    beta, qa = Editor("x"), Editor("y")
    request = request_for("It was Paris.")
    anyio.run(DirectBetaRewriter(beta).rewrite, request)
    anyio.run(HedgedQaRewriter(qa).rewrite, request)
    assert "Beta(6.00, 4.00)" in beta.asked[0][1]
    assert request.hedges[0].hedge.phrase not in beta.asked[0][1]
    assert qa.asked[0][1] == "What is so?"


@pytest.mark.parametrize(
    ("question", "draft", "mean"),
    [
        ("", "Not an answer, finger.", 0.35),
        ("", "Someone named Peter Lim.", 0.2),
        ("", "Someone named Scorpio to add to it.", 0.78),
        ("", "Acupuncture has been proven to help. It may also harm. Others are possibly useful.", 0.12),
        ("Are both healthy?", "Yes.", 0.62),
        ("", "No, not all Jews are actually Jews.", 0.41),
        ("", "It is possible to become addicted after a single use.", 0.8),
        ("", "Panama, it seems likely.", 0.62),
    ],
)
def test_rewriting_twice_is_rewriting_once(question: str, draft: str, mean: float) -> None:
    """With guard and retries: what was heard in the first wording is what is heard in it the second time."""
    request = replace(request_for(draft, mean), question=question)
    once = reworded(request)
    assert once.status == "hedged"
    assert reworded(replace(request, draft=once.text)).text == once.text


@pytest.mark.parametrize(
    "draft",
    [
        "I’m not certain — I don’t have reliable information on the year of his birth.",
        "I’m not certain and cannot confidently identify who received it.",
        "It is not possible to determine the answer using the information.",
        "We don't know how many pounds he ate.",
    ],
)
def test_what_says_that_it_cannot_say_is_no_answer(draft: str) -> None:
    done = reworded(request_for(draft))
    assert (done.text, done.reason) == (draft, "no_assertion")


def test_the_command_is_a_filter() -> None:
    lines = '{"question":"Who?","answer":"It was definitely Ann.","alpha":6,"beta":4}\n\n{"answer":"Paris","alpha":1,"beta":9}\n'
    result = CliRunner().invoke(app, ["rewrite", "--json"], input=lines)
    assert result.exit_code == 0, result.output
    rows = [orjson.loads(line) for line in result.stdout.splitlines()]
    assert [set(row) for row in rows] == [{"text", "by", "status", "reason", "hedges", "perceived"}] * 2
    assert "definitely" not in rows[0]["text"]
    assert rows[1]["perceived"]["mean"] < 0.4


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("nonsense", "line 1 is not valid JSON"),
        ("[1]", "line 1 is not a JSON object"),
        ('{"answer":3}', "line 1: answer: expected text; put it into quotes; each line"),
        ('{"answer":"x","alpha":-1,"beta":1}', "line 1: alpha must be"),
    ],
)
def test_the_command_names_the_line_that_it_cannot_read(line: str, sentence: str) -> None:
    result = CliRunner().invoke(app, ["rewrite", "--json"], input=line)
    assert result.exit_code == 2
    assert sentence in result.stderr


@pytest.mark.parametrize(
    "draft", ["東京です。", "To był Kopernik, tak się wydaje.", "Bu Orhan Pamuk olabilir, ama emin değilim."]
)
def test_an_answer_in_a_language_without_hedges_is_left_alone(draft: str) -> None:
    done = reworded(replace(request_for(draft), question=""))
    assert (done.text, done.status, done.reason) == (draft, "unhedged", "unknown_language")
    done = appended(replace(request_for(draft), question=""))
    assert (done.text, done.reason) == (draft, "unknown_language")


@pytest.mark.parametrize("mean", [0.9, 0.96])
def test_a_sure_answer_stands(mean: float) -> None:
    target = Beta.from_mean(mean, 10)
    done = reworded(RewriteRequest("", "It was Paris.", target, Choice.of(load()).nearest(target, 5)))
    assert (done.text, done.status, done.hedge) == ("It was Paris.", "plain", "no-hedge")


@pytest.mark.parametrize(
    ("draft", "claim"),
    [
        ("I'm not familiar with the details, but it was Pinter.", "it was Pinter"),
        ("I'm not very familiar with this actor, but he was born in 1950.", "born in 1950"),
        ("I am not aware of the exact year, but it was built in 1920.", "built in 1920"),
    ],
)
def test_what_a_not_familiar_answer_says_is_hedged_and_not_its_beginning(draft: str, claim: str) -> None:
    """It was "I'm, unless I am mistaken, not very familiar with this actor, but he was born in 1950."."""
    done = reworded(request_for(draft, 0.65))
    assert (done.status, done.rewriter) == ("hedged", "template")
    assert claim in done.text
    assert "familiar" not in done.text
    assert "aware" not in done.text


def test_that_nothing_is_known_of_a_thing_is_not_taken_out() -> None:
    """Without "but" and what follows it, it is the answer."""
    draft = "I am not aware of any film of that name."
    assert reworded(request_for(draft, 0.65)).text == draft
