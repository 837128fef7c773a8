"""Lexicon files are read, and refused with the line at fault."""

import itertools
import re
from pathlib import Path

import pytest

from hedgerow.lexicon import NO_HEDGE, LexiconFileError, builtin_names, load
from hedgerow.lexicon.hedges.entries import to_json
from hedgerow.lexicon.hedges.loading import SLOTS
from tests.support.tables import cases

HEAD = "version: 1\nhedges:\n"


def refused(tmp_path: Path, text: str, name: str = "mine.yaml") -> LexiconFileError:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LexiconFileError) as caught:
        load(path)
    return caught.value


def test_the_shipped_lexicon_covers_the_range() -> None:
    """Two hundred hedges and more, from ignorance to certainty, with a measured plain assertion."""
    lexicon = load()
    assert len(lexicon) >= 200
    assert lexicon[NO_HEDGE].is_plain
    assert lexicon[NO_HEDGE].readers > 5000
    means = sorted(hedge.beta.mean for hedge in lexicon if hedge.is_sayable)
    assert means[0] < 0.05
    assert means[-1] > 0.95
    assert max(b - a for a, b in itertools.pairwise(means)) < 0.05


@cases("name", builtin_names())
def test_every_shipped_lexicon_can_word_an_answer(name: str) -> None:
    """Each has a plain assertion, frames for clauses and fragments, and a source for every entry."""
    lexicon = load(name)
    assert NO_HEDGE in lexicon
    for hedge in lexicon:
        assert hedge.basis, hedge.id
        if hedge.frames:
            assert {"clause", "fragment"} <= {frame.kind for frame in hedge.frames}, hedge.id
        for frame in hedge.frames:
            assert frame.text[0].islower() or frame.text.startswith(("I ", "{")), frame.text
            assert frame.text.count(SLOTS.get(frame.kind, "\0")) == (frame.kind in SLOTS)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """A lexicon survives a file."""
    path = tmp_path / "copy.json"
    path.write_text(to_json(load("de")), encoding="utf-8")
    assert load(path) == load("de")


@pytest.mark.parametrize(
    ("rows", "line", "reason"),
    [
        ("  - {id: a, phrase: x, alpha: .nan, beta: 1}\n", 3, "finite"),
        ("  - {id: a, phrase: x, alpha: -1, beta: 1}\n", 3, "greater than"),
        ("  - id: a\n    phrase: x\n    low: 0.6\n    high: 0.4\n", 3, "inverted"),
        ("  - {id: a, phrase: x, low: 0.1, high: 0.2}\n  - {id: a, phrase: y, low: 0.1, high: 0.2}\n", 4, "2 entries"),
        ("  - {id: a, phrase: x, low: 0.1, high: 0.2}\n  - {id: b, phrase: X, low: 0.1, high: 0.2}\n", 4, "2 entries"),
        ("  - {id: a, phrase: x, alpha: 1}\n", 3, "alpha and beta"),
        ("  - {id: a, phrase: x, mean: 1.0, concentration: 3}\n", 3, "inside"),
        ("  - {id: A b, phrase: x, alpha: 1, beta: 1}\n", 3, "pattern"),
        ("  - {id: a, phrase: '', alpha: 1, beta: 1}\n", 3, "empty"),
        ("  - {id: a, phrase: x, alpha: 1, beta: 1, colour: red}\n", 3, "colour: there is no such key"),
        ("  - id: a\n    phrase: x\n    alpha: 1.0\n    beta: 1.0\n    frames: [{clause: it is so}]\n", 3, "{clause} once"),
        ("  - {id: a, phrase: x, low: 0.1, high: 0.2, frames: [{clause: '{clause}'}]}\n", 3, "says nothing"),
        ("  - {id: a, phrase: x, low: 0.1, high: 0.2, frames: [{adverb: x, lead: y}]}\n", 3, "one kind with one text"),
        ("  - {id: no-hedge, phrase: '', low: 0.8, high: 0.9, frames: [{adverb: x}]}\n", 3, "must not have frames"),
        ("  - {id: a, phrase: x\n", 4, "not valid YAML"),
        ("  - &a [*a]\n", 3, "the alias *a stands for a value that it is part of"),
    ],
)  # fmt: skip
def test_a_bad_entry_is_refused_with_its_line(tmp_path: Path, rows: str, line: int, reason: str) -> None:
    """Duplicate, inverted, NaN, misspelt: the error names the line and what is wrong."""
    error = refused(tmp_path, HEAD + rows)
    assert reason in error.reason
    assert error.line == line
    assert f"line {line}" in str(error)


@pytest.mark.parametrize("figure", ["NaN", "Infinity", "-1", "null", '"0.5"'])
def test_json_holds_no_figure_but_figures(tmp_path: Path, figure: str) -> None:
    """JSON's own NaN and Infinity are refused like any other."""
    path = tmp_path / "mine.json"
    path.write_text(f'{{"version": 1, "hedges": [\n {{"id": "a", "phrase": "x", "alpha": {figure}, "beta": 1}}\n]}}')
    with pytest.raises(LexiconFileError, match="line 2"):
        load(path)


@pytest.mark.parametrize("text", ["", "phrase,confidence\n", "[1, 2]\n"])
def test_what_is_not_a_lexicon_is_refused_with_what_one_holds(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(LexiconFileError, match="is not a lexicon: it must hold `version: 1`"):
        load(path)


def test_a_file_that_is_nested_without_end_is_refused(tmp_path: Path) -> None:
    """A parser in C crashes the process at it."""
    path = tmp_path / "mine.yaml"
    path.write_text("hedges: " + "[" * 200_000)
    with pytest.raises(LexiconFileError, match="not valid YAML"):
        load(path)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    """Bytes that are not text."""
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(LexiconFileError, match="cannot be read"):
        load(path)


def test_json_errors_name_the_line(tmp_path: Path) -> None:
    """JSON is treated as YAML is."""
    assert refused(tmp_path, '{"version": 1,\n "hedges": [}', "mine.json").line == 2


def test_a_file_stands_on_a_shipped_one(tmp_path: Path) -> None:
    """A user's entry replaces ours of the same id, and one can be left out, without touching our file."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        "version: 1\nextends: en\nwithout: [slam-dunk]\nhedges:\n  - {id: maybe, phrase: maybe, mean: 0.2, concentration: 9}\n"
    )
    lexicon = load(path)
    assert lexicon["maybe"].beta.mean == pytest.approx(0.2)
    assert "slam-dunk" not in lexicon
    assert len(lexicon) == len(load()) - 1


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\n",
        "version: 1\nhedges: []\n",
        "version: 1\nhedges:\n  - {id: maybe, phrase: maybe, mean: 0.5, concentration: 9}\n",
        "version: 1\nhedges:\n  - {id: no-hedge, phrase: '', mean: 0.9, concentration: 9}\n",
    ],
)
def test_a_lexicon_that_words_nothing_is_refused(tmp_path: Path, text: str) -> None:
    """Without entries, or without one frame: the file is refused in one sentence that says what to add, before a route takes it."""
    assert re.search(r"give at least one .*(`hedges`|`frames`)", refused(tmp_path, text).reason)


def test_extending_oneself_is_refused(tmp_path: Path) -> None:
    """A circle of files ends in a sentence, not in a stack overflow."""
    assert "extends itself" in refused(tmp_path, "version: 1\nextends: mine.yaml\n").reason


def test_other_ways_of_extending_wrongly_are_refused(tmp_path: Path) -> None:
    """Another language, an unknown entry to leave out, and leaving out of nothing."""
    assert "cannot extend" in refused(tmp_path, "version: 1\nlanguage: de\nextends: en\n").reason
    assert "has no nothing" in refused(tmp_path, "version: 1\nextends: en\nwithout: [nothing]\n").reason
    assert "needs `extends`" in refused(tmp_path, "version: 1\nwithout: [maybe]\n").reason


def test_a_missing_file_names_the_shipped_lexicons() -> None:
    """A typing error in a name shows what there is."""
    with pytest.raises(LexiconFileError, match="ipcc"):
        load("ipc")


def test_the_language_is_checked() -> None:
    """A lexicon of another language than asked for is refused."""
    assert load(language="fr").language == "fr"
    with pytest.raises(LexiconFileError, match="'en'"):
        load("ipcc", language="de")
