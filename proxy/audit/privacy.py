"""What of a text may be kept: nothing, a hash, the text without what identifies people and opens doors, or all of it.

Redaction knows patterns, not people: e-mail addresses, telephone numbers, payment cards (Luhn), IBANs (mod 97), US social security numbers,
IP addresses, keys and tokens, credentials in addresses. Names and postal addresses have no pattern; only `hashed` and `none` keep them out.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable

from hedgerow.proxy.audit.entry import Texts
from hedgerow.proxy.config import StoreText

_SUSPECT = re.compile(
    r"[@\d]|sk-|hgk_|hf_|gh[a-z]_|glpat-|xox|AIza|eyJ|AKIA|ASIA|BEGIN|://|(?i:bearer|passw|secret|token|api)"
)
"""A text without any of these holds nothing to redact: most answers are done with after this one search."""


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
"""What is looked for, in this order: its name, the pattern (`only`: the part that goes), and a check that the found text must pass.

Repetitions are bounded or begin at the beginning of a run, so that no text takes more than time in proportion to its length."""
_COMPILED = tuple((f"[{name}]", re.compile(pattern), check) for name, pattern, check in _PATTERNS)


def redact(text: str) -> str:
    """The text with the name of what stood there, in brackets, in the place of each find."""
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
    """SHA-256 of a text, as HMAC where there is a key: equal texts are seen to be equal, and nothing else is seen."""
    data = text.encode("utf-8", "replace")
    return "sha256:" + (hmac.digest(key, data, "sha256") if key else hashlib.sha256(data).digest()).hex()


def kept(texts: Texts, store_text: StoreText, key: bytes) -> Texts | None:
    """What of the texts may be kept; None for nothing."""
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
