"""A table of phrases becomes a lexicon that a route can use, or an error with its line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.lexicon import LexiconFileError, builtin_names, load
from hedgerow.lexicon.hedges.phrases import read_phrases
from hedgerow.proxy.cli import app
from tests.support.tables import cases

RUN = CliRunner()


def hedges(tmp_path: Path, text: str, language: str = "en") -> dict[str, object]:
    path = tmp_path / "phrases.csv"
    path.write_text(text, encoding="utf-8")
    return {hedge.id: hedge for hedge in read_phrases(path, language, lambda _mean: 11.0)}


def test_a_confidence_a_range_and_readings_become_betas(tmp_path: Path) -> None:
    """Per cent or shares; readings of .6 and .8 have the Beta that `fit_moments` documents."""
    (one,) = hedges(tmp_path, "phrase,confidence\nplausibly,65%\n").values()
    assert (one.beta.mean, one.beta.concentration, one.source) == (pytest.approx(0.65), pytest.approx(11), "modelled")  # type: ignore[attr-defined]
    (ranged,) = hedges(tmp_path, "phrase,low,high\nplausibly,.6,.8\n").values()
    assert (ranged.beta.mean, ranged.source) == (pytest.approx(0.7), "standard")  # type: ignore[attr-defined]
    (read,) = hedges(tmp_path, "phrase,reading\nPlausibly,60\nplausibly,80\n").values()
    assert (read.beta.alpha, read.beta.beta, read.readers) == (pytest.approx(6.65), pytest.approx(2.85), 2)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("words,confidence\nlikely,70\n", 1, "needed are `phrase`"),
        ("phrase,confidence,colour\nlikely,70,red\n", 1, "colour"),
        ("phrase,confidence\nlikely,70\nprobably,often\n", 3, "'often' is not a number"),
        ("phrase,confidence\nlikely,130\n", 2, "outside 0 to 100"),
        ("phrase,confidence\nlikely,1\n", 2, "not between 0 and 1"),
        ("phrase,confidence\nlikely,.7\nLikely,.8\n", 3, "line 2 already"),
        ('phrase,confidence\non file,.7\n"on, file",.8\n', 3, "id of 'on file'"),
        ("phrase,low,high\nlikely,80,70\n", 2, "not below"),
        ("phrase,reading\nlikely,80\n", 2, "one reading"),
        ("phrase,confidence\nfor what it is worth,.4\n", 2, "column `frame`"),
        ("phrase,confidence,frame\nlikely,.4,likely so\n", 2, "{clause}"),
        ("phrase,confidence,register\nlikely,.4,posh\n", 2, "plain, formal, casual"),
        ("phrase,confidence,voice\nlikely,.4,mine\n", 2, "first_person"),
        ("phrase,confidence,concentration\nlikely,.4,-1\n", 2, "above 0"),
        ("phrase,confidence\non file, so far,.4\n", 2, "more cells"),
        ("phrase,confidence\n...,.4\n", 2, "no letter"),
        ("phrase,confidence\n{clause},.4\n", 2, "says nothing"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, text: str, line: int, reason: str) -> None:
    with pytest.raises(LexiconFileError) as caught:
        hedges(tmp_path, text)
    assert reason in caught.value.reason
    assert caught.value.line == line


PHRASES = """phrase,confidence,register,voice,frame
beyond reasonable doubt,92,formal,,
on the balance of probabilities,66,formal,,
arguably,45,,,
a fair prospect,55,,,
medically probable,75,formal,,
I dare say,70,casual,impersonal,
I am not persuaded,35,,,
"for what it is worth",50,,,"for what it is worth, {clause}|{fragment}, for what it is worth"
it stands to reason that {clause},80,,,
likely,71,,,
"",97,,,
"""


def new(tmp_path: Path, text: str, *more: str) -> tuple[Path, object]:
    source, output = tmp_path / "phrases.csv", tmp_path / "mine.json"
    source.write_text(text, encoding="utf-8")
    return output, RUN.invoke(app, ["lexicon", "new", str(output), "--from", str(source), *more])


def test_a_new_lexicon_passes_the_check_and_words_answers(tmp_path: Path) -> None:
    """Every form of phrase gets frames; each own phrase that is written is read back at its own figure."""
    output, done = new(tmp_path, PHRASES)
    assert done.exit_code == 0, done.output  # type: ignore[attr-defined]
    lexicon = load(output)
    assert len(lexicon) == 11
    assert lexicon["i-dare-say"].voice == "impersonal"
    assert lexicon["no-hedge"].beta.mean == pytest.approx(0.97, abs=1e-4)
    assert RUN.invoke(app, ["lexicon", "check", str(output)]).exit_code == 0
    shown = RUN.invoke(app, ["lexicon", "preview", str(output), "--json"])
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    used = [row for row in rows if row["hedges"]]
    assert len({row["hedges"][0] for row in used}) >= 4
    for row in used:
        assert row["perceived"] == pytest.approx(lexicon[row["hedges"][0]].beta.mean, abs=0.001), row


def test_a_new_lexicon_may_stand_on_a_shipped_one(tmp_path: Path) -> None:
    output, _ = new(tmp_path, "phrase,confidence\non file,60\n", "--extends", "en")
    assert len(load(output)) == len(load()) + 1
    again = RUN.invoke(app, ["lexicon", "new", str(output), "--from", str(tmp_path / "phrases.csv")])
    assert (again.exit_code, "exists already" in again.stderr) == (2, True)
    _, refused = new(tmp_path / "..", "phrase,confidence\non file,60\n", "--extends", "nowhere")
    assert refused.exit_code == 2  # type: ignore[attr-defined]


def test_a_language_that_no_reader_knows_is_warned_about(tmp_path: Path) -> None:
    """Written as asked, with a warning; preview and check end with 1: read as English, every Polish answer would sound sure."""
    text = 'phrase,confidence,frame\nbyć może,50,"być może {clause}"\nprawdopodobnie,70,"prawdopodobnie {clause}"\n'
    output, done = new(tmp_path, text, "--language", "pl")
    assert done.exit_code == 0  # type: ignore[attr-defined]
    assert "language 'pl' cannot be read" in done.stderr  # type: ignore[attr-defined]
    for command in ("check", "preview"):
        shown = RUN.invoke(app, ["lexicon", command, str(output)])
        assert (shown.exit_code, shown.stdout) == (1, "")
        assert "language 'pl' cannot be read" in shown.stderr


def test_phrases_of_another_language_than_the_file_says_are_noted(tmp_path: Path) -> None:
    text = 'phrase,confidence,frame\nes ist nicht sicher,40,"es ist nicht sicher, aber {clause}"\nwie es scheint,60,"{fragment}, wie es scheint"\n'
    output, _ = new(tmp_path, text)
    assert "look like 'de'" in RUN.invoke(app, ["lexicon", "check", str(output)]).stdout


def test_check_says_which_own_entries_are_not_written(tmp_path: Path) -> None:
    output, _ = new(tmp_path, "phrase,confidence\nunlikely,20\nI think,60\nwithout any doubt,99\non file,50\n")
    notes = RUN.invoke(app, ["lexicon", "check", str(output)]).stdout
    assert "unlikely: beside a statement it contradicts" in notes
    assert "voice: first_person" in notes
    assert "without-any-doubt: perceived as surer than a plain assertion" in notes
    assert "on-file:" not in notes


def test_preview_cuts_no_id(tmp_path: Path) -> None:
    """At 80 columns an id ended in an ellipsis, so that nobody could look it up."""
    output, _ = new(tmp_path, "phrase,confidence\non the balance of probabilities,65\n")
    shown = RUN.invoke(app, ["lexicon", "preview", str(output), "--level", "0.65"], env={"COLUMNS": "80"})
    assert shown.stdout.count("on-the-balance-of-probabilities") == 2


def test_preview_prints_a_table(tmp_path: Path) -> None:
    """What `--json` gives, for people; levels and answers of one's own; bad ones are named."""
    shown = RUN.invoke(app, ["lexicon", "preview", "legal", "--level", "0.75", "--answer", "The term is four years."])
    assert shown.exit_code == 0, shown.output
    assert re.search(r"0\.75 +0\.75  .*[Pp]robabl[ey]", shown.stdout), shown.stdout
    assert RUN.invoke(app, ["lexicon", "preview", "legal", "--level", "7"]).exit_code == 2
    assert RUN.invoke(app, ["lexicon", "preview", str(tmp_path / "none.yaml")]).exit_code == 2


def test_perceive_reads_an_own_lexicon() -> None:
    text = "There is a moderate prospect that the appeal is allowed."
    done = RUN.invoke(app, ["lexicon", "perceive", "--json", "--lexicon", "legal", text])
    assert json.loads(done.stdout)["mean"] == pytest.approx(0.55)


@cases("name", builtin_names())
def test_every_lexicon_that_ships_passes_its_own_check(name: str) -> None:
    """What `lexicon check` asks of a user's file, it asks of ours, examples included."""
    done = RUN.invoke(app, ["lexicon", "check", name])
    assert done.exit_code == 0, done.output
    assert "is perceived as" not in done.stdout or name == "en", done.stdout


@cases("name", ["medical", "legal"])
def test_an_example_words_answers_and_is_read_back(name: str) -> None:
    """At every confidence between .4 and .8 within .22 of it, and exactly at the figure of the hedge that was used."""
    lexicon = load(name)
    shown = RUN.invoke(app, ["lexicon", "preview", name, "--json"])
    for row in map(json.loads, shown.stdout.splitlines()):
        assert row["status"] != "unhedged", row
        if row["hedges"]:
            assert row["perceived"] == pytest.approx(lexicon[row["hedges"][0]].beta.mean, abs=0.001), row
        if 0.4 <= row["confidence"] < 0.8:
            assert row["perceived"] == pytest.approx(row["confidence"], abs=0.22), row
