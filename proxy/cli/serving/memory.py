"""How the C library returns freed memory to the system."""

from __future__ import annotations

import ctypes
from contextlib import suppress

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""Numbers of glibc's `mallopt`, from its malloc.h."""
LARGE_BYTES = 128 * 1024
"""Freed blocks of at least this size are returned to the system at once; the same value as glibc's initial one."""
ARENAS = 2
"""Number of memory pools shared by threads; glibc would make eight for each core, each of which keeps its peak size."""


def give_back() -> None:
    """Make glibc return large blocks to the system. By default it keeps blocks up to the largest size ever freed: after one answer of 10 MB, every
    later one stays in the pool of its thread. Does nothing with another C library.
    """
    with suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(M_ARENA_MAX, ARENAS)
