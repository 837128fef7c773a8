"""`experiment.yaml` as frozen settings; paths in it are relative to the file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from hedgerow.proxy.config import Section, read_mapping, refused


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
    map: Literal["platt-bounded", "platt", "temperature", "isotonic", "histogram", "beta", "venn-abers"] = (
        "platt-bounded"
    )
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


def load_experiment(path: Path) -> Experiment:
    """Read and check an experiment; its paths are made relative to the file.

    Raises:
        ConfigError: the file cannot be read or a value cannot be used.
    """
    try:
        experiment = Experiment.model_validate(read_mapping(path))
    except ValidationError as error:
        raise refused(path, error) from error
    base = path.parent
    questions = tuple(one.model_copy(update={"path": base / one.path}) for one in experiment.questions)
    moved = {"config": base / experiment.config, "out": base / experiment.out, "questions": questions}
    return experiment.model_copy(update=moved)
