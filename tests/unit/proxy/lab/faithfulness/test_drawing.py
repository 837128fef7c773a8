"""`hedgerow faithfulness --draw`: four prompts, one answer without randomness and further ones, paid for once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.upstream import Upstream, fails, says
from tests.unit.proxy.cli.lab.test_faithfulness import run, write

N = 3


@pytest.fixture
def draw(tmp_path: Path, upstream: Upstream) -> Any:
    """Run it with what does not change."""
    config = tmp_path / "config.yaml"
    named = {"provider": "openai", "base_url": upstream.url, "retries": 0}
    route = {"name": "test", "upstream": "scripted", "mode": "on", "model": "m", "sampling": {"n": N, "min_n": 2}}
    config.write_text(yaml.safe_dump({"upstreams": {"scripted": named}, "routes": [route]}))
    questions = write(tmp_path / "q.jsonl", [{"question": f"Who wrote play {i}?"} for i in (1, 2, 1)])

    def start(*more: object, code: int = 0, typed: str | None = None) -> Any:
        fixed = (
            "--draw",
            questions,
            "--data",
            tmp_path / "a.jsonl",
            "--config",
            config,
            "--concurrency",
            1,
            "--resamples",
            0,
            "--json",
        )
        return run("faithfulness", *fixed, *more, *(() if typed else ("--yes",)), code=code, typed=typed)

    return start


def test_answers_are_drawn_under_each_prompt_and_measured_by_prompt(
    upstream: Upstream, draw: Any, tmp_path: Path
) -> None:
    upstream.default = says("It was Pinter.")
    printed = json.loads(draw("--prompt", "vanilla", "--prompt", "uncertainty+").stdout)
    assert {group["prompt"]: group["n"] for group in printed["groups"]} == {"vanilla": 2, "uncertainty+": 2}
    assert (printed["cmfg"], printed["samples"]) == (1.0, [N, N])
    greedy, further = upstream.calls[:2]
    assert (greedy["temperature"], greedy.get("n"), greedy["model"]) == (0.0, None, "m")
    assert (further["temperature"], further["n"]) == (1.0, N)
    (vanilla,) = {call["messages"][0]["content"] for call in upstream.calls[:2]}
    assert vanilla.endswith("Question: Who wrote play 1?\nAnswer:")
    assert "Tokyo" not in vanilla
    turns = upstream.calls[-1]["messages"]
    assert "hedge it exactly" in turns[0]["content"]
    assert turns[0]["content"].endswith("Question: What is the capital of Japan?\nAnswer:")
    assert turns[1] == {"role": "assistant", "content": "The capital of Japan is Tokyo."}
    assert turns[-1] == {"role": "user", "content": "Question: Who wrote play 2?\nAnswer:"}
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * 6 + ["user"]
    assert len(upstream.calls) == 8
    draw("--prompt", "vanilla", "--prompt", "uncertainty+")
    assert len(upstream.calls) == 8


def test_the_price_is_said_first_and_what_came_is_kept(upstream: Upstream, draw: Any) -> None:
    """The second question's further answers fail: only they are asked for again."""
    assert "2 answers to draw, each with further ones: 4 calls for 8 texts" in draw(code=1, typed="n\n").stderr
    assert upstream.calls == []
    upstream.enqueue(says("It was Pinter."), says("Pinter."), says("It was Pinter."), fails(500, {}))
    upstream.default = fails(500, {})
    assert "1 of 2 answers could not be drawn yet" in draw(code=1).stderr
    upstream.calls.clear()
    upstream.default = says("Beckett.")
    again = draw()
    assert "1 answer there already; 1 answer to draw, each with further ones: 1 call for 3 texts" in again.stderr
    assert [call.get("n") for call in upstream.calls] == [N]
    printed = json.loads(again.stdout)
    assert (printed["n"], printed["confidence"]) == (2, 0.5)


def test_an_answer_is_graded_where_right_ones_are_known(upstream: Upstream, draw: Any, tmp_path: Path) -> None:
    """By the alias rule, so that accuracy stands beside faithfulness."""
    write(
        tmp_path / "q.jsonl",
        [{"question": f"Who wrote {i}?", "gold": [name]} for i, name in enumerate(("Pinter", "Wilde"))],
    )
    upstream.default = says("It was Harold Pinter.")
    assert json.loads(draw().stdout)["accuracy"] == 0.5


def test_demonstrations_of_ones_own(upstream: Upstream, draw: Any, tmp_path: Path) -> None:
    upstream.default = says("Pinter.")
    shots = write(tmp_path / "shots.jsonl", [{"question": "Who painted it?", "answer": "Perhaps Monet."}])
    draw("--prompt", "uncertainty+", "--demonstrations", shots)
    asked, shown, question = (turn["content"] for turn in upstream.calls[0]["messages"])
    assert asked.endswith("Question: Who painted it?\nAnswer:")
    assert (shown, question) == ("Perhaps Monet.", "Question: Who wrote play 1?\nAnswer:")
    write(shots, [{"question": "Who?"}])
    assert "line 1: each line is an object with question and answer" in draw("--demonstrations", shots, code=2).stderr


def test_a_prompt_that_there_is_not(draw: Any) -> None:
    assert (
        "no prompt is called 'vanila'; the prompts are vanilla, granularity"
        in draw("--prompt", "vanila", code=2).stderr
    )


def test_questions_without_a_file_for_the_answers(tmp_path: Path) -> None:
    assert "--data FILE" in run("faithfulness", "--draw", tmp_path / "q.jsonl", code=2).stderr
