"""Run every client direct and through the proxy, and compare: `python -m tests.compat --python .compat/bin/python --node .compat [--write]`.

Off and shadow must be what direct is, to the last character. On and append may change the words of an answer and nothing else: no error, the
same features. The table goes into docs/clients.md with `--write`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import structlog

from hedgerow.proxy.app import application
from hedgerow.proxy.config import Settings
from tests.compat.provider import Provider
from tests.support.servers import serving

HERE = Path(__file__).parent
CLIENTS = HERE / "clients"
PAGE = HERE.parents[1] / "docs" / "clients.md"
BEGIN, END = "<!-- made by python -m tests.compat --write -->", "<!-- end -->"
MODES = ("off", "shadow", "on", "append")
TIMEOUT_S = 120
NAMES = {
    "openai_python.py": "openai (Python)",
    "anthropic_python.py": "anthropic (Python)",
    "openai_agents.py": "openai-agents",
    "pydantic_ai_.py": "pydantic-ai",
    "instructor_.py": "instructor",
    "langchain_.py": "langchain-openai",
    "llama_index_.py": "llama-index",
    "dspy_.py": "DSPy",
    "litellm_.py": "LiteLLM",
    "llm_.py": "llm",
    "openai_node.mjs": "openai (Node)",
    "ai_sdk.mjs": "AI SDK",
    "anthropic_node.mjs": "anthropic (Node)",
    "Jdk.java": "JDK HttpClient",
    "curl.sh": "curl",
}
Outcome = dict[str, Any]


@contextlib.contextmanager
def addresses(provider: Provider) -> Iterator[dict[str, str]]:
    """The provider itself and one proxy for each mode."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        direct = stack.enter_context(serving(provider))
        found = {"direct": direct}
        for mode in MODES:
            route = {"name": "all", "upstream": "provider", "mode": "on" if mode == "append" else mode}
            settings = Settings(
                upstreams={"provider": {"provider": "openai", "base_url": f"{direct}/v1", "retries": 0}},  # type: ignore[dict-item]
                routes=[route | {"stream": "append" if mode == "append" else "buffer"}],  # type: ignore[list-item]
                audit={"url": f"sqlite:///{folder}/{mode}.db", "spool": str(folder / f"spool-{mode}")},  # type: ignore[arg-type]
                maps={"folder": str(folder / "maps")},  # type: ignore[arg-type]
            )
            found[mode] = stack.enter_context(serving(application(settings, address=mode), lifespan="on"))
        yield found


def command(client: str, python: str) -> list[str] | None:
    """How a client is run; None where what runs it is not installed."""
    runners = {".py": python, ".mjs": "node", ".java": "java", ".sh": "bash"}
    runner = runners[Path(client).suffix]
    return [runner, str(CLIENTS / client)] if shutil.which(runner) else None


def run(command_: list[str], address: str, node: Path | None) -> Outcome:
    """What a client saw; its last line of output is JSON."""
    keys = {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-test"}
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    with tempfile.TemporaryDirectory() as folder:
        if node is not None and command_[0] == "node":
            script = Path(folder) / Path(command_[1]).name
            script.write_bytes(Path(command_[1]).read_bytes())
            (Path(folder) / "node_modules").symlink_to(node / "node_modules")
            command_ = ["node", str(script)]
        env = {**os.environ, **keys, **quiet, "OPENAI_API_BASE": keys["OPENAI_BASE_URL"]}
        done = subprocess.run(
            command_, env=env, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1][:300] if done.stderr.strip() else done.returncode}
    outcome: Outcome = json.loads(done.stdout.strip().splitlines()[-1])
    return outcome


def verdict(mode: str, direct: Outcome, seen: Outcome) -> str:
    """One cell of the table: "same", "calibrated", or what is wrong."""
    if "error" in seen:
        return f"error: {seen['error']}"
    if mode in ("off", "shadow"):
        return "same" if seen == direct else f"differs in {', '.join(k for k in direct if seen.get(k) != direct[k])}"
    missing = [name for name in direct if name not in seen]
    fixed = [name for name in direct if name in FIXED and name in seen and seen[name] != direct[name]]
    lost = [n for n, value in seen.items() if isinstance(value, str) and "Canberra" not in value]
    if missing or fixed or lost:
        return f"wrong: {', '.join([*missing, *fixed, *lost])}"
    return "calibrated" if seen != direct else "same"


FIXED = ("tool", "parse", "typed", "object", "models", "embeddings", "status", "responses tool", "chat tool")
"""What no mode may change."""


def table(outcomes: Mapping[str, Mapping[str, Outcome]]) -> list[str]:
    """The lines of the table."""
    lines = ["| client | what it does | " + " | ".join(MODES) + " | sees `hedgerow` |", "|---" * (len(MODES) + 3) + "|"]
    for client, by_mode in outcomes.items():
        direct = by_mode["direct"]
        cells = [verdict(mode, direct, by_mode[mode]) for mode in MODES]
        features = ", ".join(name for name in direct if name not in ("field", "status"))
        field = by_mode["on"].get("field")
        sees = "yes" if field else "headers, audit" if field is None else "no"
        lines.append(f"| {NAMES[client]} | {features} | " + " | ".join(cells) + f" | {sees} |")
    return lines


def main() -> int:
    """Run them all; 1 where one of them saw what it must not see."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the Python that has the clients")
    parser.add_argument("--node", type=Path, help="the folder that holds node_modules")
    parser.add_argument("--only", nargs="*", help="file names of clients")
    parser.add_argument("--write", action="store_true", help="write the table into docs/clients.md")
    chosen = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    provider, outcomes = Provider(), {}
    with addresses(provider) as found:
        for client in chosen.only or NAMES:
            how = command(client, chosen.python)
            if how is None:
                print(f"{client}: not run, {Path(client).suffix} has nothing here that runs it")
                continue
            outcomes[client] = {}
            for mode, address in found.items():
                provider.reset()
                outcomes[client][mode] = run(how, address, chosen.node)
            cells = [verdict(mode, outcomes[client]["direct"], outcomes[client][mode]) for mode in MODES]
            print(f"{client}: {' | '.join(cells)}", flush=True)
            if "error" in outcomes[client]["direct"]:
                print(f"   direct: {outcomes[client]['direct']}")
    lines = table(outcomes)
    if chosen.write:
        text = PAGE.read_text(encoding="utf-8")
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        PAGE.write_text(before + "\n".join([BEGIN, *lines, END]) + after, encoding="utf-8")
    wrong = [
        cell
        for by in outcomes.values()
        for m in MODES
        if not (cell := verdict(m, by["direct"], by[m])).startswith(("same", "cal"))
    ]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
