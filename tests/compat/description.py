"""The calibrated paths under requests made from the OpenAI description beside the checkout: `python -m tests.compat.description --st .compat/openai-2/bin/st`.

schemathesis makes valid and invalid bodies; the proxy (mode on) must never answer with a fault of its own, whatever it is asked.
"""

from __future__ import annotations

import argparse
import json
import logging
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import structlog
import yaml
from starlette.requests import Request
from starlette.responses import JSONResponse

from tests.compat.running import places
from tests.support.servers import serving

SPEC = Path(__file__).parents[2].parent / "shared" / "specs" / "openai-openapi.yaml.xz"
PATHS = ("/chat/completions", "/completions", "/responses")
KEPT = Path(__file__).parents[1] / "data" / "description_requests.jsonl"
"""Requests made from the OpenAI description (MIT), for the test suite: it needs neither the description nor schemathesis."""
SEEDS = (1, 2, 3)
LONGEST = 4096
"""Bytes of a body that is kept."""


def reduced() -> dict[str, object]:
    """The description with the calibrated paths alone."""
    with lzma.open(SPEC, "rt", encoding="utf-8") as file:
        described = yaml.load(file, Loader=yaml.CSafeLoader)
    described["paths"] = {path: {"post": described["paths"][path]["post"]} for path in PATHS}
    for operation in described["paths"].values():
        operation["post"].pop("security", None)
    return described | {"security": []}


class Noting:
    """An ASGI application that refuses every request and notes it."""

    def __init__(self) -> None:
        self.rows: set[tuple[str, str]] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Note path and body; the bytes of the body are written as latin-1."""
        body = await Request(scope, receive).body()
        if scope["path"].removeprefix("/v1") in PATHS and len(body) <= LONGEST:
            self.rows.add((scope["path"], body.decode("latin-1")))
        await JSONResponse({"error": {"message": "noted", "type": "invalid_request_error"}}, 400)(scope, receive, send)


def made(st: str, address: str, examples: int, seed: int) -> int:
    """Have schemathesis make requests and send them to an address; its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "description.json"
        file.write_text(json.dumps(reduced(), default=str), encoding="utf-8")
        checks = ["--checks", "not_a_server_error", "--phases", "examples,fuzzing", "--mode", "all"]
        bounds = ["--max-examples", str(examples), "--seed", str(seed), "--request-timeout", "30"]
        command = [st, "run", str(file), "--url", f"{address}/v1", *checks, *bounds]
        return subprocess.run(command, cwd=folder, check=False).returncode


def keep(st: str, examples: int) -> int:
    """Write what is made with each seed into the file that the test suite sends."""
    noting = Noting()
    with serving(noting) as address:
        for seed in SEEDS:
            made(st, address, examples, seed)
    lines = [json.dumps({"path": path, "body": body}) for path, body in sorted(noting.rows)]
    KEPT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def main() -> int:
    """Run it; schemathesis' own exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--st", default="st", help="schemathesis' command")
    parser.add_argument("--examples", type=int, default=40, help="requests for each path")
    parser.add_argument(
        "--keep", action="store_true", help="write the requests into tests/data instead of sending them"
    )
    chosen = parser.parse_args()
    if not SPEC.exists():
        print(f"The OpenAI description is not beside the checkout: {SPEC.name} is missing.")
        return 2
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    if chosen.keep:
        return keep(chosen.st, chosen.examples)
    with places() as found:
        return made(chosen.st, found["on"].address, chosen.examples, SEEDS[0])


if __name__ == "__main__":
    sys.exit(main())
