"""What the classifiers of the reader look at: names of features of a sentence, of its parse and of the question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from .parsing import Parsed

READ = 600
"""Characters of a sentence that are read."""
ENDS = 300
"""Characters that are read of the beginning and of the end of a question."""
_TOKEN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+(?:[.,]\d+)*|[^\w\s]")
_CAPITAL = re.compile(r"(?<=[^.:!?\"“\n] )[A-Z][^\W\d_]")
_CLOSING = '*_ )"”'
_CODE = re.compile(r"[{};]|==|\(\)|\bdef\b|</")
_FORMULA = re.compile(r"[=≈≤≥]|[+^*/×÷]\s*\d|\\|\$(?!\d)")
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
_FIRST, _SECOND, _WE = (
    {"i", "me", "my", "mine", "myself"},
    {"you", "your", "yours", "yourself"},
    {"we", "us", "our", "ours"},
)
_SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "expl"})
_CONTENT = frozenset({"NOUN", "PROPN", "VERB", "ADJ", "NUM"})


def ends(question: str) -> str:
    """The beginning and the end of a question: what is asked stands before or after what is given."""
    if len(question) <= 2 * ENDS:
        return question
    return f"{question[:ENDS]} … {question[-ENDS:]}"


def words_of(text: str) -> list[str]:
    """The words, numbers and marks of a text in lower case; every number is "0"."""
    return ["0" if token[0].isdigit() else token.lower().replace("’", "'") for token in _TOKEN.findall(text)]


def of_sentence(text: str, question: str, parsed: Parsed | None) -> Iterator[str]:
    """Everything that a sentence's act is told by; without `parsed` the words alone."""
    yield from of_words(text)
    yield from of_question(question, text)
    if parsed is not None:
        yield from of_parse(parsed)


def of_words(text: str) -> Iterator[str]:
    """Words, pairs of words, beginnings and signs of a sentence."""
    body = text[:READ]
    small = words_of(body)
    words = [word for word in small if word[0].isalpha()]
    yield from small
    yield from (f"{one} {other}" for one, other in pairwise(small))
    yield from (f"first {' '.join(words[:n])}" for n in (1, 2, 3) if len(words) >= n)
    yield from (f"second {word}" for word in words[1:2])
    yield from (f"first -{end}" for end in ("ing", "ly", "tion", "ed", "s") if words and words[0].endswith(end))
    yield f"ends {body.rstrip(_CLOSING)[-1:]}"
    yield f"words {min(len(words) // 3, 9)}"
    yield f"names {min(len(_CAPITAL.findall(body)), 4)}"
    yield f"numbers {min(small.count('0'), 4)}"
    signs = {
        "small first": body[:1].islower(), "year": _YEAR.search(body), "code": _CODE.search(body), "formula": _FORMULA.search(body),
        "emphasis": "**" in body, "quoted": body[:1] in "\"“'", "all capitals": len(body) > 3 and body.isupper(),
        "not ascii": not body.isascii(),
    }  # fmt: skip
    yield from (name for name, there in signs.items() if there)


def of_parse(parsed: Parsed) -> Iterator[str]:
    """Root, subject, person, mood, tense, modals and relations of a sentence; "no parse" without one."""
    tokens, tags = parsed.tokens, parsed.tags
    if not tokens:
        yield "no parse"
        return
    root = next((i for i, token in enumerate(tokens) if token.head == i), 0)
    below = [i for i, token in enumerate(tokens) if token.head == root and i != root]
    yield from (f"root {tokens[root].lemma}", f"root {tags[root]}")
    yield f"roots {min(sum(token.head == i for i, token in enumerate(tokens)), 3)}"
    subject = next((i for i in below if tokens[i].dep in _SUBJECTS), None)
    verb = f"{tokens[root].lemma}"
    auxiliaries = [i for i in below if tokens[i].dep in ("aux", "auxpass")]
    finite = next((tags[i] for i in auxiliaries if tags[i] in ("MD", "VBD", "VBZ", "VBP")), tags[root])
    yield f"finite {finite}"
    mood = (
        "imperative"
        if tags[root] == "VB" and subject is None and not any(tags[i] in ("MD", "TO") for i in auxiliaries)
        else "other"
    )
    yield f"mood {mood}"
    yield from (f"aux {tokens[i].lemma}" for i in auxiliaries)
    if subject is not None:
        person = _person(tokens[subject].lemma)
        kind = f"{tokens[subject].dep} {person or tags[subject]}"
        yield from (
            f"subject {tokens[subject].lemma}",
            f"subject {kind}",
            f"subject {kind} {verb}",
            f"subject {tokens[subject].lemma} {verb}",
        )
        yield from (f"subject {kind} aux {tokens[i].lemma}" for i in auxiliaries)
        yield from (
            f"subject's {token.lemma}"
            for token in tokens
            if token.head == subject and token.dep in ("poss", "det", "amod")
        )
    else:
        yield f"no subject {tags[root]}"
    negated = any(tokens[i].dep == "neg" for i in below)
    if negated:
        yield from ("negated", f"not {verb}")
    yield from (f"{verb} {tokens[i].dep}" for i in below)
    yield from (f"{verb} {tokens[i].dep} {tokens[i].lemma}" for i in below if tokens[i].dep not in ("punct",))
    yield from (f"{t.dep} {t.lemma}" for t in tokens if t.dep in ("mark", "advmod", "prep", "poss", "aux"))
    yield from (
        f"{tokens[t.head].lemma} > {t.lemma}" for t in tokens if t.pos in _CONTENT and tokens[t.head].pos in _CONTENT
    )
    yield from {f"person {person}" for t in tokens if (person := _person(t.lemma))}
    yield from (f"begins {tags[0]}", f"begins {' '.join(tags[:2])}", f"begins {' '.join(tags[:3])}")


def _person(lemma: str) -> str:
    return "I" if lemma in _FIRST else "you" if lemma in _SECOND else "we" if lemma in _WE else ""


def of_question(question: str, text: str) -> Iterator[str]:
    """What is asked, and how much of it the sentence takes up."""
    if not question.strip():
        yield "q none"
        return
    asked = ends(question)
    small = words_of(asked)
    words = [word for word in small if word[0].isalpha()]
    yield from (f"q {word}" for word in set(small))
    yield from {f"q {one} {other}" for one, other in pairwise(small)}
    yield from (f"q first {' '.join(words[:n])}" for n in (1, 2, 3) if len(words) >= n)
    yield f"q words {min(len(words) // 8, 9)}"
    yield f"q ends {asked.rstrip()[-1:]}"
    own, theirs = ({word for word in some if len(word) > 3} for some in (words_of(text[:READ]), words))
    yield f"q shared {min(len(own & theirs), 5)}"
    yield f"q share {round(4 * len(own & theirs) / max(1, len(own)))}"
    signs = {
        "code": _CODE.search(asked),
        "formula": _FORMULA.search(asked),
        "lines": "\n" in asked,
        "cut": len(question) > 2 * ENDS,
        "numbers": small.count("0") > 2,
    }
    yield from (f"q {name}" for name, there in signs.items() if there)


def of_request(request: str) -> Iterator[str]:
    """Words of a request, of its first line and of its last: what is asked stands in one of them. Needs no parse."""
    text = ends(request.strip())
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    yield from of_words_alone(text)
    for name, line in (("first line", lines[:1]), ("last line", lines[-1:])):
        small = words_of(line[0])[:40] if line else []
        words = [word for word in small if word[0].isalpha()]
        yield from (f"{name} {word}" for word in set(small))
        yield from {f"{name} {one} {other}" for one, other in pairwise(small)}
        yield from (f"{name} opens {' '.join(words[:n])}" for n in (1, 2, 3) if len(words) >= n)
        yield f"{name} ends {line[0][-1:]}" if line else name
    last = re.split(r"(?<=[.!?])\s+|\n+", text)[-1] if text else ""
    words = [word for word in words_of(last) if word[0].isalpha()]
    yield from (f"last sentence opens {' '.join(words[:n])}" for n in (1, 2, 3) if len(words) >= n)
    yield f"lines {min(len(lines), 4)}"


def of_words_alone(text: str) -> Iterator[str]:
    """Words, their beginnings and pairs of words; characters where words are not parted or not Latin; signs of code, formulas and length."""
    small = words_of(text)
    yield from set(small)
    yield from {f"{one} {other}" for one, other in pairwise(small)}
    yield from {f"{word[:5]}-" for word in small if len(word) > 5}
    yield from {
        f"in {word[at : at + 2]}"
        for word in small
        if word[0] > "\u0370" and word[0].isalpha()
        for at in range(min(len(word), 60))
    }
    signs = {
        "code": _CODE.search(text),
        "formula": _FORMULA.search(text),
        "not ascii": not text.isascii(),
        "asks": "?" in text or "？" in text,
    }
    yield from (name for name, there in signs.items() if there)
    yield f"words {min(len(small) // 10, 8)}"
    yield f"numbers {min(small.count('0'), 5)}"
