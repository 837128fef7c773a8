"""Fixtures of the whole suite: a scripted upstream, the proxy in front of it, and a network limited to this machine."""

from __future__ import annotations

import contextlib
import ipaddress
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import certifi
import openai
import orjson
import pytest
import structlog
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from hedgerow.proxy.config import Settings
from tests.support.editing import worded_locally
from tests.support.needs import EMBEDDED
from tests.support.postgres import Cluster, Missing, cluster
from tests.support.servers import serving
from tests.support.upstream import Upstream
from tests.support.waiting import until

if TYPE_CHECKING:
    import anthropic

hypothesis_settings.register_profile(
    "fast", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.register_profile("deep", max_examples=2000, deadline=None)
hypothesis_settings.load_profile("fast")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what starts a server of its own, a browser, processes or the embedded model: `make test` leaves those to `make test-all`."""
    for item in items:
        given = getattr(item, "callspec", None)
        on_postgres = (
            any(isinstance(value, str) and value == "postgresql" for value in given.params.values()) if given else False
        )
        if (
            on_postgres
            or "postgres" in getattr(item, "fixturenames", ())
            or EMBEDDED.mark in item.iter_markers()
            or item.path.parent.name in ("e2e", "scenario")
        ):
            item.add_marker("slow")


@pytest.fixture(scope="session")
def data() -> Path:
    """The recorded answers and people's readings beside the checkout; tests without them are skipped."""
    folder = Path(__file__).parent.parent.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the recorded data is not beside the checkout (../shared/data)")
    return folder


@pytest.fixture(scope="session", autouse=True)
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let clients trust one authority instead of the hundreds that ship: they are read anew for every client, which takes longer than a request."""
    first = ssl.DER_cert_to_PEM_cert(
        ssl.create_default_context(cafile=certifi.where()).get_ca_certs(binary_form=True)[0]
    )
    bundle = tmp_path_factory.mktemp("authorities") / "one.pem"
    bundle.write_text(first)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SSL_CERT_FILE", str(bundle))
        yield


@pytest.fixture(autouse=True)
def only_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail on any connection other than to the loopback."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = address[0]
            assert host == "localhost" or ipaddress.ip_address(host).is_loopback, f"a test connects to {host}"
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


class Lines(list[dict[str, Any]]):
    """Log lines, newest last."""

    def of(self, event: str) -> list[dict[str, Any]]:
        """The log lines of one event."""
        return [line for line in self if line["event"] == event]

    def requests(self, count: int) -> list[dict[str, Any]]:
        """Wait until there are `count` request lines: a client may have its answer a moment before the line is written."""
        return until(lambda: self.of("request"), lambda requests: len(requests) >= count)


@pytest.fixture(autouse=True)
def lines() -> Iterator[Lines]:
    """The proxy's log lines as they would be written."""
    from hedgerow.proxy.monitoring.logs import redact, without_words

    kept = Lines()

    def keep(_logger: Any, method: str, line: bytes) -> bytes:
        kept.append({"level": method} | orjson.loads(redact(line)))
        raise structlog.DropEvent

    render = structlog.processors.JSONRenderer(orjson.dumps)
    structlog.configure(
        processors=[structlog.processors.ExceptionRenderer(without_words), render, keep],
        cache_logger_on_first_use=False,
    )
    yield kept
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A PostgreSQL server; tests without one are skipped."""
    try:
        with cluster() as server:
            yield server
    except Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of an empty store for one test; a test that uses it runs on both databases."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/audit.db"
    server: Cluster = request.getfixturevalue("postgres")
    return server.database()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A scripted upstream on a real server."""
    app = Upstream()
    with serving(app) as address:
        app.url = address + "/v1"
        yield app


Serve = Callable[..., str]


@pytest.fixture
def serve(upstream: Upstream, tmp_path: Path) -> Iterator[Serve]:
    """Start the proxy in front of the scripted upstream: `serve(mode="on", ...)` returns its address.

    Keyword arguments are settings of the route; `settings=` and `upstream_settings=` set the rest of the configuration. The scripted upstream is no
    editor, so answers are worded locally unless a test says otherwise.
    """
    from hedgerow.proxy.app import application

    with contextlib.ExitStack() as stack:

        def start(
            *, settings: dict[str, Any] | None = None, upstream_settings: dict[str, Any] | None = None, **route: Any
        ) -> str:
            defaults: dict[str, Any] = {
                "upstreams": {
                    "scripted": {"provider": "openai", "base_url": upstream.url, "retries": 0}
                    | (upstream_settings or {})
                },
                "routes": [{"name": "test", "upstream": "scripted", "mode": "on"} | route],
                "audit": {
                    "url": f"sqlite:///{tmp_path}/audit.db",
                    "spool": str(tmp_path / "spool"),
                    "synchronous": "normal",
                },
                "maps": {"folder": str(tmp_path / "maps")},
            }
            chosen = defaults | (settings or {})
            chosen["routes"] = [worded_locally(each) if isinstance(each, dict) else each for each in chosen["routes"]]
            edge = application(Settings(**chosen), address="test")
            return stack.enter_context(serving(edge, lifespan="on"))

        yield start


@pytest.fixture
def client_of() -> Iterator[Callable[..., openai.OpenAI]]:
    """The real client, pointed at an address; closed at the end."""
    with contextlib.ExitStack() as stack:

        def make(address: str, **options: Any) -> openai.OpenAI:
            fixed: dict[str, Any] = {"api_key": "sk-test-client", "max_retries": 0} | options
            return stack.enter_context(openai.OpenAI(base_url=address + "/v1", **fixed))

        yield make


@pytest.fixture
def claude_of() -> Iterator[Callable[[str], anthropic.Anthropic]]:
    """Anthropic's real client, pointed at an address; closed at the end."""
    import anthropic  # takes two seconds, which most runs do not need

    with contextlib.ExitStack() as stack:

        def make(address: str) -> anthropic.Anthropic:
            client = anthropic.Anthropic(base_url=address, api_key="sk-test-client", max_retries=0)
            return stack.enter_context(client)

        yield make


@pytest.fixture
def redis_url(tmp_path: Any) -> Iterator[str]:
    """A real Redis server on a free port."""
    pytest.importorskip("redis")
    if (command := shutil.which("redis-server")) is None:
        pytest.skip("there is no redis-server on this machine")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    server = subprocess.Popen([command, *options], stdout=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait(timeout=10)
