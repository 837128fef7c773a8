"""Assemble what a stream said, in linear time and by rule.

A short list of texts grows; everything else is a constant, of which the first value that is not empty stays. Lists of objects are lists of parts:
a piece belongs to the part that it names by index, id, type and name, else to the last part that it can continue.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from ..errors import UpstreamError
from ..strict_json import loads, mended
from ..types import Json

GROWING = frozenset(
    ["content", "text", "reasoning", "reasoning_content", "thinking", "refusal", "arguments", "input", "summary", "data", "transcript"]
)  # fmt: skip
"""Fields whose texts are sent in pieces."""
OF_CHUNKS = ("choices", "usage", "obfuscation")
"""Fields of chunks that do not belong to the answer; some providers pad chunks to hide their sizes."""


class Pieces(list[str]):
    """The pieces of a text."""


def grow(kept: Json, more: Json) -> Json:
    """Merge a piece of an object into what is known of it, and return that. An empty value never replaces another."""
    for key, value in more.items():
        kept[key] = _grown(key, kept.get(key), value)
    return kept


def _grown(key: str, old: Any, value: Any) -> Any:
    if isinstance(value, str) and key in GROWING:
        if isinstance(old, Pieces):
            old.append(value)
        elif isinstance(old, list) and old and value:
            add_parts(old, [{"type": "text", "text": value}])
        return old or Pieces([value])
    if isinstance(value, list):
        if isinstance(old, Pieces):
            old = [{"type": "text", "text": old}] if any(old) else []
        known = old if isinstance(old, list) else []
        if old and old is not known:
            return old
        if value and all(isinstance(part, dict) for part in (*known[-1:], *value)):
            add_parts(known, value)
        else:
            known.extend(value)
        return known
    if isinstance(value, dict) and (isinstance(old, dict) or not old):
        return grow(old or {}, value)
    return old or value


def add_parts(known: list[Json], parts: Sequence[Json]) -> list[int]:
    """Merge pieces of parts into the parts known so far; returns the index of the part to which each belongs. Several pieces that come together
    belong to as many parts.
    """
    places: list[int] = []
    before = len(known)
    for number, part in enumerate(parts):
        place = _place(known, part, before - len(parts) + number)
        if place is None or place in places:
            place = len(known)
            known.append({})
        places.append(place)
        grow(known[place], part)
    return places


def _place(known: Sequence[Json], part: Json, last: int) -> int | None:
    """The index of the known part that a piece belongs to; None if it begins a part. `last` is where a piece that names none goes on."""
    names = _names(part)
    given = {field: names[field] for field in ("index", "id") if field in names}
    if given:
        for place in reversed(range(len(known))):
            own = _names(known[place])
            if any(own.get(field) == value for field, value in given.items()) and _agree(known[place], part):
                return place
        last = (
            given.get("index", -1) if not names.keys() & {"id", "name"} else -1
        )  # as its position: the part has only an id
        is_there = 0 <= last < len(known) and "index" not in _names(known[last])
        return last if is_there and _agree(known[last], part) else None
    if 0 <= last < len(known) and _texts(known[last]) and _agree(known[last], part) and _adds(known[last], part):
        return last
    return None if _texts(part) else next((i for i, own in enumerate(known) if joined(own) == part), None)


def _agree(known: Json, part: Json) -> bool:
    """Whether nothing that names a piece contradicts the part, and the part is not a call that is complete."""
    own, new = _names(known), _names(part)
    if any(own.get(field, value) != value for field, value in new.items()):
        return False
    return "name" not in new or ("id" in new and "id" in own) or not _begins_anew(known, part)


def _inner(part: Json) -> Json:
    """What is called, if the part is a call; else the part."""
    inner = part.get("function") or part.get("custom")
    return inner if isinstance(inner, dict) else part


def _names(part: Json) -> Json:
    """What names a part: its index, id and type, and the name of what it calls."""
    names = {field: part.get(field) for field in ("id", "type")} | {"name": _inner(part).get("name")}
    index = {"index": part["index"]} if isinstance(part.get("index"), int) else {}
    return index | {field: value for field, value in names.items() if value}


def _texts(part: Json) -> frozenset[str]:
    return GROWING & _inner(part).keys()


def _adds(known: Json, part: Json) -> bool:
    """Whether a piece says no constant otherwise than the part does."""
    constants = (field for field in part.keys() - GROWING if part[field] and not isinstance(part[field], dict | list))
    return all((known.get(field) or part[field]) == part[field] for field in constants)


def _begins_anew(known: Json, part: Json) -> bool:
    """Whether a piece begins arguments after those of the known call are complete: some servers name all calls alike."""
    own, new = _inner(known).get("arguments"), _inner(part).get("arguments")
    if not (isinstance(own, Pieces) and isinstance(new, str) and new.lstrip().startswith("{")):
        return False
    try:
        return "}" in "".join(own[-2:]) and isinstance(loads(joined(own)), dict)
    except ValueError:
        return False


def joined(value: Any) -> Any:
    """The merged value with joined texts; halves of characters that were cut in two are one again."""
    if isinstance(value, Pieces):
        return mended("".join(value))
    if isinstance(value, list):
        return [joined(part) for part in value]
    return {key: joined(part) for key, part in value.items()} if isinstance(value, dict) else mended(value)


def filled(snapshot: Any, known: Any) -> Any:
    """A snapshot with what it lacks of what was known before: empty fields, and the parts of lists that are not others."""
    if isinstance(snapshot, dict) and isinstance(known, dict):
        if snapshot.get("id", known.get("id")) != known.get("id", snapshot.get("id")):
            return snapshot
        return known | {key: filled(value, known.get(key)) for key, value in snapshot.items()}
    if isinstance(snapshot, list) and isinstance(known, list):
        both = [filled(new, old) for new, old in zip(snapshot, known, strict=False)]
        return [*both, *snapshot[len(known) :], *known[len(snapshot) :]]
    return known if snapshot in (None, "", [], {}) and known is not None else snapshot


class Assembly:
    """The chunks of one answer, chat or plain, of any number of choices.

    Attributes:
        head: the fields that describe the whole answer, from all chunks so far.
        usage: the token usage, if a chunk has it.
        done: whether the stream was marked as complete.
    """

    def __init__(self) -> None:
        self.head: Json = {}
        self.usage: Json | None = None
        self.done = False
        self._choices: dict[int, Json] = {}

    @property
    def finished(self) -> bool:
        """Whether the answer is complete: the stream or each of its choices says so."""
        return self.done or (bool(self._choices) and all(c.get("finish_reason") for c in self._choices.values()))

    def add(self, chunk: Json) -> None:
        """Add a chunk. Fields of another form are ignored."""
        for key, value in chunk.items():
            if key not in OF_CHUNKS:
                self.head[key] = _latest(self.head.get(key), value)
        if isinstance(usage := chunk.get("usage"), dict) and usage:
            self.usage = usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                index = choice.get("index")
                kept = self._choices.setdefault(index if isinstance(index, int) else 0, {})
                grow(kept, {key: value for key, value in choice.items() if key not in ("finish_reason", "logprobs")})
                kept["finish_reason"] = choice.get("finish_reason") or kept.get("finish_reason")
                kept["logprobs"] = _longer(kept.get("logprobs"), choice.get("logprobs"))

    def completion(self) -> Json:
        """The completion object.

        Raises:
            UpstreamError: the stream is incomplete, or has no choice.
        """
        if not self._choices or not self.finished:
            raise UpstreamError("the upstream broke off its answer", code="upstream_broken")
        chat = self.head.get("object") != "text_completion"
        choices = [_whole(index, self._choices[index], chat) for index in sorted(self._choices)]
        kind = "chat.completion" if chat else "text_completion"
        answer: Json = mended(self.head | {"object": kind}) | {"choices": choices}
        return answer | {"usage": mended(self.usage)} if self.usage else answer


def _latest(old: Any, value: Any) -> Any:
    """A field of the whole answer: of reports the latest, of constants the first that is not empty."""
    if isinstance(value, dict) and isinstance(old, dict):
        return old | {key: said for key, said in value.items() if said is not None}
    if isinstance(value, list) and isinstance(old, list):
        return value if len(value) >= len(old) else old
    return old or value


def _longer(old: Any, more: Any) -> Any:
    """Log-probabilities: lists with an entry for each token, each in its place."""
    if isinstance(old, dict) and isinstance(more, dict):
        return old | {key: _longer(old.get(key), value) for key, value in more.items()}
    if isinstance(old, list) and isinstance(more, list):
        old.extend(more)
        return old
    return copy.deepcopy(more) if old is None else old


def _whole(index: int, kept: Json, chat: bool) -> Json:
    choice: Json = {key: joined(value) for key, value in kept.items() if key not in ("delta", "message", "logprobs")}
    choice |= {"index": index, "finish_reason": kept["finish_reason"] or "stop", "logprobs": mended(kept["logprobs"])}
    if not chat:
        choice.setdefault("text", "")
        return choice
    said = joined(kept.get("delta") or kept.get("message"))
    message: Json = {"role": "assistant", "content": None} | (said if isinstance(said, dict) else {})
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        message["tool_calls"] = [_without_index(call) for call in calls]
        message["content"] = (
            message["content"] or None
        )  # a stream may begin with "" before a tool call; a whole answer has null
    return choice | {"message": message}


def _without_index(call: Any) -> Any:
    return {key: value for key, value in call.items() if key != "index"} if isinstance(call, dict) else call
