"""The rewriting step, long answers, streams and the command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from hedgerow.calibration import Beta
from hedgerow.lexicon import Match, Retriever, load
from hedgerow.lexicon.hedges.written import written
from hedgerow.lexicon.text.sentences import pieces
from hedgerow.proxy.cli import app
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.rewriting import (
    Choice,
    DirectBetaRewriter,
    EditorRewriter,
    FactGuard,
    HedgedQaRewriter,
    Tally,
    TemplateRewriter,
    append_confidence_sentence,
    natural_pieces,
    reword,
    reword_sentences,
    sentences,
)
from hedgerow.proxy.types import Rewording, Rewrite, RewriteRequest, Usage, Verdict

RETRIEVER = Retriever(load())
TEMPLATE = TemplateRewriter()
GUARD = FactGuard()


def _request(draft: str, mean: float = 0.6) -> RewriteRequest:
    target = Beta.from_mean(mean, 10)
    return RewriteRequest("What is so?", draft, target, RETRIEVER.nearest(target, 5))


class Editor:
    """A model that answers what it is told to, and remembers what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str]] = []

    async def __call__(self, system: str, user: str) -> tuple[str, Usage]:
        self.asked.append((system, user))
        return self.answers.pop(0), Usage(100, 10)


def _appended(request: RewriteRequest) -> Rewording:
    return anyio.run(append_confidence_sentence, request)


def _reword(request: RewriteRequest, editor: Editor | None = None) -> Rewording:
    rewriters = [*([EditorRewriter(editor)] if editor else []), TEMPLATE]
    return anyio.run(lambda: reword(request, rewriters=rewriters, guard=GUARD))


def test_an_editor_that_does_well_is_taken_at_its_word() -> None:
    done = _reword(_request("It was Paris.", 0.65), Editor("<answer>I believe it was Paris.</answer>"))
    assert (done.text, done.status, done.rewriter, done.hedge) == ("I believe it was Paris.", "hedged", "llm", None)
    assert done.usage == Usage(100, 10)
    assert done.perceived is not None


def test_an_editor_is_told_why_it_was_refused_and_asked_once_more() -> None:
    editor = Editor("I believe it was London.", "I believe it was Paris.")
    done = _reword(_request("It was Paris.", 0.65), editor)
    assert (done.text, done.attempts) == ("I believe it was Paris.", ("llm:content_added",))
    assert 'lost "Paris" and added "London"' in editor.asked[1][1]
    assert "refused" not in editor.asked[0][1]


def test_the_template_follows_a_failing_editor_and_every_refusal_is_counted() -> None:
    done = _reword(_request("It was Paris."), Editor("London.", "Rome."))
    assert (done.status, done.rewriter) == ("hedged", "template")
    assert done.attempts == ("llm:content_added", "llm:content_added")
    assert Tally.of([done, done]).refused["llm:content_added"] == 4


def test_an_editor_that_cannot_be_asked_is_passed_over() -> None:
    async def down(system: str, user: str) -> tuple[str, Usage]:
        raise StepFailed("rewrite", Reason.EDITOR_FAILED)

    done = anyio.run(lambda: reword(_request("It was Paris."), rewriters=[EditorRewriter(down), TEMPLATE], guard=GUARD))
    assert (done.rewriter, done.attempts) == ("template", ("llm:editor_failed",))


def test_where_nothing_passes_the_draft_stands_marked() -> None:
    done = anyio.run(lambda: reword(_request("It was Paris."), rewriters=[EditorRewriter(Editor("", ""))], guard=GUARD))
    assert (done.text, done.status, done.reason, done.rewriter) == ("It was Paris.", "unhedged", "empty", None)


def test_the_draft_stands_where_no_hedge_is_nearest() -> None:
    request = RewriteRequest("", "It was Paris.", load()["no-hedge"].beta, (Match(load()["no-hedge"], 0.0),))
    done = _reword(request)
    assert (done.text, done.status, done.hedge) == ("It was Paris.", "plain", "no-hedge")


@pytest.mark.parametrize("editor", [None, Editor("It was Paris.")])
def test_a_guess_does_not_become_a_fact_where_no_hedge_is_nearest(editor: Editor | None) -> None:
    plain, draft = load()["no-hedge"], "It was likely Paris, though I have no idea."
    done = _reword(RewriteRequest("", draft, plain.beta, (Match(plain, 0.0),)), editor)
    assert (done.text, done.status, done.hedge) == (draft, "plain", "no-hedge")


def test_what_asserts_nothing_stands_and_is_no_failure() -> None:
    done = _reword(_request("I don't know."))
    assert (done.text, done.status, done.reason) == ("I don't know.", "plain", "no_assertion")


def test_the_baselines_see_what_the_paper_lets_them_see() -> None:
    beta, qa = Editor("x"), Editor("y")
    request = _request("It was Paris.")
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
    request = replace(_request(draft, mean), question=question)
    once = _reword(request)
    assert once.status == "hedged"
    assert _reword(replace(request, draft=once.text)).text == once.text


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
    done = _reword(_request(draft))
    assert (done.text, done.reason) == (draft, "no_assertion")


LONG = "Paris is the capital of France. It was founded by the Parisii. It lies on the Seine. It hosted the Olympics in 1900."


def _worded(draft: str, confidences: list[Beta | None], cells: Sequence[tuple[int, Beta]] = ()) -> Rewording:
    choice = Choice.of(load())
    return reword_sentences(
        "", draft, confidences, nearest=lambda target, avoid: choice.nearest(target, 5, draft, avoid), template=TEMPLATE, guard=GUARD, cells=cells
    )  # fmt: skip


def _long(confidences: list[Beta | None]) -> Rewording:
    return _worded(LONG, confidences)


def test_only_sentences_that_deserve_a_hedge_get_one() -> None:
    plain = load()["no-hedge"].beta
    done = _long([plain, Beta(3, 7), plain, plain])
    before, after = sentences(LONG), sentences(done.text)
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, True, True]
    assert done.status == "hedged"


SURE, UNSURE = Beta.from_mean(0.94, 10), Beta.from_mean(0.4, 10)


def test_two_sentences_at_most_are_hedged_the_least_sure_ones_in_different_words() -> None:
    draft = LONG + " It has 20 large districts. It has 37 old bridges. It has 130 public museums."
    doubts = [Beta.from_mean(m, 10) for m in (0.45, 0.5, 0.4)]
    done = _worded(draft, [SURE, SURE, SURE, SURE, *doubts])
    before, after = sentences(draft), sentences(done.text)
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, True, True, True, False, True, False]
    assert done.hedge == done.sentences[6].hedge
    assert len({sentence.hedge for sentence in done.sentences if sentence.hedge}) == 2


@pytest.mark.parametrize(("mean", "status"), [(0.8, "plain"), (0.66, "plain"), (0.6, "hedged"), (0.3, "hedged")])
def test_claims_of_like_confidence_are_not_hedged_one_by_one(mean: float, status: str) -> None:
    """None stands below the rest. Where many are in doubt a note says so; the answer itself is not touched."""
    done = _long([Beta.from_mean(mean, 10)] * 4)
    assert (done.status, done.text.startswith(LONG)) == (status, True)
    assert ("uncertain" in done.text) == (status == "hedged")
    assert _worded(LONG, [Beta.from_mean(mean, 10)] * 4).text == done.text


def test_items_and_cells_that_stand_below_the_rest_get_a_mark() -> None:
    draft = "Marie Curie lived in these towns:\n\n- Warsaw\n- **Passy**\n- Paris.\n\n| town | year |\n|---|---|\n| Warsaw | 1867 |\n| Passy | 1934 |\n"
    confidences = [None, SURE, Beta.from_mean(0.68, 40), Beta.from_mean(0.41, 7)]
    cells = [(draft.index(year) + 4, beta) for year, beta in (("1867", SURE), ("1934", Beta.from_mean(0.41, 7)))]
    done = _worded(draft, confidences, [*cells, *[(draft.index("Warsaw |") + 6, SURE)] * 6])
    assert "- Warsaw\n- **Passy** (probably)\n- Paris (possibly).\n" in done.text
    assert "| Warsaw | 1867 |\n| Passy | 1934 (possibly) |" in done.text
    assert done.status == "hedged"


def test_a_worked_solution_is_hedged_in_its_result_alone() -> None:
    draft = "The train travels for 3 hours. The distance is 3 * 60 = 180 km. The return is 2 * 60 = 120 km. The sum is 180 + 120 = 300 km. The total distance is 300 km."
    done = _worded(draft, [SURE, UNSURE, SURE, SURE, UNSURE])
    before, after = sentences(draft), sentences(done.text)
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, True, True, True, False]


def test_an_answer_that_is_a_fragment_gets_the_hedge_and_not_the_background() -> None:
    draft = "A severe decline. The herring stocks of the North Sea were fished by seven nations. Norway fished the largest share of them."
    done = _worded(draft, [UNSURE, SURE, SURE])
    assert done.sentences[0].status == "hedged"
    assert done.text.endswith(draft.removeprefix("A severe decline."))


def test_a_long_answer_that_deserves_no_hedge_stands() -> None:
    done = _long([load()["no-hedge"].beta, None, None, None])
    assert (done.text, done.status) == (LONG, "plain")


def test_confidences_must_go_with_the_sentences() -> None:
    with pytest.raises(ValueError, match="4 sentences and 1 confidences"):
        _long([None])


@given(st.text(alphabet=st.sampled_from(list("ab. !?\n-*1`#\"'()A,:…[]é|>")), max_size=200))
def test_nothing_is_lost_in_cutting(text: str) -> None:
    assert "".join(piece.text for piece in pieces(text)) == text
    assert "".join(natural_pieces(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was Dr. Who. He left.", ("It was Dr. Who.", "He left.")),
        ("Born in the U.S. in 1990. Died.", ("Born in the U.S. in 1990.", "Died.")),
        ("J. K. Rowling wrote it. Yes.", ("J. K. Rowling wrote it.", "Yes.")),
        ("It costs 1.5 million. Wow!", ("It costs 1.5 million.", "Wow!")),
        ("1. One.\n2. Two.", ("One.", "Two.")),
        ("# Title\n\nText.\n\n```\nx. y\n```", ("Text.",)),
        ("Er kam am 9. November. Gut.", ("Er kam am 9. November.", "Gut.")),
        ('He said "Stop." Then he left.', ('He said "Stop."', "Then he left.")),
    ],
)
def test_sentences(text: str, expected: tuple[str, ...]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize("mean", [0.03, 0.1, 0.25, 0.4, 0.55, 0.7, 0.8])
def test_the_closing_sentence_sounds_as_sure_as_it_should(mean: float) -> None:
    from hedgerow.lexicon import perceive

    done = _appended(_request("It was Paris.", mean))
    assert done.text.startswith("It was Paris. ")
    assert done.text.endswith(".")
    assert done.perceived == perceive(done.text.removeprefix("It was Paris. ")).beta
    assert abs(done.perceived.mean - mean) < 0.25


def test_a_plain_answer_gets_no_closing_sentence_and_german_gets_a_german_one() -> None:
    plain = replace(_request("It was Paris."), hedges=(Match(load()["no-hedge"], 0.0),))
    assert _appended(plain).text == "It was Paris."
    assert _appended(_request("Die Stadt ist Wien und nicht Graz")).text.startswith(
        "Die Stadt ist Wien und nicht Graz. "
    )
    assert "stimmt" in _appended(_request("Die Stadt ist Wien und nicht Graz.", 0.7)).text


def test_the_command_is_a_filter() -> None:
    lines = '{"question":"Who?","answer":"It was definitely Ann.","alpha":6,"beta":4}\n\n{"answer":"Paris","alpha":1,"beta":9}\n'
    result = CliRunner().invoke(app, ["rewrite", "--json"], input=lines)
    assert result.exit_code == 0, result.output
    rows = [orjson.loads(line) for line in result.stdout.splitlines()]
    assert [set(row) for row in rows] == [{"text", "status", "reason", "hedges", "perceived"}] * 2
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
    done = _reword(replace(_request(draft), question=""))
    assert (done.text, done.status, done.reason) == (draft, "unhedged", "unknown_language")
    done = _appended(replace(_request(draft), question=""))
    assert (done.text, done.reason) == (draft, "unknown_language")


@pytest.mark.parametrize(
    ("draft", "reason"),
    [("東京は日本の首都です。", "unknown_language"), ("I don't know who painted it.", "no_assertion")],
)
def test_nothing_is_appended_to_what_cannot_be_qualified(draft: str, reason: str) -> None:
    """What no lexicon covers, and what claims nothing."""
    done = _appended(replace(_request(draft, 0.3), question=""))
    assert (done.text, done.reason) == (draft, reason)


def test_a_hedge_without_a_closing_sentence_is_closed_by_the_nearest() -> None:
    own = replace(load()["probably"], id="i-dare-say")
    assert (
        _appended(replace(_request("It was Paris."), hedges=(Match(own, 0.0),))).text
        == "It was Paris. It seems likely that this is right."
    )


@pytest.mark.parametrize("mean", [0.03, 0.12, 0.25])
def test_at_little_confidence_a_note_follows_the_answer_and_nothing_in_it_is_touched(mean: float) -> None:
    """A statement with a denial beside it ("It is Paris, though I doubt it.") contradicts itself."""
    for draft in ("It is Paris.", "Yes.", "**Paris** is the capital.\n\n- It lies on the Seine."):
        done = _reword(_request(draft, mean))
        assert done.text.startswith(draft)
        note = done.text.removeprefix(draft).strip()
        assert note in {known.text for known in written().notes}
        assert done.perceived is not None
        assert done.perceived.mean <= 0.25
        assert _reword(_request(done.text, mean)).text == done.text


@pytest.mark.parametrize(("draft", "question", "word"), [
    ("Die Hauptstadt ist Wien.", "Was ist die Hauptstadt?", "unsicher"), ("La capitale est Vienne.", "Quelle est la capitale ?", "incertaine"),
    ("La capital es Viena.", "¿Cuál es la capital?", "incierta"),
])  # fmt: skip
def test_the_note_is_in_the_language_of_the_answer(draft: str, question: str, word: str) -> None:
    assert word in _reword(replace(_request(draft, 0.1), question=question)).text


@pytest.mark.parametrize("mean", [0.9, 0.96])
def test_a_sure_answer_stands(mean: float) -> None:
    target = Beta.from_mean(mean, 10)
    done = _reword(RewriteRequest("", "It was Paris.", target, Choice.of(load()).nearest(target, 5)))
    assert (done.text, done.status, done.hedge) == ("It was Paris.", "plain", "no-hedge")


def test_the_closing_sentence_of_a_longer_answer_is_a_paragraph() -> None:
    draft = "It was Paris.\n\nThe treaty was signed there in 1783."
    assert _appended(_request(draft)).text.startswith(draft + "\n\n")
    assert _appended(_request("It was Paris")).text.startswith("It was Paris. ")


class Refusing(FactGuard):
    """A guard that refuses some wordings."""

    def __init__(self, refuses: Callable[[Rewrite], bool]) -> None:
        super().__init__()
        self.refuses = refuses

    def check_sync(self, request: RewriteRequest, rewrite: Rewrite) -> Verdict:
        if self.refuses(rewrite):
            return Verdict(accepted=False, reason="numbers_changed")
        return super().check_sync(request, rewrite)


def _guarded(refuses: Callable[[Rewrite], bool], text: str = LONG) -> Rewording:
    return reword_sentences(
        "", text, [Beta(3, 7)] + [None] * (len(sentences(text)) - 1), template=TEMPLATE, guard=Refusing(refuses),
        nearest=lambda target, avoid: RETRIEVER.nearest(target, 5, avoid=avoid),
    )  # fmt: skip


def test_a_sentence_whose_wording_is_refused_gets_the_next_or_none() -> None:
    """The refusals are listed; where all are refused the answer stands as it was, with the reason."""
    best = _guarded(lambda _: False)
    second = _guarded(lambda rewrite: rewrite.hedge == best.hedge)
    assert (second.status, second.attempts) == ("hedged", ("template:numbers_changed",))
    assert second.hedge != best.hedge
    none = _guarded(lambda _: True)
    assert (none.text, none.status, none.reason) == (LONG, "unhedged", "numbers_changed")
    assert [sentence.status for sentence in none.sentences] == ["unhedged", "plain", "plain", "plain"]


def test_a_long_answer_in_an_unknown_language_stands() -> None:
    draft = "東京は日本の首都です。大阪は西にあります。"
    done = _guarded(lambda _: False, draft)
    assert (done.text, done.status, done.reason) == (draft, "unhedged", "unknown_language")


def test_a_note_that_closed_the_last_answer_is_not_written_again() -> None:
    """In neighbouring turns the same sentence reads like a stamp."""
    first = _reword(_request("It is Paris.", 0.1)).text
    second = _reword(replace(_request("It is Rome.", 0.1), said=first)).text
    notes = [text.split(". ", 1)[1] for text in (first, second)]
    assert notes[0] != notes[1]
    assert set(notes) <= {note.text for note in written().notes}
    third = _reword(replace(_request("It is Oslo.", 0.1), said=f"{first} {second} {written().notes[1].text}")).text
    assert third.startswith("It is Oslo. ")


@pytest.mark.parametrize(
    ("draft", "mean", "note"),
    [
        ("1. Maine\n2. Vermont\n3. Ohio", 0.55, "Parts of this answer are uncertain; please verify them."),
        ("The members were:\n\n- George\n- Roy\n", 0.4, "Much of this answer is uncertain; please verify it."),
        ("1. Maine\n2. Vermont\n3. Ohio", 0.8, None),
        ("It is Maine. For comparison:\n- Vermont is smaller.", 0.55, None),
        ("Follow these steps:\n1. Preheat the oven.\n2. Whisk the eggs.", 0.4, None),
        ("We divide:\n- 12 by 3\n- 8 by 2\n\nTherefore, it is 4.", 0.55, None),
    ],
)
def test_a_list_in_doubt_gets_a_note_and_no_item_a_hedge(draft: str, mean: float, note: str | None) -> None:
    done = anyio.run(lambda: reword(_request(draft, mean), rewriters=[TEMPLATE], guard=GUARD))
    assert ("\n\nP" in done.text or "\n\nM" in done.text) == (note is not None)
    if note is not None:
        assert done.text == f"{draft.rstrip()}\n\n{note}"
        assert (done.status, done.rewriter) == ("hedged", "closing")
