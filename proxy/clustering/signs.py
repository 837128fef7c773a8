"""What the normal form drops but meaning needs: signs of formulas, letters that are options or grades, bounds of numbers.

Read from the text as written. A sign is kept with what stands on either side, so that "x > 2" is "2 < x" and not "x < 2".
Hyphens and slashes in words, scores and dates, brackets around words and emphasis are no signs.
"""

from __future__ import annotations

import re

from ...lexicon.text.numbers import SMALL, TENS

Sign = tuple[str, str, str]
"""What stands before a sign, the sign, what stands behind it."""

READ = 400
"""Number of characters in which signs are looked for."""
LETTER_A = "ᴀ"
"""The letter A in a normal form, told apart from the article."""
_NUMBER = rf"(?=(?:about |the year )?(?:[$€£]?-?\.?\d|(?:{'|'.join(SMALL | TENS)})\b))"
_BOUNDS = (
    *((re.compile(rf"(?<![\w>])(?:{words})\s+{_NUMBER}", re.IGNORECASE), f"{sign} ") for words, sign in (
        ("no (?:more|later|greater|higher|longer) than|at (?:the )?most|up to|a maximum of|not (?:more|over) than", "≤"),
        ("no (?:fewer|less|lower|earlier) than|at (?:the )?least|a minimum of|not (?:less|fewer) than", "≥"),
        ("(?:more|greater|higher|larger|longer|older|later) than|over|above|exceeding|after|in excess of|upwards of", ">"),
        ("(?:less|fewer|lower|smaller|shorter|younger|earlier) than|under|below|before|prior to", "<"),
        ("all but", "∖"),
    )),
    (re.compile(r"(?<![\w.,])(\d[\d.,]{0,20})(?:\+(?![\w+])| or (?:more|older|higher|above)\b| and (?:above|over|older)\b)"), r"≥ \1"),
    (re.compile(r"(?<![\w.,])(\d[\d.,]{0,20}) or (?:less|fewer|younger|below)\b"), r"≤ \1"),
)  # fmt: skip
_LETTER_A = re.compile(
    r"(?<![\w'’.&/-])(?:[Aa](?=\**+\s*+\.?\s*+$|\s*+\**+[),;\]+$]|\s(?:and|or|is|was|are|were|only|of|for|to|with|but|by)\b)|A(?=-)|(?<=\w\s)A(?=\s[a-z]))"
)
_STANDING = re.compile(rf"(?<![\w'’.&/-])[B-HJ-Z{LETTER_A}](?![\w'’+#-]|\.\s?\w)")
_MARKUP = re.compile(
    r"</?[a-zA-Z][^<>]{0,40}>|^\s*>\s(?!\s*\d)|\*\*|__|`|\$(?!\d)|\\[()\[\]]|(?<![\w)\s])[*_](?=\w)|(?<=\w)[*_](?![\w(\s])"
)
_ODD = re.compile(r"[^\w\s.,'’\"“”?:;]")
_LEXEME = re.compile(r"(?<!\.)\.*+\w(?:\.*\w)*+%?|<=|>=|=<|=>|!=|==|<>|->|&&|\|\||\+\+|--|[^\w\s]")
_RELATIONS = {
    "<=": "≤", "=<": "≤", ">=": "≥", "!=": "≠", "<>": "≠", "->": "→", "&&": "∧", "||": "∨", **{sign: sign for sign in ["==", "<", ">", "≤", "≥", "≠", "≈", "→", "↔", "⇒", "∪", "∩", "⊂", "⊆", "∈", "∧", "∨", "±", "√", "∖", "^"]},
}  # fmt: skip
_VALUE = re.compile(r"(?<![<>=!:+*/-])=(?![=>])")
_TURNED = {">": "<", "≥": "≤"}
_OPERAND = re.compile(rf"[a-z{LETTER_A}]|-?[\d.]+[a-z]?|√|[xyzn]\d")
_CHARGED = re.compile(r"[A-Z][a-z]?\d{0,2}|AB")


def bounded(text: str) -> str:
    """A text with words that bound a number as signs: "more than 5" and "over 5" are "> 5"."""
    for pattern, sign in _BOUNDS:
        text = pattern.sub(sign, text)
    return text


def with_letters(text: str) -> str:
    """A text with "A" as `LETTER_A` where it is a letter: alone, at the end, before a sign or "and", or capital inside a phrase.

    >>> with_letters("Vitamin A"), with_letters("A or B"), with_letters("A dog"), with_letters("A Tale of Two Cities")
    ('Vitamin ᴀ', 'ᴀ or B', 'A dog', 'A Tale of Two Cities')
    """
    return _LETTER_A.sub(LETTER_A, text) if "a" in text or "A" in text else text


def letters_in(text: str) -> frozenset[str]:
    """The single capitals in a text that stand for themselves ("Vitamin C"); not initials.

    Of "a" only `LETTER_A`, and where two or three words begin with it ("A minor"), which may be either.
    """
    first, *others = text.split(None, 3)[:4] or [""]
    found = frozenset(letter.lower() for letter in _STANDING.findall(text))
    return found or frozenset({LETTER_A} if first in ("A", "a") and 0 < len(others) < 3 else ())


def signs_in(text: str) -> tuple[Sign, ...]:
    """The signs in a text that carry meaning.

    >>> signs_in("x >= 2") == signs_in("2 ≤ x"), signs_in("AB+"), signs_in("O(n^2)"), signs_in("well-known, 7-1 and/or (so) C.")
    (True, (('ab', '+', ''),), (('o', '(', 'n^2'),), ())
    """
    text = text[:READ]
    if _ODD.search(text) is None:
        return ()
    text = re.sub(r"(\d)\s+(?=\(\w\))", r"\1", _MARKUP.sub("", text))
    text = _VALUE.split(text)[-1]
    lexemes = [(m[0], m.start(), m.end()) for m in _LEXEME.finditer(text)]
    found: list[Sign] = []
    skipped = -1
    for at, (written, start, end) in enumerate(lexemes):
        if start < skipped:
            continue
        left = lexemes[at - 1] if at else ("", -1, -1)
        right = lexemes[at + 1] if at + 1 < len(lexemes) else ("", -1, -1)
        before, behind = _operand(left[0]), _operand(right[0])
        glued_left, glued_right = left[2] == start, right[1] == end
        if right[0] == "-" and at + 2 < len(lexemes):
            behind = "-" + _operand(lexemes[at + 2][0])
        if written in _RELATIONS:
            sign = _RELATIONS[written]
            before = before if len(before) < 3 or sign not in "<>≤≥" else ""  # "killed more than 5"
            turned = sign in _TURNED and (before or behind)
            found.append((behind, _TURNED[sign], before) if turned else (before, sign, behind))
        elif written == "∞":
            found.append(("-" if left[0] == "-" else "", "∞", ""))
        elif written in "([" and (call := _bracket(text, start, left[0] if glued_left else "")):
            found.append(call[0])
            skipped = call[1]
        elif written in ("++", "--") and glued_left != glued_right:
            found.append((before if glued_left else "", written, behind if glued_right else ""))
        elif written in "+-*/−" and _operates(left[0], written, right[0], glued_left, glued_right):
            first, second = sorted((before, behind)) if written in "+*" else (before, behind)
            found.append((first, written, second))
        elif (
            written in "+-−#"
            and glued_left
            and not glued_right
            and (_CHARGED.fullmatch(left[0]) or (written == "#" and len(left[0]) == 1))
        ):
            found.append((before, written.replace("−", "-"), ""))
        elif written == "!" and glued_left and not glued_right and len(left[0]) == 1 and left[0].islower():
            found.append((before, "!", ""))
        elif (
            written in "!~¬-"
            and glued_right
            and not (glued_left and before)
            and len(right[0]) == 1
            and right[0].isalpha()
        ):
            found.append(("", written, behind))
    return tuple(found)


def _operates(left: str, sign: str, right: str, glued_left: bool, glued_right: bool) -> bool:
    """Whether a sign stands between two operands of a formula; two numbers with a hyphen or slash are a score, a range, a fraction."""
    if not (_OPERAND.fullmatch(left) and (_OPERAND.fullmatch(right))) or glued_left != glued_right:
        return False
    return sign in "+*" or not (left[-1].isdigit() and right[-1].isdigit())


def _operand(lexeme: str) -> str:
    word = lexeme.casefold().strip("%")
    return ("0" if word.startswith(".") else "") + word if word[:1].isalnum() or word[:1] == "." else ""


def _bracket(text: str, start: int, called: str) -> tuple[Sign, int] | None:
    """A function with its argument, a part of a section ("4(a)"), or an interval with its end; None for other brackets."""
    closing = re.compile(r"[)\]]").search(text, start)
    if closing is None or closing.start() - start > 24:
        return None
    inside, pair = re.sub(r"[\s*]", "", text[start + 1 : closing.start()]).casefold(), text[start] + closing[0]
    if "," in inside and pair != "()":
        return ("", pair, inside), closing.end()
    if (
        text[start] == "("
        and 0 < len(called) <= 4
        and inside not in ("s", "es")
        and (len(inside) == 1 or len(called) == 1 or re.search(r"[\d^+]", inside))
    ):
        return (called.casefold(), "(", inside), closing.end()
    return None
