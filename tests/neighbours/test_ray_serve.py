"""deploy/ray: two replicas of the proxy under Ray Serve, asked by the openai client: `make neighbours`."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
import yaml
from openai import OpenAI

from tests.support.upstream import Upstream, says

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Serve's own imports and Ray's own start and end warn
]
REQUESTS = 40


@pytest.fixture
def address(tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve on a free port of 127.0.0.1, with the application of deploy/ray."""
    upstream.default = says("Paris.", "Paris.", "Lyon.")
    named = {"provider": "openai", "base_url": upstream.url, "api_key": "unused"}
    route = {"name": "r", "upstream": "scripted", "mode": "on", "model": "m", "sampling": {"n": 6}}
    audit = {"url": f"sqlite:///{tmp_path}/audit.db"}
    config = {"upstreams": {"scripted": named}, "routes": [route], "audit": audit}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    for name, value in (
        ("RAY_USAGE_STATS_ENABLED", "0"),
        ("RAY_AUTH_MODE", "disabled"),
        ("HEDGEROW_MIN_REPLICAS", "2"),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HEDGEROW_CONFIG", str(tmp_path / "config.yaml"))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    )
    import ray
    from ray import serve

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ray.init(num_cpus=3, include_dashboard=False, object_store_memory=80_000_000, log_to_driver=False)
    try:
        serve.start(http_options={"host": "127.0.0.1", "port": port})
        from deploy.ray.serving import hedgerow

        serve.run(hedgerow, name="hedgerow", route_prefix="/")
        yield f"http://127.0.0.1:{port}"
        serve.shutdown()
    finally:
        ray.shutdown()


def test_two_replicas_answer_as_one_proxy(address: str, tmp_path: Path) -> None:
    """Every answer is hedged and has its row, streams and our own endpoints work, and both replicas took part."""
    client = OpenAI(base_url=f"{address}/v1", api_key="unused")

    def ask(number: int, stream: bool = False) -> object:
        question = f"What is the capital of France, in {number} letters?"
        return client.chat.completions.create(
            model="any", stream=stream, messages=[{"role": "user", "content": question}]
        )

    def writers() -> list[int]:
        engine = sa.create_engine(f"sqlite:///{tmp_path}/audit.db")
        with engine.connect() as connection:
            return list(connection.execute(sa.text("SELECT count(*) FROM answers GROUP BY writer")).scalars())

    asked = 0
    with ThreadPoolExecutor(8) as threads:
        while asked < REQUESTS or (asked < 20 * REQUESTS and len(writers()) < 2):
            answers = list(threads.map(ask, range(asked, asked + REQUESTS)))
            assert {answer.hedgerow["status"] for answer in answers} == {"hedged"}  # type: ignore[attr-defined]
            asked += REQUESTS
    text = "".join(chunk.choices[0].delta.content or "" for chunk in ask(asked, stream=True) if chunk.choices)  # type: ignore[attr-defined]
    assert text.startswith("Paris")
    assert httpx.get(f"{address}/health").status_code == 200
    assert len(writers()) == 2
    assert sum(writers()) == asked + 1
