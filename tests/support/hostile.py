"""Strings that a broken or malicious model writes, built to hurt code that is not linear, and a measure that holds code against them."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

HOSTILE: dict[str, Callable[[int], str]] = {
    "full stops": lambda n: "." * n + "x",
    "spaces": lambda n: "Paris" + " " * n + "x",
    "non-breaking spaces": lambda n: "Paris" + "\u00a0" * n + "x",
    "one word again and again": lambda n: "Paris " * (n // 6),
    "different words": lambda n: " ".join(f"w{i}" for i in range(n // 6)),
    "one endless word": lambda n: "a" * n,
    "apostrophes": lambda n: "a'" * (n // 2),
    "digits": lambda n: "7" * n,
    "figures": lambda n: "1 2 3 4 " * (n // 8),
    "fractions": lambda n: "7" * n + " 1/2",
    "hyphens": lambda n: "-" * n + "x",
    "brackets": lambda n: "(" * n + "x",
    "square brackets": lambda n: "[1" * (n // 2),
    "quotes": lambda n: "\"'" * (n // 2) + "x",
    "commas": lambda n: "a, " * (n // 3),
    "letters with stops": lambda n: "".join(chr(97 + i % 26) + "." for i in range(n // 2)),
    "a list": lambda n: " and ".join("item" + "".join(chr(97 + i // 8**k % 8) for k in range(5)) for i in range(n // 14)),
    "scale words": lambda n: "hundred million " * (n // 16),
    "amounts": lambda n: "5 km " * (n // 5),
    "short sentences": lambda n: "".join(f"The tower {i} is {i} m tall. " for i in range(n // 26)),
    "hedges": lambda n: "I am not sure it is as far as I know " * (n // 37),
    "negations": lambda n: "no chance not sure " * (n // 19),
    "line breaks": lambda n: ("\n" + " " * 50) * (n // 51) + "x",
    "accents": lambda n: "a" + "\u0301" * n,
    "emoji": lambda n: "😀" * n,
}  # fmt: skip
"""Strings of about n characters, by name."""

_MARKED = {
    "dots": ("", ".", "x"), "spaced dots": ("", ". ", "x"), "spaces": ("Paris ", " ", "x"), "no-break spaces": ("Paris ", "\u00a0", "x"),
    "closed dots": ("It is.", '"', "x"), "one word": ("", "word ", "."), "long word": ("", "a", "."), "commas": ("Paris", ", ", "x."),
    "brackets": ("", "(", "x"), "square brackets": ("", "[", "x"), "nested": ("", "([“", "x"), "curly quotes": ("", "“", "x"),
    "low quotes": ("", "„", "x"), "guillemets": ("", "«a ", "x"), "straight quotes": ("", '"a ', "x"), "backticks": ("", "`a ", "x"),
    "digits": ("", "1", "x"), "dotted digits": ("", "1.", "x"), "numbers": ("", "1,", "x"), "hyphens": ("", "-", "x"),
    "hyphenated": ("", "a-", "x"), "initials": ("", "A.", "x"), "addresses": ("", "a.b", "x"), "ats": ("", "a@", "x"), "dollars": ("", "$a", " x"),
    "maths": ("", "\\[a ", "x"), "inline maths": ("", "\\(a ", "x"), "links": ("", "http://a.", " x"), "lines": ("", "a\n", "x"),
    "blank lines": ("a", "\n", "x"), "indented lines": ("a", "\n  ", "x"), "items": ("", "- a\n", "x"), "rows": ("", "| a ", "x"),
    "that": ("It is", " that", " so."), "the": ("It is ", "the ", "so."), "probably": ("It is ", "probably ", "so."), "not": ("It is ", "not ", "so."),
    "perhaps in brackets": ("It", " (probably)", " is."), "aware": ("I am not aware", " ", "x"), "but": ("Paris", ", but", " so."),
    "apostrophes": ("", "it's ", "x"), "citations": ("It is.", "[1]", "x"), "questions": ("", "Is it? ", "x"), "fences": ("", "```\na\n", "x"),
    "exclamations": ("", "So! ", "x"), "kanji stops": ("", "。", "x"), "stars": ("", "*a ", "x"), "headings": ("", "# a\n", "x"), "slots": ("", "{", "x"),
}  # fmt: skip
"""A beginning, what is repeated, and an end at which every guess of a reader fails, by name."""


def _marked(start: str, repeated: str, end: str) -> Callable[[int], str]:
    return lambda n: start + repeated * (n // len(repeated)) + end


MARKED = {name: _marked(*parts) for name, parts in _MARKED.items()}
"""The same, of the marks that tell sentences, quotations, code, maths and lists."""

NASTY = st.lists(
    st.sampled_from([
        ".", "...", " ", "  ", "\u00a0", "\n", "\n\n", "\t", ",", ", but I am not sure", "(", ")", "[", "]", "[1]", "“", "”", '"', "'", "’", "«", "»", "„", "`", "```",
        "*", "**", "_", "- ", "1. ", "# ", "> ", "|", "$", "\\(", "\\)", "\\[", "1", "12,345", "3.14", "1889", "-", "–", "…", "?", "!", ":", ";", "a", "I", "I think that ",
        "probably ", "Paris", " is ", "Dr.", "U.S.", "no.", "can't", "don’t", "http://a.b", "a@b.c", "über", "é", "東京", "。", "\u200b", "\r\n", "\x00", "{clause}", "not ",
        "As far as I know, ", "the ", "that ", "Yes, ", "May", "9. November",
    ]),
    max_size=40,
).map("".join)  # fmt: skip
"""Short texts of pieces that surprise whoever takes them apart."""

LIMIT_S = 10.0
"""Generous: linear code takes a few hundredths of it."""
LENGTHS = 2_000, 8_000
RATIO = 8.0
"""Most by which time may grow between the two lengths: what is linear takes four times as long, a square sixteen times."""
NOISE_S = 0.02
"""Below it a ratio says nothing; a regular expression that tries every start takes ten times as long on 8,000 characters."""


def seconds(work: Callable[[str], object], text: str) -> float:
    """Time of the process that `work` takes; errors that a caller expects are its own business."""
    gc.disable()  # its full passes cost by the size of the test process, not of the text
    try:
        start = time.process_time()
        work(text)
        return time.process_time() - start
    finally:
        gc.enable()


@dataclass(frozen=True, slots=True)
class Growth:
    """Seconds on texts of the two `LENGTHS`; `short_s` is 0 where the longer text took next to nothing and the shorter one was not tried."""

    short_s: float
    long_s: float

    @property
    def is_linear(self) -> bool:
        """Whether the time grows about as the length does, and the longer text does not take long."""
        return self.long_s < NOISE_S or self.long_s < min(LIMIT_S, RATIO * self.short_s)


def growth(work: Callable[[str], object], make: Callable[[int], str]) -> Growth:
    """How the time of `work` grows with the length of a text; a measurement that is not linear is repeated, since noise looks like that."""
    short, long = LENGTHS
    for attempt in range(3):
        more = 1 + attempt / 50  # other texts, which no cache has seen
        long_s = seconds(work, make(int(more * long)))
        measured = Growth(seconds(work, make(int(more * short))) if long_s >= NOISE_S else 0.0, long_s)
        if measured.is_linear:
            break
    return measured
