"""Hedges and boosters are found where a reader finds them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.lexicon import TextTooLong, perceive, spot
from tests.support.tables import cases

MARKED = Path(__file__).parents[2] / "data" / "lexicon" / "spotting.txt"


def marked(line: str) -> tuple[str, list[tuple[int, int, str]]]:
    """A sentence and its hand-set spans: [hedge], {booster}."""
    text, spans, start, kind = "", [], 0, ""
    for character in line:
        if character in "[{":
            start, kind = len(text), "hedge" if character == "[" else "booster"
        elif character in "]}":
            spans.append((start, len(text), kind))
        else:
            text += character
    return text, spans


def measured() -> dict[str, float]:
    """Precision, recall and share of exact boundaries over the hand-marked sentences."""
    hits = found = gold = exact = 0
    for line in MARKED.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        text, right = marked(line)
        spans = [(span.start, span.end, span.kind) for span in spot(text)]
        gold, found = gold + len(right), found + len(spans)
        hits += sum(any(a < d and c < b and k == kind for c, d, k in spans) for a, b, kind in right)
        exact += len(set(right) & set(spans))
    return {"precision": hits / found, "recall": hits / gold, "exact": exact / gold}


def test_the_hand_marked_sentences() -> None:
    """Three hundred sentences: nearly every mark is found, and nine of ten that are found are marks."""
    figures = measured()
    assert figures["recall"] >= 0.97, figures
    assert figures["precision"] >= 0.88, figures
    assert figures["exact"] >= 0.88, figures


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    """Spans lie inside the text, in order, without overlap, and say what stands there."""
    end = 0
    for span in spot(text):
        assert end <= span.start < span.end <= len(text)
        assert text[span.start : span.end] == span.text
        end = span.end


def test_a_phrase_of_the_lexicon_is_named() -> None:
    """The longest wording wins, written short or written out."""
    assert [span.hedge for span in spot("I'm not entirely sure, but it was Rome.")] == ["i-am-not-entirely-sure"]
    assert [span.hedge for span in spot("I am not entirely sure, but it was Rome.")] == ["i-am-not-entirely-sure"]


def test_ten_megabytes_are_refused_at_once() -> None:
    """The error names both lengths."""
    with pytest.raises(TextTooLong, match="10,000,000"):
        perceive("x" * 10_000_000)


@cases(
    "phrase",
    [
        "as far as I can confirm",
        "as far as I can determine",
        "as far as I can see",
        "so far as I recall",
        "as best I can tell",
    ],
)
def test_a_bound_of_what_the_writer_knows_is_one_hedge(phrase: str) -> None:
    """ "confirm" and "can tell" in it stress nothing, and no half of it stays when it is taken out."""
    assert [(span.text, span.kind) for span in spot(f"It was Rome, {phrase}.")] == [(phrase, "hedge")]
