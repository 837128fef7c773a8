"""What rules without a model can say about two answers: surely the same, surely different, or undecided.

Same: equal normal forms, aliases, one answer that only adds detail (middle names, the country of a place, a sentence
around a word). Different ("vetoes"): these hold whatever a judge says, so they use only clear contradictions: numbers,
dates, units, negation, opposite words, the order of arguments. Saying less is no contradiction, but the shorter answer
must have the head of the longer one. Time is linear in the length of the answers to read them, and bounded beyond that:
up to `MATCHED` words are matched by spelling, up to `COMPARED` only if equal, beyond that the pair is undecided.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from ...lexicon.text.english import AUXILIARIES
from ...lexicon.text.language import negations
from ...lexicon.text.numbers import is_number
from ...lexicon.text.sentences import sentences
from ...lexicon.text.words import MONTHS
from .normal import Normal, Question, normalise, read_question
from .tokens import Unit, stem, unit_of, word_lists

# The opening of a long answer, which may contain the short answer: first sentences, and clauses beside a denial.

SHORT = 8
"""Number of words up to which an answer is short."""
OPENING, OPENING_CHARS = 3, 1000
"""Number of sentences, and of characters, that usually answer the question (docs/evidence/long.md)."""
CLAUSES = 12
"""Number of clauses of an opening that are read."""
_CLAUSE = re.compile(r"[,;:]\s|\s(?:but|however|although|though|because|which|when)\s|\s(?=without\s)", re.IGNORECASE)

_CITED_YEAR = re.compile(r"(?<!\d)((?:1[5-9]|20)\d\d)\d{1,2}(?=[.,]?(?:\s|$))")


@dataclass(frozen=True, slots=True)
class Read:
    """An answer in normal form, as a whole and by its first sentences and clauses.

    `opening` is empty for a short answer and for a single sentence without a denial.
    """

    whole: Normal
    opening: tuple[Normal, ...]


def read(answer: str, asked: Question) -> Read:
    """Read an answer once, for comparisons with others."""
    whole = normalise(answer, asked)
    return Read(whole, _opening(answer, whole, asked))


def _opening(answer: str, whole: Normal, asked: Question) -> tuple[Normal, ...]:
    if len(answer.split(None, SHORT + 1)) <= SHORT:
        return ()
    text = answer[:OPENING_CHARS]
    if asked.asks_when:  # a source number directly after a year: "in 19791."
        text = _CITED_YEAR.sub(r"\1", text)
    first = sentences(text)[:OPENING] or (text,)
    if len(first) == 1 and not whole.negations and text == answer:
        return ()
    read = [normalise(sentence, asked) for sentence in first]
    clauses = [c for sentence, text in zip(read, first, strict=True) if sentence.negations for c in _clauses(text)]
    return (*read, *(clause for text in clauses[:CLAUSES] if not (clause := normalise(text, asked)).negations))


def _clauses(sentence: str) -> list[str]:
    """The clauses of a sentence with a denial in one of them: "I have no data of today, but he was born in Rome"."""
    return [clause for clause in _CLAUSE.split(sentence) if clause.strip()]


# Reads amounts (numbers with units) from answers, converts them to base units and compares them.

CONVERTED = Decimal("0.01")
"""Relative tolerance between units of different systems: 5 km are "3.1 miles"."""
DEGREES = Decimal("0.002")
"""The same of temperatures, which are compared from absolute zero."""
_PLAIN = Unit("", "", Decimal(1))


class Amount(NamedTuple):
    """A number with its unit; `size` is in the base unit of the dimension."""

    size: Decimal
    unit: Unit


def amounts(answer: Normal, numbers: frozenset[str]) -> list[Amount]:
    """The amounts of these numbers; "3 hours and 48 minutes" is one amount."""
    result: list[Amount] = []
    last = 0
    for at, (token, following) in enumerate(zip(answer.tokens, (*answer.tokens[1:], ""), strict=True)):
        if token not in numbers:
            continue
        unit = unit_of(following)
        # without a unit keep the number as written: a product is rounded to 28 digits
        amount = Amount((Decimal(token) + unit.zero) * unit.size, unit) if unit else Amount(Decimal(token), _PLAIN)
        if result and set(answer.tokens[last:at]) <= {"and"} and _adds(result[-1], amount):
            result[-1] = Amount(result[-1].size + amount.size, amount.unit)
        else:
            result.append(amount)
        last = at + 2
    return result


def same_amounts(a: Normal, b: Normal) -> bool:
    """Whether both answers consist of amounts only, and these are equal in any units."""
    if not (_is_amounts(a) and _is_amounts(b)):
        return False
    first, second = amounts(a, _all_numbers(a)), amounts(b, _all_numbers(b))
    return among(first, second) and among(second, first)


def gives_amounts(shorter: Normal, longer: Normal) -> bool:
    """Whether the shorter answer consists only of amounts with units, all of which the longer one contains."""
    wanted = amounts(shorter, shorter.numbers) if _is_amounts(shorter) else []
    return all(amount.unit is not _PLAIN for amount in wanted) and among(wanted, amounts(longer, longer.numbers))


def clash(a: Normal, b: Normal) -> str | None:
    """Whether the amounts of two answers contradict each other.

    Numbers do if neither answer's are all among the other's; units do if one dimension stands against another.
    """
    first, second = amounts(a, a.numbers), amounts(b, b.numbers)
    of_first, of_second = ({amount.unit.dimension for amount in found} for found in (first, second))
    shared = of_first & of_second - {""}
    if shared:
        sides = ([[x for x in found if x.unit.dimension == d] for found in (first, second)] for d in shared)
        return None if all(among(x, y) or among(y, x) for x, y in sides) else "number"
    if not (a.numbers <= b.numbers or b.numbers <= a.numbers):
        return "number"
    return "unit" if "" not in of_first | of_second and not of_first & of_second else None


def among(some: Iterable[Amount], others: Iterable[Amount]) -> bool:
    """Whether there are amounts and each equals one of the others; between systems of units, within `CONVERTED`."""
    wanted, every = list(some), sorted(others, key=attrgetter("unit.dimension", "size"))
    exact = {(amount.unit.dimension, amount.size) for amount in every}
    rest = [amount for amount in wanted if (amount.unit.dimension, amount.size) not in exact]
    return bool(wanted) and all(_is_converted(amount, every) for amount in rest)


def _is_converted(amount: Amount, every: Sequence[Amount]) -> bool:
    """Whether one of the amounts, sorted by dimension and size, is nearly equal and in a unit of another system."""
    dimension, near = amount.unit.dimension, 1 - (CONVERTED if not amount.unit.zero else DEGREES)
    low, high = sorted((amount.size * near, amount.size / near))
    first = bisect_left(every, (dimension, low), key=attrgetter("unit.dimension", "size"))
    last = bisect_right(every, (dimension, high), key=attrgetter("unit.dimension", "size"))
    return any(not _is_multiple(amount.unit, other.unit) for other in every[first:last])


def _adds(larger: Amount, part: Amount) -> bool:
    """Whether an amount continues in a smaller unit: "5 feet 11 inches", but not "3.1 miles (5 km)"."""
    smaller = part.unit.dimension == larger.unit.dimension and 0 <= part.size < larger.unit.size
    return smaller and part.unit is not _PLAIN and _is_multiple(larger.unit, part.unit)


def _is_multiple(x: Unit, y: Unit) -> bool:
    """Whether one unit is a multiple of the other in the same system."""
    return max(x.size, y.size) % min(x.size, y.size) == 0


def _is_amounts(answer: Normal) -> bool:
    return bool(answer.numbers) and all(is_number(t) or unit_of(t) is not None for t in answer.content)


def _all_numbers(answer: Normal) -> frozenset[str]:
    """All numbers of an answer, including those in the question.

    "1 hour" is not "1 hour and 2 minutes", even if the question mentions 2 problems.
    """
    return frozenset(t for t in answer.tokens if is_number(t))


# Whether one answer only adds detail to another: middle names, a country, a phrase around a word; initials.

MATCHED = 200
"""Limits on work that takes the product of two lengths.

Up to this many content words, words are matched by spelling, stem, nickname or initials; up to this many items, lists
are compared item by item.
"""
LONGEST_WORD = 40
"""Length of the longest word whose spelling is compared; longer ones are repetitions or code."""
TITLE = 4
"""Number of words up to which an answer is an office or a name, and not a sentence about it."""
LONGEST_LIST = 8
"""Number of words up to which a text with an "and" counts as a list, even with a verb."""
_FEMALE = re.compile(r"(\w{3,7}) \1(?:a|ia|le|ne|te)")
"""Names of a man and a woman: "Paul", "Paula"; of longer words an "a" is an ending ("cephalopod", "Cephalopoda")."""
_SPELLINGS = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        (r"(?<=[aeo])y(?=[aeou])", ""), ("[ao]e", "e"), ("ph", "f"), ("([aeiou][^aeiou]+)our", r"\1or"), ("(?<=[aeiou])y|y(?=[aeiou]|$)", "i"), ("ii", "i"),
        ("(?<=[^aeiou])w(?=[aeiou])", "v"), (r"(?<=\w{3}[iy])z|(?<=\w)z(?=\w{4})", "s"), ("kh", "k"), (r"(?<=\w)c(?=[aou])", "k"),
        ("(?<=[^aeiou])re$", "er"), ("ium$", "um"), ("e$", ""),
    )
)  # fmt: skip
"""Letters that are written one way or another without another meaning, where they stand so: British and American, or transliterated.

Elsewhere they part words: "mouse" and "moose", "wines" and "vines", "snacks" and "snakes", "ammonia" and "ammonium".
"""
_DOUBLED = re.compile(r"([^aeiou])\1+")
_SYLLABLE = re.compile("[aeiouy]+")


def alike(x: str, y: str) -> bool:
    """Whether two words are the same: equal stems, a nickname, an initial or a different spelling.

    >>> alike("sharecroppers", "sharecropper"), alike("bob", "robert"), alike("sukhwinder", "sukhvinder"), alike("1945", "1944")
    (True, True, True, False)
    >>> alike("austria", "australia"), alike("hypertension", "hypotension"), alike("haemoglobin", "hemoglobin")
    (False, False, True)
    """
    if x == y:
        return True
    if is_number(x) or is_number(y):
        return False
    nicknames = word_lists().nicknames
    if nicknames.get(x, frozenset()) & nicknames.get(y, frozenset()):
        return True
    if max(len(x), len(y)) > LONGEST_WORD or not (x.isalpha() and y.isalpha()):
        return False
    if _FEMALE.fullmatch(f"{x} {y}") or _FEMALE.fullmatch(f"{y} {x}"):
        return False
    if x[0] == y[0] and stem(x) == stem(y):
        return True
    if min(len(x), len(y)) < 5 or abs(len(x) - len(y)) > 3:
        return False
    return _spelling(x) == _spelling(y) or _spelling(stem(stem(x))) == _spelling(stem(stem(y)))


_VOWELS = re.compile("[aeiou]")


@lru_cache(maxsize=4096)
def _spelling(word: str) -> str:
    for pattern, to in _SPELLINGS:
        word = pattern.sub(to, word)
    return (
        _single(word) if len(_SYLLABLE.findall(word)) > 2 else word
    )  # "desert" is not "dessert", nor "staring" "starring"


def _single(word: str) -> str:
    return _DOUBLED.sub(r"\1", word)


def covered(shorter: Normal, longer: Normal) -> frozenset[str] | None:
    """The words of the longer answer that match the shorter one's content.

    None where a word has no match, or either answer has no content.
    """
    if not shorter.content or not longer.content:
        return None
    unmatched = set(longer.content)
    matched = unmatched.intersection(shorter.content)
    if max(len(shorter.content), len(longer.content)) > MATCHED:
        return frozenset(matched) if matched.issuperset(shorter.content) else None
    taken = set(matched)
    lone = len(shorter.content) == 1
    for word in shorter.content:
        if word in matched or (word in word_lists().kinds and not lone and not unmatched & word_lists().kinds):
            continue
        free = unmatched - taken
        if not lone and (run := _spelled_by_initials(word, longer.content, free)):
            taken |= run
            continue
        partner = next(
            (
                t
                for t in longer.content
                if t in free and (alike(word, t) or (not lone and (_is_initial(t, word) or _misspelt(word, t))))
            ),
            None,
        )
        if partner is None:
            return None
        taken.add(partner)
    return frozenset(taken)


def _misspelt(x: str, y: str) -> bool:
    """Whether two names, beside others that agree, differ in their vowels only: "Smriti", "Smiriti"."""
    return (
        min(len(x), len(y)) >= 6
        and x[0] == y[0]
        and x[-1] == y[-1]
        and _VOWELS.sub("", _single(_spelling(x))) == _VOWELS.sub("", _single(_spelling(y)))
    )


def _is_initial(short: str, word: str) -> bool:
    return len(short) == 1 and word.startswith(short)


def _spelled_by_initials(word: str, words: tuple[str, ...], free: set[str]) -> set[str] | None:
    """The unmatched words whose first letters spell this word ("br": bhimrao ramji)."""
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
    """Whether the longer answer only adds detail.

    It lists nothing else, and its head is among its matched words `taken`.
    """
    if taken is None or (len(longer.items) > 1 and len(shorter.items) <= 1):
        return False
    if (longer.owners - shorter.owners) & taken or (shorter.items and len(longer.items) > len(shorter.items)):
        return False
    extra = frozenset(longer.content) - taken
    if extra & word_lists().qualifiers or longer.tokens[-1] in extra & {"city"} or _counts_more(shorter, longer, taken):
        return False
    if (
        extra
        and len(longer.tokens) <= TITLE
        and (word_lists().titles.issuperset(shorter.content) or _described(shorter, longer))
    ):
        return False
    added = word_lists().kinds - (word_lists().titles if longer.tokens[-1] in extra else frozenset())
    return bool(longer.heads & taken) or extra <= added or _first_name(shorter, longer)


def _described(shorter: Normal, longer: Normal) -> bool:
    """Whether an adjective makes another thing of the same name: "Equatorial Guinea" is not Guinea."""
    if (
        not longer.is_name
        or len(longer.tokens) <= len(shorter.tokens)
        or longer.tokens[-len(shorter.tokens) :] != shorter.tokens
    ):
        return False
    return longer.tokens[-len(shorter.tokens) - 1].endswith(_OF_PLACES)


_OF_PLACES = ("ial", "ish", "ese", "ern", "ican", "atic")


def another_thing(shorter: Normal, longer: Normal, taken: frozenset[str] | None) -> str | None:
    """Why the longer answer means something else, whatever a judge would say; None where it may be the same.

    For example, a list has more than one item, and West Virginia is not Virginia.
    """
    if taken is None:
        return None
    if len(longer.items) > 1 and len(shorter.items) <= 1 and not is_sentence(longer):
        return "list"
    return "qualifier" if (frozenset(longer.content) - taken) & (word_lists().qualifiers | {"city"}) else None


def is_sentence(answer: Normal) -> bool:
    """Whether an answer is a sentence; then an "and" does not make it a list."""
    return len(answer.tokens) > LONGEST_LIST and not AUXILIARIES.isdisjoint(answer.tokens)


def _counts_more(shorter: Normal, longer: Normal, taken: frozenset[str]) -> bool:
    """Whether the longer answer adds an amount.

    A number instead of a word ("a week", "741 weeks") or another number ("8", "8:15").
    """
    if shorter.numbers:
        return not longer.numbers <= shorter.numbers and not any(t in MONTHS for t in longer.tokens)
    pairs = zip(longer.tokens, longer.tokens[1:], strict=False)
    return any(n in longer.numbers and w in taken and w not in MONTHS for n, w in pairs)


_DESCRIBES = ("ic", "al", "ish", "ian", "ous", "ive", "ary", "ese")


def _first_name(shorter: Normal, longer: Normal) -> bool:
    """Whether the shorter answer is the first of two words and can be short for both.

    A name ("Paul", "Paul Baumer"), a number ("16", "16 counties") or an adjective ("imperial", "imperial rule"); not a
    noun that only qualifies another ("iron", "iron oxide").
    """
    if len(shorter.content) != 1 or len(longer.tokens) != 2 or longer.tokens[0] != shorter.content[0]:
        return False
    return longer.is_name or bool(shorter.numbers) or shorter.content[0].endswith(_DESCRIBES)


# Finds contradictions of two answers: other numbers, units, months or lists, a denial, an opposite, swapped roles.


def contradiction(a: Normal, b: Normal, swapped: bool | None) -> str | None:
    """The name of the first contradiction between two answers; None if none is found.

    `swapped` is what `reversed_arguments` says of them.
    """
    if a.yes is not None and b.yes is not None and a.yes != b.yes:
        return "negation"
    if a.numbers and b.numbers and (reason := clash(a, b)):
        return reason
    if a.negated != b.negated and not (a.yes is not None and a.yes == b.yes):
        return "negation"
    if _different_months(a, b):
        return "date"
    if a.items and b.items and is_sentence(a) == is_sentence(b) and _different_items(a, b):
        return "list"
    if swapped is not None:
        return "order" if swapped else None
    return "antonym" if opposites(a, b) else None


def _different_months(a: Normal, b: Normal) -> bool:
    first, second = (frozenset(t for t in x.tokens if t in MONTHS) for x in (a, b))
    return bool(first and second) and not (first <= second or second <= first)


def _different_items(a: Normal, b: Normal) -> bool:
    """Whether two lists share at most half of the items of the longer one."""
    longer = max(len(a.items), len(b.items))
    if longer > MATCHED:
        shared = len(frozenset(a.items) & frozenset(b.items))
    else:
        shared = sum(any(x <= y or y <= x for y in b.items) for x in a.items)
    return 2 * shared <= longer


def opposites(a: Normal, b: Normal) -> bool:
    """Whether the other answer has the opposite of a word in one, and neither answer has both words."""
    first, second = frozenset(a.tokens), frozenset(b.tokens)
    only, antonyms = second - first, word_lists().antonyms
    if not only:
        return False
    if any(antonyms[t] & only and not antonyms[t] & first for t in first - second if t in antonyms):
        return True
    return max(len(first), len(second)) <= MATCHED and any(opposed(x, y) for x in first - second for y in only)


_OPPOSED = [
    ending.split()
    for ending in (
        "hyper hypo", "inter intra", "intra extra", "macro micro", "endo exo", "ab ad", "pre post", "ante post", "tachy brady", "homo hetero", "auto hetero",
        "ana cata", "in ex", "im ex", "intro extro", "intro extra", "over under", "up down", "antero retro", "pro retro", "super sub", "mono di", "mono poly",
        "uni multi", "di ha", "bene male", "af ef", "in de", "en de", "ecto endo", "a de",
    )
]  # fmt: skip
_ADJECTIVE = (
    r"\w+(?:\w\w(?:(?<!m)ent|(?<!gr)ant|ect|inct|[ei]te|(?<!a)id|ile|est|ure)|xact|ible|al|ar|ic|ive|ous|ful)(?:ly)?$"
)
_DENIED = re.compile(
    rf"(?:non|anti|(?:un|dis|in(?![blmpr])|im(?=[bmp])|il(?=l)|ir(?=r))(?={_ADJECTIVE})|(?:un|dis|im|il|ir)(?=\w+ably?e?$)"
    r"|un(?=\w+(?:ed|y)$)|(?:an(?=[aeiouh])|a(?![aeiou]))(?=\w+(?:ic|al|ar|ous)$))(\w+)"
)
"""A word behind a prefix that surely denies it: before the letters that it stands before, and before adjectives, by their ending.

Other words may mean the same with the prefix and without ("flammable", "inflammable"; "round", "around"), or nothing of
the kind ("come", "income"): those are for a judge.
"""
ROOT = 4
"""Fewest letters that two words share behind their prefixes."""


def opposed(x: str, y: str) -> bool:
    """Whether two words differ in prefixes of opposite sense, or in one that denies: "hypertension", "hypotension".

    >>> opposed("hypertension", "hypotension"), opposed("legal", "illegal"), opposed("abduction", "adduction"), opposed("round", "around")
    (True, True, True, False)
    """
    short, long = sorted((x, y), key=len)
    if len(short) < ROOT or short[-3:] != long[-3:]:
        return False
    if (denied := _DENIED.fullmatch(long)) and short == denied[1]:
        return True
    return any(
        first.startswith(p)
        and second.startswith(q)
        and first[len(p) :] == second[len(q) :]
        and len(first) - len(p) >= ROOT
        for p, q in _OPPOSED
        for first, second in ((x, y), (y, x))
    )


# Whether a sentence contains a short answer: its words, also without spaces, a shortened name, a date.

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


# Whether two answers with the same words differ in word order: who beat whom, what is larger than what.

_COPULAS = frozenset({"is", "are", "was", "were"})
Comparison = tuple[str, frozenset[str], frozenset[str]]
_COMPARING = frozenset({"than", "before", "after"})


def reversed_arguments(a: Normal, b: Normal) -> bool | None:
    """Whether one answer says of x and y what the other says of y and x; None where they cannot be compared.

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
    if _turned(words_a, words_b):
        return False
    related = _is_relation(a) or _is_relation(b)
    if (a.items and b.items) or not (related or (len(words_a) > 3 and not (a.items or b.items))):
        return None
    return _passive(a) == _passive(b)


def reordered_numbers(a: Normal, b: Normal) -> bool:
    """Whether two answers have the same numbers in another order, as scores, ratios, readings and points have one.

    Not where each number has moved with the word behind it ("3 boys and 2 girls"), nor in a list ("5 and 7") or a date.
    """
    first, second = ([t for t in x.tokens if is_number(t)] for x in (a, b))
    if len(first) < 2 or first == second or sorted(first) != sorted(second) or not MONTHS.keys().isdisjoint(a.tokens):
        return False
    counted, others = (_counted(x) for x in (a, b))
    if counted and others:
        return counted != others
    return not (a.items or b.items)


def _counted(answer: Normal) -> list[tuple[str, str]]:
    """Each number with the word behind it, sorted; empty where one has none."""
    pairs = [(t, after) for t, after in zip(answer.tokens, (*answer.tokens[1:], ""), strict=True) if is_number(t)]
    return (
        []
        if any(not after or is_number(after) or after in word_lists().fillers for _, after in pairs)
        else sorted(pairs)
    )


def _turned(first: list[str], second: list[str]) -> bool:
    """Whether one is a rotation of the other: "In Rome she met him", "She met him in Rome"."""
    return any(first[at] == second[0] and first[at:] + first[:at] == second for at in range(1, len(first)))


def _comparison(answer: Normal) -> Comparison | None:
    """(comparative, left, right) of "left is <comparative> than right"; "before" and "after" count as comparatives."""
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
    """Whether the two sides of a comparison are swapped.

    One side may have more words in one answer, but not different words on both sides: "Colombia has fewer than
    Australia" says nothing about Canada.
    """
    reversed_ = _changed_places(first, second)
    if reversed_ is not False:
        return reversed_
    sides = (second[2], second[1]) if first[0] != second[0] else second[1:]
    return False if all(a <= b or b <= a for a, b in zip(first[1:], sides, strict=True)) else None


def _changed_places(first: Comparison, second: Comparison) -> bool | None:
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
    """The side of "is" that does not repeat the question; None where both sides have new words.

    "Jupiter is the largest planet" and "the largest planet is Jupiter" say the same.
    """
    places = [i for i, token in enumerate(answer.tokens) if token in _COPULAS]
    if len(places) != 1:
        return None
    sides = answer.tokens[: places[0]], answer.tokens[places[0] + 1 :]
    echoes = [side for side in sides if side and set(answer.content).isdisjoint(side)]
    return echoes[0] if len(echoes) == 1 and all(sides) else None


def _is_relation(answer: Normal) -> bool:
    return any(
        t in word_lists().relations or t in word_lists().passive or (t.endswith("ed") and len(t) > 4)
        for t in answer.tokens
    )


def _passive(answer: Normal) -> bool:
    return "by" in answer.tokens and any(t in word_lists().passive for t in answer.tokens)


_BETWEEN_NUMBERS = re.compile(r"(?<!\d) | (?!-?\d)")
COMPARED = 1000
"""Number of words beyond which only equal texts are the same: a sample set has many pairs to compare."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of one clustering step on two answers.

    Attributes:
        same: whether they mean the same; None if undecided.
        decided_by: the step that decided ("normal", "veto:number", "judge", ...).
        strength: how sure a merge is, in [0, 1]; stronger merges are made first.
    """

    same: bool | None
    decided_by: str
    strength: float = 1.0


def judge_pair(question: str, a: str, b: str) -> Judgement:
    """The rules' verdict on two answers to a question; `same` is None if undecided."""
    asked = read_question(question)
    return compare_read(read(a, asked), read(b, asked))


def compare_read(a: Read, b: Read) -> Judgement:
    """The rules' verdict on two answers that were read.

    A long answer usually answers in one of its first sentences, so a short answer is the same as a long one if it is
    the same as such a sentence, whatever the other sentences deny or count.
    """
    whole = compare(a.whole, b.whole)
    if whole.same or bool(a.opening) == bool(b.opening):
        return whole
    short, long = (a, b) if b.opening else (b, a)
    if len(short.whole.tokens) > SHORT:
        return whole
    of_sentences = [compare(short.whole, sentence).same for sentence in long.opening]
    if any(of_sentences):
        return Judgement(True, "sentence", 0.5)
    return Judgement(None, "undecided") if None in of_sentences else whole


def compare(a: Normal, b: Normal) -> Judgement:
    """The rules' verdict on two answers in normal form."""
    if not a.tokens or not b.tokens:
        return Judgement(a.key == b.key and bool(a.key), "normal")
    if a.key == b.key:
        return Judgement(True, "normal")
    if told_apart := _told_apart(a, b):
        return told_apart
    if _joined(a) == _joined(b):
        return Judgement(True, "normal")
    if max(len(a.tokens), len(b.tokens)) > COMPARED:
        return Judgement(None, "undecided")
    if same_amounts(a, b):
        return Judgement(True, "normal")
    if a.alias and b.alias:
        return Judgement(True, "alias") if a.alias == b.alias else Judgement(False, "veto:alias")
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
    """The rules' verdict where one answer may contain the other."""
    if is_taken_back(shorter, longer):
        return Judgement(None, "undecided")
    taken = covered(shorter, longer)
    same_length = len(shorter.content) == len(longer.content)
    if says_the_same(shorter, longer, taken) or (
        same_length and says_the_same(longer, shorter, covered(longer, shorter))
    ):
        return Judgement(True, "containment", 0.5 + 0.4 * len(shorter.content) / len(longer.content))
    if reason := another_thing(shorter, longer, taken):
        return Judgement(False, f"veto:{reason}")
    return Judgement(None, "undecided")


def _told_apart(a: Normal, b: Normal) -> Judgement | None:
    """What signs, single letters and the order of numbers say of two answers with other keys; None where they agree.

    One that lacks what the other has may be the same to a judge, but not to rules.
    """
    short, long = sorted((a, b), key=lambda x: len(x.tokens))
    if len(long.tokens) > SHORT:
        return None if frozenset(short.signs) <= frozenset(long.signs) else Judgement(None, "undecided")
    if a.letters and b.letters and a.letters != b.letters:
        return (
            Judgement(None, "undecided")
            if a.letters <= b.letters or b.letters <= a.letters
            else Judgement(False, "veto:option")
        )
    if sorted(a.signs) != sorted(b.signs):
        return Judgement(False, "veto:sign") if a.signs and b.signs else Judgement(None, "undecided")
    return Judgement(False, "veto:order") if reordered_numbers(a, b) else None


def _joined(answer: Normal) -> str:
    """The words without spaces and hyphens: "back-flow", "back flow" and "backflow" are one; two numbers are not."""
    return _BETWEEN_NUMBERS.sub("", " ".join(answer.tokens))


def _same_choice(a: Normal, b: Normal) -> bool:
    """Whether the words from the question differ on at most one side: "Alice won" is not "Bob won"."""
    first, second = frozenset(a.tokens) - frozenset(a.content), frozenset(b.tokens) - frozenset(b.content)
    return not (first - second and second - first)
