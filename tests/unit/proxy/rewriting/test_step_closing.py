"""Sentences that close an answer: of a stream, of little confidence, and below a list."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from hedgerow.lexicon import Match, load
from hedgerow.lexicon.hedges.written import written
from hedgerow.proxy.lab.faithfulness.assertions import assertions
from hedgerow.proxy.rewriting import (
    reword,
)
from tests.support.rewriting import GUARD, TEMPLATE, appended, request_for, reworded


@pytest.mark.parametrize("mean", [0.03, 0.1, 0.25, 0.4, 0.55, 0.7, 0.8])
def test_the_closing_sentence_sounds_as_sure_as_it_should(mean: float) -> None:
    from hedgerow.lexicon import perceive

    done = appended(request_for("It was Paris.", mean))
    assert done.text.startswith("It was Paris. ")
    assert done.text.endswith(".")
    assert done.perceived == perceive(done.text.removeprefix("It was Paris. ")).beta
    assert abs(done.perceived.mean - mean) < 0.25


def test_a_plain_answer_gets_no_closing_sentence_and_german_gets_a_german_one() -> None:
    plain = replace(request_for("It was Paris."), hedges=(Match(load()["no-hedge"], 0.0),))
    assert appended(plain).text == "It was Paris."
    assert appended(request_for("Die Stadt ist Wien und nicht Graz")).text.startswith(
        "Die Stadt ist Wien und nicht Graz. "
    )
    assert "stimmt" in appended(request_for("Die Stadt ist Wien und nicht Graz.", 0.7)).text


@pytest.mark.parametrize(
    ("draft", "reason"),
    [("東京は日本の首都です。", "unknown_language"), ("I don't know who painted it.", "no_assertion")],
)
def test_nothing_is_appended_to_what_cannot_be_qualified(draft: str, reason: str) -> None:
    """What no lexicon covers, and what claims nothing."""
    done = appended(replace(request_for(draft, 0.3), question=""))
    assert (done.text, done.reason) == (draft, reason)


def test_a_hedge_without_a_closing_sentence_is_closed_by_the_nearest() -> None:
    own = replace(load()["probably"], id="i-dare-say")
    assert appended(replace(request_for("It was Paris."), hedges=(Match(own, 0.0),))).text in (
        "It was Paris. It seems likely that this is right.",
        "It was Paris. This may well be right.",
    )


@pytest.mark.parametrize("mean", [0.03, 0.12, 0.25])
def test_at_little_confidence_a_note_follows_the_answer_and_nothing_in_it_is_touched(mean: float) -> None:
    """A statement with a denial beside it ("It is Paris, though I doubt it.") contradicts itself."""
    for draft in ("It is Paris.", "Yes.", "**Paris** is the capital.\n\n- It lies on the Seine."):
        done = reworded(request_for(draft, mean))
        assert done.text.startswith(draft)
        note = done.text.removeprefix(draft).strip()
        assert note in {known.text for known in written().notes}
        assert done.perceived is not None
        assert done.perceived.mean <= 0.25
        assert reworded(request_for(done.text, mean)).text == done.text


@pytest.mark.parametrize(("draft", "question", "word"), [
    ("Die Hauptstadt ist Wien.", "Was ist die Hauptstadt?", "unsicher"), ("La capitale est Vienne.", "Quelle est la capitale ?", "incertaine"),
    ("La capital es Viena.", "¿Cuál es la capital?", "incierta"),
])  # fmt: skip
def test_the_note_is_in_the_language_of_the_answer(draft: str, question: str, word: str) -> None:
    assert word in reworded(replace(request_for(draft, 0.1), question=question)).text


def test_the_closing_sentence_of_a_longer_answer_is_a_paragraph() -> None:
    draft = "It was Paris.\n\nThe treaty was signed there in 1783."
    assert appended(request_for(draft)).text.startswith(draft + "\n\n")
    assert appended(request_for("It was Paris")).text.startswith("It was Paris. ")


@pytest.mark.parametrize("draft", ["75", "1945", "B"])
def test_a_note_does_not_turn_a_bare_answer_into_a_list(draft: str) -> None:
    """Markdown shows "75. This answer is uncertain." as item 75 of a list, and whoever splits it into sentences finds no answer."""
    noted = reworded(request_for(draft, 0.1)).text
    assert assertions(noted, "How many are left?")[0].text.startswith(draft)
    assert noted.removeprefix(f"{draft} (").removesuffix(")") in {note.text for note in written().notes}
    assert appended(request_for(f"{draft}.", 0.6)).text.startswith(f"{draft}.\n\n")


def test_a_note_that_closed_the_last_answer_is_not_written_again() -> None:
    """In neighbouring turns the same sentence reads like a stamp."""
    first = reworded(request_for("It is Paris.", 0.1)).text
    second = reworded(replace(request_for("It is Rome.", 0.1), said=first)).text
    notes = [text.split(". ", 1)[1] for text in (first, second)]
    assert notes[0] != notes[1]
    assert set(notes) <= {note.text for note in written().notes}
    third = reworded(replace(request_for("It is Oslo.", 0.1), said=f"{first} {second} {written().notes[1].text}")).text
    assert third.startswith("It is Oslo. ")


@pytest.mark.parametrize(
    ("draft", "mean", "says"),
    [
        ("1. Maine\n2. Vermont\n3. Ohio", 0.55, 0.58),
        ("The members were:\n\n- George\n- Roy\n", 0.4, 0.42),
        ("1. Maine\n2. Vermont\n3. Ohio", 0.8, None),
        ("It is Maine. For comparison:\n- Vermont is smaller.", 0.55, None),
        ("Follow these steps:\n1. Preheat the oven.\n2. Whisk the eggs.", 0.4, None),
        ("We divide:\n- 12 by 3\n- 8 by 2\n\nTherefore, it is 4.", 0.55, None),
    ],
)
def test_a_list_in_doubt_gets_a_note_and_no_item_a_hedge(draft: str, mean: float, says: float | None) -> None:
    done = anyio.run(lambda: reword(request_for(draft, mean), rewriters=[TEMPLATE], guard=GUARD))
    about = [round(note.beta.mean, 2) for note in written().parts if done.text == f"{draft.rstrip()}\n\n{note.text}"]
    assert about == ([] if says is None else [says])
    if says is not None:
        assert (done.status, done.rewriter) == ("hedged", "closing")


def test_answers_of_little_confidence_do_not_all_end_alike() -> None:
    ends = {
        reworded(request_for(f"It was built in {year}.", 0.1)).text.partition(". ")[2] for year in range(1900, 1930)
    }
    assert len(ends) >= 3
    assert ends <= {note.text for note in written().notes}
