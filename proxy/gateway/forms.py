"""Multipart forms: forwarded piece by piece, while the model that they name is read."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import NamedTuple

from ..errors import BadRequest, Forbidden
from ..outcomes import Reason

MOST_HEAD = 8 * 1024
"""Largest head of a part, in bytes."""
MOST_NAME = 256
"""Longest name of a model in a form, in bytes."""
_BOUNDARY = re.compile(r'[^;]*;\s*boundary=(?:"([^"\\]{1,70})"|([^\s;"\\]{1,70}))\s*', re.IGNORECASE)
_PARAMETER = rb';[ \t]*([!#-.0-9A-Z^-z|~]+)=("[^"\\\r\n]*"|[^\s";\\]*)'
_HEADER = re.compile(rb"([!#-'*+.0-9A-Z^-z|~-]+):[ \t]*+((?:[^\r\n]*[^\r\n \t])?)[ \t]*+")
_DISPOSITION = re.compile(rb"form-data((?:%s)*)" % _PARAMETER, re.IGNORECASE)
_PARAMETERS = re.compile(_PARAMETER)


class Named(NamedTuple):
    """A model that a form names, and where in the form."""

    model: str
    start: int
    end: int


class Parts:
    """The parts of a form, read as their bytes arrive.

    Attributes:
        named: the models that it names so far.
        odd: why another reader may see other parts than are seen here; None if none may.
    """

    def __init__(self, content_type: str) -> None:
        self.named: list[Named] = []
        self.odd: str | None = None
        found = _BOUNDARY.fullmatch(content_type)
        self._mark = f"--{found[1] or found[2]}".encode("latin-1") if found is not None else b""
        if found is None:
            self.odd = "the form has no boundary, or more than one"
        self._data = bytearray()
        self._at = 0
        self._in_head = self._is_named = self._is_over = False

    def feed(self, piece: bytes) -> None:
        """Read further bytes."""
        if not self._mark:
            return
        self._data += piece
        while self._head() if self._in_head else self._content():
            continue

    def end(self) -> None:
        """The form has ended."""
        if not self._is_over:
            self.odd = self.odd or "the form breaks off"

    def _drop(self, count: int) -> None:
        del self._data[:count]
        self._at += count

    def _content(self) -> bool:
        """Read up to the mark that ends a part; whether there is more to read."""
        at = self._data.find(self._mark)
        if self._is_named and (at if at >= 0 else len(self._data) - len(self._mark) + 1) > MOST_NAME:
            self.odd, self._is_named = "the form names its model in a text that is too long", False
        if at < 0:
            if not self._is_named:
                self._drop(max(0, len(self._data) - len(self._mark) - 1))
            return False
        if self._at + at and self._data[max(0, at - 2) : at] != b"\r\n":
            self.odd = "the form holds its boundary within a part, or lines that end in another way"
        if self._is_named and (model := bytes(self._data[: max(0, at - 2)]).decode("utf-8", "replace")):
            self.named.append(Named(model, self._at, self._at + at - 2))
            if model != model.strip() or "\ufffd" in model:
                self.odd = "the form names its model with spaces around it, or in bytes that are not UTF-8"
        self._drop(at + len(self._mark))
        self._in_head, self._is_named = True, False
        return True

    def _head(self) -> bool:
        """Read the head of a part; whether there is more to read."""
        if len(self._data) < 2:
            return False
        if not self._data.startswith((b"\r\n", b"--")):
            self.odd, self._in_head = (
                "the form holds its boundary within a part, or lines that end in another way",
                False,
            )
            return True
        if self._data.startswith(b"--"):  # the end
            self._is_over = True
            del self._data[5:]
            if not b"--\r\n".startswith(bytes(self._data)):
                self.odd = "the form goes on after its end"
            return False
        end = self._data.find(b"\r\n\r\n")
        if end < 0 and len(self._data) < MOST_HEAD:
            return False
        name = _name_of(bytes(self._data[:end])) if end >= 0 else None
        if name is None:
            self.odd = "the form has a part whose head is not read here"
        self._is_named = name is not None and name.lower() == "model"
        self._in_head = False
        self._drop(end + 4 if end >= 0 else len(self._data))
        return True


def _name_of(head: bytes) -> str | None:
    """The name of a part; None if another reader may find another, or may decode the part or find a model inside."""
    headers: dict[bytes, bytes] = {}
    for line in head.split(b"\r\n")[1:]:
        found = _HEADER.fullmatch(line)
        if found is None or found[1].lower() in headers:
            return None
        headers[found[1].lower()] = found[2]
    said = _DISPOSITION.fullmatch(headers.get(b"content-disposition", b""))
    if said is None or b"content-transfer-encoding" in headers or b"json" in headers.get(b"content-type", b"").lower():
        return None
    parameters: list[tuple[bytes, bytes]] = [
        (name.lower(), value.strip(b'"')) for name, value in _PARAMETERS.findall(said[1])
    ]
    names = [(name, value) for name, value in parameters if name.startswith(b"name")]
    if len(names) != 1 or names[0][0] != b"name" or b"%" in names[0][1]:
        return None
    return names[0][1].decode("latin-1")


class Form:
    """A form that is forwarded piece by piece.

    Attributes:
        parts: what was read of it.
    """

    def __init__(self, pieces: AsyncIterator[bytes], content_type: str) -> None:
        self.parts = Parts(content_type)
        self._pieces, self._held = pieces, bytearray()
        self._model: str | None = None
        self._must_be_read = False

    async def look(self, most: int) -> None:
        """Receive it until it names a model, has ended, or `most` bytes are held."""
        async for piece in self._pieces:
            self._held += piece
            self.parts.feed(piece)
            if self.parts.named or len(self._held) >= most:
                return
        self.parts.end()

    def hold_to(self, model: str | None, *, must_be_read: bool) -> None:
        """Forward it only as long as it names no other model than this; if it `must_be_read`, only while nobody could read another in it."""
        self._model, self._must_be_read = model, must_be_read

    def rename(self, model: str) -> None:
        """Replace the model's name."""
        if self.parts.named:
            _, start, end = self.parts.named[0]
            self._held[start:end] = model.encode()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield bytes(self._held)
        async for piece in self._pieces:
            known = len(self.parts.named)
            self.parts.feed(piece)
            self._check(known)
            yield piece
        self.parts.end()
        self._check(len(self.parts.named))

    def _check(self, known: int) -> None:
        """Break the upload off, before its end, if further models than the known ones say something else."""
        for named in self.parts.named[known:]:
            if named.model != self._model:
                message = (
                    f"the form names the model {named.model[:100]!r} after the request was taken for one of {self._model!r}; "
                    "name one model, before the files"
                )
                raise BadRequest(message, param="model")
        if self._must_be_read and self.parts.odd is not None:
            raise Forbidden(not_read(self.parts.odd), code=Reason.ROUTE_NOT_ALLOWED)


def not_read(why: str) -> str:
    """The refusal of a request in which another reader may see another model than is seen here."""
    return f"this key may not use every route, so that its requests must be readable here: {why}"
