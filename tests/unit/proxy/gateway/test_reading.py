"""What is read of a body, held against readers that know nothing of it: no model that they find is missed."""

from __future__ import annotations

import email
import json
import re
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.errors import ProxyError
from hedgerow.proxy.gateway import reading
from hedgerow.proxy.gateway.entrance import encoded, is_near, path_of
from hedgerow.proxy.gateway.forms import Parts
from hedgerow.proxy.strict_json import loads

SPELLINGS = st.sampled_from(["model", "Model", "mod\\u0065l", "\\u004dODEL", "m", "models", "\\u006dodel", "input"])
VALUES = st.sampled_from(
    ['"a"', '"b"', "null", '""', '{"model": "c", "model": "d"}', '[{"model": "e"}]', '"\\"model\\": \\"f\\""']
)


def top_level(data: bytes) -> list[Any]:
    """All values that the standard library finds under any spelling of `model` in the outermost object."""
    outermost: list[tuple[str, Any]] = []

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        outermost[:] = pairs
        return dict(pairs)

    json.loads(data, object_pairs_hook=keep)
    return [value for name, value in outermost if name.lower() == "model" and value]


@given(st.lists(st.tuples(SPELLINGS, VALUES), max_size=6), st.sampled_from(["", " ", "\r\n\t"]))
def test_every_model_of_a_body_is_found(fields: list[tuple[str, str]], space: str) -> None:
    """Whichever of several keys a reader takes, and however it spells it; nothing in texts, tools or inner objects counts."""
    data = ("{" + ",".join(f'{space}"{name}"{space}:{value}' for name, value in fields) + "}").encode()
    body, models, fault = reading._read(data)
    assert fault is None
    assert body == orjson.loads(data)
    expected = top_level(data)
    texts = [one for one in expected if isinstance(one, str)]
    assert [one for one in models if one in texts] == texts
    assert len(models) == len(expected) or len(expected) == 1


NAMES = st.sampled_from([b'name="model"', b"name=model", b'name="file"', b'NAME="model"', b'name="Model"', b'name = "model"', b"name*=utf-8''model", b'filename="model"', b'name="a"; name="model"', b'filename="\\"; name=\\"model"'])  # fmt: skip
HEADS = st.sampled_from([b"", b"Content-Type: text/plain\r\n", b"Content-Transfer-Encoding: base64\r\n", b"X: a\r\n b\r\n", b"X-\n", b"Content-Disposition: form-data; name=model\r\n"])  # fmt: skip
CONTENTS = st.sampled_from(
    [b"a", b"b", b"", b" a", b"\r\n", b"--x", b"\r\n--xy", b"\r\n--x\r\n", b"RIFF" * 300, b"\xff", b"\n--x\n"]
)
BETWEEN = st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\n", b""])
PARTS = st.lists(st.tuples(NAMES, HEADS, CONTENTS, BETWEEN), max_size=4)


@given(
    PARTS, st.sampled_from([b"", b"junk\r\n", b"junk"]), st.sampled_from([b"", b"\r\n", b"more"]), st.integers(1, 50)
)
def test_no_model_of_a_form_is_missed(parts: list[tuple[bytes, ...]], before: bytes, after: bytes, size: int) -> None:
    """What the standard library finds is found, or the form is called odd; and it is the same in whatever pieces it comes."""
    form = before
    for name, head, content, between in parts:
        form += b"--x\r\nContent-Disposition: form-data; " + name + b"\r\n" + head + b"\r\n" + content + between
    form += b"--x--" + after
    whole, cut = Parts("multipart/form-data; boundary=x"), Parts('Multipart/form-data; boundary="x"')
    whole.feed(form)
    for start in range(0, len(form), size):
        cut.feed(form[start : start + size])
    whole.end()
    cut.end()
    assert (whole.named, whole.odd is None) == (cut.named, cut.odd is None)
    for model, start, end in whole.named:
        assert form[start:end].decode("utf-8", "replace") == model
    read = email.message_from_bytes(b"Content-Type: multipart/form-data; boundary=x\r\n\r\n" + form)
    found = [
        part.get_payload(decode=True).decode("utf-8", "replace")  # type: ignore[union-attr]
        for part in (read.walk() if read.is_multipart() else ())
        if str(part.get_param("name", "", "content-disposition")).lower() == "model"
    ]
    assert whole.odd is not None or [model for model in found if model] == [part.model for part in whole.named]


def test_what_libraries_send_is_not_odd() -> None:
    """Forms of requests, the browsers, Node and .NET."""
    for part in (
        b'Content-Disposition: form-data; name="file"; filename="a \xc3\xa9%22.wav"\r\nContent-Type: audio/wav',
        b"Content-Disposition: form-data; name=file; filename=a.wav; filename*=utf-8''a%20b.wav",
        b'content-disposition: form-data; name="file"; filename="blob"\r\ncontent-type: application/octet-stream',
        b'Content-Disposition: form-data; name="timestamp_granularities[]"',
        b"Content-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=model",
    ):
        read = Parts("multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW")
        read.feed(
            b"------WebKitFormBoundary7MA4YWxkTrZu0gW\r\n"
            + part
            + b"\r\n\r\n1\r\n------WebKitFormBoundary7MA4YWxkTrZu0gW--\r\n"
        )
        read.end()
        assert read.odd is None, part


@given(st.lists(st.sampled_from([*"/.ab%;\\é ", "%2e", "%2F", "%5c", "%25", "..", "%00", "%c3%a9", "%ff"]), max_size=8))
def test_a_path_has_one_reading(signs: list[str]) -> None:
    """What is decided on is what is sent: decoding what is sent, once or again, gives the same, without dots to resolve."""
    raw = ("/" + "".join(signs)).encode()
    try:
        path = path_of(raw)
    except ProxyError:
        return
    sent = encoded(path).encode()
    assert path_of(sent) == path
    assert encoded(path_of(sent)).encode() == sent
    assert not re.search(r"[%\\;\x00]|/\.\.?(/|$)", path)


def test_hosts_that_somebody_may_own_are_not_near() -> None:
    """However they are written."""
    for host in ("evil.example", "EVIL.example:80", "evil.example.", "localhost.evil.example", "127.0.0.1.nip.io", "", "a@b.c", "[::1].x", "a b.c", "x.local.example"):  # fmt: skip
        assert not is_near(host), host
    for host in (
        "LOCALHOST:4000",
        "127.0.0.1",
        "[::1]:4000",
        "10.0.0.7:80",
        "hedgerow",
        "app.localhost",
        "mac.local:1",
        "localhost.",
    ):
        assert is_near(host), host


@given(st.integers(0, 1100), st.sampled_from(["[]", "{}"]))
def test_what_is_read_can_be_written(levels: int, signs: str) -> None:
    """With something around it, whatever a text holds."""
    opening = "[" if signs == "[]" else '{"a":'
    text = opening * levels + "1" + signs[1] * levels
    try:
        value = loads(text)
    except ValueError:
        assert levels > 200
        return
    assert orjson.dumps({"choices": [{"message": {"tool_calls": [{"arguments": value}]}}]})
