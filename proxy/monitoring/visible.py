"""Text of others made fit for a terminal, in which it would otherwise give orders: set the title, clear lines, write the clipboard, turn the
direction of writing. Everything that commands print and every log line for people passes here; pages escape, and JSON stays JSON.
"""

from __future__ import annotations

import json
import re

_ORDERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls but line end and tab: ESC, CSI and OSC in one byte, carriage return, backspace
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction of writing
    "\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # invisible, or an end of a line
    "\ud800-\udfff]"
)
_AND_LINES = re.compile(f"{_ORDERS.pattern[:-1]}\n\t]")


def visible(text: str) -> str:
    r"""Text with what a terminal would obey, and what nobody would see, written out as JSON writes it; line ends and tabs stay.

    >>> visible("a\x1b]0;b\x07")
    'a\\u001b]0;b\\u0007'
    """
    return _ORDERS.sub(_written_out, text)


def in_one_line(text: str) -> str:
    """The same with line ends and tabs written out too: for what is one line, such as a name, so that it looks like no second one."""
    return _AND_LINES.sub(_written_out, text)


def _written_out(sign: re.Match[str]) -> str:
    written = json.dumps(sign[0])[1:-1]
    return written if written.startswith("\\") else f"\\u{ord(sign[0]):04x}"
