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

import structlog
import yaml

from tests.compat.running import places

SPEC = Path(__file__).parents[2].parent / "shared" / "specs" / "openai-openapi.yaml.xz"
PATHS = ("/chat/completions", "/completions", "/responses")


def reduced() -> dict[str, object]:
    """The description with the calibrated paths alone."""
    with lzma.open(SPEC, "rt", encoding="utf-8") as file:
        described = yaml.load(file, Loader=yaml.CSafeLoader)
    described["paths"] = {path: {"post": described["paths"][path]["post"]} for path in PATHS}
    for operation in described["paths"].values():
        operation["post"].pop("security", None)
    return described | {"security": []}


def main() -> int:
    """Run it; schemathesis' own exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--st", default="st", help="schemathesis' command")
    parser.add_argument("--examples", type=int, default=40, help="requests for each path")
    chosen = parser.parse_args()
    if not SPEC.exists():
        print(f"The OpenAI description is not beside the checkout: {SPEC.name} is missing.")
        return 2
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with places() as found, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "description.json"
        file.write_text(json.dumps(reduced(), default=str), encoding="utf-8")
        options = [
            "--url",
            f"{found['on'].address}/v1",
            "--checks",
            "not_a_server_error",
            "--phases",
            "examples,fuzzing",
        ]
        options += ["--max-examples", str(chosen.examples), "--mode", "all", "--seed", "1", "--request-timeout", "30"]
        return subprocess.run([chosen.st, "run", str(file), *options], cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
