"""The spool for rows while the store is down: one append-only file a process, replayed when the store is back.

A line is a checksum and a row; an append returns when it is durable. The file is locked by its process, so that another process can find and
replay the file of a dead one. An incomplete last line was never reported as written.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import orjson
import structlog

from .rows import Prepared

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
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size
        self._damaged = False
        self.rows = sum(line.endswith(b"\n") for line in self._lines())

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
        spool: Spool | None = None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:  # else it was replayed and removed between opening and locking
                spool = cls(path, descriptor)
        except BlockingIOError:
            return None
        finally:
            if spool is None:
                os.close(descriptor)
        return spool

    @property
    def is_gone(self) -> bool:
        """Whether somebody else deleted its name, so that its rows would not outlive the process."""
        return os.fstat(self._descriptor).st_nlink == 0

    def append(self, rows: Sequence[Prepared]) -> None:
        """Append rows; returns when they are durable.

        Raises:
            OSError: they could not be written; the file is unchanged.
        """
        data = b"".join(map(_line, rows))
        try:
            os.ftruncate(self._descriptor, self._size)  # a failed append may have left a part of itself
            written = 0
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
            os.fsync(self._descriptor)
            if self._size == 0:
                _sync_folder(self.path.parent)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(data)
        self.rows += len(rows)

    def read(self) -> Iterator[Prepared]:
        """The rows, oldest first. Lines that cannot be read are logged and left out, and the file is then kept under another name.

        Raises:
            OSError: the file cannot be read.
        """
        for number, line in enumerate(self._lines(), 1):
            row = _row(line)
            if row is not None:
                yield row
            elif line.endswith(b"\n"):
                self._damaged = True
                log.error("audit_spool_damaged", file=self.path.name, line=number)
            else:
                log.warning("audit_spool_torn", file=self.path.name, line=number)

    def _lines(self) -> Iterator[bytes]:
        """What was appended, by the descriptor: the name may be gone."""
        left = self._size
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            file.seek(0)
            while left > 0 and (line := file.readline(left)):
                left -= len(line)
                yield line

    def remove(self) -> None:
        """Delete the file: its rows are in the store. A file that cannot be deleted stays; to replay it again does no harm."""
        try:
            if self._damaged:
                self.path.rename(self.path.with_suffix(".damaged"))
            else:
                os.ftruncate(self._descriptor, 0)
                self.path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("audit_spool_stays", file=self.path.name, error=error.strerror)
        self._let_go()

    def close(self) -> None:
        """Close and unlock the file; its rows wait for the next process."""
        if self._size == 0:
            self.remove()
        else:
            self._let_go()

    def _let_go(self) -> None:
        with suppress(OSError):  # the descriptor is closed all the same
            os.close(self._descriptor)


class Spools:
    """The spools that a process holds: its own, and those that dead processes left.

    Attributes:
        held: open files.
        unread: why a file cannot be read now; None if all can.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.held: list[Spool] = []
        self.unread: str | None = None
        self._folder, self._name = folder, name
        self._own: Spool | None = None

    def look(self) -> None:
        """Take the files that no living process holds."""
        self.unread = None
        self.held += waiting(self._folder, self.keep_unread)

    def keep_unread(self, path: Path, error: OSError) -> None:
        """Keep why a file cannot be read."""
        self.unread = f"{path} cannot be read ({error.strerror}); its rows wait until it can"

    def append(self, rows: Sequence[Prepared]) -> None:
        """Append rows to the process's own file; see `Spool.append`."""
        if self._own is None or self._own.is_gone:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"{self._name}-{secrets.token_hex(2)}.spool"
            self._own = Spool.open(path)
            if self._own is None:
                raise BlockingIOError(errno.EWOULDBLOCK, "held by another process", str(path))
            self.held.append(self._own)
        self._own.append(rows)

    def remove(self, spool: Spool) -> None:
        """Delete a file whose rows are in the store."""
        spool.remove()
        self.held.remove(spool)
        self._own = None if spool is self._own else self._own


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


def waiting(folder: Path, on_unread: Callable[[Path, OSError], None]) -> Iterator[Spool]:
    """Files of rows that no living process holds, locked for this one. `on_unread` is told what cannot be opened."""
    try:
        paths = sorted(folder / name for name in os.listdir(folder) if name.endswith(".spool"))
    except FileNotFoundError:
        return
    except OSError as error:
        on_unread(folder, error)
        return
    for path in paths:
        try:
            spool = Spool.open(path, create=False)
        except OSError as error:
            on_unread(path, error)
        else:
            if spool is not None:
                yield spool


def _line(prepared: Prepared) -> bytes:
    data = orjson.dumps([prepared.row, prepared.texts])
    return b"%08x %s\n" % (zlib.crc32(data), data)


def _row(line: bytes) -> Prepared | None:
    data = line[_CHECKSUM + 1 :].rstrip(b"\n")
    if line[:_CHECKSUM] != b"%08x" % zlib.crc32(data) or not line.endswith(b"\n"):
        return None
    try:
        return Prepared(*orjson.loads(data))
    except (ValueError, TypeError):
        return None


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the file's name is durable too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
