"""The editor: a chat model that is shown an answer with its confidence, and replies with edits of its sentences, a note beside it, or nothing.

What it writes is data: a reply that is not exactly of the requested form is refused here, and the guard checks what the edits say.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...lexicon.reading.reading import Reading
from ...lexicon.text.sentences import sentence_spans
from ..errors import StepFailed, UpstreamRejected
from ..outcomes import Reason
from ..protocols import Asker
from ..types import NO_TOKENS, Json, Usage
from ..upstreams.answers import sample_of
from ..upstreams.asking import Prompting
from ..upstreams.readiness import Key, Readiness
from .editor_prompt import PROMPT, Task
from .edits import Edit, Note, Where, applied, with_note

MOST_MARKS = 3
"""Most edits and notes of a reply together."""
LONGEST_NOTE = 200
"""Characters of a note."""
LONGEST_ADDITION = 160
"""Characters by which an edit may lengthen the words that it replaces."""
LONGEST_REPLY = 20_000
"""Characters of a reply that is read."""
REFUSED_FORM = (400, 422)
"""Statuses by which models refuse `temperature` and `max_tokens`."""
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Edit(_Form):
    sentence: Annotated[int, Field(ge=1)]
    words: Annotated[str, Field(alias="from", min_length=1)]
    to: str
    hedge: str | None = None


class _Note(_Form):
    text: Annotated[str, Field(min_length=1, max_length=LONGEST_NOTE)]
    where: Where
    hedge: str | None = None


class _Reply(_Form):
    claims: Annotated[list[Annotated[int, Field(ge=1)]], Field(max_length=100)]
    edits: Annotated[list[_Edit], Field(max_length=MOST_MARKS)]
    note: _Note | None = None


@dataclass(frozen=True, slots=True)
class Marks:
    """A reply that could be read.

    Attributes:
        edits, note: what to change; neither, to leave the answer as it is.
        claims: whether the editor sees any claim in the answer.
    """

    edits: tuple[Edit, ...]
    note: Note | None
    claims: bool

    @property
    def hedge(self) -> str | None:
        """The id of the first listed hedge that was used."""
        marks = (*self.edits, *([self.note] if self.note else ()))
        return next((mark.hedge for mark in marks if mark.hedge is not None), None)

    def on(self, reading: Reading) -> tuple[str, int]:
        """The answer with its marks, and by how many characters a note before it moves its words."""
        return with_note(reading, applied(reading.text, self.edits), self.note)


def read_reply(reply: str, task: Task) -> Marks:
    """The marks in a reply.

    Raises:
        ValueError: it is not of the requested form, or does not fit the answer; the message holds no word of either.
    """
    if len(reply) > LONGEST_REPLY:
        raise ValueError(f"has {len(reply)} characters")
    fenced = _FENCED.fullmatch(reply.strip())
    try:
        read = _Reply.model_validate_json(fenced[1] if fenced else reply)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"is not of the requested form ({place or 'reply'}: {first['type']})") from None
    if any(number > len(task.spans) for number in read.claims):
        raise ValueError("names a sentence that is not there")
    if len(read.edits) + (read.note is not None) > MOST_MARKS:
        raise ValueError(f"has more than {MOST_MARKS} marks")
    if read.edits and not task.may_replace:
        raise ValueError("changes an answer that the reader has already")
    ids = {match.hedge.phrase: match.hedge.id for match in task.hedges if match.hedge.phrase}
    if any(edit.sentence - 1 in task.sure_sentences for edit in read.edits):
        raise ValueError("changes a sentence whose claims are sure")
    edits = tuple(_placed(edit, task, ids) for edit in read.edits)
    applied(task.draft, edits)
    note = _note(read.note, ids)
    if note is not None and not task.may_replace:
        note = replace(note, where="end")  # the reader has the answer: nothing can stand before it
    return Marks(edits, note, bool(read.claims))


def _placed(edit: _Edit, task: Task, ids: Mapping[str, str]) -> Edit:
    """An edit by its offsets in the answer."""
    if edit.sentence > len(task.spans):
        raise ValueError("changes a sentence that is not there")
    start, end = task.spans[edit.sentence - 1]
    sentence = task.draft[start:end]
    at = sentence.find(edit.words)
    if at < 0 or sentence.find(edit.words, at + 1) >= 0:
        raise ValueError("changes words that do not stand in their sentence once")
    if edit.to == edit.words or len(edit.to) > len(edit.words) + LONGEST_ADDITION or "\n" in edit.to:
        raise ValueError("has an edit that changes nothing, or too much")
    return Edit(start + at, start + at + len(edit.words), edit.to, ids.get(edit.hedge or ""))


def _note(note: _Note | None, ids: Mapping[str, str]) -> Note | None:
    if note is None:
        return None
    text = note.text.strip()
    if "\n" in text or len(sentence_spans(text)) != 1:
        raise ValueError("has a note that is not one sentence")
    return Note(text, note.where, ids.get(note.hedge or ""))


@dataclass(frozen=True, slots=True)
class RouteEditor:
    """A route's editor: a model of an upstream, asked while it can be relied on.

    Attributes:
        prompting: how the model is called.
        upstream: the name of its upstream.
        readiness: what is known of the editors of this process.
        timeout_s: longest wait for a reply.
        max_tokens: most tokens of a reply.
        is_trusted: whether the model is asked although nothing is known of it.
    """

    prompting: Prompting
    upstream: str
    readiness: Readiness
    timeout_s: float
    max_tokens: int
    is_trusted: bool = False

    def key(self, asker: Asker) -> Key:
        """The model that would be asked for this request."""
        own = self.prompting.model
        return (self.upstream, own) if own is not None else (asker.answered_by or self.upstream, asker.model)

    def admits(self, asker: Asker) -> bool:
        """Whether the model is to be asked now."""
        return self.readiness.admits(self.key(asker))

    async def edit(self, asker: Asker, task: Task, limit_s: float) -> tuple[Marks, Usage]:
        """The model's marks, and the tokens spent. How it replied is remembered.

        Raises:
            StepFailed: `editor_failed`, `editor_late`, `editor_too_long` or `editor_nonsense`.
        """
        key, limit_s = self.key(asker), min(limit_s, self.timeout_s)
        self.readiness.begin(key, limit_s, is_trusted=self.is_trusted)
        try:
            edited = await self._edit(asker, key, task, limit_s)
        except StepFailed as failure:
            if failure.reason is Reason.EDITOR_LATE and limit_s < self.timeout_s:
                self.readiness.gave_up(key)  # the route had no more time: no fault of the model
            else:
                self.readiness.failed(key, failure)
            raise
        except BaseException:
            self.readiness.gave_up(key)
            raise
        self.readiness.succeeded(key)
        return edited

    async def _edit(self, asker: Asker, key: Key, task: Task, limit_s: float) -> tuple[Marks, Usage]:
        try:
            async with asyncio.timeout(limit_s):
                answer, usage = await self._reply(asker, key, task)
        except TimeoutError:
            raise StepFailed("rewrite", Reason.EDITOR_LATE, f"no reply within {limit_s:.3g} s") from None
        sample = sample_of(answer["choices"][0])
        if sample.finish_reason == "length" or usage.completion > self.max_tokens:
            why = f"the reply needs more than {self.max_tokens} tokens"
            raise StepFailed("rewrite", Reason.EDITOR_TOO_LONG, why, usage)
        try:
            return read_reply(sample.text, task), usage
        except ValueError as error:
            raise StepFailed("rewrite", Reason.EDITOR_NONSENSE, f"the reply {error}", usage) from None

    async def _reply(self, asker: Asker, key: Key, task: Task) -> tuple[Json, Usage]:
        """The reply; a model that refuses `temperature` and `max_tokens` is asked without them, from then on at once."""
        messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": task.message()}]
        if not self.readiness.is_plain(key):
            try:
                return await self._complete(asker, messages, {"temperature": 0.0, "max_tokens": self.max_tokens})
            except StepFailed as failure:
                refused = failure.__cause__
                if not isinstance(refused, UpstreamRejected) or refused.status not in REFUSED_FORM:
                    raise
        answered = await self._complete(asker, messages, {"max_completion_tokens": self.max_tokens})
        self.readiness.learn_plain(key)
        return answered

    async def _complete(self, asker: Asker, messages: Sequence[Json], options: Mapping[str, Any]) -> tuple[Json, Usage]:
        spent: list[Usage] = []
        answer = await self.prompting.complete(asker, spent.append, messages, options)
        return answer, sum(spent, NO_TOKENS)
