"""What can be said of two answers without a model: certain merges, certain splits, and nothing of the rest.

Merges: equal normal forms, aliases, one answer that only adds to the other (names with middle names, places with their country, sentences
around a word). Splits ("vetoes") hold whatever a judge might say, so they look only at what people agree on: numbers, dates, units,
negation, opposite words, the order of arguments. Saying less does not contradict; what makes it sameness is the head: the shorter answer
must hold the word that the longer one is about. Time is linear in the length of the answers, and bounded beyond reading them: up to
`MATCHED` words are matched by spelling, up to `COMPARED` only where they are equal, beyond that nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher

from hedgerow.lexicon.text.language import negations
from hedgerow.lexicon.text.numbers import is_number
from hedgerow.lexicon.text.words import MONTHS
from hedgerow.proxy.clustering.in_sentence import stands_in_sentence
from hedgerow.proxy.clustering.normal import Normal, read_question, stem
from hedgerow.proxy.clustering.opening import SHORT, Read, read
from hedgerow.proxy.clustering.words import word_lists

COMPARED = 1000
"""Words of an answer beyond which only an equal text is the same: the rules are for answers, and a sample set has many pairs."""
MATCHED = 200
"""Content words of an answer up to which words are matched by spelling, stem, nickname or initials, and items up to which lists are
compared item by item: both take the product of the lengths."""
LONGEST_WORD = 40
"""Letters up to which two spellings are compared; a longer word is a repetition or a string of code."""
SPELLING = 0.85
"""Least similarity of two spellings of one word, of five letters or more."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one step of the clustering says about two answers.

    Attributes:
        same: whether they mean the same; None where the step cannot tell.
        decided_by: the step that decided ("normal", "veto:number", "judge", ...).
        strength: how sure a merge is, in [0, 1]; stronger merges are made first.
    """

    same: bool | None
    decided_by: str
    strength: float = 1.0


def judge_pair(question: str, a: str, b: str) -> Judgement:
    """What the rules say about two answers to a question; `same` is None where they cannot tell."""
    asked = read_question(question)
    return compare_read(read(a, asked), read(b, asked))


def compare_read(a: Read, b: Read) -> Judgement:
    """What the rules say about two answers. What answers a question stands in one of the first sentences of a long answer: a short answer is
    the same as a long one where it is the same as that sentence, whatever the others deny or count.
    """
    whole = compare(a.whole, b.whole)
    if whole.same or bool(a.opening) == bool(b.opening):
        return whole
    short, long = (a, b) if b.opening else (b, a)
    if len(short.whole.tokens) > SHORT:
        return whole
    if any(compare(short.whole, sentence).same for sentence in long.opening):
        return Judgement(True, "sentence", 0.5)
    return whole


def compare(a: Normal, b: Normal) -> Judgement:
    """What the rules say about two answers in normal form."""
    if not a.tokens or not b.tokens:
        return Judgement(a.key == b.key and bool(a.key), "normal")
    if a.key == b.key or _joined(a) == _joined(b):
        return Judgement(True, "normal")
    if max(len(a.tokens), len(b.tokens)) > COMPARED:
        return Judgement(None, "undecided")
    if same_quantities(a, b):
        return Judgement(True, "normal")
    if a.alias and a.alias == b.alias:
        return Judgement(True, "alias")
    if stands_in_sentence(*sorted((a, b), key=lambda x: len(x.tokens))):
        return Judgement(True, "sentence", 0.5)
    swapped = reversed_arguments(a, b)
    if reason := contradiction(a, b, swapped):
        return Judgement(False, f"veto:{reason}")
    if a.yes is not None and a.yes == b.yes:
        return Judgement(True, "normal")
    if sorted(a.content) == sorted(b.content) and _same_choice(a, b):
        return Judgement(True, "normal", 0.95)
    if swapped is False:
        return Judgement(True, "normal", 0.95)
    if acronym(a, b):
        return Judgement(True, "alias", 0.9)
    return _contained(*sorted((a, b), key=lambda x: (len(x.content), len(x.tokens), x.key)))


def _contained(shorter: Normal, longer: Normal) -> Judgement:
    """What the rules say where one answer may hold the other."""
    taken = covered(shorter, longer)
    same_length = len(shorter.content) == len(longer.content)
    if says_the_same(shorter, longer, taken) or (
        same_length and says_the_same(longer, shorter, covered(longer, shorter))
    ):
        return Judgement(True, "containment", 0.5 + 0.4 * len(shorter.content) / len(longer.content))
    if reason := another_thing(shorter, longer, taken):
        return Judgement(False, f"veto:{reason}")
    return Judgement(None, "undecided")


def _joined(answer: Normal) -> str:
    """The words run together: "back-flow", "back flow" and "backflow" are one."""
    return "".join(answer.tokens)


def _same_choice(a: Normal, b: Normal) -> bool:
    """Whether the words that only the question gave differ on one side at most: "Alice won" is not "Bob won"."""
    first, second = frozenset(a.tokens) - frozenset(a.content), frozenset(b.tokens) - frozenset(b.content)
    return not (first - second and second - first)


def alike(x: str, y: str) -> bool:
    """Whether two words are the same word: the same stem, a nickname, an initial or another spelling.

    >>> alike("sharecroppers", "sharecropper"), alike("bob", "robert"), alike("sukhwinder", "sukhvinder"), alike("1945", "1944")
    (True, True, True, False)
    """
    if x == y:
        return True
    if is_number(x) or is_number(y):
        return False
    nicknames = word_lists().nicknames
    if nicknames.get(x, frozenset()) & nicknames.get(y, frozenset()):
        return True
    if x[0] != y[0] or max(len(x), len(y)) > LONGEST_WORD:
        return False
    if stem(x) == stem(y):
        return True
    if min(len(x), len(y)) < 5 or abs(len(x) - len(y)) > 2:
        return False
    return SequenceMatcher(None, x, y, autojunk=False).ratio() >= SPELLING


def covered(shorter: Normal, longer: Normal) -> frozenset[str] | None:
    """The words of the longer answer that the shorter one's content stands for; None where a word has no counterpart, or where either
    answer has no content.
    """
    if not shorter.content or not longer.content:
        return None
    left = set(longer.content)
    matched = left.intersection(shorter.content)
    if max(len(shorter.content), len(longer.content)) > MATCHED:
        return frozenset(matched) if matched.issuperset(shorter.content) else None
    taken = set(matched)
    lone = len(shorter.content) == 1
    for word in shorter.content:
        if word in matched or (word in word_lists().kinds and not lone and not left & word_lists().kinds):
            continue
        free = left - taken
        if not lone and (run := _spelled_by_initials(word, longer.content, free)):
            taken |= run
            continue
        partner = next(
            (t for t in longer.content if t in free and (alike(word, t) or (not lone and _is_initial(t, word)))), None
        )
        if partner is None:
            return None
        taken.add(partner)
    return frozenset(taken)


def _is_initial(short: str, word: str) -> bool:
    return len(short) == 1 and word.startswith(short)


def _spelled_by_initials(word: str, words: tuple[str, ...], free: set[str]) -> set[str] | None:
    """The run of free words whose first letters spell this one ("br": bhimrao ramji)."""
    n = len(word)
    if not 1 <= n <= 5 or is_number(word):
        return None
    for start in range(len(words) - n + 1):
        run = words[start : start + n]
        if all(t in free for t in run) and all(t[0] == c for t, c in zip(run, word, strict=True)):
            return set(run)
    return None


def acronym(a: Normal, b: Normal) -> bool:
    """Whether one answer is the other's initials: "NATO" and "North Atlantic Treaty Organization"."""
    short, long_ = sorted((a, b), key=lambda x: len(x.tokens))
    if len(short.tokens) != 1 or not 2 <= len(short.key) <= 8 or not short.key.isalpha():
        return False
    letters = "".join(t[0] for t in long_.tokens)
    strict = "".join(t[0] for t in long_.content)
    return len(long_.content) > 1 and short.key in (letters, strict)


def says_the_same(shorter: Normal, longer: Normal, taken: frozenset[str] | None) -> bool:
    """Whether the longer answer only adds to the shorter: it lists nothing else, and what it is about is among the words `taken` by it."""
    if taken is None or (len(longer.items) > 1 and len(shorter.items) <= 1):
        return False
    if (longer.owners - shorter.owners) & taken or (shorter.items and len(longer.items) > len(shorter.items)):
        return False
    extra = frozenset(longer.content) - taken
    if extra & word_lists().qualifiers or longer.tokens[-1] in extra & {"city"} or _counts_more(shorter, longer, taken):
        return False
    return bool(longer.heads & taken) or extra <= word_lists().kinds or _first_name(shorter, longer)


def another_thing(shorter: Normal, longer: Normal, taken: frozenset[str] | None) -> str | None:
    """Why what the longer answer adds makes it another thing, whatever a judge would say: a list holds more than its item, West
    Virginia is not Virginia. None where it may be the same.
    """
    if taken is None:
        return None
    if len(longer.items) > 1 and len(shorter.items) <= 1:
        return "list"
    return "qualifier" if (frozenset(longer.content) - taken) & (word_lists().qualifiers | {"city"}) else None


def _counts_more(shorter: Normal, longer: Normal, taken: frozenset[str]) -> bool:
    """Whether the longer answer brings in an amount: a number for a word ("a week", "741 weeks") or a further number ("8", "8:15")."""
    if shorter.numbers:
        return not longer.numbers <= shorter.numbers and not any(t in MONTHS for t in longer.tokens)
    pairs = zip(longer.tokens, longer.tokens[1:], strict=False)
    return any(n in longer.numbers and w in taken and w not in MONTHS for n, w in pairs)


_DESCRIBES = ("ic", "al", "ish", "ian", "ous", "ive", "ary", "ese")


def _first_name(shorter: Normal, longer: Normal) -> bool:
    """Whether the shorter answer is the first of two words and can stand for both: a name ("Paul", "Paul Baumer"), a number ("16",
    "16 counties") or an adjective ("imperial", "imperial rule"), and not what only qualifies a noun ("iron", "iron oxide").
    """
    if len(shorter.content) != 1 or len(longer.tokens) != 2 or longer.tokens[0] != shorter.content[0]:
        return False
    return longer.is_name or bool(shorter.numbers) or shorter.content[0].endswith(_DESCRIBES)


Quantities = dict[str, frozenset[Decimal]]


def contradiction(a: Normal, b: Normal, swapped: bool | None) -> str | None:
    """The first contradiction between two answers, by name; None where none can be seen.

    `swapped` is what `reversed_arguments` says of them.
    """
    if a.yes is not None and b.yes is not None and a.yes != b.yes:
        return "negation"
    if a.numbers and b.numbers and (reason := _numbers(a, b)):
        return reason
    if a.negated != b.negated and not (a.yes is not None and a.yes == b.yes):
        return "negation"
    if _different_months(a, b):
        return "date"
    if a.items and b.items and _different_items(a, b):
        return "list"
    if swapped is not None:
        return "order" if swapped else None
    return "antonym" if opposites(a, b) else None


def quantities(answer: Normal, numbers: frozenset[str]) -> Quantities:
    """Amounts of these numbers by dimension, each in the base unit of its dimension; plain numbers under ""."""
    amounts: dict[str, set[Decimal]] = {}
    for token, following in zip(answer.tokens, (*answer.tokens[1:], ""), strict=True):
        if token in numbers:
            unit = word_lists().units.get(following)
            amounts.setdefault(unit.dimension if unit else "", set()).add(
                Decimal(token) * unit.size if unit else Decimal(token)
            )
    return {dimension: frozenset(sizes) for dimension, sizes in amounts.items()}


def same_quantities(a: Normal, b: Normal) -> bool:
    """Whether both answers are amounts and nothing else, and the same amounts, whatever the units."""
    if not (a.numbers and b.numbers) or not all(_is_amount(t) for t in (*a.content, *b.content)):
        return False
    return quantities(a, _all_numbers(a)) == quantities(b, _all_numbers(b))


def _all_numbers(answer: Normal) -> frozenset[str]:
    """Also those that the question gave: "1 hour" is not "1 hour and 2 minutes" because the question speaks of 2 problems."""
    return frozenset(t for t in answer.tokens if is_number(t))


def _is_amount(token: str) -> bool:
    return is_number(token) or token in word_lists().units


def _numbers(a: Normal, b: Normal) -> str | None:
    """Numbers differ where neither answer's are among the other's; units differ where one dimension faces another."""
    first, second = quantities(a, a.numbers), quantities(b, b.numbers)
    shared = first.keys() & second.keys() - {""}
    if shared:
        return None if all(first[d] <= second[d] or second[d] <= first[d] for d in shared) else "number"
    if not (a.numbers <= b.numbers or b.numbers <= a.numbers):
        return "number"
    clash = "" not in first and "" not in second and not first.keys() & second.keys()
    return "unit" if clash else None


def _different_months(a: Normal, b: Normal) -> bool:
    first, second = (frozenset(t for t in x.tokens if t in MONTHS) for x in (a, b))
    return bool(first and second) and not (first <= second or second <= first)


def _different_items(a: Normal, b: Normal) -> bool:
    """Whether two lists of answers share no more than half of the longer one."""
    longer = max(len(a.items), len(b.items))
    if longer > MATCHED:
        shared = len(frozenset(a.items) & frozenset(b.items))
    else:
        shared = sum(any(x <= y or y <= x for y in b.items) for x in a.items)
    return 2 * shared <= longer


def opposites(a: Normal, b: Normal) -> bool:
    """Whether a word of one answer faces its opposite in the other, and neither answer holds both."""
    first, second = frozenset(a.tokens), frozenset(b.tokens)
    only, antonyms = second - first, word_lists().antonyms
    if not only:
        return False
    return any(antonyms[t] & only and not antonyms[t] & first for t in first - second if t in antonyms)


def reversed_arguments(a: Normal, b: Normal) -> bool | None:
    """Whether one answer says of x and y what the other says of y and x; None where they cannot be laid side by side.

    Understands comparisons ("x is larger than y" = "y is smaller than x") and the passive ("x beat y" = "y was beaten by x").
    """
    first, second = _comparison(a), _comparison(b)
    if first and second:
        return _compare_comparisons(first, second)
    words_a, words_b = _ordered_words(a), _ordered_words(b)
    if (
        words_a != words_b
        and sorted(words_a) == sorted(words_b)
        and all({"from", "to"} <= set(x.tokens) for x in (a, b))
    ):
        return True
    if words_a == words_b or len(words_a) < 3 or sorted(words_a) != sorted(words_b):
        return None
    if a.content == b.content and (echo := _echoed(a)) is not None and echo == _echoed(b):
        return False
    if (a.items and b.items) or not (_is_relation(a) or _is_relation(b) or len(words_a) > 3):
        return None
    return _passive(a) == _passive(b)


_COPULAS = frozenset({"is", "are", "was", "were"})
Comparison = tuple[str, frozenset[str], frozenset[str]]
_COMPARING = frozenset({"than", "before", "after"})


def _comparison(answer: Normal) -> Comparison | None:
    """(comparative, left, right) of "left is <comparative> than right"; "before" and "after" compare alike."""
    tokens = answer.tokens
    if _COMPARING.isdisjoint(tokens):
        return None
    if "than" in tokens:
        at = tokens.index("than")
        left, word = tokens[: max(at - 1, 0)], tokens[at - 1] if at else ""
    else:
        at = next(i for i, t in enumerate(tokens) if t in _COMPARING)
        left, word = tokens[:at], tokens[at] if at else ""
    right = tokens[at + 1 :]
    ignored = word_lists().fillers | negations("en")
    sides = [frozenset(side) - ignored for side in (left, right)]
    return (word, sides[0], sides[1]) if word and all(sides) else None


def _compare_comparisons(first: Comparison, second: Comparison) -> bool | None:
    straight = bool(first[1] & second[1]) and bool(first[2] & second[2])
    crossed = bool(first[1] & second[2]) and bool(first[2] & second[1])
    if straight == crossed:
        return None
    if first[0] == second[0]:
        return crossed
    return straight if second[0] in word_lists().antonyms.get(first[0], ()) else None


def _ordered_words(answer: Normal) -> list[str]:
    return [t for t in answer.tokens if t not in word_lists().fillers and not is_number(t) and t not in MONTHS]


def _echoed(answer: Normal) -> tuple[str, ...] | None:
    """What an answer repeats of its question on the other side of "is": "Jupiter is the largest planet" and "the largest planet is Jupiter" say
    the same, whichever comes first. None where what is answered does not stand on one side alone.
    """
    places = [i for i, token in enumerate(answer.tokens) if token in _COPULAS]
    if len(places) != 1:
        return None
    sides = answer.tokens[: places[0]], answer.tokens[places[0] + 1 :]
    echoes = [side for side in sides if side and set(answer.content).isdisjoint(side)]
    return echoes[0] if len(echoes) == 1 and all(sides) else None


def _is_relation(answer: Normal) -> bool:
    return any(t in word_lists().relations or t in word_lists().passive or t.endswith("ed") for t in answer.tokens)


def _passive(answer: Normal) -> bool:
    return "by" in answer.tokens and any(t in word_lists().passive for t in answer.tokens)
