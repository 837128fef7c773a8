"""What the C library does with memory that is free again."""

from __future__ import annotations

import ctypes
from contextlib import suppress

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""Numbers of glibc's `mallopt`, from its malloc.h."""
LARGE_BYTES = 128 * 1024
"""Blocks of this size on are given back to the system as soon as they are free; glibc begins with the same number."""
ARENAS = 2
"""Pools that threads share; glibc would make eight for each core, and each keeps what was once needed in it."""


def give_back() -> None:
    """Have glibc give large blocks back. Left alone it keeps them once one as large was freed: after a single answer of 10 MB every later one
    stays in the process, in the pool of each thread that read one. Does nothing where the C library is another.
    """
    with suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(M_ARENA_MAX, ARENAS)
