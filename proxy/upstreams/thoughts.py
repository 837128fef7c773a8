"""Where the answer of a text is: behind what the model thought aloud, and before the marks with which it ends its turn.

Answers are compared and worded without these; what is cut off is put back around them.
"""

from __future__ import annotations

import re
import unicodedata

_THINKS = r"(?:\w+:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad)"
_TURN = r"(?:<[|｜](?!python_tag|tool)[^<>|｜\n]{1,40}[|｜]>|</?(?:s|bos|eos|eot|(?:start_of_|end_of_)?turn|im_start|im_end)>|\[/?INST\])"
"""A token that begins or ends a turn; one that begins a call of a tool is what a program reads."""
_THOUGHT = re.compile(
    rf"(?<![`'\"])(?:</{_THINKS}>|\[/{_THINKS}\]|◁/{_THINKS}▷)(?![`'\"])"
    r"|<\|channel\|>\s*final\b[^<\n]{0,40}(?:<\|\w+\|>[^<\n]{0,40}){0,2}<\|message\|>",
    re.IGNORECASE,
)
"""The end of a thought: a closing tag, or the channel of the answer."""
_UNMARKED = re.compile(r"\s*analysis(?=[A-Z\W]).*?assistant\s?final(?=[A-Z\W\d])", re.DOTALL)
"""Harmony's channels where the tokens between them were left out."""
RESULT_MARK = "####"
"""Stands before the result of a worked answer in data sets of sums; programs look for it."""
_RESULT = re.compile(rf"\n{RESULT_MARK} ?(?=[^\n]*\S\s*\Z)")
_BEGINS = re.compile(rf"(?:\s*{_TURN}(?:assistant\b)?)+")
_ENDS = re.compile(rf"(?:\s{{0,9}}{_TURN}){{1,20}}\s*+\Z")
_LONGEST_ENDING = 500
_LONGEST_ANSWER, _LONGEST_TEXT = 100_000, 1_000_000
"""Characters behind a thought, and with it: what is longer is not worded, and would only cost time."""
_MARKS = ("<", "[", "◁", RESULT_MARK, "analysis")
"""A text without any of these has nothing to cut off."""


def cut(text: str) -> tuple[str, str, str]:
    r"""What stands before the answer of a text, the answer, and what stands after it. All of it is the answer if nothing else would be left.

    >>> cut("Australia, so...</think>\n\nCanberra.<|im_end|>")
    ('Australia, so...</think>\n\n', 'Canberra.', '<|im_end|>')
    >>> cut("6 boxes of 7.\n#### 42")
    ('6 boxes of 7.\n#### ', '42', '')
    """
    start, end = 0, len(text)
    if len(text) > _LONGEST_TEXT:
        return "", text, ""
    if not any(mark in text for mark in _MARKS) and not (_is_invisible(text[:1]) or _is_invisible(text[-1:])):
        return "", text, ""  # most texts: the expressions cost a hundred times as much
    if (begun := _BEGINS.match(text)) is not None:
        start = begun.end()
    if (unmarked := _UNMARKED.match(text, start)) is not None:
        start = unmarked.end()
    for thought in _THOUGHT.finditer(text, max(start, end - _LONGEST_ANSWER)):
        start = thought.end()
    tail = max(start, end - _LONGEST_ENDING)
    if (ended := _ENDS.search(text, tail)) is not None:
        end = ended.start()
    if (result := _RESULT.search(text, start, end)) is not None:
        start = result.end()
    if start or text[:1].isspace() or _is_invisible(text[:1]):
        most = min(end, start + _LONGEST_ENDING)
        while start < most and (_is_invisible(text[start]) or (start and text[start].isspace())):
            start += 1
    least = max(start, end - _LONGEST_ENDING)
    while least < end and _is_invisible(text[end - 1]):
        end -= 1
    return (text[:start], text[start:end], text[end:]) if text[start:end].strip() else ("", text, "")


def _is_invisible(sign: str) -> bool:
    """Whether a character only directs others, and is no part of an emoji."""
    return bool(sign) and unicodedata.category(sign) == "Cf" and not "\U000e0020" <= sign <= "\U000e007f"
