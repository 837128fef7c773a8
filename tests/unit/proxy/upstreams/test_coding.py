"""Compressed bodies: read within bounds, however little they are on the way."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
import zstandard

from hedgerow.proxy.upstreams.coding import UNREADABLE, Decoder, UnknownCoding, plain
from tests.support.tables import cases

BOMB = b" " * (256 << 20)
CODINGS = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstandard.compress}


@cases("coding", CODINGS)
def test_a_body_is_what_was_compressed(coding: str) -> None:
    text = b"Canberra, " * 5_000
    assert plain(CODINGS[coding](text), coding, len(text)) == text


@pytest.mark.slow
@cases("coding", CODINGS)
def test_no_piece_holds_more_than_its_bound(coding: str) -> None:
    """Of a body of a few bytes, no more is made than 32 MB before the limit is looked at."""
    packed, decoder, most = CODINGS[coding](BOMB), Decoder(coding), 0
    try:
        for start in range(0, len(packed), 1024):
            most = max(most, len(decoder.take(packed[start : start + 1024])))
    except UNREADABLE:
        assert coding == "br"
    assert most <= 33 << 20
    with pytest.raises((OverflowError, ValueError)):
        plain(packed, coding, 1 << 20)


def test_codings_one_upon_the_other_are_refused() -> None:
    with pytest.raises(UnknownCoding):
        Decoder("deflate, gzip")
    assert not Decoder("identity, ")
