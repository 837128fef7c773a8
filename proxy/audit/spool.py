"""The spool for rows while the store is down: one append-only file a process, replayed when the store is back.

A line is a checksum and a row; an append returns when it is durable. The file is locked by its process, so that another process can find and
replay the file of a dead one. An incomplete last line was never reported as written.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
import structlog

from .entry import Prepared

log = structlog.get_logger(__name__)
_CHECKSUM = 8
"""Characters of a line's checksum, CRC-32 in hex."""


class Spool:
    """One file of waiting rows, locked for as long as it is open.

    Attributes:
        rows: how many rows wait in it.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.rows = path.read_bytes().count(b"\n")
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size
        self._damaged = False

    @classmethod
    def open(cls, path: Path, *, create: bool = True) -> Spool | None:
        """Open and lock a file; None if another process has it, or it is gone.

        Raises:
            OSError: it cannot be opened.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | (os.O_CREAT if create else 0), 0o600)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        if os.fstat(descriptor).st_nlink == 0:  # replayed and removed between opening and locking
            os.close(descriptor)
            return None
        return cls(path, descriptor)

    def append(self, rows: Sequence[Prepared]) -> None:
        """Append rows; returns when they are durable.

        Raises:
            OSError: they could not be written; the file is unchanged.
        """
        data = b"".join(map(_line, rows))
        try:
            written = 0
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
            os.fsync(self._descriptor)
            if self._size == 0:
                _sync_folder(self.path.parent)
        except OSError:
            os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(data)
        self.rows += len(rows)

    def read(self) -> Iterator[Prepared]:
        """The rows, oldest first. Lines that cannot be read are logged and left out, and the file is then kept under another name.

        Raises:
            OSError: the file cannot be read.
        """
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                row = _row(line)
                if row is not None:
                    yield row
                elif line.endswith(b"\n"):
                    self._damaged = True
                    log.error("audit_spool_damaged", file=self.path.name, line=number)
                else:
                    log.warning("audit_spool_torn", file=self.path.name, line=number)

    def remove(self) -> None:
        """Delete the file: its rows are in the store."""
        if self._damaged:
            self.path.rename(self.path.with_suffix(".damaged"))
        else:
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def close(self) -> None:
        """Close and unlock the file; its rows wait for the next process."""
        if self._size == 0:
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)


def unwritable(folder: Path) -> str | None:
    """One sentence on why a spool cannot be written in a folder; None if it can. Leaves no file behind."""
    nearest = next(
        path for path in (folder.absolute(), *folder.absolute().parents) if os.path.exists(path)
    )  # unlike Path.exists, False if a parent folder is not readable
    try:
        with tempfile.TemporaryFile(dir=nearest):
            return None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return (
            f"audit.spool is {folder}: {nearest} cannot be written ({reason}); make it writable, or change audit.spool"
        )


def waiting(folder: Path) -> Iterator[Spool]:
    """Files of rows that no living process holds, locked for this one."""
    for path in sorted(folder.glob("*.spool")):
        spool = Spool.open(path, create=False)
        if spool is not None:
            yield spool


def _line(prepared: Prepared) -> bytes:
    data = orjson.dumps([prepared.row, prepared.texts])
    return b"%08x %s\n" % (zlib.crc32(data), data)


def _row(line: bytes) -> Prepared | None:
    data = line[_CHECKSUM + 1 :].rstrip(b"\n")
    if line[:_CHECKSUM] != b"%08x" % zlib.crc32(data) or not line.endswith(b"\n"):
        return None
    row, texts = orjson.loads(data)
    return Prepared(row, texts)


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the file's name is durable too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
