"""Everything an upstream may do wrong, as a table. What must come of each kind of fault is a rule (`rules`), not a column."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from benchmarks.chaos.speech import GONE, Patch

Events = list[bytes]


class Wire(Enum):
    """What reaches the proxy, seen from outside: the rules know nothing else of a fault."""

    ANSWER = "an answer, however it is sent"
    TEXTLESS = "an answer without a text that could be read"
    ODD = "an answer with parts that nobody expects"
    UNREADABLE = "status 200 with something else than an answer"
    HUGE = "an answer over the limit"
    REFUSED = "an error, or a status that is not 200"
    CUT = "an answer that breaks off"
    STALLED = "an answer that stops coming"
    DEAD = "no answer"
    SILENT = "nothing, and the connection stays open"
    FRAMING = "HTTP that a lenient reader may take"


Stop = Literal["close", "reset", "stall", "trickle"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault.

    Attributes:
        name: how the table of results calls it; also the model's name in requests, by which the upstream knows what to do.
        raw: everything that is sent, head included.
        body: sent in the place of the answer.
        form: "asked": a stream where the client asks for one; otherwise always the one or the other.
        framing: how the end of the body is told; unset: length for JSON, chunks for streams.
        stop: where and how the upstream stops: before the request is read, after it, in the head, in the body.
        pieces: bytes sent at a time.
        times: how often the answer is sent, one behind the other.
        events: changes a stream's events.
        choices: how many choices are sent where `n` are asked for.
    """

    name: str
    wire: Wire
    status: int = 200
    headers: str = ""
    kind: str | None = None
    raw: bytes | None = None
    body: bytes | None = None
    top: Mapping[str, Any] = field(default_factory=dict)
    choice: Mapping[str, Any] = field(default_factory=dict)
    message: Mapping[str, Any] = field(default_factory=dict)
    form: Literal["asked", "json", "stream"] = "asked"
    framing: Literal["length", "chunks", "close"] | None = None
    stop: tuple[Literal["accept", "request", "head", "body"], Stop] | None = None
    pieces: int | None = None
    times: int = 1
    events: Callable[[Events], Events] | None = None
    choices: Callable[[int], int] | None = None

    @property
    def patch(self) -> Patch:
        """What is put over the answer."""
        return Patch(self.top, self.choice, self.message)


def _head(*lines: str) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


_JSON = "content-type: application/json"
_OK = "HTTP/1.1 200 OK"
_ERROR = json.dumps({"error": {"message": "no", "type": "t", "param": None, "code": "c"}}).encode()
_DEEP = b"[" * 5_000 + b"]" * 5_000
_NESTED = json.loads('{"a":' * 200 + "1" + "}" * 200)
_NESTED_MORE = json.loads('{"a":' * 600 + "1" + "}" * 600)

_CONNECTIONS = (
    *(Fault(f"{how} at once", Wire.DEAD, stop=("accept", how)) for how in ("close", "reset")),
    *(Fault(f"{how} after the request", Wire.DEAD, stop=("request", how)) for how in ("close", "reset")),
    *(Fault(f"{how} in the head", Wire.DEAD, stop=("head", how)) for how in ("close", "reset")),
    *(Fault(f"{how} in the body", Wire.CUT, stop=("body", how)) for how in ("close", "reset")),
    Fault("silence after the request", Wire.SILENT, stop=("request", "stall")),
    Fault("silence in the head", Wire.SILENT, stop=("head", "stall")),
    Fault("a head that comes byte by byte for ever", Wire.SILENT, stop=("head", "trickle")),
    Fault("silence in the body", Wire.STALLED, stop=("body", "stall")),
    Fault("silence in a stream", Wire.STALLED, form="stream", stop=("body", "stall")),
    Fault("close in a stream", Wire.CUT, form="stream", stop=("body", "close")),
    Fault("reset in a stream", Wire.CUT, form="stream", stop=("body", "reset")),
)

_HEADS = (
    Fault("no HTTP at all", Wire.DEAD, raw=b"\x00\x01\x02 what?\r\n\r\n"),
    Fault("a TLS alert", Wire.DEAD, raw=b"\x15\x03\x01\x00\x02\x02\x28"),
    Fault("an HTTP/2 preface", Wire.DEAD, raw=b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    Fault("HTTP/0.9", Wire.DEAD, raw=b"<html>hello</html>"),
    Fault("SSH's greeting", Wire.DEAD, raw=b"SSH-2.0-OpenSSH_9.6\r\n"),
    Fault("a status that is a word", Wire.DEAD, raw=_head("HTTP/1.1 fine OK", _JSON, "content-length: 2") + b"{}"),
    Fault("status 99", Wire.DEAD, raw=_head("HTTP/1.1 099 Odd", _JSON, "content-length: 2") + b"{}"),
    Fault("status 600", Wire.DEAD, raw=_head("HTTP/1.1 600 Odd", _JSON, "content-length: 2") + b"{}"),
    Fault("status 999", Wire.DEAD, raw=_head("HTTP/1.1 999 Odd", _JSON, "content-length: 2") + b"{}"),
    Fault("status 101", Wire.DEAD, raw=_head("HTTP/1.1 101 Switching", "upgrade: x", "connection: upgrade")),
    Fault("100 and no more", Wire.DEAD, raw=_head("HTTP/1.1 100 Continue")),
    Fault("headers without end", Wire.DEAD, raw=_OK.encode() + b"\r\n" + b"x-a: 1\r\n" * 200_000),
    Fault("a header of 1 MB", Wire.DEAD, raw=_head(_OK, "x-long: " + "x" * 1_000_000, "content-length: 0")),
    Fault("a header without colon", Wire.FRAMING, raw=_head(_OK, "nonsense", "content-length: 2") + b"{}"),
    Fault("a header with NUL", Wire.FRAMING, raw=_head(_OK, "x-a: \x00", "content-length: 2") + b"{}"),
    Fault("lines that end in LF", Wire.FRAMING, raw=b"HTTP/1.1 200 OK\ncontent-length: 2\n\n{}"),
    Fault("a negative length", Wire.FRAMING, raw=_head(_OK, _JSON, "content-length: -5") + b"{}"),
    Fault("a length that is a word", Wire.FRAMING, raw=_head(_OK, _JSON, "content-length: two") + b"{}"),
    Fault("two lengths", Wire.FRAMING, raw=_head(_OK, "content-length: 2", "content-length: 5") + b"{}"),
    Fault("a length and chunks", Wire.FRAMING, headers="content-length: 5\r\n", framing="chunks"),
    Fault("an unknown transfer encoding", Wire.FRAMING, raw=_head(_OK, _JSON, "transfer-encoding: odd") + b"{}"),
    Fault(
        "a chunk size that is a word", Wire.CUT, raw=_head(_OK, _JSON, "transfer-encoding: chunked") + b"zz\r\n{}\r\n"
    ),
    Fault(
        "a chunk of 2^70 bytes",
        Wire.CUT,
        raw=_head(_OK, _JSON, "transfer-encoding: chunked") + b"400000000000000000\r\n{}",
    ),
    Fault("chunks without end", Wire.CUT, raw=_head(_OK, _JSON, "transfer-encoding: chunked") + b"2\r\n{}\r\n"),
    Fault("a length that is too long", Wire.CUT, raw=_head(_OK, _JSON, "content-length: 50") + b"{}"),
    Fault("two answers for one question", Wire.ANSWER, times=2),
    Fault("no reason phrase", Wire.UNREADABLE, raw=_head("HTTP/1.1 200", _JSON, "content-length: 2") + b"{}"),
    Fault("HTTP/1.0", Wire.UNREADABLE, raw=_head("HTTP/1.0 200 OK", _JSON) + b"{}"),
    Fault("headers of ours", Wire.ANSWER, headers="x-hedgerow-status: hedged\r\nx-hedgerow-audit-id: hr_0\r\n"),
    Fault(
        "a cookie, HSTS, odd headers", Wire.ANSWER, headers="set-cookie: a=b\r\nx-odd: \xe9\r\nretry-after: soon\r\n"
    ),
)

_STATUSES = (
    *(
        Fault(f"status {status}", Wire.REFUSED, status=status, body=_ERROR, kind="application/json")
        for status in (
            300,
            400,
            401,
            402,
            403,
            404,
            408,
            409,
            413,
            418,
            422,
            429,
            451,
            500,
            501,
            502,
            503,
            504,
            529,
            599,
        )
    ),
    *(
        Fault(
            f"status {status} elsewhere",
            Wire.REFUSED,
            status=status,
            body=b"",
            headers="location: http://127.0.0.1:9/\r\n",
        )
        for status in (301, 302, 307, 308)
    ),
    Fault("429, try in a second", Wire.REFUSED, status=429, body=_ERROR, headers="retry-after: 1\r\n"),
    Fault("429, try tomorrow", Wire.REFUSED, status=429, body=_ERROR, headers="retry-after: 86400\r\n"),
    Fault(
        "429, try at a date",
        Wire.REFUSED,
        status=429,
        body=_ERROR,
        headers="retry-after: Fri, 31 Dec 1999 23:59:59 GMT\r\n",
    ),
    Fault("429, try before", Wire.REFUSED, status=429, body=_ERROR, headers="retry-after: -1e9\r\n"),
    Fault("429, try at NaN", Wire.REFUSED, status=429, body=_ERROR, headers="retry-after: nan\r\n"),
    Fault("500 in HTML", Wire.REFUSED, status=500, body=b"<html>Oops</html>", kind="text/html"),
    Fault("500 in bytes", Wire.REFUSED, status=500, body=b"\xff\xfe\x00", kind="\xff"),
    Fault("500 and nothing", Wire.REFUSED, status=500, body=b""),
    Fault("an error of the wrong form", Wire.REFUSED, status=400, body=b'{"error": "no"}', kind="application/json"),
    Fault("an error of 1 MB", Wire.REFUSED, status=400, body=b"x" * 1_000_000),
    Fault("an error that breaks off", Wire.CUT, status=500, body=_ERROR, stop=("body", "close")),
)

_BODIES = (
    Fault("nothing", Wire.UNREADABLE, body=b""),
    *(
        Fault(f"the body {body.decode()}", Wire.UNREADABLE, body=body)
        for body in (b"null", b"[]", b'"x"', b"42", b"{}", b"NaN")
    ),
    Fault("HTML", Wire.UNREADABLE, body=b"<html>It works!</html>", kind="text/html"),
    Fault("half of the JSON", Wire.UNREADABLE, body=b'{"id": "x", "choices": [{"mess'),
    Fault("JSON twice", Wire.UNREADABLE, body=b"{}{}"),
    Fault("invalid UTF-8", Wire.ODD, body=b'{"choices": [{"message": {"content": "\xff"}}]}'),
    Fault("UTF-16", Wire.UNREADABLE, body='{"choices": []}'.encode("utf-16")),
    Fault("a byte order mark", Wire.UNREADABLE, body=b'\xef\xbb\xbf{"choices": []}'),
    Fault("half a surrogate pair", Wire.ODD, body=b'{"choices": [{"message": {"content": "\\ud800"}}]}'),
    Fault("5,000 brackets", Wire.UNREADABLE, body=_DEEP),
    Fault("an error with status 200", Wire.UNREADABLE, body=_ERROR),
    Fault("gzip without saying so", Wire.UNREADABLE, body=gzip.compress(b"{}", mtime=0)),
    Fault("gzip that is none", Wire.UNREADABLE, body=b"{}", headers="content-encoding: gzip\r\n"),
    Fault(
        "a gzip bomb",
        Wire.UNREADABLE,
        body=gzip.compress(b" " * 50_000_000, mtime=0),
        headers="content-encoding: gzip\r\n",
    ),
    Fault("10 MB of spaces", Wire.HUGE, body=b" " * 10_000_000),
    Fault("10 MB in one line of a stream", Wire.HUGE, form="stream", body=b"data: " + b"x" * 10_000_000),
    Fault("status 204", Wire.UNREADABLE, status=204, body=b""),
    Fault("byte by byte", Wire.ANSWER, pieces=1),
    Fault("ended by the connection", Wire.ANSWER, framing="close"),
    Fault("in chunks", Wire.ANSWER, framing="chunks", pieces=7),
    Fault("the wrong content type", Wire.ODD, kind="text/plain"),
    Fault("no content type", Wire.ODD, kind=""),
)

_FIELDS = (
    *(Fault(f"choices: {json.dumps(odd)}", Wire.UNREADABLE, top={"choices": odd}) for odd in (None, "x", 5, {}, [])),
    *(Fault(f"choices: {json.dumps(odd)}", Wire.ODD, top={"choices": odd}) for odd in ([None], [5], ["x"], [[]])),
    Fault("no choices", Wire.UNREADABLE, top={"choices": GONE}),
    Fault("no message", Wire.ODD, choice={"message": GONE}),
    *(Fault(f"message: {json.dumps(odd)}", Wire.ODD, choice={"message": odd}) for odd in (None, "x", [], 5)),
    *(Fault(f"content: {json.dumps(odd)}", Wire.ODD, message={"content": odd}) for odd in (None, 5, {}, ["x"], True)),
    Fault("no content", Wire.ODD, message={"content": GONE}),
    *(
        Fault(f"content: {name}", Wire.ANSWER, message={"content": text})
        for name, text in {
            "empty": "",
            "spaces": "   \n",
            "NUL": "a\x00b",
            "control": "\x1b[31mred\x07",
            "bidi": "\u202eoot\u202c",
            "19,900 dots": "." * 19_900,
            "19,900 spaces": "\xa0" * 19_900,
            "100,000 words": "so " * 100_000,
            "brackets": "[" * 9_000,
            "an SSE line": "data: [DONE]\n\ndata: x",
        }.items()
    ),
    *(
        Fault(f"finish_reason: {json.dumps(odd)}", Wire.ODD, choice={"finish_reason": odd})
        for odd in (None, 5, "odd", {})
    ),
    *(Fault(f"index: {json.dumps(odd)}", Wire.ODD, choice={"index": odd}) for odd in ("x", -1, None, 2**64)),
    *(
        Fault(f"logprobs: {json.dumps(odd)}", Wire.ODD, choice={"logprobs": odd})
        for odd in ("x", {"content": 5}, {"content": [None]})
    ),
    *(
        Fault(f"tool_calls: {json.dumps(odd)}", Wire.ODD, message={"tool_calls": odd})
        for odd in ("x", [5], [{"function": 5}], {})
    ),
    *(
        Fault(f"usage: {json.dumps(odd)}", Wire.ODD, top={"usage": odd})
        for odd in (
            None,
            "x",
            [],
            {"prompt_tokens": "x"},
            {"prompt_tokens": -5},
            {"prompt_tokens": 2**64 - 1},
            {"prompt_tokens": 1e308},
            {"prompt_tokens_details": 5},
        )
    ),
    *(
        Fault(f"id: {json.dumps(odd)[:20]}", Wire.ODD, top={"id": odd})
        for odd in (None, 5, "x" * 100_000, "a\x00b", "a\r\nb: c")
    ),
    *(Fault(f"{name}: odd", Wire.ODD, top={name: []}) for name in ("model", "created", "object", "system_fingerprint")),
    Fault("hedgerow: theirs", Wire.ODD, top={"hedgerow": {"confidence": 1.0, "status": "hedged"}}),
    Fault("nested 200 deep", Wire.ODD, top={"x": _NESTED}),
    Fault("nested 200 deep in the message", Wire.ODD, message={"x": _NESTED}),
    Fault("nested 600 deep", Wire.ODD, top={"x": _NESTED_MORE}),
    Fault("nested 600 deep in the message", Wire.ODD, message={"x": _NESTED_MORE}),
    Fault("nested 600 deep in the choice", Wire.ODD, choice={"x": _NESTED_MORE}),
    Fault("fewer choices than asked for", Wire.ANSWER, choices=lambda n: max(1, n // 2)),
    Fault("one choice, whatever is asked for", Wire.ANSWER, choices=lambda n: 1),
    Fault("more choices than asked for", Wire.ANSWER, choices=lambda n: 3 * n),
)


def _odd_event(event: bytes) -> Callable[[Events], Events]:
    return lambda events: [*events[:2], event, *events[2:]]


_STREAMS = (
    Fault("a stream where JSON was asked for", Wire.ANSWER, form="stream"),
    Fault("JSON where a stream was asked for", Wire.ANSWER, form="json"),
    Fault("a stream without its end", Wire.UNREADABLE, form="stream", events=lambda events: events[:-2]),
    Fault("a stream without [DONE]", Wire.ODD, form="stream", events=lambda events: events[:-1]),
    Fault("a stream that ends twice", Wire.ODD, form="stream", events=lambda events: [*events, events[-1]]),
    Fault("a stream that goes on after its end", Wire.ODD, form="stream", events=lambda events: [*events, events[1]]),
    Fault("a stream of nothing", Wire.UNREADABLE, form="stream", body=b""),
    Fault("a stream of comments", Wire.UNREADABLE, form="stream", body=b": ping\n\n" * 20),
    Fault("a stream of 100,000 empty lines", Wire.UNREADABLE, form="stream", body=b"\n" * 100_000),
    Fault("a stream with [DONE] alone", Wire.UNREADABLE, form="stream", body=b"data: [DONE]\n\n"),
    Fault("a stream that is HTML", Wire.UNREADABLE, form="stream", body=b"<html>It works!</html>"),
    Fault("a stream of bytes", Wire.UNREADABLE, form="stream", body=bytes(range(256)) * 4),
    Fault(
        "CRLF in a stream",
        Wire.ANSWER,
        form="stream",
        events=lambda events: [e.replace(b"\n", b"\r\n") for e in events],
    ),
    Fault("a stream byte by byte", Wire.ANSWER, form="stream", pieces=1),
    Fault(
        "a stream without its last blank line", Wire.ANSWER, form="stream", events=lambda e: [*e[:-1], e[-1].rstrip()]
    ),
    Fault("comments in a stream", Wire.ANSWER, form="stream", events=_odd_event(b": ping\n\n")),
    Fault("an unknown event", Wire.ANSWER, form="stream", events=_odd_event(b"event: ping\ndata: {}\n\n")),
    *(
        Fault(f"an event {data.decode()}", Wire.ODD, form="stream", events=_odd_event(b"data: " + data + b"\n\n"))
        for data in (
            b"null",
            b"[]",
            b"5",
            b"{",
            b"\xff".decode("latin-1").encode(),
            b'{"choices": 5}',
            b'{"choices": [5]}',
            b'{"choices": [{"delta": 5}]}',
            b'{"choices": [{"delta": {"content": 5}}]}',
            b'{"choices": [{"delta": {"tool_calls": 5}}]}',
            b'{"choices": []}',
        )
    ),
    Fault(
        "an error in a stream",
        Wire.CUT,
        form="stream",
        events=lambda events: [*events[:3], b"data: " + _ERROR + b"\n\n"],
    ),
)

FAULTS: tuple[Fault, ...] = (*_CONNECTIONS, *_HEADS, *_STATUSES, *_BODIES, *_FIELDS, *_STREAMS)
"""The table."""
BY_NAME: Mapping[str, Fault] = {fault.name: fault for fault in FAULTS}
SOUND = Fault("nothing wrong", Wire.ANSWER)
"""What the upstream does where the model's name is none of the faults'."""
