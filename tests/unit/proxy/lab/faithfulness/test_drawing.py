"""`hedgerow faithfulness --draw`: four prompts, one answer without randomness and further ones, paid for once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.upstream import Upstream, fails, says
from tests.unit.proxy.lab.faithfulness.test_command import run, write

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
    shown = upstream.calls[-1]["messages"][0]["content"]
    assert "hedge it exactly" in shown
    assert "Answer: The capital of Japan is Tokyo." in shown
    assert len(upstream.calls) == 8
    draw("--prompt", "vanilla", "--prompt", "uncertainty+")
    assert len(upstream.calls) == 8


def test_the_price_is_said_first_and_what_came_is_kept(upstream: Upstream, draw: Any) -> None:
    """The second question's further answers fail: only they are asked for again."""
    assert "2 questions under a prompt to ask: 4 calls for 8 answers" in draw(code=1, typed="n\n").stderr
    assert upstream.calls == []
    upstream.enqueue(says("It was Pinter."), says("Pinter."), says("It was Pinter."), fails(500, {}))
    upstream.default = fails(500, {})
    assert "1 of 2 questions are not answered yet" in draw(code=1).stderr
    upstream.calls.clear()
    upstream.default = says("Beckett.")
    again = draw()
    assert "1 are there already; 1 questions under a prompt to ask: 1 calls for 3 answers" in again.stderr
    assert [call.get("n") for call in upstream.calls] == [N]
    printed = json.loads(again.stdout)
    assert (printed["n"], printed["confidence"]) == (2, 0.5)


def test_demonstrations_of_ones_own(upstream: Upstream, draw: Any, tmp_path: Path) -> None:
    upstream.default = says("Pinter.")
    shots = write(tmp_path / "shots.jsonl", [{"question": "Who painted it?", "answer": "Perhaps Monet."}])
    draw("--prompt", "uncertainty+", "--demonstrations", shots)
    shown = upstream.calls[0]["messages"][0]["content"]
    assert "Question: Who painted it?\nAnswer: Perhaps Monet.\n\nQuestion: Who wrote play 1?" in shown
    assert "Tokyo" not in shown
    write(shots, [{"question": "Who?"}])
    assert "line 1: each line is an object with question and answer" in draw("--demonstrations", shots, code=2).stderr


def test_a_prompt_that_there_is_not(draw: Any) -> None:
    assert (
        "no prompt is called 'vanila'; the prompts are vanilla, granularity"
        in draw("--prompt", "vanila", code=2).stderr
    )


def test_questions_without_a_file_for_the_answers(tmp_path: Path) -> None:
    assert "--data FILE" in run("faithfulness", "--draw", tmp_path / "q.jsonl", code=2).stderr
