"""Whether a sentence contains a short answer: its words, also without spaces, a shortened name, a date."""

from __future__ import annotations

from ...lexicon.text.english import AUXILIARIES
from ...lexicon.text.numbers import is_number
from ...lexicon.text.words import MONTHS
from .amounts import gives_amounts
from .normal import Normal
from .units import unit_of
from .words import word_lists

SENTENCE = 4
"""A sentence must have at least this many words more than the answer in it."""
RUN_TOGETHER = 9
"""Fewest letters and digits of an answer that is searched in a text without spaces."""
_TURNING = frozenset({"but", "however"})
_BEFORE = frozenset({"in", "on", "at", "by", "since", "from", "of", "to"})


def stands_in_sentence(shorter: Normal, longer: Normal) -> bool:
    """Whether the longer answer is a sentence that contains the shorter one and has no denial."""
    words = _without_preposition(shorter.tokens)
    if len(longer.tokens) < len(words) + SENTENCE or shorter.negations or longer.negations or shorter.yes is not None:
        return False
    if not AUXILIARIES.isdisjoint(words) or longer.owners & set(words[-1:]):
        return False
    if _is_bare_list(longer) or is_taken_back(shorter, longer):
        return False
    if _is_date(words):
        return _gives_date(words, shorter.numbers, longer.tokens)
    if gives_amounts(shorter, longer):
        return True
    if shorter.numbers <= longer.numbers and f" {' '.join(words)} " in f" {longer.key} ":
        return True
    return _run_together(words, longer.tokens) or (shorter.is_name and _gives_name(words, longer.tokens))


def _is_bare_list(answer: Normal) -> bool:
    """Whether an answer is a list and not a sentence: "both Ronald Barker and Bob Monkhouse"."""
    return len(answer.items) > 1 and len(answer.tokens) - answer.tokens.count("and") == sum(map(len, answer.items))


def is_taken_back(answer: Normal, sentence: Normal) -> bool:
    """Whether the answer occurs only before a "but" after which the sentence returns to the question.

    "Saturn is large, but Jupiter is the largest planet" answers Jupiter. A number is taken back only by another number:
    "Two in a hundred, but this percentage is higher in the north" answers two.
    """
    places = [at for at, word in enumerate(sentence.tokens) if word in _TURNING]
    if not places:
        return False
    behind = sentence.tokens[places[-1] + 1 :]
    if answer.numbers and all(
        is_number(word) or word in MONTHS or unit_of(word) is not None for word in answer.content
    ):
        numbers = frozenset(filter(is_number, behind))
        if numbers <= answer.numbers or numbers & answer.numbers:
            return False
    elif answer.tokens[-1] in behind or "".join(answer.tokens) in "".join(behind):
        return False
    own = frozenset(sentence.content) | word_lists().fillers
    return not own.issuperset(behind)


def _without_preposition(tokens: tuple[str, ...]) -> tuple[str, ...]:
    return tokens[1:] if len(tokens) > 1 and tokens[0] in _BEFORE else tokens


def _run_together(words: tuple[str, ...], sentence: tuple[str, ...]) -> bool:
    """Whether a sentence that has lost spaces contains several words ("directed byLana Turnerin1999").

    A number is not matched inside a longer one.
    """
    wanted, text = "".join(words), "".join(sentence)
    if len(words) < 2 or len(wanted) < RUN_TOGETHER:
        return False
    at = text.find(wanted)
    before, after = text[at - 1 : at], text[at + len(wanted) : at + len(wanted) + 1]
    return at >= 0 and not (wanted[0].isdigit() and before.isdigit()) and not (wanted[-1].isdigit() and after.isdigit())


def _gives_name(words: tuple[str, ...], sentence: tuple[str, ...]) -> bool:
    """Whether a sentence has the first and last word of a name of three or more, with at most one word between.

    "Claudia Grace Wells" is also "Claudia Wells" and "Claudia G. Wells".
    """
    name = [word for word in words if word not in word_lists().kinds and not is_number(word)]
    if len(name) < 2 or len(words) < 3 or not word_lists().fillers.isdisjoint(name):
        return False
    return any(
        first == name[0] and name[-1] in rest
        for first, *rest in zip(sentence, sentence[1:], (*sentence[2:], ""), strict=False)
    )


def _is_date(words: tuple[str, ...]) -> bool:
    """Whether an answer is a date that includes a month."""
    return all(map(_of_date, words)) and any(word in MONTHS for word in words)


def _of_date(word: str) -> bool:
    return word in MONTHS or (word.isdigit() and len(word) in (1, 2, 4))


def _gives_date(date: tuple[str, ...], numbers: frozenset[str], sentence: tuple[str, ...]) -> bool:
    """Whether a sentence has the date of the answer.

    It may add the day or month. If it has only one date, that may be less exact: "in 1979" for "12 April 1979", unless
    the year is in the question.
    """
    wanted, dates = frozenset(date), _dates(sentence)
    if any(wanted <= parts for parts in dates):
        return True
    years = {word for word in numbers if len(word) == 4}
    dated = [parts for parts in dates if any(len(word) >= 3 for word in parts)]
    return len(dated) == 1 and dated[0] < wanted and bool(years & dated[0])


def _dates(sentence: tuple[str, ...]) -> list[frozenset[str]]:
    """The dates in a sentence: runs of up to three months, days and years."""
    runs: list[list[str]] = [[]]
    for word in sentence:
        if _of_date(word):
            runs[-1].append(word)
        elif runs[-1]:
            runs.append([])
    return [frozenset(run[i : i + 3]) for run in runs if run for i in range(max(1, len(run) - 2))]
