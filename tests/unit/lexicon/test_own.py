"""Entries of a lexicon of one's own are read at their own Betas and written as they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from hedgerow.lexicon import Own, builtin_names, load, offered, perceive
from tests.support.tables import cases

MINE = """version: 1
extends: en
hedges:
  - {id: i-dare-say, phrase: I dare say, mean: 0.7, concentration: 12, register: formal, frames: [{clause: "I dare say that {clause}"}]}
  - {id: likely, phrase: likely, mean: 0.9, concentration: 30, frames: [{adverb: likely}, {clause: "it is likely that {clause}"}]}
  - {id: may, phrase: may, mean: 0.5, concentration: 9, frames: [{modal: may}, {fragment: "it may be {fragment}"}]}
"""


def own(tmp_path: Path, text: str = MINE) -> Own:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    found = Own.of(load(path))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "mean", "span"),
    [
        ("I dare say that it was Pinter.", 0.7, "I dare say that"),
        ("Pinter, I dare say.", 0.7, "I dare say"),
        ("It is likely that it was Pinter.", 0.9, "It is likely that"),
        ("It may be Pinter.", 0.5, "may"),
    ],
)
def test_an_own_phrase_is_perceived_at_its_own_beta(tmp_path: Path, text: str, mean: float, span: str) -> None:
    """Whether the grammar of cues knows its words or not; without the lexicon the same text reads otherwise."""
    perceived = perceive(text, own=own(tmp_path))
    assert perceived.beta.mean == pytest.approx(mean)
    assert [found.text for found in perceived.spans] == [span]
    assert perceive(text).beta.mean != pytest.approx(mean, abs=0.01)


@pytest.mark.parametrize(
    "text",
    [
        "It is very likely that it was Pinter.",  # modified: the own entry says nothing of "very likely"
        "It is not likely that it was Pinter.",
        "It was in May 1940.",  # the month
        "It may be Pinter's daughter, and May 1940 is the date."[28:],
        "It was probably Pinter.",  # an entry of the shipped lexicon
        "It was Pinter.",
    ],
)
def test_what_is_not_the_own_phrase_reads_as_ever(tmp_path: Path, text: str) -> None:
    assert perceive(text, own=own(tmp_path)) == perceive(text)


def test_own_and_shipped_words_together_are_between_both(tmp_path: Path) -> None:
    """Spans stay in order and apart; doubt weighs more."""
    perceived = perceive("I dare say that it was Pinter, though I am not sure.", own=own(tmp_path))
    assert [span.hedge for span in perceived.spans] == ["i-dare-say", "i-am-not-sure"]
    assert load()["i-am-not-sure"].beta.mean < perceived.beta.mean < 0.7


def test_common_words_of_a_frame_are_not_the_phrase(tmp_path: Path) -> None:
    """ "it is" stands in a frame of the entry and in half of all sentences."""
    text = 'version: 1\nhedges:\n  - {id: a, phrase: hearsay, mean: 0.4, concentration: 9, frames: [{fragment: "it is {fragment}"}]}\n'
    assert perceive("It is Pinter.", own=own(tmp_path, text)) == perceive("It is Pinter.")
    assert perceive("That is hearsay.", own=own(tmp_path, text)).beta.mean == pytest.approx(0.4)


def test_an_own_plain_assertion_counts(tmp_path: Path) -> None:
    text = "version: 1\nextends: en\nhedges:\n  - {id: no-hedge, phrase: '', mean: 0.99, concentration: 50}\n"
    assert perceive("It was Pinter.", own=own(tmp_path, text)).beta.mean == pytest.approx(0.99)


def test_a_lexicon_in_another_language_reads_texts_of_that_language(tmp_path: Path) -> None:
    text = "version: 1\nlanguage: de\nhedges:\n  - {id: wohl, phrase: nach Aktenlage, mean: 0.6, concentration: 9, frames: [{adverb: nach Aktenlage}]}\n"
    mine = own(tmp_path, text)
    assert perceive("Das war nach Aktenlage Schiller.", "de", mine).beta.mean == pytest.approx(0.6)
    assert perceive("Das war wohl Schiller.", "de", mine) == perceive("Das war wohl Schiller.", "de")
    assert perceive("Nach Aktenlage it was Schiller.", "en", mine) == perceive("Nach Aktenlage it was Schiller.")


def test_the_shipped_lexicon_has_nothing_of_ones_own() -> None:
    assert [Own.of(load(language)) for language in ("en", "de", "fr", "es")] == [None] * 4


@cases("name", [name for name in builtin_names() if name not in ("en", "de", "fr", "es")])
def test_every_scale_can_be_used_by_a_route_that_sets_nothing(name: str) -> None:
    """Their words are formal; before, a default route refused them all. What contradicts a statement stays out."""
    kept = offered(load(name))
    assert len(kept) >= 3
    assert "unlikely" not in kept


def test_own_entries_are_written_unless_another_voice_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE.replace("phrase: I dare say,", "phrase: I dare say, voice: impersonal,"), encoding="utf-8")
    lexicon = load(path)
    assert "i-dare-say" in offered(lexicon)
    assert "i-dare-say" not in offered(lexicon, voices=("first_person",))
    path.write_text(MINE, encoding="utf-8")
    assert "i-dare-say" not in offered(load(path))
    assert "i-dare-say" in offered(load(path), voices=("first_person",))
