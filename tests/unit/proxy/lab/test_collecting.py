"""`collect` and `grade` as a user runs them: nothing paid for is lost, nothing is paid twice, and bad input is named by its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.responses import JSONResponse
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from hedgerow.proxy.lab.datasets import BadRow
from hedgerow.proxy.lab.ledger import Ledger, LedgerError
from hedgerow.proxy.lab.questions import Question, read_questions
from tests.support.upstream import Upstream, completion, fails, says

N = 4


def run(*arguments: object, code: int = 0, typed: str | None = None) -> Any:
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=typed)
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def config(tmp_path: Path, upstream: Upstream) -> Path:
    """A configuration with one route to the scripted upstream."""
    path = tmp_path / "config.yaml"
    named = {"provider": "openai", "base_url": upstream.url, "retries": 0}
    route = {"name": "test", "upstream": "scripted", "mode": "on", "model": "m", "sampling": {"n": N, "min_n": 2}}
    serial = named | {"honours_n": False, "max_sampling_calls": 1}
    one_by_one = route | {"name": "serial", "upstream": "serial"}
    path.write_text(yaml.safe_dump({"upstreams": {"scripted": named, "serial": serial}, "routes": [route, one_by_one]}))
    return path


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def questions(n: int) -> list[dict[str, Any]]:
    return [{"id": f"q{i}", "question": f"What is {i} + {i}?", "gold": [str(2 * i)]} for i in range(1, n + 1)]


def rows_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def collect(tmp_path: Path, config: Path) -> Any:
    """Run `collect` with what does not change."""

    def start(file: Path, *more: object, code: int = 0, typed: str | None = None, route: str = "test") -> Any:
        fixed = ("--out", tmp_path / "out.jsonl", "--route", route, "--config", config, "--concurrency", 1)
        return run("collect", file, *fixed, *more, *(() if typed else ("--yes",)), code=code, typed=typed)

    return start


def test_what_is_collected_is_what_fit_reads(tmp_path: Path, upstream: Upstream, collect: Any, config: Path) -> None:
    """Samples as the route draws them, graded, fitted: three commands and a map."""
    upstream.default = says("2", "2", "3", "4", "2")
    file = write(
        tmp_path / "q.jsonl", [q | {"gold": ["2" if i % 3 else "9"]} for i, q in enumerate(questions(40), start=1)]
    )
    collect(file)
    sent = upstream.calls[0]
    assert (sent["n"], sent["temperature"], sent["model"]) == (N, 1.0, "m")
    assert sent["messages"] == [{"role": "user", "content": "What is 1 + 1?"}]
    row = rows_of(tmp_path / "out.jsonl")[0]
    assert [s["text"] for s in row["samples"]] == ["2", "2", "3", "4"]
    assert row["usage"] == {"prompt_tokens": 7, "completion_tokens": 3 * N}
    assert row["id"] == "q1"
    run("grade", tmp_path / "out.jsonl", "--out", tmp_path / "graded.jsonl")
    assert [r["correct"] for r in rows_of(tmp_path / "graded.jsonl")] == [i % 3 != 0 for i in range(1, 41)]
    fit = ("fit", "--data", tmp_path / "graded.jsonl", "--folder", tmp_path / "maps", "--json", "--config", config)
    assert json.loads(run(*fit).stdout)["provenance"]["n"] == 40


def test_an_upstream_that_dies_at_60_percent_loses_nothing(tmp_path: Path, upstream: Upstream, collect: Any) -> None:
    """Six of ten are kept, the rest is given up after some failures in a row, and the next run asks only what is missing."""
    upstream.enqueue(*(says("4") for _ in range(6)))
    upstream.default = fails(503, {"error": {"message": "down"}})
    file = write(tmp_path / "q.jsonl", questions(20))
    stopped = collect(file, code=1)
    assert "given up" in stopped.stderr
    assert "line 7: upstream_rejected" in stopped.stderr
    assert len(rows_of(tmp_path / "out.jsonl")) == 6
    assert len(upstream.calls) == 6 + 5
    upstream.default = says("4")
    collect(file)
    assert len(upstream.calls) == 11 + 14
    assert sorted(r["id"] for r in rows_of(tmp_path / "out.jsonl")) == sorted(q["id"] for q in questions(20))
    collect(file)
    assert len(upstream.calls) == 25


def test_answers_of_half_a_question_are_kept(tmp_path: Path, upstream: Upstream, collect: Any) -> None:
    """Where every answer is a call of its own, the two that came are not asked for again."""
    upstream.enqueue(says("2"), says("two"), fails(500, {}), fails(500, {}))
    upstream.default = says("3")
    file = write(tmp_path / "q.jsonl", questions(1))
    stopped = collect(file, route="serial", code=1)
    assert "2 of 4 answers came" in stopped.stderr
    assert (tmp_path / "out.jsonl").read_bytes() == b""
    assert "2 calls for 2 answers" in collect(file, route="serial").stderr
    assert [s["text"] for s in rows_of(tmp_path / "out.jsonl")[0]["samples"]] == ["2", "two", "3", "3"]
    assert len(upstream.calls) == 6
    assert not (tmp_path / "out.jsonl.part").exists()


def test_one_question_that_is_refused_does_not_end_the_others(tmp_path: Path, upstream: Upstream, collect: Any) -> None:
    """A line for it, the exit code of something incomplete, and all others are there."""
    refuse = fails(403, {"error": {"message": "no"}})
    upstream.default = lambda request, body: (refuse if "3 + 3" in str(body) else says("4"))(request, body)
    stopped = collect(write(tmp_path / "q.jsonl", questions(9)), code=1)
    assert "line 3: upstream_rejected" in stopped.stderr
    assert "1 of 9 questions are not answered yet" in stopped.stderr
    assert len(rows_of(tmp_path / "out.jsonl")) == 8


def test_a_line_cut_off_by_a_kill_is_asked_again(tmp_path: Path, upstream: Upstream, collect: Any) -> None:
    """What a killed process left of its last line is cut off; nothing else is touched."""
    upstream.default = says("4")
    file, out = write(tmp_path / "q.jsonl", questions(3)), tmp_path / "out.jsonl"
    collect(file)
    whole = out.read_bytes()
    out.write_bytes(whole[:-20])
    collect(file)
    assert len(upstream.calls) == 4
    assert [r["id"] for r in rows_of(out)] == ["q1", "q2", "q3"]
    assert out.read_bytes().splitlines()[:2] == whole.splitlines()[:2]


def test_rows_drawn_otherwise_are_not_mixed(tmp_path: Path, upstream: Upstream, collect: Any, config: Path) -> None:
    """Samples at two temperatures in one file would say nothing together; the old file stays as it is."""
    upstream.default = says("4")
    collect(write(tmp_path / "q.jsonl", questions(2)))
    before = (tmp_path / "out.jsonl").read_bytes()
    config.write_text(config.read_text().replace(f"n: {N}", "n: 5"))
    stopped = collect(write(tmp_path / "q.jsonl", questions(3)), code=2)
    assert "drawn with n 4, now it is 5" in stopped.stderr
    assert (tmp_path / "out.jsonl").read_bytes() == before


def test_a_file_of_something_else_is_not_appended_to(tmp_path: Path, collect: Any) -> None:
    """A file that this command did not write is named and left alone."""
    write(tmp_path / "out.jsonl", [{"alpha": 1, "beta": 2, "correct": True}])
    assert "line 1 was not written by this command" in collect(write(tmp_path / "q.jsonl", questions(1)), code=2).stderr


def test_two_processes_do_not_pay_for_the_same_questions(tmp_path: Path) -> None:
    """The second to open the file is refused while the first has it."""
    with Ledger(tmp_path / "out.jsonl", {"n": 1}), pytest.raises(LedgerError, match="another process"):
        Ledger(tmp_path / "out.jsonl", {"n": 1})


def test_the_cost_is_shown_before_anything_is_spent(
    tmp_path: Path, upstream: Upstream, config: Path, collect: Any
) -> None:
    """Calls, tokens and dollars, then a question; "n" spends nothing."""
    shown = collect(write(tmp_path / "q.jsonl", questions(5)), typed="n\n", code=1).stderr
    assert "5 to ask: 5 calls for 20 answers" in shown
    assert "1,000 tokens of answers: what that costs is not known, m has no price" in shown
    prices = {"models": [{"model": "m", "prompt": 0, "completion": 2000}]}
    config.write_text(yaml.safe_dump(yaml.safe_load(config.read_text()) | {"prices": prices}))
    shown = collect(tmp_path / "q.jsonl", typed="n\n", code=1).stderr
    assert "1,000 tokens of answers: about $2.00 by the prices of the configuration" in shown
    assert upstream.calls == []


BAD = [
    {"question": "Who?", "gold": ["Ann"]},
    "{broken",
    {"question": "Where?"},
    {"question": "Who?", "gold": ["Ann"]},
    {"question": "Who?", "gold": ["Bob"]},
    {"gold": ["x"]},
    [],
]


def test_bad_lines_are_named_and_cost_nothing(tmp_path: Path, upstream: Upstream, collect: Any) -> None:
    """Missing golds, broken lines and contradicting duplicates stop the command before a call; a plain duplicate is asked once."""
    upstream.default = says("Ann")
    file = write(tmp_path / "q.jsonl", BAD)
    stopped = collect(file, code=2)
    for part in (
        "line 2: not valid JSON",
        "line 3: no right answer",
        "line 5: the question of line 1 with other answers",
        "line 6: no question",
    ):
        assert part in stopped.stderr  # fmt: skip
    assert "--unlabelled" in stopped.stderr
    assert upstream.calls == []
    collect(file, "--skip-bad")
    assert len(upstream.calls) == 1


def test_questions_without_an_answer_are_asked_on_request(tmp_path: Path, upstream: Upstream, collect: Any) -> None:
    """They are kept with their outcome open, and `fit` leaves them out aloud."""
    upstream.default = says("Here.")
    collect(write(tmp_path / "q.jsonl", [{"question": "Where?"}]), "--unlabelled")
    assert rows_of(tmp_path / "out.jsonl")[0]["correct"] is None
    assert "1 row without a label" in run("fit", "--data", tmp_path / "out.jsonl", code=2).stderr


def test_answers_without_text_do_not_count_as_samples(tmp_path: Path, upstream: Upstream, collect: Any) -> None:
    """The proxy compares none of them; with too few others the question is told, and its answers are not paid for again."""
    texts = iter([("4", "", "4", " "), ("", "", "", "4")])
    upstream.default = lambda _request, _body: JSONResponse(completion(*next(texts)))
    file = write(tmp_path / "q.jsonl", questions(2))
    assert "line 2: too_few_samples" in collect(file, code=1).stderr
    (row,) = rows_of(tmp_path / "out.jsonl")
    assert [len(row["samples"]), row["without_text"]] == [2, 2]
    assert "too_few_samples" in collect(file, code=1).stderr
    assert len(upstream.calls) == 2


def test_a_larger_limit_adds_to_a_smaller(tmp_path: Path, upstream: Upstream, collect: Any) -> None:
    """`--limit` takes from an order made by the seed: nobody pays twice for having begun small."""
    upstream.default = says("4")
    file = write(tmp_path / "q.jsonl", questions(30))
    collect(file, "--limit", 5, "--seed", 3)
    first = [r["id"] for r in rows_of(tmp_path / "out.jsonl")]
    collect(file, "--limit", 8, "--seed", 3)
    assert [r["id"] for r in rows_of(tmp_path / "out.jsonl")][:5] == first
    assert len(upstream.calls) == 8
    assert first != [f"q{i}" for i in range(1, 6)]


def test_calls_keep_to_the_rate(tmp_path: Path, upstream: Upstream, collect: Any) -> None:
    """Six calls at 1200 a minute take five gaps of 50 ms at least."""
    import time

    upstream.default = says("4")
    began = time.monotonic()
    collect(write(tmp_path / "q.jsonl", questions(6)), "--rate", 1200, "--concurrency", 6)
    assert time.monotonic() - began >= 0.25


def test_a_csv_with_choices(tmp_path: Path) -> None:
    """Lists in cells are parted by the separator; a right answer given as text becomes its letter."""
    file = tmp_path / "q.csv"
    file.write_text(
        'ID,Question,Options,Answer\n7,"Largest, of all?",Mars|Jupiter|Io,Jupiter\n8,Smallest?,Mars|Io,Pluto\n9,"Two\nlines",,a|b\n',
        encoding="utf-8-sig",
    )
    seven, eight, nine = read_questions(file)
    assert isinstance(seven, Question)
    assert seven.text == "Largest, of all?\nA) Mars\nB) Jupiter\nC) Io"
    assert (seven.gold, seven.id) == (("B",), "7")
    assert isinstance(eight, BadRow)
    assert isinstance(nine, Question)
    assert (nine.text, nine.gold) == ("Two\nlines", ("a", "b"))


def test_a_judge_is_never_paid_twice(tmp_path: Path, upstream: Upstream, collect: Any, config: Path) -> None:
    """It dies after two of three; the next run asks for the third alone. Nonsense leaves the outcome open."""
    upstream.default = says("4")
    collect(write(tmp_path / "q.jsonl", questions(3)))
    upstream.calls.clear()
    upstream.enqueue(says("CORRECT"), says("Hm."), fails(500, {}))
    upstream.default = says("INCORRECT")
    judge = ("grade", tmp_path / "out.jsonl", "--out", tmp_path / "g.jsonl", "--by", "judge", "--upstream", "scripted",
             "--config", config, "--concurrency", 1)  # fmt: skip
    assert "1 of 3 answers are not graded yet" in run(*judge, "--yes", code=1).stderr
    run(*judge, "--yes")
    assert [r["correct"] for r in rows_of(tmp_path / "g.jsonl")] == [True, None, False]
    assert len(upstream.calls) == 4
    assert "What is 1 + 1?" in upstream.calls[0]["messages"][0]["content"]


def test_a_row_that_cannot_be_graded_is_named(tmp_path: Path) -> None:
    """Before anything is graded."""
    file = write(
        tmp_path / "a.jsonl", [{"question": "?", "gold": ["x"], "samples": ["x"]}, {"samples": [{}], "gold": ["x"]}]
    )
    assert (
        "line 2: 'text' is missing from 'samples', item 1"
        in run("grade", file, "--out", tmp_path / "g.jsonl", code=2).stderr
    )


def test_an_empty_file_is_not_graded(tmp_path: Path) -> None:
    """It said that 0 answers were graded and what to do next."""
    file, graded = tmp_path / "a.jsonl", tmp_path / "g.jsonl"
    file.touch()
    assert "a.jsonl: contains no row" in run("grade", file, "--out", graded, code=2).stderr
    assert not graded.exists()


@pytest.mark.parametrize("name", ["a.jsonl.xz", "a.jsonl.gz"])
def test_a_damaged_archive_is_a_sentence(tmp_path: Path, name: str) -> None:
    """Not a traceback of the library that unpacks it."""
    (tmp_path / name).write_bytes(b"{}\n")
    for command in (("grade", tmp_path / name, "--out", tmp_path / "g.jsonl"), ("fit", "--data", tmp_path / name)):
        assert "cannot be read" in run(*command, code=2).stderr
