"""Everything a client may do wrong, as a table: what it sends, and which of few ends it may come to."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from benchmarks.chaos.serving import ADMIN_KEY, CLIENT_PATIENCE_S, MAX_BODY_BYTES
from benchmarks.chaos.speech import question
from benchmarks.chaos.wire import Step, request


class End(Enum):
    """What may come of an abuse: statuses (None: the connection is closed without an answer) and rows of the audit."""

    NO_HTTP = ({400, 431, None}, 0)
    """What cannot be parsed is refused or dropped, and does not count as a request."""
    REFUSED = ({400, 404, 405, 413, 415, 422}, 1)
    """One clear error, and a row that says so."""
    SERVED = ({200}, 1)
    """The upstream is to judge what we do not know: it answered."""
    EITHER = ({200, 400, 404, 405, 413, 422, 431, 502, None}, None)
    """A lenient reader may take it. What is taken has a row; that is counted on the other kinds."""
    GONE = ({None}, 1)
    """The client left, or was taken to have left because it owed bytes for too long: nobody is there to answer, the row says so."""
    LEFT = ({200, None}, 1)
    """The client left in the middle of its answer, or said that it sends nothing more, which counts as leaving."""
    DROPPED = ({None}, 0)
    """A connection that brought no request is closed."""
    OWN = ({400, 401, 403, 404, 405, 422}, 0)
    """Our own endpoints refuse; nothing goes upstream."""

    @property
    def statuses(self) -> set[int | None]:
        """What the client may get."""
        return self.value[0]

    @property
    def rows(self) -> int | None:
        """How many rows each such request has."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Abuse:
    """One kind of abuse.

    Attributes:
        script: what the client does.
    """

    name: str
    end: End
    script: tuple[Step, ...]


CHAT = "/v1/chat/completions"
_ASK: Mapping[str, Any] = {"model": "m", "messages": [{"role": "user", "content": question("abc")}]}
_BODY = json.dumps(_ASK).encode()
_CLOSE = "connection: close\r\n"
_WAIT = CLIENT_PATIENCE_S * 4


def _raw(line: str, headers: str = "", body: bytes = b"") -> bytes:
    return f"{line}\r\nhost: chaos\r\n{_CLOSE}{headers}\r\n".encode("latin-1") + body


def _chat(body: bytes = _BODY, **headers: str) -> bytes:
    return request("POST", CHAT, body, connection="close", **headers)


def _with(**fields: Any) -> bytes:
    return _chat(json.dumps({**_ASK, **fields}).encode())


def _own(method: str, target: str, body: bytes | None = None) -> bytes:
    return request(method, target, body, connection="close", authorization=f"Bearer {ADMIN_KEY}")


def _kinds(end: End, **scripts: bytes | tuple[Step, ...]) -> tuple[Abuse, ...]:
    return tuple(
        Abuse(name.replace("_", " "), end, script if isinstance(script, tuple) else (script,))
        for name, script in scripts.items()
    )


SMUGGLED = "/v1/smuggled"
_SECOND = f"POST {SMUGGLED} HTTP/1.1\r\nhost: chaos\r\ncontent-length: 2\r\n\r\n{{}}".encode()
"""A request that one reader sees in another's body. Nothing of it may reach the upstream."""


def _chunks(*parts: bytes, extension: bytes = b"") -> bytes:
    return b"".join(b"%x%s\r\n%s\r\n" % (len(part), extension, part) for part in parts)


def _kept(headers: str, body: bytes) -> bytes:
    """On a connection that goes on, so that what is behind the body is read as well."""
    return f"{_POST}\r\nhost: chaos\r\ncontent-type: application/json\r\n{headers}\r\n".encode("latin-1") + body


_LENGTH = f"content-type: application/json\r\ncontent-length: {len(_BODY)}\r\n"
_CHUNKED = "content-type: application/json\r\ntransfer-encoding: chunked\r\n"
_POST = f"POST {CHAT} HTTP/1.1"
_HEAD_ONLY = _raw(_POST, _LENGTH)
_LAST = b"0\r\n\r\n"
_SIZE = len(_BODY)

_HTTP = (
    *_kinds(
        End.NO_HTTP,
        garbage=b"hello?\r\n\r\n",
        NULs=b"\0" * 100,
        a_TLS_hello=b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100,
        an_HTTP2_preface=b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        a_version_of_the_future=_raw(f"GET {CHAT} HTTP/3.7"),
        two_lengths=_raw(_POST, f"content-length: 5\r\n{_LENGTH}", _BODY),
        a_length_and_chunks=_raw(_POST, f"transfer-encoding: chunked\r\n{_LENGTH}", b"0\r\n\r\n"),
        a_negative_length=_raw(_POST, "content-length: -5\r\n", _BODY),
        a_length_that_is_a_word=_raw(_POST, "content-length: two\r\n", _BODY),
        a_length_of_two_to_the_70=_raw(_POST, f"content-length: {2**70}\r\n", _BODY),
        a_space_in_a_name=_raw(_POST, f"x bad: 1\r\n{_LENGTH}", _BODY),
        a_header_without_colon=_raw(_POST, f"nonsense\r\n{_LENGTH}", _BODY),
        a_NUL_in_a_header=_raw(_POST, f"x-a: \0\r\n{_LENGTH}", _BODY),
        a_header_of_65_KB=_raw(_POST, f"x-a: {'x' * 70_000}\r\n{_LENGTH}", _BODY),
        ten_thousand_headers=_raw(_POST, "x-a: 1\r\n" * 10_000 + _LENGTH, _BODY),
        an_address_of_70_KB=_raw(f"GET /v1/{'x' * 70_000} HTTP/1.1"),
        CONNECT=_raw("CONNECT chaos:443 HTTP/1.1"),
        a_space_in_the_address=_raw("GET /v1/a b c HTTP/1.1"),
        a_request_behind_the_chunks_of_a_length=_kept(
            f"content-length: {len(_LAST + _SECOND)}\r\ntransfer-encoding: chunked\r\n", _LAST + _SECOND
        ),
        a_request_in_the_chunks_of_a_length=_kept(
            "transfer-encoding: chunked\r\ncontent-length: 4\r\n", _chunks(_SECOND) + _LAST
        ),
        a_space_behind_a_name=_kept(f"transfer-encoding : chunked\r\ncontent-length: {_SIZE}\r\n", _LAST + _SECOND),
        chunks_that_are_not_the_last_coding=_kept("transfer-encoding: chunked, identity\r\n", _LAST + _SECOND),
        a_coding_behind_a_tab=_kept("transfer-encoding: \x0bchunked\r\n", _LAST + _SECOND),
        the_same_length_twice=_kept(f"content-length: {_SIZE}\r\ncontent-length: {_SIZE}\r\n", _BODY),
        two_lengths_in_other_letters=_kept(f"CONTENT-length: 5\r\ncontent-LENGTH: {_SIZE}\r\n", _BODY + _SECOND),
        a_list_of_lengths=_kept(f"content-length: {_SIZE}, {_SIZE}\r\n", _BODY),
        a_length_with_a_sign=_kept(f"content-length: +{_SIZE}\r\n", _BODY),
        no_host=f"{_POST}\r\n{_CLOSE}{_LENGTH}\r\n".encode() + _BODY,
        a_length_in_hexadecimals=_kept(f"content-length: {hex(_SIZE)}\r\n", _BODY + _SECOND),
    ),
    *_kinds(
        End.EITHER,
        lines_that_end_in_LF=f"{_POST}\nhost: x\n{_LENGTH}\n".replace("\r", "").encode() + _BODY,
        a_folded_header=_raw(_POST, f"x-a: 1\r\n  2\r\n{_LENGTH}", _BODY),
        an_unknown_transfer_encoding=_raw(_POST, "transfer-encoding: odd\r\n", _BODY),
        bytes_in_the_address=_raw("GET /v1/\xff\xfe HTTP/1.1"),
        a_percent_sign_alone=_raw("GET /v1/%zz HTTP/1.1"),
        a_whole_address=_raw("GET http://elsewhere/v1/models HTTP/1.1"),
        an_asterisk=_raw("OPTIONS * HTTP/1.1"),
        a_WebSocket=_raw(
            f"GET {CHAT} HTTP/1.1", "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: eA==\r\n"
        ),
        chunks_that_are_none=_raw(_POST, _CHUNKED, b"zz\r\n{}\r\n0\r\n\r\n"),
        an_unknown_method=_raw(f"BREW {CHAT} HTTP/1.1"),
        an_unknown_expectation=_raw(_POST, f"expect: coffee\r\n{_LENGTH}", _BODY),
        two_codings_in_two_headers=_kept(
            "transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n", _chunks(_BODY) + _LAST
        ),
        a_size_with_a_sign=_raw(_POST, _CHUNKED, b"+" + _chunks(_BODY) + _LAST),
        a_chunk_longer_than_its_size=_raw(_POST, _CHUNKED, b"5\r\n" + _BODY + b"\r\n" + _LAST),
        an_extension_that_ends_in_LF=_raw(_POST, _CHUNKED, b"5;\n" + _BODY[:5] + b"\r\n" + _LAST + _SECOND),
        an_extension_of_a_megabyte=_raw(_POST, _CHUNKED, _chunks(_BODY, extension=b";x=" + b"y" * 1_000_000) + _LAST),
        a_trailer_of_a_megabyte=_raw(_POST, _CHUNKED, _chunks(_BODY) + b"0\r\nx-a: " + b"y" * 1_000_000 + b"\r\n\r\n"),
        fifty_thousand_trailers=_raw(_POST, _CHUNKED, _chunks(_BODY) + b"0\r\n" + b"x-a: y\r\n" * 50_000 + b"\r\n"),
    ),
    *_kinds(
        End.SERVED,
        HTTP_10=f"POST {CHAT} HTTP/1.0\r\n{_LENGTH}\r\n".encode() + _BODY,
        one_byte_in_each_chunk=_raw(_POST, _CHUNKED, b"".join(b"1\r\n%c\r\n" % byte for byte in _BODY) + b"0\r\n\r\n"),
        one_byte_at_a_time=tuple(bytes([byte]) for byte in _chat()),
        an_expectation_of_100=(_raw(_POST, f"expect: 100-continue\r\n{_LENGTH}"), 0.05, _BODY),
        an_offer_of_HTTP2=_raw(_POST, f"upgrade: h2c\r\nhttp2-settings: AAMAAABkAAQ\r\n{_LENGTH}", _BODY),
        garbage_behind_the_body=_chat() + b"garbage\r\n\r\n",
        headers_of_ours=_chat(x_hedgerow_mode="loud", x_hedgerow_status="hedged", x_hedgerow_audit_id="hr_0"),
        a_key_of_30_KB=_chat(authorization="Bearer " + "x" * 30_000),
        a_key_in_bytes=_chat(authorization="Bearer \xff\xfe"),
        chunks_in_capitals=_raw(_POST, f"TRANSFER-ENCODING: CHUNKED\r\n{_CLOSE}", _chunks(_BODY) + _LAST),
        an_extension_of_each_chunk=_raw(
            _POST, _CHUNKED, _chunks(*(bytes([byte]) for byte in _BODY), extension=b';a=b;c="d"') + _LAST
        ),
        a_hundred_thousand_chunks=_raw(_POST, _CHUNKED, _chunks(*[b" "] * 100_000, _BODY) + _LAST),
        trailers_that_look_like_headers=_raw(
            _POST, _CHUNKED, _chunks(_BODY) + f"0\r\nauthorization: Bearer {ADMIN_KEY}\r\nx-way: off\r\n\r\n".encode()
        ),
        names_in_other_letters=_chat(AuThOrIzAtIoN="Bearer x", X_HEDGEROW_MODE="off", CoOkIe="hedgerow_session=x"),
        a_length_with_an_underscore=_raw(_POST, f"content_length: 5\r\n{_LENGTH}", _BODY),
    ),
)

_BODIES = (
    *_kinds(
        End.REFUSED,
        no_body=_raw(_POST),
        a_request_in_the_body=_kept(f"content-length: {len(_SECOND)}\r\nconnection: close\r\n", _SECOND),
        an_empty_body=_chat(b""),
        a_body_over_the_limit=(
            _raw(_POST, f"content-type: application/json\r\ncontent-length: {MAX_BODY_BYTES + 1}\r\n"),
            b"x" * 300_000,
        ),
        chunks_over_the_limit=_raw(_POST, _CHUNKED, b"10000\r\n" + b"x" * 65_536 + b"\r\n")
        + b"100000\r\n"
        + b"x" * 1_048_576,
        a_gzip_bomb=_chat(gzip.compress(b" " * 20_000_000), content_encoding="gzip"),
        half_of_JSON=_chat(_BODY[:-9]),
        bytes_in_JSON=_chat(b'{"model": "m", "messages": [{"role": "user", "content": "\xff"}]}'),
        UTF16=_chat(_BODY.decode().encode("utf-16")),
        a_hundred_thousand_brackets=_chat(b"[" * 100_000),
        null=_chat(b"null"),
        a_list=_chat(b"[]"),
        a_number=_chat(b"1e999"),
        no_messages=_chat(b'{"model": "m"}'),
        messages_of_nothing=_with(messages=[]),
        messages_that_are_text=_with(messages="hello"),
        messages_that_are_numbers=_with(messages=[1, 2]),
        content_that_is_a_number=_with(messages=[{"role": "user", "content": 5}]),
        ten_thousand_messages=_with(messages=[{"role": "user", "content": "x"}] * 10_000),
        a_model_that_is_a_number=_with(model=5),
        stream_that_is_text=_with(stream="yes"),
        n_that_is_text=_with(n="two"),
        n_of_minus_one=_with(n=-1),
    ),
    *_kinds(
        End.SERVED,
        a_temperature_of_two_to_the_63=_with(temperature=2**63),
        keys_twice=_chat(b'{"model": "m", "model": "m", ' + _BODY[1:]),
        a_model_of_100_KB=_with(model="x" * 100_000),
        NUL_everywhere=_with(
            model="a\0b", user="a\0b", messages=[{"role": "user", "content": "What is the capital of\0 France?"}]
        ),
        a_question_of_900_KB=_with(messages=[{"role": "user", "content": "why? " * 180_000}]),
        fields_of_odd_types=_with(
            tools=5, response_format=[], metadata=7, stop={}, logit_bias="x", best_of="x", modalities=5, user=[]
        ),
        an_escape_that_is_half_a_pair=_chat(_BODY.replace(b"What", b"\\ud800")),
        nested_500_deep=_chat(_BODY[:-1] + b', "x": ' + b"[" * 500 + b"]" * 500 + b"}"),
    ),
    *_kinds(
        End.EITHER,
        n_of_a_milliard=_with(n=10**9),
        gzip_that_is_none=_chat(content_encoding="gzip"),
        a_coding_that_is_not_read=_chat(content_encoding="br"),
    ),
)

NEAR = (
    "/v1/feedback/",
    "/v1/admin/nothing",
    "/v1/admin",
    "/v1/audit/a/b",
    "/v1/../admin",
    "/v1/%2e%2e/admin",
    "/v1/./feedback",
    "/v1//../x",
)
"""Paths near our own: nothing of them may reach the upstream, with the keys that came along least of all."""
_OWN = (
    *(Abuse(f"GET {path}", End.OWN, (_own("GET", path),)) for path in NEAR),
    *(Abuse(f"POST {path}", End.OWN, (_own("POST", path, b"{}"),)) for path in NEAR),
    *_kinds(
        End.OWN,
        a_verdict_without_body=_own("POST", "/v1/feedback", b""),
        a_verdict_that_is_a_number=_own("POST", "/v1/feedback", b"5"),
        a_verdict_on_nothing=_own("POST", "/v1/feedback", b'{"id": "hr_unknown", "correct": true}'),
        a_verdict_with_NUL=_own("POST", "/v1/feedback", b'{"id": "a\\u0000b", "correct": true}'),
        a_verdict_of_infinity=_own("POST", "/v1/feedback", b'{"id": "hr_x", "correct": 1e999}'),
        an_audit_id_of_10_KB=_own("GET", f"/v1/audit/{'x' * 10_000}"),
        an_audit_id_with_NUL=_own("GET", "/v1/audit/a%00b"),
        the_admin_without_key=request("GET", "/v1/admin/routes", connection="close"),
        the_admin_with_another_key=request("GET", "/v1/admin/routes", connection="close", authorization="Bearer x"),
        the_dashboard_with_a_false_cookie=request(
            "POST", "/sign-out", b"", connection="close", cookie="hedgerow_session=x"
        ),
        DELETE_of_our_own=_own("DELETE", "/v1/feedback"),
        a_page_outside_of_static=_own("GET", "/static/../../etc/passwd"),
        a_page_outside_of_static_in_codes=_own("GET", "/static/%2e%2e/%2e%2e/etc/passwd"),
    ),
)

_TIMES = (
    *_kinds(
        End.DROPPED,
        a_connection_and_no_more=(_WAIT,),
        a_head_that_stops=(f"{_POST}\r\nhost: x\r\n".encode(), _WAIT),
        a_head_byte_by_byte_for_ever=tuple(
            step for byte in (f"{_POST}\r\nx: " + "y" * 60).encode() for step in (bytes([byte]), 0.2)
        ),
        left_in_the_head=(f"{_POST}\r\nhost: x\r\n".encode(), 0.02, "leave"),
    ),
    *_kinds(
        End.GONE,
        a_body_that_never_comes=(_HEAD_ONLY, _WAIT),
        a_body_that_stops=(_HEAD_ONLY + _BODY[:20], _WAIT),
        chunks_that_stop=(_raw(_POST, _CHUNKED, b"5\r\n{"), _WAIT),
    ),
    *_kinds(
        End.GONE,
        left_before_the_body=(_HEAD_ONLY, 0.1, "leave"),
        left_in_the_body=(_HEAD_ONLY + _BODY[:20], 0.1, "leave"),
        reset_in_the_body=(_HEAD_ONLY + _BODY[:20], 0.1, "reset"),
        left_while_it_waits=(_chat(x_fault="silence after the request"), 0.5, "leave"),
        reset_while_it_waits=(_chat(x_fault="silence after the request"), 0.5, "reset"),
        left_while_it_waits_off=(_chat(x_fault="silence after the request", x_way="off"), 0.5, "leave"),
        left_while_it_waits_in_shadow=(_chat(x_fault="silence after the request", x_way="shadow"), 0.5, "leave"),
    ),
)

_STREAM = json.dumps({**_ASK, "stream": True}).encode()
_LEAVING = _kinds(
    End.LEFT,
    **{
        f"{how} in a stream, {way}": (_chat(_STREAM, x_fault="a stream byte by byte", x_way=way), 0.15, how)
        for way in ("off", "shadow", "append")
        for how in ("leave", "reset")
    },
    half_closed=(_chat(), "half-close"),
)

ABUSES: tuple[Abuse, ...] = (*_HTTP, *_BODIES, *_OWN, *_TIMES, *_LEAVING)
"""The table."""
