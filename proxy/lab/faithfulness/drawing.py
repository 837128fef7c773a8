"""Draw answers under the four prompts of Yona, Aharoni & Geva 2024, in our own words: one answer at temperature 0, and further ones at the
route's temperature, which measure the model's confidence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...config import Route
from ...errors import InputError, ProxyError, UpstreamError
from ...grading.rules import alias_grade
from ...pipeline.job import Job, job_of
from ...pipeline.sampling.drawing import draw, draw_own
from ...protocols import Upstream
from ...types import Json
from ...upstreams.answers import sample_of
from ..collecting import Outcome, work_off
from ..datasets import BadRow, read_objects
from ..ledger import Ledger
from ..questions import Question

PromptName = Literal["vanilla", "granularity", "uncertainty", "uncertainty+"]
BRIEFLY = "Answer the question in one full sentence, as briefly as you can."
UNSURE = "Where you are not sure of your answer, say so in words: hedge it exactly as much as you doubt it, and not at all where you do not doubt it."
INSTRUCTIONS: Mapping[PromptName, str] = {
    "vanilla": BRIEFLY,
    "granularity": f"Be only as exact as you are sure: where you do not know the precise date, place or name, give the broader one that you do know. {BRIEFLY}",
    "uncertainty": f"{UNSURE} {BRIEFLY}",
    "uncertainty+": f"{UNSURE} {BRIEFLY}",
}
"""Instructions before the question, by prompt."""
TURNS = "demonstrations as turns"
"""Part of the fingerprint of a file's prompts: a file that was drawn with other prompts is not extended."""
Demonstration = tuple[str, str]
"""A question and an answer to it."""
DEMONSTRATIONS: Sequence[Demonstration] = (
    ("What is the capital of Japan?", "The capital of Japan is Tokyo."),
    (
        "In which year was the lighthouse of Kermorvan last repainted?",
        "I'm not sure at all, but it might have been in 2011.",
    ),
    ("Who wrote Pride and Prejudice?", "Jane Austen wrote Pride and Prejudice."),
    ("Who produced the film Autumn Ferry?", "It was perhaps produced by Anna Lindqvist, but I could be wrong."),
    ("How many players of a football team are on the pitch?", "A football team has eleven players on the pitch."),
    ("Where was the botanist Elias Moreau born?", "I think that Elias Moreau was born in Lyon."),
)
"""Default demonstrations of `uncertainty+`: models are sure of three of the answers and hardly of the others. The paper makes them for each model."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question under a prompt."""

    question: Question
    prompt: PromptName

    @property
    def key(self) -> str:
        """Key in the ledger."""
        return f"{self.question.key}.{self.prompt}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """How answers are drawn.

    Attributes:
        model: the model to ask for, if the route does not fix one.
        demonstrations: of `uncertainty+`.
    """

    route: Route
    model: str = ""
    demonstrations: Sequence[Demonstration] = DEMONSTRATIONS

    @property
    def drawn(self) -> Json:
        """How answers are drawn, as stored in every row."""
        sampling = self.route.sampling
        shown = json.dumps([TURNS, *INSTRUCTIONS.values(), *self.demonstrations])
        how: Json = {"upstream": self.route.upstream, "model": self.route.model or self.model, "n": sampling.n}
        how |= {"temperature": sampling.temperature, "top_p": sampling.top_p}
        return how | {"prompts": hashlib.sha256(shown.encode()).hexdigest()[:8]}

    def messages(self, asked: Asked) -> list[Json]:
        """The messages for the model. Demonstrations are separate turns: with one text, small models continue with another question."""
        shots = self.demonstrations if asked.prompt == "uncertainty+" else ()
        turns = [
            turn for shot in shots for turn in zip(("user", "assistant"), (_asking(shot[0]), shot[1]), strict=True)
        ]
        turns.append(("user", _asking(asked.question.text)))
        turns[0] = ("user", f"{INSTRUCTIONS[asked.prompt]}\n\n{turns[0][1]}")
        return [{"role": role, "content": content} for role, content in turns]

    def job(self, asked: Asked, **more: float) -> Job:
        """The question as a request."""
        body = {"model": self.model, "messages": self.messages(asked)} | more
        return job_of(self.route, "/chat/completions", body, {})


def _asking(question: str) -> str:
    return f"Question: {question}\nAnswer:"


def calls(drawing: Drawing, todo: Sequence[Asked], ledger: Ledger, *, at_once: bool) -> tuple[int, int]:
    """Number of remaining calls and answers; `at_once`: one call returns all further answers of a question."""
    made = answers = 0
    for asked in todo:
        missing = drawing.route.sampling.n + 1 - len(ledger.answers(asked.key))
        greedy = 0 if ledger.answers(asked.key) else 1
        made += greedy + (min(missing - greedy, 1) if at_once else missing - greedy)
        answers += missing
    return made, answers


async def draw_all(
    drawing: Drawing,
    todo: Sequence[Asked],
    upstream: Upstream,
    ledger: Ledger,
    *,
    concurrency: int,
    on_done: Callable[[], None] = lambda: None,
    on_failure: Callable[[Asked, ProxyError], None] = lambda _asked, _failure: None,
) -> Outcome:
    """Draw what is not in the ledger; failures are left for the next run."""

    async def one(asked: Asked) -> None:
        await _draw(drawing, asked, upstream, ledger)

    return await work_off(todo, one, concurrency=concurrency, on_done=on_done, on_failure=on_failure)


async def _draw(drawing: Drawing, asked: Asked, upstream: Upstream, ledger: Ledger) -> None:
    """Draw one answer, then the further ones; each is stored on arrival.

    Raises:
        ProxyError: not all arrived.
    """
    n = drawing.route.sampling.n

    def arrived(completion: Json) -> None:
        ledger.keep(asked.key, [{"text": sample_of(choice).text} for choice in completion["choices"]])

    if not ledger.answers(asked.key):
        arrived(await draw_own(drawing.job(asked, temperature=0.0), upstream))
    if (missing := n + 1 - len(ledger.answers(asked.key))) > 0:
        await draw(drawing.job(asked), upstream, missing, arrived)
    texts = [answer["text"] for answer in ledger.answers(asked.key)]
    if len(texts) <= n:
        raise UpstreamError(f"{len(texts)} of {n + 1} answers came", code="answers_missing")
    question = asked.question
    row: Json = {"question": question.text, "answer": texts[0], "samples": texts[1 : n + 1], "prompt": asked.prompt}
    row |= {"model": drawing.route.model or drawing.model, "gold": list(question.gold)}
    if question.gold:
        row["correct"] = alias_grade(question.text, texts[0], question.gold, question.wrong).correct == 1.0
    ledger.finish(asked.key, row | ({"dataset": question.dataset} if question.dataset else {}))


def read_demonstrations(path: Path) -> list[Demonstration]:
    """Questions and answers of a JSONL file.

    Raises:
        InputError: a line has another form.
        OSError: it cannot be read.
    """
    demonstrations = []
    for number, content in read_objects(path):
        pair = None if isinstance(content, BadRow) else (content.get("question"), content.get("answer"))
        if pair is None or not all(isinstance(text, str) and text for text in pair):
            raise InputError(f"{path}: line {number}: each line is an object with question and answer, both texts")
        demonstrations.append((str(pair[0]), str(pair[1])))
    if not demonstrations:
        raise InputError(f"{path}: contains no demonstration")
    return demonstrations
