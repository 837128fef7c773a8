"""The one reader of a request: its body, and the model that its path, query, form and body name.

Routing, limits and keys decide by what is read here, so that no other reader may find another model in the request. A body that cannot be
read may still be valid for the upstream.
"""

from __future__ import annotations

import codecs
import itertools
import json
import re
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import orjson

from ..computing import compute
from ..errors import BadRequest, PayloadTooLarge
from ..outcomes import Reason
from ..pipeline.job import Unread
from ..strict_json import TooDeep, loads
from ..types import Json
from ..upstreams.coding import plain
from ..upstreams.dialects.table import DIALECTS
from .exchange import Exchange
from .forms import Form

LARGE_BODY_BYTES = 100_000
"""Bodies of at least this size are decoded in a worker thread, so that they do not block other requests."""
NAMES_NONE = "it names no model, and what it starts or refers to (a file, a batch) may name any"
FORM, FIELDS = "multipart/form-data", "application/x-www-form-urlencoded"
_KEY = re.compile(
    rb'"(?:[mM]|\\u00[46][dD])(?:[oO]|\\u00[46][fF])(?:[dD]|\\u00[46]4)(?:[eE]|\\u00[46]5)(?:[lL]|\\u00[46][cC])"(?=[ \t\r\n]*:)'
)
"""`"model"` as a reader may know it that looks at neither case nor escapes."""
_HALF_A_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
_PATH = re.compile(
    r"/models/(.+)|(?:(?!/(?:deployments|engines)/).)*+/(?:deployments|engines)/++([^/]+)/.*", re.IGNORECASE
)
_CHARSET = re.compile(r"""charset\s*=\s*["']?(?!utf-?8\b|us-ascii\b|["']?$)""", re.IGNORECASE)


class Received(NamedTuple):
    """A request's body, and the model that the request names.

    Attributes:
        data: the received bytes, complete or piece by piece.
        body: the JSON object as far as it could be read; of a form, its model.
        fault: the reason why it could not be read; None if it was.
        model: the one model that the request names anywhere.
        unread: why another reader may find another model in it; None if none may.
    """

    data: bytes | AsyncIterable[bytes]
    body: Json
    fault: BadRequest | None = None
    model: str | None = None
    unread: str | None = None


async def received(exchange: Exchange, limit: int, *, is_json: bool) -> Received:
    """The body of a request: read if it is JSON or the fields of a form.

    Raises:
        BadRequest: path, query and body name different models, or one of them names two.
        PayloadTooLarge: the body is over the limit.
        ClientGone: the client left while sending it.
    """
    for name in ("content-type", "content-encoding"):
        if sum(each == name for each, _ in exchange.header_pairs) > 1:
            raise BadRequest(
                f"the request has two headers {name}, of which others may read the other; send one", param=name
            )
    kind = exchange.headers.get("content-type", "")
    media, coding = kind.partition(";")[0].strip().lower(), exchange.headers.get("content-encoding", "")
    named = list(_in_address(exchange))
    unread = f"its characters are coded in another way ({kind[:100]})" if _CHARSET.search(kind) else None
    if not is_json and not _has_body(exchange):
        model = _agreed(named)
        is_told = exchange.socket is None or (model is not None and exchange.path not in DIALECTS)
        return Received(
            b"", {}, model=model, unread=None if is_told else "a WebSocket may name its model in what it says"
        )
    if not is_json and media == FORM:
        form = Form(exchange.body_stream(), kind)
        await form.look(limit)
        model = _agreed([*named, *(("form", part.model) for part in form.parts.named)])
        unread = "its form is compressed" if coding else unread or form.parts.odd
        unread = unread or (None if model else NAMES_NONE)
        return Received(form, {"model": model} if form.parts.named else {}, model=model, unread=unread)
    if not is_json and media == FIELDS:
        data = await exchange.body(limit)
        model = _agreed([*named, *_in_fields("form", data.decode("utf-8", "replace"))])
        unread = "its form is compressed" if coding else unread
        return Received(data, {}, model=model, unread=unread or (None if model else NAMES_NONE))
    if not is_json and not media.endswith(("/json", "+json")):
        unread = f"its body is of the type {media[:100] or 'unknown'}, in which no model is looked for"
        return Received(exchange.body_stream(), {}, model=_agreed(named), unread=unread)
    data = await exchange.body(limit)
    if len(data) < LARGE_BODY_BYTES and not coding:
        body, models, fault = _read(data)
    else:
        body, models, fault = await compute(_read, data, coding, limit)
    unread = "JSON is sent as a form" if media in (FORM, FIELDS) else unread
    unread = fault.message if fault is not None else unread
    model = _agreed([*named, *(("body", model) for model in models)])
    if model is None and not is_json:
        unread = unread or NAMES_NONE
    return Received(data, body, fault, model, unread)


def _has_body(exchange: Exchange) -> bool:
    return exchange.headers.get("content-length", "0") != "0" or "transfer-encoding" in exchange.headers


def _in_address(exchange: Exchange) -> Iterator[tuple[str, str]]:
    """The models that path and query name."""
    if exchange.path not in DIALECTS and (found := _PATH.fullmatch(exchange.path)) is not None:
        yield "path", found[1] or found[2]
    if exchange.deployment is not None:
        yield "path", exchange.deployment
    if exchange.query:
        yield from _in_fields("query", exchange.query)


def _in_fields(place: str, fields: str) -> Iterator[tuple[str, str]]:
    """The models that a query, or a form in the same coding, names. Some readers take a semicolon for an ampersand."""
    for name, value in parse_qsl(fields.replace(";", "&")):
        if name.lower() in ("model", "deployment"):
            yield place, value


def _agreed(named: Iterable[tuple[str, str]]) -> str | None:
    """The one model that is named, if any.

    Raises:
        BadRequest: two are.
    """
    model, first = None, ""
    for place, name in named:
        if model is not None and name != model:
            where = f"twice in its {place}" if place == first else f"in its {first} and its {place}"
            message = f"the request names two models {where}, {model[:100]!r} and {name[:100]!r}; name one"
            raise BadRequest(message, param="model")
        model, first = name, place
    return model


def _read(data: bytes, coding: str = "", limit: int = 0) -> tuple[Json, list[str], BadRequest | None]:
    """The JSON object of a body, the models that it names, and the reason if it could not be read. A byte order mark before it is no fault."""
    data = data if coding else data.removeprefix(codecs.BOM_UTF8)
    try:
        text = _plain(data, coding, limit) if coding else data
        return *_object(text, loads), None
    except TooDeep:
        fault: BadRequest = Unread("the body is nested too deeply", code=Reason.NESTED_TOO_DEEP)
        return *_object(text, orjson.loads), fault
    except orjson.JSONDecodeError as error:
        if _HALF_A_PAIR.search(text) and (found := _leniently(text)) is not None:
            return *found, Unread("the body holds half of a surrogate pair")
        message = f"the body is not valid JSON: {error.msg} at character {error.pos}"
        return {}, [], BadRequest(message, code=Reason.INVALID_JSON)
    except BadRequest as refusal:
        return {}, [], refusal


def _plain(data: bytes, coding: str, limit: int) -> bytes:
    """A compressed body, decompressed.

    Raises:
        Unread: the compression is not supported or the body is not compressed as declared.
        PayloadTooLarge: it is over the limit when decompressed.
    """
    try:
        return plain(data, coding, limit)
    except OverflowError as error:
        raise PayloadTooLarge(str(error)) from error
    except ValueError as error:
        raise Unread(str(error)) from error


def _object(data: bytes, load: Callable[[bytes], Any]) -> tuple[Json, list[str]]:
    """The JSON object of a body, and the models that it names, in one spelling or another.

    Raises:
        ValueError: it is not JSON to this reader.
        BadRequest: it is no object.
    """
    body = load(data)
    if not isinstance(body, dict):
        raise BadRequest("the body must be a JSON object", code=Reason.INVALID_JSON)
    fields: Json = body
    if len(_KEY.findall(data)) > 1:  # in each object one may be the last of several: each gets a name of its own
        number = itertools.count()
        fields = load(_KEY.sub(lambda _: b'"model\\u0000%d"' % next(number), data))
    models = [value for name, value in fields.items() if name.lower().partition("\0")[0] == "model" and value]
    session = body.get("session")
    models += [session["model"]] if isinstance(session, dict) and session.get("model") else []
    return body, [str(model) for model in models if isinstance(model, str) or len(models) > 1]


def _leniently(data: bytes) -> tuple[Json, list[str]] | None:
    """What a lenient reader makes of a body, without names that are not Unicode; None where it is no object."""
    try:
        body, models = _object(data, json.loads)
    except (ValueError, RecursionError, BadRequest):
        return None
    names = ("model", "user", "safety_identifier")
    kept = {name: value for name, value in body.items() if name not in names or _is_unicode(value)}
    return kept, [model for model in models if _is_unicode(model)]


def _is_unicode(value: object) -> bool:
    return isinstance(value, str) and not any("\ud800" <= sign <= "\udfff" for sign in value)
