"""`hedgerow lexicon` answers people and programs, and ends bad input with one sentence."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from tests.support.tables import cases

RUN = CliRunner()


def test_perceive_reads_lines_and_prints_json() -> None:
    """One object a line, with mean, alpha, beta and spans."""
    done = RUN.invoke(app, ["lexicon", "perceive", "--json"], input="It was probably Pinter.\nIt was Pinter.\n")
    first, second = map(json.loads, done.stdout.splitlines())
    assert done.exit_code == 0
    assert set(first) == {"mean", "alpha", "beta", "spans"}
    assert first["spans"][0]["hedge"] == "probably"
    assert first["mean"] < second["mean"]


def test_perceive_reads_other_languages() -> None:
    """By what a line seems to be in, or as told; a language that is not perceived is named."""
    german = "Das war vielleicht der Autor von Hamlet."
    done = RUN.invoke(app, ["lexicon", "perceive", "--json", german])
    assert json.loads(done.stdout)["spans"][0]["hedge"] == "vielleicht"
    assert (
        json.loads(RUN.invoke(app, ["lexicon", "perceive", "--json", "--language", "en", german]).stdout)["spans"] == []
    )
    unknown = RUN.invoke(app, ["lexicon", "perceive", "--language", "it", "Forse."])
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "'it'" in unknown.stderr


def test_a_line_that_cannot_be_read_does_not_stop_the_others() -> None:
    """The line is named on standard error, the rest is answered, the exit code tells."""
    done = RUN.invoke(app, ["lexicon", "perceive", "--json"], input="\nIt was Pinter.\n")
    assert done.exit_code == 2
    assert "line 1" in done.stderr
    assert len(done.stdout.splitlines()) == 1


def test_list_and_show() -> None:
    """The table runs from least to most confident; an entry tells where it comes from; a misspelt id gets a hint."""
    means = [json.loads(line)["mean"] for line in RUN.invoke(app, ["lexicon", "list", "--json"]).stdout.splitlines()]
    assert means == sorted(means)
    assert "mauboussin" in RUN.invoke(app, ["lexicon", "show", "probably"]).stdout
    missing = RUN.invoke(app, ["lexicon", "show", "probabl"])
    assert missing.exit_code == 2
    assert "probably" in missing.stderr


def test_check_finds_an_inverted_meaning(tmp_path: Path) -> None:
    """A file that can be used but says that "almost certainly" is doubt is noted; one that cannot be used ends with 1."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        "version: 1\nhedges:\n  - {id: a, phrase: almost certainly, mean: 0.1, concentration: 9, frames: [{adverb: almost certainly}]}\n"
    )
    done = RUN.invoke(app, ["lexicon", "check", str(path)])
    assert done.exit_code == 0
    assert "is perceived as" in done.stdout
    path.write_text("version: 1\nhedges:\n  - {id: a, phrase: b, mean: .nan, concentration: 9}\n")
    assert RUN.invoke(app, ["lexicon", "check", str(path)]).exit_code == 1


def test_check_refuses_what_no_route_could_use(tmp_path: Path) -> None:
    """No entry, or a language that cannot be read: one sentence, and 1."""
    path = tmp_path / "mine.yaml"
    for text, reason in (
        ("version: 1\nhedges: []\n", "it has no entry"),
        (
            "version: 1\nlanguage: pl\nhedges:\n  - {id: a, phrase: być może, low: 0.3, high: 0.6, frames: [{adverb: być może}]}\n",
            "language 'pl' cannot be read",
        ),
    ):
        path.write_text(text, encoding="utf-8")
        done = RUN.invoke(app, ["lexicon", "check", str(path)])
        assert (done.exit_code, done.stdout) == (1, "")
        assert reason in done.stderr


@cases("arguments", [["list", "-l", "nowhere.yaml"], ["show", "x", "-l", "nowhere.yaml"]])
def test_a_missing_lexicon_is_one_sentence(arguments: list[str]) -> None:
    """No traceback."""
    done = RUN.invoke(app, ["lexicon", *arguments])
    assert done.exit_code == 2
    assert "no such file" in done.stderr


@pytest.mark.parametrize(
    ("content", "reason"),
    [("hedges: []", "it has no entry"), ("language: de\nhedges: [{id: a, phrase: wohl, low: 0.3, high: 0.6, frames: [{adverb: wohl}]}]", "'de'")],
)  # fmt: skip
def test_a_route_with_an_unusable_lexicon_is_a_configuration_error(tmp_path: Path, content: str, reason: str) -> None:
    """One sentence from `config check`; a reload with it is refused in the same place."""
    (tmp_path / "mine.yaml").write_text(f"version: 1\n{content}\n")
    config = tmp_path / "config.yaml"
    config.write_text(
        "upstreams:\n  a: {provider: openai, base_url: 'http://127.0.0.1:1/v1'}\n"
        f"routes:\n  - {{name: r, upstream: a, mode: 'on', lexicon: {tmp_path / 'mine.yaml'}}}\n"
    )
    done = RUN.invoke(app, ["config", "check", "--config", str(config)])
    assert done.exit_code == 2
    assert "routes: r: lexicon" in done.stderr
    assert reason in done.stderr


def test_check_names_what_a_route_will_miss(tmp_path: Path) -> None:
    """Gaps of the scale, a missing plain entry, a language that a route's own lexicon cannot have: notes, and 0."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        "version: 1\nlanguage: de\nhedges:\n  - {id: a, phrase: wohl, low: 0.5, high: 0.7, frames: [{adverb: wohl}]}\n"
    )
    done = RUN.invoke(app, ["lexicon", "check", str(path)])
    assert done.exit_code == 0, done.stderr
    for note in ("there is no 'no-hedge'", "must be English", "no hedge is perceived between 0.00 and 0.60"):
        assert note in done.stdout
    shipped = RUN.invoke(app, ["lexicon", "check", "en"])
    assert (shipped.exit_code, "there is no" in shipped.stdout) == (0, False), shipped.output


def test_input_that_is_not_utf_8_is_one_sentence() -> None:
    done = RUN.invoke(app, ["lexicon", "perceive"], input=b"It was Caf\xe9 Central.\n")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "standard input is not UTF-8" in done.stderr
