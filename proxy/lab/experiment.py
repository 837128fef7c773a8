"""The paper's experiment on a user's own models and questions: collect, grade, fit, measure, reword, measure again.

Every step writes a file and continues from it, so that an interrupted experiment pays for nothing twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from ...calibration.evaluation import Evaluation, evaluate
from ...calibration.maps import DEFAULT, MapName
from ..config import Route, Section, Settings, read_mapping, refused
from ..errors import ConfigError, HedgerowError, ProxyError
from ..services.services import Pipelines
from ..types import Json
from .collecting import Cost, Outcome, Plan, asked_at, collect, cost
from .datasets import UNREADABLE
from .grading import Grading, by_judge, by_rule, grade_all
from .ledger import Ledger, read_ledger
from .measuring import SIGNALS
from .questions import Question, in_order_of, read_questions
from .spaces import (
    Draft,
    before_and_after,
    calibrated_betas,
    linguistic_space,
    measure_drafts,
    word_drafts,
)
from .spreading import HERE, Place

Step = Callable[[str, int], Callable[[], None]]
"""(name, length) of a step at its start -> callback after each item."""


class QuestionSet(Section):
    """A file of questions and how its answers are graded."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
    """Name in the report and in the names of files."""
    path: Path
    """JSONL or CSV of questions with their right answers."""
    grader: Literal["alias", "numeric", "choice", "judge"] = "alias"
    """The rule, or `judge`: a language model."""
    separator: str = "|"
    """In a CSV: what parts the right answers of one cell."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Ask so many of them. Null: all."""
    system: str = ""
    """A system message before every question."""


class JudgeSettings(Section):
    """The language model that grades."""

    upstream: str
    """Name of an upstream of the configuration."""
    model: str = ""
    """Model asked there."""


class Experiment(Section):
    """One experiment: every route answers every set of questions."""

    config: Path = Path("config.yaml")
    """The configuration with the upstreams and routes."""
    routes: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of the routes that answer."""
    questions: Annotated[tuple[QuestionSet, ...], Field(min_length=1)]
    """The sets of questions."""
    out: Path = Path("experiment")
    """Folder for everything that comes of it."""
    signals: Annotated[tuple[Literal["semantic", "token"], ...], Field(min_length=1)] = ("semantic",)
    """Signals that are measured; answers are reworded by the first."""
    map: MapName = DEFAULT
    """Kind of the map."""
    train_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Share of each set, in an order made by `seed`, that the map is fitted on; the rest is measured and reworded."""
    resamples: Annotated[int, Field(ge=0)] = 200
    """Bootstrap resamples of the intervals; 0 for none."""
    seed: int = 0
    """Seed of the order of the questions and of the bootstrap."""
    concurrency: Annotated[int, Field(ge=1)] = 4
    """Questions under way at once."""
    rate: Annotated[float, Field(gt=0)] | None = None
    """Most calls a minute. Null: no bound."""
    model: str = ""
    """Model to ask for, where a route does not fix one."""
    judge: JudgeSettings | None = None
    """Who grades where a set's grader is `judge`."""

    @model_validator(mode="after")
    def _judge_is_named(self) -> Experiment:
        if self.judge is None and any(one.grader == "judge" for one in self.questions):
            raise ValueError("a set of questions is graded by a judge; name its upstream under `judge`")
        names = [one.name for one in self.questions]
        if len(set(names)) < len(names) or len(set(self.routes)) < len(self.routes):
            raise ValueError("two routes or two sets of questions have one name")
        return self


class Incomplete(HedgerowError):
    """An upstream failed. All results so far are on disk; the same command continues."""


@dataclass(frozen=True, slots=True)
class Run:
    """One route on one set of questions.

    Attributes:
        document: its part of the report, as a JSON object.
        evaluation: the signal space of the first signal, for the charts.
    """

    document: dict[str, Any]
    evaluation: Evaluation


@dataclass(frozen=True, slots=True)
class Case:
    """One case: the settings, one route and one question set, and the place where answers are drawn, graded and grouped."""

    experiment: Experiment
    settings: Settings
    route: Route
    set: QuestionSet
    place: Place = HERE

    def file(self, step: str) -> Path:
        """The file of a step's rows."""
        return self.experiment.out / f"{self.route.name}-{self.set.name}.{step}.jsonl"

    @property
    def plan(self) -> Plan:
        """How to ask the questions."""
        return Plan(self.route, self.experiment.model, self.set.system, "token" in self.experiment.signals)

    @property
    def grading(self) -> Json:
        """How the answers are graded, as stored in every row."""
        judge = self.experiment.judge if self.set.grader == "judge" else None
        return {"by": self.set.grader} | ({"upstream": judge.upstream, "model": judge.model} if judge else {})

    def questions(self) -> list[Question]:
        """The questions in a seeded random order, so that the first part is a random sample.

        Raises:
            ConfigError: a row cannot be used; unlike the commands, an experiment skips no row.
        """
        try:
            rows = list(read_questions(self.set.path, separator=self.set.separator))
        except UNREADABLE as error:
            raise ConfigError(
                f"{self.set.path}: cannot be read: {getattr(error, 'strerror', None) or error}"
            ) from error
        kept = [row for row in rows if isinstance(row, Question)]
        if len(kept) < len(rows):
            bad = next(row for row in rows if not isinstance(row, Question))
            raise ConfigError(f"{self.set.path}: line {bad.line}: {bad.reason}")
        return in_order_of(self.experiment.seed, kept)[: self.set.limit]


def load_experiment(path: Path) -> Experiment:
    """Read and check an experiment; its paths are made relative to the file.

    Raises:
        ConfigError: the file cannot be read or a value cannot be used.
    """
    try:
        experiment = Experiment.model_validate(read_mapping(path, "docs/experiments.md shows one"))
    except ValidationError as error:
        raise refused(path, error, Experiment) from error
    base = path.parent
    questions = tuple(
        question_set.model_copy(update={"path": base / question_set.path}) for question_set in experiment.questions
    )
    moved = {"config": base / experiment.config, "out": base / experiment.out, "questions": questions}
    return experiment.model_copy(update=moved)


GRADING_TOKENS, REWORDING_TOKENS = 300, 1_700
"""Tokens of the prompt of a call that grades or rewords an answer; used only for the estimate."""


@dataclass(frozen=True, slots=True)
class Left:
    """The remaining cost of one route and question set.

    Attributes:
        questions: number of questions without answers yet.
        costs: of drawing, grading and rewording answers; steps without a model are left out.
    """

    questions: int
    costs: Mapping[str, Cost]


async def missing(case: Case) -> Left:
    """The remaining cost. Computing it spends nothing.

    Raises:
        CalibrationError: all answers are drawn, but they are too few or no map can be fitted to them.
    """
    questions, settings = case.questions(), case.settings.upstreams[case.route.upstream]
    with Ledger(case.file("answers"), case.plan.drawn) as ledger:
        todo = [question for question in questions if question.key not in ledger.done]
        costs = {"draw": cost(case.plan, todo, ledger, at_once=getattr(settings, "honours_n", True))}
    judge, how = case.experiment.judge, case.route.rewriting
    with Ledger(case.file("graded"), case.grading, "graded") as graded:
        ungraded = sum(question.key not in graded.done for question in questions)
    if judge is not None and case.set.grader == "judge":
        costs["grade"] = Cost(judge.model, ungraded, GRADING_TOKENS * ungraded, ungraded, 5)
    if how.by != "local":
        worded = await _unworded(case, questions, complete=not (todo or ungraded))
        asked = how.model or case.route.model or case.experiment.model
        costs["reword"] = Cost(asked, worded, REWORDING_TOKENS * worded, worded)
    return Left(len(todo), costs)


async def _unworded(case: Case, questions: list[Question], *, complete: bool) -> int:
    """Number of answers still to be reworded. Which ones remain depends on the map, which needs all answers."""
    if not complete:
        return round(len(questions) * (1 - case.experiment.train_fraction))
    rows = _graded(case, [question.key for question in questions])
    drafts, evaluation = await _measured(case, rows, case.experiment.signals[0])
    to_word = drafts[-evaluation.correct.size :]
    with _wordings(case, evaluation, to_word) as ledger:
        return sum(draft.key not in ledger.done for draft in to_word)


async def run_case(case: Case, services: Pipelines, step: Step) -> Run:
    """Run all steps of a case, from questions to figures. Rewording is done in this process, by these services.

    Raises:
        Incomplete: questions or grades are missing because an upstream failed.
        LedgerError: a file of this experiment was made with other settings.
        CalibrationError: too few answers, or a map that cannot be fitted.
    """
    questions = case.questions()
    await _collect(case, questions, services, step)
    rows = await _grade(case, [question.key for question in questions], step)
    signal_space, evaluations = await _signal_space(case, rows, step)
    evaluation = evaluations[case.experiment.signals[0]]
    linguistic = await _linguistic_space(case, rows, evaluation, services, step)
    document = {
        "route": case.route.name,
        "model": case.plan.drawn["model"],
        "questions": case.set.name,
        "grader": case.set.grader,
        "n_collected": len(rows),
        "signal_space": signal_space,
        "linguistic_space": linguistic,
    }
    return Run(document, evaluation)


async def _collect(case: Case, questions: list[Question], services: Pipelines, step: Step) -> None:
    experiment, name, upstreams = case.experiment, case.route.upstream, case.settings.upstreams
    asked = asked_at(case.place, name, upstreams, per_minute=experiment.rate, already=services.upstreams[name])
    with Ledger(case.file("answers"), case.plan.drawn) as ledger:
        todo = [question for question in questions if question.key not in ledger.done]
        on_done = step("collecting", len(todo))
        if not todo:
            return
        async with asked as upstream:
            outcome = await collect(
                case.plan, todo, upstream, ledger, concurrency=experiment.concurrency, on_done=on_done
            )
    _check(outcome, len(todo), f"{case.route.name}: {case.set.name}: answers")


async def _grade(case: Case, keys: list[str], step: Step) -> list[Json]:
    """Graded rows in the order of the keys."""
    answers = {row["key"]: row for row in read_ledger(case.file("answers"))}
    with Ledger(case.file("graded"), case.grading, "graded") as ledger:
        todo = [(key, answers[key]) for key in keys if key not in ledger.done]
        on_done = step("grading", len(todo))
        outcome = await grade_all(todo, _grader(case), ledger, place=case.place, on_done=on_done)
    _check(outcome, len(todo), f"{case.route.name}: {case.set.name}: grades")
    return _graded(case, keys)


def _graded(case: Case, keys: list[str]) -> list[Json]:
    graded = {row["key"]: row for row in read_ledger(case.file("graded"))}
    return [graded[key] for key in keys]


def _grader(case: Case) -> Grading:
    judge, experiment = case.experiment.judge, case.experiment
    if judge is None or case.set.grader != "judge":
        return by_rule(case.set.grader)
    return by_judge(judge.upstream, case.settings.upstreams, judge.model, experiment.concurrency)


def _check(outcome: Outcome, wanted: int, what: str) -> None:
    if outcome.done < wanted:
        raise Incomplete(
            f"{what}: {wanted - outcome.done} are missing, the upstream failed; run the same command to continue"
        )


async def _signal_space(case: Case, rows: list[Json], step: Step) -> tuple[dict[str, Any], dict[str, Evaluation]]:
    """Every signal before and after its map, on held-out answers."""
    experiment = case.experiment
    on_done = step("measuring", len(experiment.signals))
    document: dict[str, Any] = {}
    evaluations: dict[str, Evaluation] = {}
    for name in experiment.signals:
        _, evaluation = await _measured(case, rows, name)
        figures = before_and_after(
            (*evaluation.raw, evaluation.correct), (*evaluation.calibrated, evaluation.correct),
            resamples=experiment.resamples, seed=experiment.seed,
        )  # fmt: skip
        counts = {
            "n": int(evaluation.correct.size),
            "n_fitted": evaluation.fitted.provenance.n,
            "accuracy": float(evaluation.correct.mean()),
        }
        document[name] = counts | figures | evaluation.fitted.to_dict()
        evaluations[name] = evaluation
        on_done()
    return document, evaluations


async def _measured(case: Case, rows: list[Json], signal: str) -> tuple[list[Draft], Evaluation]:
    """All drafts measured with a signal, and a map fitted on the first part, evaluated on the rest."""
    experiment = case.experiment
    drafts = await measure_drafts(rows, SIGNALS[signal], case.place)
    alpha, beta = [d.raw.alpha for d in drafts], [d.raw.beta for d in drafts]
    correct = [float(d.correct) for d in drafts]
    return drafts, evaluate(
        alpha, beta, correct, kind=experiment.map, train_fraction=experiment.train_fraction,
        signal=signal, model=case.plan.drawn["model"],
    )  # fmt: skip


async def _linguistic_space(
    case: Case, rows: list[Json], evaluation: Evaluation, services: Pipelines, step: Step
) -> dict[str, Any]:
    """The measured answers, worded by the route's own services at their calibrated confidence."""
    experiment = case.experiment
    targets = calibrated_betas(evaluation)
    drafts = (await measure_drafts(rows, SIGNALS[experiment.signals[0]], case.place))[-len(targets) :]
    steps = services.steps[case.route.name]
    questions = {draft.key: Question(0, draft.question) for draft in drafts}
    with _wordings(case, evaluation, drafts) as ledger:
        on_done = step("rewording", len(drafts))
        try:
            await word_drafts(drafts, targets, steps, lambda d: case.plan.job(questions[d.key]), ledger, on_done)
        except ProxyError as failure:
            raise Incomplete(f"{case.route.name}: {case.set.name}: rewording: {failure.message}") from failure
    worded = {row["key"]: row for row in read_ledger(_worded(case, evaluation, drafts))}
    figures = linguistic_space(
        drafts, [worded[draft.key] for draft in drafts], targets, resamples=experiment.resamples, seed=experiment.seed
    )
    return {"rewriter": case.route.rewriting.by, "signal": experiment.signals[0]} | figures


def _worded(case: Case, evaluation: Evaluation, drafts: list[Draft]) -> Path:
    """The file of the wordings; its name depends on map and answers, because others need other wordings."""
    text = repr((evaluation.fitted.map.to_dict(), [(d.key, d.text) for d in drafts]))
    return case.file(f"worded-{hashlib.sha256(text.encode()).hexdigest()[:16]}")


def _wordings(case: Case, evaluation: Evaluation, drafts: list[Draft]) -> Ledger:
    return Ledger(_worded(case, evaluation, drafts), {"rewriter": case.route.rewriting.by}, "worded")
