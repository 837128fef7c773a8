"""Assemble what a stream said, in linear time and by rule.

A short list of texts grows; everything else is a constant, of which the first value that is not empty stays. Lists of objects are lists of parts:
a piece belongs to the part that it names by index, id, type and name, else to the last part that it can continue.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Sequence
from itertools import chain, combinations, product
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
_NAMING = ("index", "id", "type", "name")
_IDENTIFYING = frozenset(_NAMING[:2])


class Pieces(list[str]):
    """The pieces of a text."""


def append(to: Json, name: str, piece: Any, kind: type[list[Any]]) -> None:
    """Add a piece to a text of an object (kind: `Pieces`), or an entry to a list (kind: `list`). A value of another kind is replaced."""
    said: Any = to.get(name)
    if type(said) is not kind:
        text, entries = isinstance(said, str) and kind is Pieces, isinstance(said, list) and kind is list
        said = to[name] = kind([said] if text else said if entries else [])
    said.append(piece)


class _Mixed(list[Any]):
    """A list of which some entry is no object: it is not looked through again with each piece."""


class NamedParts(list[Json]):
    """The parts of a list, each found by what names it without a look at the others."""

    def __init__(self, parts: Iterable[Json] = ()) -> None:
        super().__init__(parts)
        self._places: dict[object, int] = {}  # of the last part with these names, or that says just this
        for place in range(len(self)):
            self._note(place)

    def add(self, parts: Sequence[Json]) -> list[int]:
        """Merge pieces of parts into the parts known so far; returns the index of the part to which each belongs. Several pieces that come
        together belong to as many parts.
        """
        places: dict[int, None] = {}
        before = len(self)
        for number, part in enumerate(parts):
            place = self._place(part, before - len(parts) + number)
            if place is None or place in places:
                place = len(self)
                self.append({})
            places[place] = None
            names = _names(self[place]) if self[place] else None
            grow(self[place], part)
            if names != _names(self[place]):
                self._note(place)
        return list(places)

    def _note(self, place: int) -> None:
        """Remember where a part is, for pieces that give any of its names and lack or give the others."""
        names = _names(self[place])
        if not _IDENTIFYING & names.keys():
            if not _texts(self[place]):
                self._places[_said(joined(self[place]))] = place
            return
        pairs = [(field, names.get(field)) for field in _NAMING]
        for key in chain.from_iterable(combinations(pairs, count) for count in range(1, 5)):
            self._places[key] = max(place, self._places.get(key, 0))

    def _named(self, names: Json) -> list[int]:
        """The parts, last first, that have an index or id of these and that no other name contradicts."""
        keys = product(*(((field, value), (field, None)) for field, value in names.items()))
        known = (
            self._places.get(key)
            for key in keys
            if any(field in _IDENTIFYING and value is not None for field, value in key)
        )
        return sorted({place for place in known if place is not None}, reverse=True)

    def _place(self, part: Json, last: int) -> int | None:
        """The index of the part that a piece belongs to; None if it begins one. `last` is where a piece that names none goes on."""
        names = _names(part)
        if _IDENTIFYING & names.keys():
            for place in self._named(names):
                if _agree(self[place], part):
                    return place
            if names.keys() & {"id", "name"}:
                return None
            last = names["index"]  # as its position: the part has only an id
            is_there = 0 <= last < len(self) and "index" not in _names(self[last])
            return last if is_there and _agree(self[last], part) else None
        if 0 <= last < len(self) and _texts(self[last]) and _agree(self[last], part) and _adds(self[last], part):
            return last
        same = None if _texts(part) else self._places.get(_said(part))
        return None if same is None or joined(self[same]) != part else same


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
            return _listed(old, [{"type": "text", "text": value}])
        return old or Pieces([value])
    if isinstance(value, list):
        if isinstance(old, Pieces):
            old = [{"type": "text", "text": old}] if any(old) else []
        return old if old and not isinstance(old, list) else _listed(old or [], value)
    if isinstance(value, dict) and (isinstance(old, dict) or not old):
        return grow(old or {}, value)
    return old or value


def _listed(known: list[Any], more: list[Any]) -> list[Any]:
    """A list with more entries; objects in a list of nothing else are pieces of its parts."""
    if not isinstance(known, _Mixed):
        if all(isinstance(part, dict) for part in chain(more, () if isinstance(known, NamedParts) else known)):
            parts = known if isinstance(known, NamedParts) else NamedParts(known)
            parts.add(more)
            return parts
        known = _Mixed(known)
    known.extend(more)
    return known


def _said(part: Json) -> str:
    return json.dumps(part, sort_keys=True)


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
    return index | {field: value for field, value in names.items() if value and isinstance(value, str | int)}


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
        return _filled_list(snapshot, known)
    return known if snapshot in (None, "", [], {}) and known is not None else snapshot


def _filled_list(snapshot: list[Any], known: list[Any]) -> list[Any]:
    """Entries are the same by id, if the lists share any id, else by position; what the snapshot left out stays where it was."""
    named = {name: place for place, old in enumerate(known) if (name := _id(old))}
    by_id = any(_id(new) in named for new in snapshot)
    others = iter([place for place, old in enumerate(known) if not (by_id and _id(old))])
    slots, slot = [[], *([old] for old in known)], 0
    for new in snapshot:
        place = named.pop(_id(new), None) if by_id and _id(new) else next(others, None)
        if place is None:
            slots[slot].append(new)
        else:
            slot = place + 1
            slots[slot][0] = filled(new, known[place])
    return [*chain.from_iterable(slots)]


def _id(entry: Any) -> str:
    name = entry.get("id") if isinstance(entry, dict) else ""
    return name if isinstance(name, str) else ""


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
        if all(isinstance(call, dict) and isinstance(call.get("index"), int) for call in calls):
            calls.sort(key=lambda call: int(call["index"]))  # a later one may begin first
        message["tool_calls"] = [_without_index(call) for call in calls]
        message["content"] = (
            message["content"] or None
        )  # a stream may begin with "" before a tool call; a whole answer has null
    return choice | {"message": message}


def _without_index(call: Any) -> Any:
    return {key: value for key, value in call.items() if key != "index"} if isinstance(call, dict) else call
