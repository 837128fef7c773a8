"""The demo, which needs no model: recorded answers to questions with known answers, through the real pipeline of a route.

Two wordings are scored, the model's own and Hedgerow's, by how surprised a reader is who believed them, once the truth is known.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from ...calibration import Beta, FittedMap
from ...calibration.divergence import faithfulness_divergence
from ...calibration.registry import UNCALIBRATED, ActiveMap
from ..config import Route
from ..errors import NotFound
from ..grading.rules import alias_grade
from ..pipeline.job import job_of
from ..pipeline.placing import Placer
from ..pipeline.result import Result, Run
from ..pipeline.run import calibrate
from ..protocols import Call, RawCall, Relay
from ..services.factories import route_pipeline
from ..spending.prices import Prices
from ..types import Json
from ..upstreams.asking import RouteContext

RECORDED = Path(__file__).parent / "demo.json"
"""Recorded by benchmarks/data/demo.py, which describes how questions were drawn and the map was fitted."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its right answers and the model's recorded answers."""

    text: str
    gold: Sequence[str]
    answers: Sequence[str]


@dataclass(frozen=True, slots=True)
class Demo:
    """The recorded questions and their map.

    Attributes:
        source: origin and licences of questions and answers.
        fitted: a map fitted on answers to other questions.
    """

    model: str
    source: str
    questions: Sequence[Question]
    fitted: FittedMap


@dataclass(frozen=True, slots=True)
class Round:
    """One question with both wordings.

    Attributes:
        right: whether the answer is right.
        plain, worded: perceived confidence of the model's own wording, and of Hedgerow's.
    """

    question: Question
    result: Result
    right: bool
    plain: Beta
    worded: Beta


@dataclass(frozen=True, slots=True)
class Voice:
    """The score of a wording over several rounds.

    Attributes:
        sure: mean perceived confidence, in [0, 1].
        surprise: mean Faithfulness Divergence of the perceived confidence, nats; 0 if readers are never surprised.
    """

    sure: float
    surprise: float


def load_demo() -> Demo:
    """The packaged questions."""
    held: Json = json.loads(RECORDED.read_text(encoding="utf-8"))
    questions = [Question(row["question"], row["gold"], row["samples"]) for row in held["rounds"]]
    return Demo(held["model"], held["source"], questions, FittedMap.from_dict(held["map"]))


async def play(demo: Demo) -> AsyncIterator[Round]:
    """Run each question through the pipeline of a route in mode `on`."""
    route = Route(name="demo", upstream="recorded", mode="on")
    context = RouteContext(route, {"recorded": RecordedAnswers(demo.questions)}, partial(_map_for, demo.fitted))
    pipeline = route_pipeline(context, Placer(), Prices())
    for question in demo.questions:
        body = {"model": demo.model, "messages": [{"role": "user", "content": question.text}]}
        run = Run(job_of(route, "/chat/completions", body, {}))
        await calibrate(run, pipeline)
        yield _round(question, run.result)


def _map_for(fitted: FittedMap, _model: str, signal: str) -> ActiveMap:
    if signal != fitted.provenance.signal:
        return UNCALIBRATED
    return ActiveMap(fitted.map, "demo", "route", fitted=fitted)


def _round(question: Question, result: Result) -> Round:
    right = alias_grade(question.text, result.draft or "", question.gold).correct == 1.0
    plain = result.own
    if plain is None or result.perceived_confidence is None:
        raise ValueError(f"the answer to {question.text!r} has no perceived confidence: {result.reason}")
    return Round(question, result, right, plain, result.perceived_confidence)


def scores(rounds: Sequence[Round]) -> tuple[Voice, Voice]:
    """The scores of the model's own wording, and of Hedgerow's."""
    outcomes = [each.right for each in rounds]
    return _voice([each.plain for each in rounds], outcomes), _voice([each.worded for each in rounds], outcomes)


def _voice(perceived: Sequence[Beta], outcomes: Sequence[bool]) -> Voice:
    surprises = [faithfulness_divergence(b.alpha, b.beta, right) for b, right in zip(perceived, outcomes, strict=True)]
    return Voice(mean(beta.mean for beta in perceived), mean(surprises))


class RecordedAnswers:
    """An upstream that returns the recorded answers; see `Upstream`."""

    honours_n = True

    def __init__(self, questions: Sequence[Question]) -> None:
        self._answers = {question.text: question.answers for question in questions}

    async def complete(self, call: Call) -> Json:
        """See `Upstream`."""
        answers = self._answers[call.body["messages"][-1]["content"]][: call.body.get("n") or 1]
        messages: list[Any] = [{"role": "assistant", "content": text} for text in answers]
        choices = [{"index": i, "finish_reason": "stop", "message": message} for i, message in enumerate(messages)]
        return {"id": "recorded", "object": "chat.completion", "created": 0, "model": "recorded", "choices": choices}

    def relay(self, call: RawCall) -> AbstractAsyncContextManager[Relay]:
        """See `Upstream`."""
        raise NotFound("recorded answers are not relayed")

    async def models(self, headers: Mapping[str, str], query: str = "") -> list[Json]:
        """See `Upstream`."""
        return []

    async def aclose(self) -> None:
        """Nothing to close."""
