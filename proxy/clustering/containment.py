"""Whether one answer only adds detail to another: middle names, a country, a phrase around a word; initials."""

from __future__ import annotations

import re

from ...lexicon.text.english import AUXILIARIES
from ...lexicon.text.numbers import is_number
from ...lexicon.text.words import MONTHS
from .normal import Normal
from .stems import stem
from .words import word_lists

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
