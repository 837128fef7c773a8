"""A client direct and through the proxy in every mode, and what it may see there."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow.proxy.app import application
from hedgerow.proxy.config import Settings
from tests.compat.environments import Environment
from tests.compat.provider import SAMPLED_AT, Provider
from tests.support.servers import serving

MODES = ("off", "shadow", "on", "append")
TIMEOUT_S = 240
FIXED = ("tool",)
"""Texts that no mode may change, as it may no number, list or object."""
Outcome = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """An address to ask, and the provider behind it."""

    address: str
    provider: Provider


@contextlib.contextmanager
def places() -> Iterator[dict[str, Place]]:
    """A provider asked directly, and one behind a proxy for each mode."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        found = {}
        for mode in ("direct", *MODES):
            provider = Provider()
            address = stack.enter_context(serving(provider))
            if mode != "direct":
                app = application(_settings(mode, address, folder), address=mode)
                address = stack.enter_context(serving(app, lifespan="on"))
            found[mode] = Place(address, provider)
        yield found


def _settings(mode: str, upstream: str, folder: Path) -> Settings:
    route: dict[str, Any] = {"name": "all", "upstream": "provider", "mode": "on" if mode == "append" else mode}
    route["sampling"] = {"temperature": SAMPLED_AT}
    return Settings(
        upstreams={"provider": {"provider": "openai", "base_url": f"{upstream}/v1", "retries": 0}},  # type: ignore[dict-item]
        routes=[route | {"stream": "append" if mode == "append" else "buffer"}],  # type: ignore[list-item]
        audit={"url": f"sqlite:///{folder}/{mode}.db", "spool": str(folder / f"spool-{mode}")},  # type: ignore[arg-type]
        maps={"folder": str(folder / "maps")},  # type: ignore[arg-type]
    )


def output(program: Path, environment: Environment, address: str) -> subprocess.CompletedProcess[str]:
    """Run a program of a client against an address."""
    told = {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_BASE": f"{address}/v1"}
    told |= {"ANTHROPIC_BASE_URL": address, "OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-test"}
    told |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false"}
    own = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            environment.command(program, Path(folder)),
            env=own | told,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )


def everywhere(program: Path, environment: Environment, found: Mapping[str, Place]) -> dict[str, Outcome]:
    """What a program saw in each place; its last line of output is JSON."""

    def run(mode: str) -> Outcome:
        found[mode].provider.reset()
        done = output(program, environment, found[mode].address)
        if done.returncode:
            return {"error": done.stderr.strip().splitlines()[-1][:300] if done.stderr.strip() else done.returncode}
        seen: Outcome = json.loads(done.stdout.strip().splitlines()[-1])
        return seen

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(found, pool.map(run, found), strict=True))


def verdict(mode: str, direct: Outcome, seen: Outcome) -> str:
    """One cell of the table: "same", "calibrated", or what is wrong. Off and shadow are direct to the last character;
    on and append may change the words of an answer and nothing else."""
    if "error" in direct:
        return f"direct fails: {direct['error']}"
    if "error" in seen:
        return f"error: {seen['error']}"
    if mode in ("off", "shadow"):
        return "same" if seen == direct else f"differs in {', '.join(k for k in direct if seen.get(k) != direct[k])}"
    missing = [name for name in direct if name not in seen]
    words = {name for name, value in direct.items() if isinstance(value, str) and name not in FIXED}
    fixed = [name for name in direct if name not in words and seen.get(name) != direct[name]]
    lost = [name for name, value in seen.items() if isinstance(value, str) and "Canberra" not in value]
    if missing or fixed or lost:
        return f"wrong: {', '.join(dict.fromkeys([*missing, *fixed, *lost]))}"
    return "calibrated" if seen != direct else "same"


def good(cell: str) -> bool:
    """Whether a cell is as it must be."""
    return cell in ("same", "calibrated")
