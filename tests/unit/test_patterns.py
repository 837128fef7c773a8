"""No regular expression of ours holds the interpreter: each is taken apart, and each of its repetitions is pumped to 20,000 characters."""

from __future__ import annotations

import re

import pytest

from tests.support.patterns import LIMIT_S, WAYS, Pattern, patterns, worst
from tests.support.tables import cases


@pytest.mark.slow
def test_no_pattern_of_ours_holds_the_interpreter() -> None:
    found = patterns()
    assert len(found) > 100
    slow = {pattern.where: taken for pattern in found if (taken := worst(pattern))[0] > LIMIT_S}
    assert not slow, "\n".join(f"{where}: {seconds:.2f} s, {text}" for where, (seconds, text) in slow.items())


@pytest.mark.slow
@cases(
    ("pattern", "way"),
    [
        (r"([^\W\d_]+)'s", "each"),  # starts anew at each letter
        (r"\s+$", "each"),
        (r"who\b(?:(?!;)[^?])*\?", "each"),  # each start scans to the end
        (rb"model(?:;[^\r\n]*)?\r\n", "each"),
        (r"^[*_]*(?!.*\banswer\b)\w", "match"),  # gives back before something that scans far
        (r"\s*-?\s*x", "match"),  # two repetitions of the same
        (r"\([^()]+, [^()]+, [^()]+\)", "match"),
        (r"(?:a|a)+$", "match"),  # exponential
        (r"(?:\w+\s*)+$", "match"),
        (r"(?:x(?:[a-z]+ ?)*)+!", "fullmatch"),
        (r"say (?:[a-z]+,? ?)+\.", "each"),
    ],
)
def test_one_that_is_not_linear_is_found(pattern: str | bytes, way: str) -> None:
    assert worst(Pattern("", re.compile(pattern), frozenset([way])))[0] > LIMIT_S


@cases(
    ("pattern", "way"),
    [
        (r"(?<![^\W\d_])([^\W\d_]++)'s", "each"),
        (r"(?<!\s)\s++$", "each"),
        (r"name=[^;]{0,200};", "each"),
        (r"^[*_]*+(?!.*\banswer\b)\w", "match"),
        (r"\s*+(?:-\s*+)?x", "match"),
        (r"\s+$", "match"),  # is asked at the beginning only
        (r"(?>\w+\s*)+$", "match"),
    ],
)
def test_its_linear_form_is_not(pattern: str, way: str) -> None:
    assert worst(Pattern("", re.compile(pattern), frozenset([way])))[0] < LIMIT_S


@pytest.mark.slow
def test_how_a_pattern_is_used_is_read_from_the_source() -> None:
    """What cannot be seen counts as used in every way."""
    ways = {pattern.where.partition(":")[0]: pattern.ways for pattern in patterns()}
    assert ways["proxy/upstreams/sse.py"] == {"each"}
    assert ways["proxy/audit/formats.py"] == {"fullmatch"}
    assert set().union(*ways.values()) == set(WAYS)
