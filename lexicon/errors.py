"""What the lexicon refuses.

LexiconError(ValueError)
  LexiconFileError     a lexicon file cannot be used; path, line and reason
  TextTooLong          a text to read is over the limit
"""

from __future__ import annotations

from pathlib import Path


class LexiconError(ValueError):
    """Root of the errors that the lexicon raises on purpose."""


class LexiconFileError(LexiconError):
    """A lexicon file cannot be used.

    Attributes
    ----------
    path : Path
    line : int or None
        Line in the file, from 1; None where the file as a whole is at fault.
    reason : str
    """

    def __init__(self, path: Path, line: int | None, reason: str) -> None:
        super().__init__(f"{path}{f', line {line}' if line else ''}: {reason}")
        self.path = path
        self.line = line
        self.reason = reason


def unreadable(path: Path, error: OSError | UnicodeDecodeError) -> LexiconFileError:
    """The refusal of a file that cannot be read as text."""
    why = "it is not UTF-8 text; save it as UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
    return LexiconFileError(path, None, f"cannot be read: {why}")


class TextTooLong(LexiconError):
    """A text to read is longer than the limit; the message names both lengths."""
