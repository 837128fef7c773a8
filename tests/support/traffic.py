"""Traffic through a real proxy before a scripted upstream, with verdicts: what the dashboard's tests look at."""

from __future__ import annotations

from typing import Any

import httpx

from tests.support.upstream import Upstream, says

CAPITALS = {
    "What is the capital of Australia?": ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra."),
    "What is the capital of France?": ("Paris.",) * 5,
    "Who wrote <i>Emma</i>?": ("Jane Austen.", "Jane Austen.", "Charlotte Brontë.", "Jane Austen.", "Emily Brontë."),
    "When was the first bridge built?": ("In 1350.", "In 1210.", "In 900.", "In 1611.", "In 1404."),
}


def ask(address: str, upstream: Upstream, question: str, answers: tuple[str, ...]) -> str:
    """One calibrated request; its audit id."""
    upstream.default = says(*answers)
    body = {"model": "m", "messages": [{"role": "user", "content": question}]}
    reply = httpx.post(f"{address}/v1/chat/completions", json=body, headers={"authorization": "Bearer sk-test"})
    reply.raise_for_status()
    name: str = reply.json()["hedgerow"]["id"]
    return name


def judge(address: str, name: str, correct: bool, **headers: str) -> Any:
    """A verdict."""
    reply = httpx.post(f"{address}/v1/feedback", json={"id": name, "correct": correct}, headers=headers)
    reply.raise_for_status()
    return reply.json()


def fill(address: str, upstream: Upstream, *, rounds: int = 7, judged: bool = True) -> list[str]:
    """Every question so many times; in each round the last question's answer is wrong and the others' are right, but for one."""
    names = []
    for turn in range(rounds):
        for place, (question, answers) in enumerate(CAPITALS.items()):
            names.append(ask(address, upstream, question, answers))
            if judged:
                judge(address, names[-1], place < 3 and not (place == 1 and turn == 0))
    return names
