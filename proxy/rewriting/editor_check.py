"""The check of an editor: one small answer that any capable chat model marks as asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...lexicon.text.sentences import spans as spans_of
from ..errors import StepFailed
from .editor import RouteEditor
from .editor_prompt import Rated, Task
from .edits import applied

QUESTION = "When did the ferry to Hellvik first run, and can I take a bicycle?"
ANSWER = (
    "The ferry to Hellvik first ran in 1931. Bicycles travel free of charge. Shall I look up the timetable for you?"
)
DOUBTED, OFFER = 0, 2
"""The sentence that must be marked, and one that must not."""
LIMIT_S = 30.0
"""Seconds that the check may take; it holds up nothing."""


@dataclass(frozen=True, slots=True)
class Checking:
    """The request that the check stands for, as the parts below the pipeline see it."""

    model: str
    headers: Mapping[str, str] = field(default_factory=dict)
    id: str = "editor-check"
    question: str = QUESTION
    answered_by: str = ""
    on_lost: None = None

    @property
    def answering_model(self) -> str:
        """The model itself."""
        return self.model


async def check(editor: RouteEditor, asker: Checking, limit_s: float = LIMIT_S) -> str | None:
    """Why the model cannot edit answers; None if it can. The result is remembered, and a model that fails is not asked for a while."""
    spans = spans_of(ANSWER)
    sentences = [ANSWER[start:end] for start, end in spans]
    claims = (Rated(sentences[DOUBTED], DOUBTED, 0.31), Rated(sentences[1], 1, 0.94))
    task = Task(QUESTION, ANSWER, spans, 0.62, claims)
    try:
        marks, _ = await editor.edit(asker, task, limit_s)
    except StepFailed as failure:
        return failure.detail or str(failure.reason)
    problem = None
    if not marks.edits and marks.note is None:
        problem = "it leaves a doubtful claim unmarked"
    elif any(edit.start >= spans[1][0] for edit in marks.edits):
        problem = "it marks a sentence that is sure, or claims nothing"
    elif "1931" not in (text := applied(ANSWER, marks.edits)) or sentences[OFFER] not in text:
        problem = "it changes what the answer says"
    if problem is not None:
        editor.readiness.rest(editor.key(asker), problem)
    return problem
