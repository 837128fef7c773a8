"""A real PostgreSQL for the session: initialised in a temporary folder, reached by a socket in it, stopped by its process id."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

FOLDER = Path("/usr/lib/postgresql")
START_S = 60


class Missing(Exception):
    """There is no PostgreSQL that could be started; the message is the reason for skipping."""


def binaries() -> Path:
    """The newest PostgreSQL of the machine.

    Raises:
        Missing: there is none, or nobody who may run it.
    """
    commands = sorted(FOLDER.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if not commands:
        raise Missing("no PostgreSQL server is installed (apt-get install postgresql)")
    return commands[-1].parent


def account() -> dict[str, Any]:
    """Who runs the server: PostgreSQL refuses root, so that root takes the user `postgres`.

    Raises:
        Missing: there is no such user.
    """
    if os.geteuid() != 0:
        return {}
    try:
        entry = pwd.getpwnam("postgres")
    except KeyError:
        raise Missing("PostgreSQL does not run as root, and there is no user `postgres`") from None
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@dataclass
class Cluster:
    """A server of our own, with as many databases as are asked for."""

    bin: Path
    folder: Path
    account: dict[str, Any]
    durable: bool = False
    running: subprocess.Popen[bytes] | None = None
    made: int = 0

    def url(self, database: str = "postgres") -> str:
        """SQLAlchemy's address of a database."""
        return f"postgresql+psycopg://postgres@/{database}?host={self.folder}"

    def execute(self, statement: str) -> None:
        """One statement outside of a transaction."""
        with psycopg.connect(host=str(self.folder), user="postgres", dbname="postgres", autocommit=True) as connection:
            connection.execute(statement.encode())

    def database(self, template: str = "template1") -> str:
        """A new database, empty or as another one is; its address."""
        self.made += 1
        self.execute(f"CREATE DATABASE d{self.made} TEMPLATE {template}")
        return self.url(f"d{self.made}")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        fsync = "on" if self.durable else "off"  # the machine keeps its power while tests run
        options = ("listen_addresses=", f"fsync={fsync}", "max_connections=60")
        command = [self.bin / "postgres", "-D", self.folder / "data", "-k", self.folder]
        for option in options:
            command += ["-c", option]
        with (self.folder / "log").open("ab") as log:
            self.running = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", **self.account)
        deadline = time.monotonic() + START_S
        while True:
            try:
                return self.execute("SELECT 1")
            except psycopg.OperationalError:
                if self.running.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                time.sleep(0.02)

    def ensure(self) -> None:
        """Start the server again where it has ended by itself."""
        if self.running is None or self.running.poll() is not None:
            self.start()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server; connections are cut."""
        if self.running is not None:
            self.running.send_signal(how)
            self.running.wait(timeout=START_S)
            self.running = None


@contextlib.contextmanager
def cluster(*, durable: bool = False, parent: Path | None = None) -> Iterator[Cluster]:
    """A cluster, up until the end of the block; `durable` makes its commits survive a power cut. It lies in `parent`, where one is given.

    Raises:
        Missing: none can be had here; the reason is inside.
    """
    server, who = binaries(), account()
    folder = Path(tempfile.mkdtemp(prefix="hedgerow-pg-", dir=parent))
    try:
        if who:
            os.chown(folder, who["user"], who["group"])
        init = [server / "initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(init, check=True, capture_output=True, cwd="/", **who)
        running = Cluster(server, folder, who, durable)
        try:
            running.start()
            yield running
        finally:
            running.stop(signal.SIGQUIT)  # nothing of it is needed any more
    finally:
        shutil.rmtree(folder, ignore_errors=True)
