"""A client direct and through the proxy in every mode, and what it may see there."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from hedgerow.proxy.app import application
from hedgerow.proxy.config import Settings
from tests.compat.environments import BOTH, CALLS, CHAT_ALONE, CLIENTS, KNOWN, Environment
from tests.compat.provider import NAMES, SAMPLED_AT, STRONGER, Provider
from tests.support.servers import serving
from tests.support.waiting import until

MODES = ("off", "shadow", "on", "append")
PLACES = MODES + BOTH
TIMEOUT_S = 240
STATUSES = "rows"
"""Where an outcome has the statuses of the audit's new rows."""
ASKED = 'I am not sure how to go on. Please check this first: weather: city "Canberra"'
"""What a user is asked in place of a call of which seven of ten answers bear the city out."""
CALLS_BELOW = 0.8
"""So that seven of ten are too few."""
ENDS = ("stop", "end_turn")
"""How an answer ends that calls nothing."""
Outcome = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """An address to ask, the provider behind it, and the proxy's audit where there is one between."""

    address: str
    provider: Provider
    audit: Path | None = None

    def rows_since(self, began: float, expected: int) -> list[str]:
        """The statuses of the rows that were written since then, once as many are there as are expected."""

        def read() -> list[str]:
            with contextlib.closing(sqlite3.connect(str(self.audit))) as store:
                rows = store.execute("SELECT status FROM answers WHERE created_at > ?", (began,)).fetchall()
            return [status for (status,) in rows]

        return until(read, lambda rows: len(rows) >= expected)


class Faults(logging.Handler):
    """What was logged as an error in this process: by a proxy, by its server, or by an event loop.

    Attributes:
        lines: each of them, with its traceback.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines.append(self.format(record))

    def __call__(self, _logger: object, _method: str, event: Any) -> Any:
        """Keep a line, as a processor of structlog."""
        self.lines.append(repr(dict(event)))
        raise structlog.DropEvent


@contextlib.contextmanager
def faults() -> Iterator[list[str]]:
    """The errors that are logged meanwhile."""
    handler, before = Faults(), structlog.get_config()
    errors_only = structlog.make_filtering_bound_logger(logging.ERROR)
    structlog.configure(wrapper_class=errors_only, processors=[structlog.processors.format_exc_info, handler])
    logging.getLogger().addHandler(handler)
    try:
        yield handler.lines
    finally:
        logging.getLogger().removeHandler(handler)
        structlog.configure(**before)


@contextlib.contextmanager
def places() -> Iterator[dict[str, Place]]:
    """A provider asked directly, and one behind a proxy for each mode and for what is tried beyond the modes."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stronger = stack.enter_context(serving(Provider((STRONGER,))))
        places_of = {}
        for number, name in enumerate(("direct", *PLACES)):
            provider = Provider(doubts_calls=name in CALLS, chat_alone=name in CHAT_ALONE)
            address, audit = stack.enter_context(serving(provider)), None
            if name != "direct":
                audit = folder / f"{number}.db"
                app = application(_settings(name, address, stronger, audit), address=name)
                address = stack.enter_context(serving(app, lifespan="on"))
            places_of[name] = Place(address, provider, audit)
        yield places_of


def _settings(place: str, upstream: str, stronger: str, audit: Path) -> Settings:
    mode = place.rpartition(" ")[2]
    route: dict[str, Any] = {"name": "all", "upstream": "provider", "sampling": {"temperature": SAMPLED_AT}}
    route["mode"] = mode if mode in ("off", "shadow") else "on"
    provider: dict[str, Any] = {"provider": "openai", "base_url": f"{upstream}/v1", "retries": 0}
    if place in CHAT_ALONE:
        provider["converts"] = ["responses", "messages"]
    elif place in CALLS:
        route["policy"] = {"calls": mode, "calls_below": CALLS_BELOW, "escalate_to": "stronger"}
        route["tool_calls"] = "measure"
    elif place == "append":
        route["stream"] = "append"
    return Settings(
        upstreams={"provider": provider, "stronger": provider | {"base_url": f"{stronger}/v1"}},  # type: ignore[dict-item]
        routes=[route],  # type: ignore[list-item]
        audit={"url": f"sqlite:///{audit}", "spool": str(audit.with_suffix(".spool"))},  # type: ignore[arg-type]
        maps={"folder": str(audit.parent / "maps")},  # type: ignore[arg-type]
    )


def output(program: Path, environment: Environment, address: str) -> subprocess.CompletedProcess[str]:
    """Run a program of a client against an address."""
    addresses = {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_BASE": f"{address}/v1"}
    addresses |= {"ANTHROPIC_BASE_URL": address, "OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-test"}
    addresses |= {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LANGSMITH_TRACING": "false",
    }
    own = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            environment.command(program, Path(folder)),
            env=own | addresses,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )


def everywhere(client: str, environment: Environment, found: Mapping[str, Place]) -> dict[str, Outcome]:
    """What a client's program saw directly, in each mode, and where else it is run; its last line of output is JSON."""
    known = KNOWN[client]

    def run(name: str) -> Outcome:
        place, began = found[name], time.time()
        place.provider.reset()
        done = output(CLIENTS / client, environment, place.address)
        if done.returncode:
            return {"error": done.stderr.strip().splitlines()[-1][:300] if done.stderr.strip() else done.returncode}
        seen: Outcome = json.loads(done.stdout.strip().splitlines()[-1])
        return seen | {STATUSES: place.rows_since(began, len(seen))} if known.leaves and place.audit else seen

    run_in = ("direct", *MODES, *known.beyond)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(run_in, pool.map(run, run_in), strict=True))


def verdict(place: str, direct: Outcome, seen: Outcome) -> str:
    """One cell of the table: what the client saw, or what is wrong. Off and shadow are direct to the last character; elsewhere the words of an
    answer may change and nothing else, and where a policy looks at calls, those in doubt.
    """
    if "error" in direct:
        return f"direct fails: {direct['error']}"
    if "error" in seen:
        return f"error: {seen['error']}"
    if (rows := seen.get(STATUSES)) is not None:
        return "cancelled" if rows == ["cancelled"] * len(direct) else f"wrong: rows {', '.join(rows)}"
    if place in ("off", "shadow", "chat alone, off"):
        return "same" if seen == direct else f"differs in {', '.join(k for k in direct if seen.get(k) != direct[k])}"
    wrong = [name for name, value in direct.items() if not _is_right(place, value, seen.get(name))]
    if wrong:
        return f"wrong: {', '.join(wrong)}"
    if place in CALLS:
        return "asks" if place.endswith("ask") else "escalates"
    return "calibrated" if seen != direct else "same"


def _is_right(place: str, direct: Any, seen: Any) -> bool:
    """Whether a client that calibrates may see this in the place of what it sees directly."""
    if isinstance(direct, str):
        return isinstance(seen, str) and "Canberra" in seen
    if place not in CALLS or not isinstance(direct, dict) or "called" not in direct:
        return bool(seen == direct)
    if place.endswith("escalate"):
        return bool(seen == json.loads(json.dumps(direct).replace(NAMES[0], STRONGER)))
    return seen["called"] == [] and seen["said"] == ASKED and seen.get("ended", ENDS[0]) in ENDS


def good(cell: str) -> bool:
    """Whether a cell is as it must be."""
    return cell in ("same", "calibrated", "cancelled", "asks", "escalates")
