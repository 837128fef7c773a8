"""Commands that talk to upstreams, as an operator types them: the real command, the scripted upstream on a real server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from hedgerow.lexicon import load
from hedgerow.proxy.cli import app
from tests.contract.test_long_answers import ANSWERS
from tests.support.upstream import Upstream, completion, fails, says

RUN = CliRunner()


@pytest.fixture
def config(tmp_path: Path, upstream: Upstream) -> Path:
    """Two routes before the scripted upstream: one that calibrates, one that is off."""
    path = tmp_path / "config.yaml"
    content = {
        "upstreams": {"scripted": {"provider": "openai", "base_url": upstream.url, "retries": 0}},
        "routes": [
            {"name": "quiet", "upstream": "scripted", "match": {"model": "quiet"}, "mode": "off"},
            {"name": "test", "upstream": "scripted", "mode": "on"},
        ],
        "audit": {"url": f"sqlite:///{tmp_path}/audit.db", "spool": str(tmp_path / "spool")},
        "maps": {"folder": str(tmp_path / "maps")},
    }
    path.write_text(yaml.safe_dump(content))
    return path


def run(*words: object, **options: Any) -> Any:
    return RUN.invoke(app, [str(word) for word in words], **options)


def writes_and_scores(_request: Any, body: Any) -> Any:
    """Puts the phrase into a sentence; scores sentences with "almost" higher than others."""
    from starlette.responses import JSONResponse

    prompt = body["messages"][0]["content"]
    if prompt.startswith("Rewrite"):
        phrase, statement = prompt.split('"')[1], prompt.rpartition("Statement: ")[2]
        return JSONResponse(completion(f"It is {phrase} so that {statement}"))
    return JSONResponse(completion("90" if "almost" in prompt else "Score: 40/100"))


def test_a_lexicon_that_cannot_be_kept_costs_no_call(config: Path, upstream: Upstream, tmp_path: Path) -> None:
    """Every answer is kept beside the lexicon before the next is asked for: where that cannot be, nothing is asked."""
    upstream.default = writes_and_scores
    refused = run("lexicon", "build", tmp_path / "nowhere" / "mine.json", "-c", config, "--yes")
    assert (refused.exit_code, upstream.calls) == (2, [])
    assert "mine.records.jsonl: cannot be written: No such file or directory" in refused.stderr


def test_a_lexicon_is_built_from_models_and_can_be_used(config: Path, upstream: Upstream, tmp_path: Path) -> None:
    """Every answer is kept: the same command asks nothing again; the file is a lexicon whose order is the scores'."""
    phrases, out = tmp_path / "phrases.txt", tmp_path / "mine.json"
    phrases.write_text("possibly\nalmost certainly\n\npossibly\n")
    upstream.default = writes_and_scores
    words = ["lexicon", "build", out, "-c", config, "--phrases", phrases, "--sentences", 3, "--passes", 2]
    refused = run(*words, input="n\n")
    assert (refused.exit_code, upstream.calls) == (1, [])
    assert "6 sentences to write and 12 scores" in refused.stderr
    built = run(*words, "--yes")
    assert built.exit_code == 0, built.stderr
    assert len(upstream.calls) == 6 + 12
    doubt, certain = load(str(out))
    assert (doubt.phrase, certain.phrase) == ("possibly", "almost certainly")
    assert doubt.beta.mean == pytest.approx(0.4, abs=0.02)
    assert certain.beta.mean == pytest.approx(0.9, abs=0.02)
    assert run(*words, "--yes").exit_code == 0
    assert len(upstream.calls) == 6 + 12


def test_a_build_that_breaks_off_goes_on_from_its_records(config: Path, upstream: Upstream, tmp_path: Path) -> None:
    """The upstream dies: one sentence, exit status 1, and what was answered is not asked again. A broken record is named."""
    phrases, out = tmp_path / "phrases.txt", tmp_path / "mine.json"
    phrases.write_text("possibly\n")
    words = ["lexicon", "build", out, "-c", config, "--phrases", phrases, "--sentences", 2, "--passes", 1, "--yes"]
    upstream.enqueue(writes_and_scores)
    upstream.default = fails(500, {"error": {"message": "down"}})
    broken = run(*words)
    assert broken.exit_code == 1
    assert "run the same command to continue" in broken.stderr
    records = out.with_suffix(".records.jsonl")
    kept = len(records.read_text().splitlines())
    assert kept == 1
    upstream.default = writes_and_scores
    answered, before = upstream.calls[0], len(upstream.calls)
    assert run(*words).exit_code == 0
    assert answered not in upstream.calls[before:]
    assert len(records.read_text().splitlines()) == 4
    records.write_text('{"phrase": 5\n' + records.read_text())
    assert "line 1" in run(*words).stderr


def test_a_record_that_was_cut_off_is_asked_again(config: Path, upstream: Upstream, tmp_path: Path) -> None:
    """A process that is killed leaves half a line, in the middle of a letter perhaps. The next run asks for it again, and the one after it nothing."""
    phrases, out = tmp_path / "phrases.txt", tmp_path / "mine.json"
    phrases.write_text("possibly\n")
    upstream.default = writes_and_scores
    words = ["lexicon", "build", out, "-c", config, "--phrases", phrases, "--sentences", 2, "--passes", 1, "--yes"]
    assert run(*words).exit_code == 0
    records, calls = out.with_suffix(".records.jsonl"), len(upstream.calls)
    whole = records.read_bytes()
    records.write_bytes(whole[: whole[:-1].rfind(b"\n") + 10] + "é".encode()[:1])
    assert run(*words).exit_code == 0
    assert (len(upstream.calls), records.read_bytes().count(b"\n")) == (calls + 1, 4)
    again = run(*words)
    assert (again.exit_code, len(upstream.calls)) == (0, calls + 1), again.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--writer", "nobody"], "nobody"),
        (["--evaluator", "nobody"], "nobody"),
        (["--phrases", "missing.txt"], "missing.txt"),
    ],
)
def test_a_build_that_cannot_begin_says_why(config: Path, tmp_path: Path, words: list[str], sentence: str) -> None:
    done = run("lexicon", "build", tmp_path / "mine.json", "-c", config, *words)
    assert done.exit_code == 2
    assert sentence in done.stderr


def test_the_lexicon_in_the_terminal() -> None:
    """The table and an entry for people, the entry for programs."""
    table = run("lexicon", "list")
    assert table.exit_code == 0
    assert len(table.stdout.splitlines()) > 50
    shown = json.loads(run("lexicon", "show", "probably", "--json").stdout)
    assert (shown["id"], shown["phrase"]) == ("probably", "probably")
    assert {"clause", "adverb"} & {kind for frame in shown["frames"] for kind in frame}
    spoken = run("lexicon", "perceive", "It was probably Pinter.")
    assert "probably (" in spoken.stdout
    refused = run("lexicon", "perceive", input=b"\xff\xfe\n")
    assert refused.exit_code == 2
    assert "UTF-8" in refused.stderr


def test_one_question_is_shown_step_by_step(config: Path, upstream: Upstream) -> None:
    """`hedgerow ask`: samples by meaning, both distributions, hedges, and the answer that would have been served."""
    upstream.default = says(*["Jupiter."] * 6, "Saturn.", "Venus.", "Mars.", "Neptune.")
    done = run("ask", "What is the largest planet?", "-c", config)
    assert done.exit_code == 0, done.stderr
    for part in ("10 answers, 5 meanings", "Beta(6, 4)", "uncalibrated", "Jupiter"):
        assert part in done.stdout
    lines = [line.strip(" │") for line in done.stdout.splitlines()]
    assert "draft ▸  6 ×  Jupiter.  (6 times)" in lines
    assert any("Jupiter" in line and not line.startswith(("Jupiter.", "draft")) for line in lines)


def test_the_draft_stands_before_the_other_wordings_of_its_group(config: Path, upstream: Upstream) -> None:
    """Also where another wording was drawn first."""
    upstream.default = says("Jupiter, the planet.", *["Jupiter."] * 5, "Saturn.", "Venus.", "Mars.", "Neptune.")
    done = run("ask", "What is the largest planet?", "-c", config)
    lines = [line.strip() for line in done.stdout.splitlines()]
    (place,) = [i for i, line in enumerate(lines) if line.startswith("draft ▸")]
    assert lines[place : place + 2] == ["draft ▸  6 ×  Jupiter.  (5 times)", "Jupiter, the planet."]


def test_the_claims_of_a_long_answer_are_shown_with_who_says_so(config: Path, upstream: Upstream) -> None:
    """`hedgerow ask`: each with its support, and the numbers of the answers that bear it out."""
    upstream.default = says(*ANSWERS)
    done = CliRunner().invoke(app, ["ask", "Tell me about the Atomium.", "-c", str(config)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "held against 9 other answers" in done.output
    assert "words are in" in done.output  # no judge has read them: nobody knows what the answers say
    (line,) = [line for line in done.output.splitlines() if "102 metres" in line and "3, 5, 7, 9" in line]
    assert re.search(r"0\.\d\d", line)


def test_the_fields_of_a_json_answer_are_shown_with_who_says_so(config: Path, upstream: Upstream) -> None:
    """By number of the answer, also where some are not JSON: these say nothing of a field."""
    upstream.default = says(
        '{"capital": "Canberra"}', "Canberra.", '{"capital": "Sydney"}', *['{"capital": "Canberra"}'] * 7
    )
    done = CliRunner().invoke(app, ["ask", "Which capital? As JSON.", "-c", str(config)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    (line,) = [line for line in done.output.splitlines() if "4, 5, 6, 7, 8, 9, 10" in line]
    assert line.split()[-1] == "3"


def test_an_answer_that_is_not_eligible_is_shown_as_it_is(config: Path, upstream: Upstream) -> None:
    code = "```python\nprint(1)\n```"
    upstream.default = says(code)
    done = run("ask", "Write a program that prints 1.", "-c", config)
    assert done.exit_code == 0, done.stderr
    assert "print(1)" in done.stdout
    assert "Beta(" not in done.stdout


@pytest.mark.parametrize("greeting", ["hi", "Hello, how are you?"])
def test_a_greeting_is_never_hedged(config: Path, upstream: Upstream, greeting: str) -> None:
    """The question filter is part of the pipeline, so the command line has it as the API does."""
    upstream.default = says("Hello! I am fine.", "Hi.", "Good day.")
    done = run("ask", greeting, "-c", config)
    assert done.exit_code == 0, done.stderr
    assert "passed (not_a_claim)" in done.stdout
    assert done.stdout.count("Hello! I am fine.") >= 2
    assert len(upstream.calls) == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["  "], "question is empty"),
        (["Who?", "--route", "quiet"], "quiet"),
        (["Who?", "--route", "nobody"], "nobody"),
        (["Who?", "-c", "missing.yaml"], "missing.yaml"),
    ],
)
def test_a_question_that_cannot_be_asked_says_why(config: Path, words: list[str], sentence: str) -> None:
    done = run("ask", "-c", config, *words)
    assert done.exit_code == 2
    assert sentence in done.stderr


def test_a_dead_upstream_is_one_sentence(config: Path, upstream: Upstream) -> None:
    upstream.default = fails(503, {"error": {"message": "overloaded"}})
    done = run("ask", "Who wrote The Caretaker?", "-c", config)
    assert done.exit_code == 1
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr + done.stdout


def test_log_lines_stand_beside_the_results_of_a_command(config: Path, upstream: Upstream) -> None:
    """Programs read standard output: what is logged on the way there is on standard error, without colours in a file."""
    settings = yaml.safe_load(config.read_text())
    settings["upstreams"]["scripted"]["retries"] = 1
    config.write_text(yaml.safe_dump(settings))
    upstream.default = fails(503, {"error": {"message": "overloaded"}})
    command = [sys.executable, "-m", "hedgerow.proxy.cli", "ask", "Who wrote The Caretaker?", "-c", str(config)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "[warning  ] upstream_retry" in done.stderr
    assert "\x1b[" not in done.stderr
