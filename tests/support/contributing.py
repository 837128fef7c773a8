"""A proxy before the scripted upstream, for what tests/test_contributing.py runs in a copy of the checkout."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import yaml

from hedgerow.proxy.app import application
from hedgerow.proxy.config import load
from tests.support.servers import serving
from tests.support.upstream import Upstream, says

ANSWERS = (*["Jupiter."] * 7, "Saturn.", "Venus.", "Mars.")


@contextlib.contextmanager
def asked(folder: Path = Path(), answers: tuple[str, ...] = ANSWERS, **route: Any) -> Iterator[str]:
    """Serve `config.yaml` of a folder, written here, ask one question, and give the proxy's address."""
    with serving(Upstream(default=says(*answers))) as upstream:
        content = {
            "upstreams": {"scripted": {"provider": "openai", "base_url": upstream + "/v1", "retries": 0}},
            "routes": [{"name": "test", "upstream": "scripted", "rewriting": {"by": "local"}} | route],
            "audit": {"url": f"sqlite:///{folder}/audit.db", "spool": str(folder / "spool")},
            "maps": {"folder": str(folder / "maps")},
        }
        path = folder / "config.yaml"
        path.write_text(yaml.safe_dump(content))
        with serving(application(load(path), address="test"), lifespan="on") as address:
            body = {"model": "m", "messages": [{"role": "user", "content": "What is the largest planet?"}]}
            httpx.post(address + "/v1/chat/completions", json=body, timeout=60).raise_for_status()
            yield address
