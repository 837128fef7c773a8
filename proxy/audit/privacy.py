"""How a text is stored: not at all, as a hash, without personal data and credentials, or in full.

Redaction knows patterns, not people: e-mail addresses, telephone numbers, payment cards (Luhn), IBANs (mod 97), US social security numbers,
IP addresses, keys and tokens, credentials in addresses. Names and postal addresses have no pattern; only `hashed` and `none` keep them out.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable

from ..config import StoreText
from .entry import Texts

_SUSPECT = re.compile(
    r"[@\d]|sk-|hgk_|hf_|gh[a-z]_|glpat-|xox|AIza|eyJ|AKIA|ASIA|BEGIN|://|(?i:bearer|passw|secret|token|api)"
)
"""A text without any of these needs no redaction: for most answers this one search is enough."""


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit())


def _is_card(text: str) -> bool:
    """The check digit of payment cards (ISO/IEC 7812-1)."""
    doubled = [int(d) * (1 + i % 2) for i, d in enumerate(reversed(_digits(text)))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def _is_iban(text: str) -> bool:
    """The check digits of an IBAN (ISO 13616, ISO 7064 MOD 97-10)."""
    compact = text.replace(" ", "")
    return len(compact) <= 34 and int("".join(str(int(c, 36)) for c in compact[4:] + compact[:4])) % 97 == 1


def _is_phone(text: str) -> bool:
    return 8 <= len(_digits(text)) <= 15


_PATTERNS: tuple[tuple[str, str, Callable[[str], bool] | None], ...] = (
    ("key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?", None),
    ("key", r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*", None),  # JSON web tokens
    ("key", r"\b(?:sk-|hgk_|hf_|gh[a-z]_|github_pat_|glpat-|xox[a-z]-|AIza)[\w-]{6,}", None),
    ("key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", None),
    ("key", r"(?i:\bbearer\s+)(?P<only>[\w.~+/-]{6,}=*)", None),
    ("key", r"(?i:\b(?:password|passwd|secret|token|api[ _-]?key)\s*(?:[:=]|is\b)\s*)(?P<only>[^\s,;]+)", None),
    ("key", r"\b[0-9a-fA-F]{32,}\b", None),
    ("credentials", r"://(?P<only>[^\s/@:]+:[^\s/@]+)@", None),
    ("email", r"(?<![\w.%+'-])[\w.%+'-]+@[\w-]+(?:\.[\w-]+)+", None),
    ("iban", r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b", _is_iban),
    ("card", r"(?<![\w.,])\d(?:[ -]?\d){12,18}(?!\w|[.,]\d)", _is_card),
    ("ssn", r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])", None),
    ("ip", r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?!\w|\.\d)", None),
    ("ip", r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}(?![\w:])", None),
    ("ip", r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){1,6}(?::[0-9a-fA-F]{1,4}){1,6}(?![\w:])", None),
    ("phone", r"(?<![\w.,])\+\d(?:[ ().-]{0,2}\d){6,14}(?!\w)", _is_phone),
    ("phone", r"(?<![\w.,])(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?!\w)", None),
    ("phone", r"(?<![\w.,])\(?0\d{2,5}\)?[ /-]\d{2,10}(?:[ -]\d{2,8}){0,4}(?!\w|[.,]\d)", _is_phone),
    ("phone", r"(?<![\w.,])0\d(?:[ .-]\d\d){4}(?!\w)", None),
    ("phone", r"(?<![\w.,])0[1-9]\d{8,10}(?!\w|[.,]\d)", None),
)
"""What is redacted, in this order: name, pattern (`only`: the part that is removed), and a check of the match.

Repetitions are bounded or anchored at the start of a run, so that the time is linear in the length of the text."""
_COMPILED = tuple((f"[{name}]", re.compile(pattern), check) for name, pattern, check in _PATTERNS)


def redact(text: str) -> str:
    """The text with each match replaced by its name in brackets."""
    if _SUSPECT.search(text) is None:
        return text
    for name, pattern, check in _COMPILED:

        def replace(match: re.Match[str], name: str = name, check: Callable[[str], bool] | None = check) -> str:
            text = match[0]
            if check is not None and not check(text):
                return text
            only = match.groupdict().get("only")
            return name if only is None else text.replace(only, name)

        text = pattern.sub(replace, text)
    return text


def hashed(text: str, key: bytes) -> str:
    """SHA-256 of a text, as HMAC if there is a key: it shows only whether two texts are equal."""
    data = text.encode("utf-8", "replace")
    return "sha256:" + (hmac.digest(key, data, "sha256") if key else hashlib.sha256(data).digest()).hex()


def kept(texts: Texts, store_text: StoreText, key: bytes) -> Texts | None:
    """The texts as they may be stored; None for nothing."""
    if store_text == "none":
        return None
    if store_text == "full":
        return texts

    def keep(text: str | None) -> str | None:
        if text is None:
            return None
        return redact(text) if store_text == "redacted" else hashed(text, key)

    def keep_all(several: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if several is None else tuple(keep(text) or "" for text in several)

    return Texts(
        keep(texts.question),
        keep(texts.draft),
        keep(texts.answer),
        keep(texts.served),
        keep_all(texts.samples),
        keep_all(texts.claims),
    )
