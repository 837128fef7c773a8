"""What of a text is kept: exactly what the route says, and nothing that identifies people or opens doors where it says redacted."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.audit.rows import Texts, hashed, kept, redact
from tests.support.hostile import growth
from tests.support.tables import cases
from tests.unit.proxy.audit.conftest import Store, entry

SAID = Texts("My mail is ada@example.org.", "Ada's is ada@example.org.", None, None, ("ada@example.org", "none"))


@cases(
    ("text", "expected"),
    [
        ("Write to ada.lovelace+x@mail.example.co.uk!", "Write to [email]!"),
        ("Call +49 30 1234567 or (030) 1234-567.", "Call [phone] or [phone]."),
        ("Call +1 (212) 555-0123, 212-555-0123 or (212) 555-0123", "Call [phone], [phone] or [phone]"),
        ("Tel. 020 7946 0958, 01 23 45 67 89, 01701234567", "Tel. [phone], [phone], [phone]"),
        ("Card 4111 1111 1111 1111, also 4111-1111-1111-1111 and 378282246310005", "Card [card], also [card] and [card]"),
        ("IBAN DE89 3704 0044 0532 0130 00 and GB82WEST12345698765432", "IBAN [iban] and [iban]"),
        ("SSN 078-05-1120", "SSN [ssn]"),
        ("From 192.168.10.254 and 2001:db8::8a2e:370:7334 to 2001:0db8:0:0:0:8a2e:0370:7334",
         "From [ip] and [ip] to [ip]"),
        ("sk-proj-abc123DEF456 hf_abcdefgh12345 ghp_abcdefghijkl AKIAIOSFODNN7EXAMPLE", "[key] [key] [key] [key]"),
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer [key]"),
        ("password: hunter2, then api_key=xyz; the secret is swordfish", "password: [key], then api_key=[key]; the secret is [key]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "[key]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----", "[key]"),
        ("d41d8cd98f00b204e9800998ecf8427e", "[key]"),
        ("postgres://ada:secret@db.example.org/x", "postgres://[credentials]@db.example.org/x"),
    ],
)  # fmt: skip
def test_what_identifies_is_taken_out(text: str, expected: str) -> None:
    """Its name stands in its place; the words around it stay."""
    assert redact(text) == expected


@cases(
    "text",
    [
        "Canberra, founded in 1913, has 456,692 inhabitants.",
        "From 1914-1918 and 1939-1945; on 01/02/2024, 2024-02-01 and 28.06.1914 at 10:20:30.",
        "Pi is 3.14159265358979 and c is 299792458 m/s; 6.02214076e23; 1,234,567.89 EUR.",
        "ISBN 978-3-16-148410-0 and 1234567890123 are numbers.",
        "Version 1.2.3 is newer than 1.10.0.0.1; ratio 16:9; std::vector; 0.25 of 100 000 000.",
        "The token was lost and the password forgotten.",
        "RNA and DE are no accounts; the 25th of 1000.",
    ],
)
def test_facts_are_left_alone(text: str) -> None:
    """Years, dates, populations, constants: what answers are made of."""
    assert redact(text) == text


@given(st.text(max_size=100))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    """And no text is too odd for it."""
    once = redact(text)
    assert redact(once) == once


@cases("piece", ["1 2-", "a@", "a.", "0-", "AB12 ", ":a", "+1(", "sk-", "://a", "token"])
def test_redaction_takes_time_in_proportion(piece: str) -> None:
    """Of what looks like the beginning of everything."""
    assert growth(redact, lambda n: piece * (n // len(piece))).is_linear


def test_the_four_ways() -> None:
    """Nothing, hashes, redacted, all; a hash is what anybody with the key can compute."""
    assert kept(SAID, "none", b"") is None
    assert kept(SAID, "full", b"") is SAID
    assert kept(SAID, "redacted", b"") == Texts(
        "My mail is [email].", "Ada's is [email].", None, None, ("[email]", "none")
    )
    texts = kept(SAID, "hashed", b"k")
    assert texts is not None
    assert texts.question == "sha256:" + hmac.new(b"k", SAID.question.encode(), hashlib.sha256).hexdigest()  # type: ignore[union-attr]
    assert hashed("x", b"") == "sha256:" + hashlib.sha256(b"x").hexdigest()


@pytest.mark.parametrize("store_text", ["none", "hashed", "redacted", "full"])
def test_the_database_holds_what_may_be_kept_and_no_more(store: Store, store_text: Any) -> None:
    """Looked for in the bytes of its files, in the log of its writes too."""
    said = Texts(
        "Is ada@example.org in Ulaanbaatar?", "In Ulaanbaatar.", "Probably in Ulaanbaatar.", None, ("In Ulaanbaatar.",)
    )
    store.write(entry("a", texts=said, user="ada-lovelace", store_text=store_text))
    if store.settings.url.startswith("sqlite"):
        path = Path(store.settings.url.removeprefix("sqlite:///"))
        content = b"".join(file.read_bytes() for file in path.parent.rglob("*") if file.is_file())
    else:
        tables = ("answers", "texts", "chains")
        content = "".join(text for table in tables for text in store.sql(f"SELECT {table}::text FROM {table}")).encode()
    assert (b"Ulaanbaatar" in content) == (store_text in ("redacted", "full"))
    assert (b"ada@example.org" in content) == (store_text == "full")
    assert (b"sha256:" in content) == (store_text == "hashed")
    assert b"ada-lovelace" not in content
    assert hashlib.sha256(b"ada-lovelace").hexdigest().encode() in content
