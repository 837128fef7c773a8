"""The attack on identity.

Sixty-four clients ask the same question at once, in every mode, and differ in one of 25 dimensions: keys in the headers of several vendors, tenant, cookie, query, deployment,
fields of the body. The upstream answers with the mark that it saw, so that a foreign answer tells whose it is. A second upstream judges, edits, grades and is escalated to. Each
request also carries what is the proxy's own: the secret of a named key, the admin key, a session of the pages. Whatever reaches the wrong upstream is counted.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import httpx
import orjson
import sqlalchemy as sa

from benchmarks.chaos.checks import HANG, STATUS
from benchmarks.chaos.faults import SOUND
from benchmarks.chaos.load import FAULT, Tally
from benchmarks.chaos.serving import ADMIN_KEY, Proxy, configuration, started
from benchmarks.chaos.speech import chat, chat_events, response, response_events
from benchmarks.chaos.upstream import framed, listening, requests_of
from benchmarks.chaos.wire import Answer, request, say
from tests.support.keys import new_key

CLIENTS = 64
PATIENCE_S = 0.03
"""An answer takes so long at least, so that equal requests meet."""
SESSION = "a-session-of-the-pages-of-the-proxy"
FOREIGN, WRONG_UPSTREAM = "foreign answer", "credential at the wrong upstream"
_TOKEN = re.compile(r'name="csrf" value="([^"]+)"')
MARK = re.compile(r"Zx[a-z]{5}")

HEADERS = (
    "authorization",
    "x-api-key",
    "api-key",
    "ocp-apim-subscription-key",
    "x-goog-api-key",
    "xi-api-key",
    "x-amz-security-token",
    "cf-aig-authorization",
    "helicone-auth",
    "x-portkey-virtual-key",
    "openai-organization",
    "openai-project",
    "x-tenant",
    "x-user-id",
    "x-forwarded-for",
    "accept-language",
    "baggage",
    "cookie",
)
FIELDS = ("user", "prompt_cache_key", "metadata", "system")
DIMENSIONS = (
    *(("header", name) for name in HEADERS),
    *(("query", name) for name in ("api-version", "tenant")),
    ("path", "deployment"),
    *(("field", name) for name in FIELDS),
)


@dataclass(frozen=True, slots=True)
class Mode:
    """A way in which a client is answered: by a route, streamed or not, at an endpoint."""

    name: str
    route: str
    stream: bool = False
    path: str = "/chat/completions"


MODES = (
    Mode("off", "off"),
    Mode("shadow", "shadow"),
    Mode("on", "on"),
    Mode("on, stream", "on", stream=True),
    Mode("on, cached", "cached"),
    Mode("append", "append", stream=True),
    Mode("responses", "on", path="/responses"),
    Mode("responses, stream", "on", stream=True, path="/responses"),
)
DOORS = "all other doors"


@dataclass(slots=True)
class Mirror:
    """An upstream that answers with the mark that it saw anywhere in a request.

    Attributes:
        heads: of the requests since they were looked at.
        asked: the number of all requests.
    """

    heads: list[str] = field(default_factory=list)
    asked: int = 0
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        async for head, data in requests_of(reader):
            self.heads.append(head)
            self.asked += 1
            await asyncio.sleep(PATIENCE_S)
            writer.write(self._answer(head, data))
        writer.close()

    def _answer(self, head: str, data: bytes) -> bytes:
        target = head.split(" ", 2)[1]
        if "\r\nupgrade:" in head.lower() or "/models" in target:
            return framed(b'{"object": "list", "data": []}')
        body = orjson.loads(data or b"{}")
        mark = next(iter(MARK.findall(head + data.decode())), "Nobody")
        texts = [f"The owner {'is' if turn % 3 else 'was once'} {mark}." for turn in range(body.get("n") or 1)]
        is_response = target.partition("?")[0].endswith("/responses")
        if body.get("stream"):
            events = (response_events if is_response else chat_events)(texts[0], SOUND.patch)
            return framed(b"".join(events), "text/event-stream")
        said = response(texts[0], SOUND.patch) if is_response else chat(texts, SOUND.patch)
        return framed(orjson.dumps(said))


def marks() -> Iterator[str]:
    """Names that no two clients share."""
    for letters in itertools.product(ascii_lowercase, repeat=5):
        yield "Zx" + "".join(letters)


def settings(folder: Path, store: str, own: Mirror, other: Mirror) -> dict[str, Any]:
    """Routes for all modes, with everything beside the answer at the other upstream."""
    base = configuration(folder, own.url, store)
    patient = base["upstreams"]["chaos"] | {"timeout_s": 60.0}  # this counts who gets what, not how late
    elsewhere = {"upstream": "other", "model": "m"}
    parts = {
        "equivalence": "llm",
        "judge": elsewhere,
        "rewriting": {"by": "editor", **elsewhere},
        "grading": {"share": 0.2, **elsewhere},
        "policy": {"low_confidence": "escalate", "escalate_to": "other"},
        "sampling": {"n": 3, "min_n": 2},
    }
    routes = {route["name"]: route | parts for route in base["routes"] if route["name"] != "strict"}
    cached = {"match": {"headers": {"x-way": "cached"}}, "sampling": parts["sampling"] | {"cache": {"ttl_s": 600}}}
    return base | {
        "upstreams": {"chaos": patient, "other": patient | {"base_url": other.url}},
        "default_upstream": "chaos",
        "access": {"require_key": False},
        "routes": [routes["on"] | {"name": "cached"} | cached, *routes.values()],
    }


def asked(mode: Mode, dimension: tuple[str, str], mark: str, ours: Mapping[str, str]) -> bytes | None:
    """The request of a client with a mark in one dimension; None where the endpoint has no such dimension."""
    kind, name = dimension
    words: dict[str, Any] = {"input": "Who is it?"} if mode.path == "/responses" else {"messages": _messages()}
    body = {"model": "m", **words} | ({"stream": True} if mode.stream else {})
    headers, target = dict(ours), f"/v1{mode.path}"
    if kind == "header":
        value = {"authorization": f"Bearer {mark}", "cookie": f"who={mark}; {ours['cookie']}"}.get(name, mark)
        headers[name] = value
    elif kind == "query":
        target += f"?{name}={mark}"
    elif kind == "path":
        if mode.path == "/responses":
            return None
        del body["model"]
        target = f"/openai/deployments/{mark}{mode.path}"
    elif name == "system":
        first: dict[str, Any] = {"role": "system", "content": mark}
        body |= {"instructions": mark} if mode.path == "/responses" else {"messages": [first, *_messages()]}
    else:
        body[name] = {"of": mark} if name == "metadata" else mark
    return request("POST", target, orjson.dumps(body), x_way=mode.route, connection="close", **headers)


def _messages() -> list[dict[str, Any]]:
    return [{"role": "user", "content": "Who is it?"}]


def at_once(requests: int) -> int:
    """Number of clients that ask at once: all of them, or as many as leave no dimension out."""
    return min(CLIENTS, max(2, requests // (len(DIMENSIONS) * len(MODES))))


class Attack:
    """Everything against one proxy, of which `secret` is a named key."""

    def __init__(self, proxy: Proxy, own: Mirror, other: Mirror, secret: str, tally: Tally) -> None:
        self._proxy, self._own, self._other, self._tally = proxy, own, other, tally
        self._secrets = (secret, ADMIN_KEY, SESSION)
        self._ours = {"x_secret": secret, "x_admin": f"Token {ADMIN_KEY}", "cookie": f"a=1; hedgerow_session={SESSION}"}
        self._marks = marks()

    async def run(self, requests: int) -> None:
        """So many requests, at least one round of every dimension in every mode; then the other doors."""
        rounds = itertools.cycle(itertools.product(DIMENSIONS, MODES))
        for number, (dimension, mode) in enumerate(rounds):
            if number >= len(DIMENSIONS) * len(MODES) and self._asked >= requests:
                break
            await self._round(mode, dimension, at_once(requests))
        await self._doors()
        await asyncio.to_thread(self._ask_on_the_page)
        self._look_at_heads(DOORS)
        self._look_at_rows()
        if not self._other.asked:
            self._tally.add(DOORS, STATUS, "the other upstream was never asked: nothing is shown")

    @property
    def _asked(self) -> int:
        return sum(self._tally.requests[mode.name] for mode in MODES)

    async def _round(self, mode: Mode, dimension: tuple[str, str], clients: int) -> None:
        """Clients that differ in one dimension, at once; where answers are cached, once more."""
        named = {
            mark: data
            for mark in itertools.islice(self._marks, clients)
            if (data := asked(mode, dimension, mark, self._ours)) is not None
        }
        for _ in range(2 if mode.route == "cached" else 1):
            answers = await asyncio.gather(*(say(self._proxy.address, [data]) for data in named.values()))
            for mark, answer in zip(named, answers, strict=True):
                self._look(mode, dimension, mark, answer)
        self._look_at_heads(mode.name)

    def _look(self, mode: Mode, dimension: tuple[str, str], mark: str, answer: Answer) -> None:
        self._tally.requests[mode.name] += 1
        if answer.hung:
            self._tally.add(mode.name, HANG, f"{dimension}")
        elif answer.status != 200 or not answer.whole:
            self._tally.add(mode.name, STATUS, f"{dimension}: {answer.status} {answer.body[:200]!r}")
        elif (told := set(MARK.findall(answer.body.decode()))) != {mark}:
            self._tally.add(mode.name, FOREIGN, f"{dimension}: {told} for {mark}: {answer.body[:300]!r}")

    def _look_at_heads(self, section: str) -> None:
        """Nothing of ours at either upstream; nothing that tells a client at the one that is not the route's."""
        for mirror in (self._own, self._other):
            for head in mirror.heads:
                tells = mirror is self._other and (MARK.search(head) or "a=1" in head)
                if tells or any(word in head for word in self._secrets):
                    self._tally.add(section, WRONG_UPSTREAM, head[:600])
            mirror.heads.clear()

    async def _doors(self) -> None:
        """What generates no text, each time with a client's key in the header of another vendor."""
        upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
        for number, mark in enumerate(itertools.islice(self._marks, CLIENTS)):
            keys = {**self._ours, HEADERS[number % 10]: mark, "x-way": "off"}
            once = keys | {"connection": "close"}
            protocols = f"realtime, openai-insecure-api-key.{self._secrets[number % 2]}"
            for data in (
                request("GET", "/v1/models", **once),
                request("GET", "/v1/realtime?model=m", **keys, **upgrade, sec_websocket_protocol=protocols),
                request("POST", "/v1/embeddings", b'{"model": "m", "input": "x"}', **once),
                request("GET", "/v1/files/file-1/content", **once),
                request("DELETE", "/v1/batches/batch-1", **once),
            ):
                await self._knock(data, mark)

    async def _knock(self, data: bytes, mark: str) -> None:
        self._tally.requests[DOORS] += 1
        answer = await say(self._proxy.address, [data])
        if answer.status is None:
            self._tally.add(DOORS, HANG if answer.hung else STATUS, mark)

    def _ask_on_the_page(self) -> None:
        """The page to try, signed in, with a key of ours or of the visitor's own in its field."""
        with httpx.Client(base_url="http://{}:{}".format(*self._proxy.address), timeout=60) as browser:
            browser.post("/sign-in", data={"key": ADMIN_KEY})
            token = _TOKEN.search(browser.get("/").text)
            session = browser.cookies.get("hedgerow_session")
            if token is None or session is None:
                raise RuntimeError("the page to try does not open")
            self._secrets += (session,)
            for key in (*self._secrets[:2], next(self._marks)):
                form = {"csrf": token[1], "question": "Who is it?", "route": "on", "key": key}
                self._tally.requests[DOORS] += 1
                if (got := browser.post("/try", json=form)).status_code != 200:
                    self._tally.add(DOORS, STATUS, f"the page to try: {got.status_code} {got.text[:200]}")

    def _look_at_rows(self) -> None:
        """What was compared in shadow, and what was written down, is of the same client as what was served."""
        query = sa.text("SELECT route, served, draft, answer FROM texts JOIN answers ON answer_id = id")
        with self._proxy.engine.connect() as connection:
            for route, *texts in connection.execute(query):
                if len({frozenset(MARK.findall(text)) for text in texts if text is not None}) > 1:
                    self._tally.add(DOORS, FOREIGN, f"in the audit, route {route}: {texts}")


async def run_identity(folder: Path, store: str, tally: Tally, *, count: int) -> None:
    """The attack, with so many requests, on a fresh proxy with a store at an address."""
    own, other = Mirror(), Mirror()
    secret = await asyncio.to_thread(new_key, store, "client")
    async with (
        listening(own),
        listening(other),
        started(Proxy(folder, settings(folder, store, own, other))) as running,
    ):
        await Attack(running, own, other, secret, tally).run(count)
        for line in running.errors():
            tally.add(DOORS, FAULT, line[:600])
