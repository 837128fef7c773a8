"""Runs work on rows in this process or on the workers of a Ray cluster, with the same interface.

A worker gets a function and its arguments, and returns the result. Files, budgets and rate limits stay with the caller:
the process that the user started records the cost of an answer before it asks for the next.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar
from uuid import uuid4

from anyio.from_thread import start_blocking_portal

from ..errors import ConfigError, HedgerowError, ProxyError

CHUNK = 16
"""Number of cheap, repeatable items that a worker gets at once."""
AHEAD = 3
"""Number of pending chunks per worker, so that no worker waits for the next."""
RETRY_S = 0.05
"""Seconds between checks whether a dead worker has been replaced."""
STORE_BYTES = 100_000_000
"""Object store size of a local Ray; rows only pass through it."""

Context = TypeVar("Context")
Context_co = TypeVar("Context_co", covariant=True)
Item = TypeVar("Item")
Result = TypeVar("Result")
Opening = Callable[[], AbstractAsyncContextManager[Context]]
"""Opens the resources of a worker (an upstream, a judge, nothing). Each worker opens its own."""


class WorkerLost(ProxyError):
    """A worker died during a call that may cost money.

    It is unknown whether the call was made, so it is not repeated automatically.
    """

    status = 502
    code = "worker_lost"


class ClusterLost(ProxyError):
    """There are no workers left."""

    status = 502
    code = "cluster_lost"


class Workers(Protocol[Context_co]):
    """A set of workers: `each` for work that costs nothing, `run` for work that may cost money."""

    def each(
        self, function: Callable[[Context_co, Item], Awaitable[Result]], items: Iterable[Item], *, at_once: int = CHUNK
    ) -> AsyncGenerator[Result]:
        """The results of a function for all items, in order.

        Items are taken as needed and sent `at_once` per chunk. The result must depend only on the item: the chunk of a
        lost worker is repeated by another.
        """
        ...

    async def run(self, function: Callable[..., Awaitable[Result]], *arguments: Any) -> Result:
        """Call the function once with a worker's context and these arguments.

        Raises:
            WorkerLost: the worker died before it returned.
        """
        ...


class Place(Protocol):
    """A place where workers run."""

    def workers(self, opening: Opening[Context]) -> AbstractAsyncContextManager[Workers[Context]]:
        """Workers with their resources opened; closed at the end of the block."""
        ...


def nothing() -> AbstractAsyncContextManager[None]:
    """For functions that need no resources."""
    return nullcontext()


def given(what: Context) -> AbstractAsyncContextManager[Context]:
    """For functions that need a resource that is already open."""
    return nullcontext(what)


def over(where: Place, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Like `map`, on workers.

    For functions that are slow and large: each worker gets the function once and items one by one.
    """
    if where is HERE:
        yield from map(function, items)
        return
    opening = partial(given, function)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(where.workers(opening)) as workers:
        results = workers.each(_called, items, at_once=1)
        while True:
            try:
                yield portal.call(anext, results)
            except StopAsyncIteration:
                return


async def _called(function: Callable[[Item], Result], item: Item) -> Result:
    return function(item)


class _Self(Generic[Context]):
    """Runs the work in this process."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def each(
        self, function: Callable[[Context, Item], Awaitable[Result]], items: Iterable[Item], *, at_once: int = CHUNK
    ) -> AsyncGenerator[Result]:
        """See `Workers`."""
        for item in items:
            yield await function(self._context, item)

    async def run(self, function: Callable[..., Awaitable[Result]], *arguments: Any) -> Result:
        """See `Workers`; no other process can die."""
        return await function(self._context, *arguments)


class _Here:
    """The current process as a place."""

    @asynccontextmanager
    async def workers(self, opening: Opening[Context]) -> AsyncIterator[Workers[Context]]:
        """See `Place`."""
        async with opening() as context:
            yield _Self(context)


HERE: Place = _Here()
"""The place without a cluster."""


@contextmanager
def place(on: str | None) -> Iterator[Place]:
    """The place that `--on` names.

    Args:
        on: None for this process. "ray": the cluster of RAY_ADDRESS, else a Ray on this machine for as long as the block lasts.
            "ray://HOST:PORT": a cluster's client port. If this process has already joined a Ray, that is used and left running.

    Raises:
        ConfigError: `on` is not valid, Ray is not installed, or the cluster cannot be reached.
    """
    if on is None:
        yield HERE
        return
    if on != "ray" and not on.startswith("ray://"):
        raise ConfigError(f"--on {on}: expected ray, or ray://HOST:PORT")
    # turn off Ray's usage reports, unless the operator wants them
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise ConfigError("--on ray needs the extra `ray`: pip install 'hedgerow[ray]'") from error
    joined = ray.is_initialized()
    if not joined:
        address = on if on != "ray" else os.environ.get("RAY_ADDRESS")
        own: dict[str, Any] = {} if address else {"include_dashboard": False, "object_store_memory": STORE_BYTES}
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ConfigError(f"--on {on}: Ray cannot be reached: {why}") from error
    cluster = _Cluster(ray)
    try:
        yield cluster
    finally:
        cluster.close()
        if not joined:
            ray.shutdown()


class _Cluster:
    """A Ray cluster with one worker per processor, counted at the first use, for all work of a command."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._actors: list[Any] = []

    @asynccontextmanager
    async def workers(self, opening: Opening[Context]) -> AsyncIterator[Workers[Context]]:
        """See `Place`. A dead worker is replaced; its work must be repeated by the caller."""
        if not self._actors:
            made = self._ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=0)(_Worker)
            self._actors = [made.remote() for _ in range(max(1, int(self._ray.cluster_resources().get("CPU", 1))))]
        sent = _Sent(uuid4().hex, self._ray.put(opening))
        try:
            yield _OnRay(self._ray, self._actors, sent)
        finally:
            for answer in [actor.close.remote(sent.name) for actor in self._actors]:
                with suppress(self._ray.exceptions.RayError):  # a dead worker has no open resources
                    await answer

    def close(self) -> None:
        """Stop the workers."""
        for actor in self._actors:
            self._ray.kill(actor)


@dataclass(frozen=True, slots=True)
class _Sent:
    """How workers open their resources.

    Attributes:
        opening: Ray's reference to it. Inside another object it is fetched only when awaited: once per worker, and by a
            worker's replacement.
    """

    name: str
    opening: Awaitable[Opening[Any]]


class _Worker:
    """The actor in a process of the cluster.

    Our errors are returned as values, because Ray would change their type.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._open: dict[str, tuple[Any, AsyncExitStack]] = {}

    async def run(
        self, sent: _Sent, function: Callable[..., Awaitable[Any]], *arguments: Any
    ) -> tuple[Any, HedgerowError | None]:
        try:
            return await function(await self._opened(sent), *arguments), None
        except HedgerowError as error:
            return None, error

    async def _opened(self, sent: _Sent) -> Any:
        async with self._lock:
            if sent.name not in self._open:
                stack = AsyncExitStack()
                self._open[sent.name] = await stack.enter_async_context((await sent.opening)()), stack
        return self._open[sent.name][0]

    async def close(self, name: str) -> None:
        if name in self._open:
            await self._open.pop(name)[1].aclose()


async def _all(context: Any, function: Callable[[Any, Any], Awaitable[Any]], items: list[Any]) -> list[Any]:
    return [await function(context, item) for item in items]


class _OnRay(Generic[Context]):
    """The workers of a cluster.

    Work goes to the worker with the least to do, and not to one that has just died: Ray would return it at once as
    lost.
    """

    def __init__(self, ray: Any, actors: list[Any], sent: _Sent) -> None:
        self._ray, self._actors, self._sent = ray, actors, sent
        self._under_way = [0] * len(actors)
        self._there = [asyncio.Event() for _ in actors]
        for event in self._there:
            event.set()

    async def each(
        self, function: Callable[[Context, Item], Awaitable[Result]], items: Iterable[Item], *, at_once: int = CHUNK
    ) -> AsyncGenerator[Result]:
        """See `Workers`."""
        waiting: deque[tuple[int, Any, list[Item]]] = deque()
        remaining = iter(items)
        while True:
            while len(waiting) < AHEAD * len(self._actors) and (chunk := list(islice(remaining, at_once))):
                waiting.append((*await self._begin(_all, function, chunk), chunk))
            if not waiting:
                return
            number, answer, chunk = waiting.popleft()
            for result in await self._again_until_done(number, answer, function, chunk):
                yield result

    async def _again_until_done(self, number: int, answer: Any, function: Any, chunk: list[Any]) -> list[Any]:
        while True:
            try:
                results: list[Any] = await self._end(number, answer)
            except WorkerLost:
                number, answer = await self._begin(_all, function, chunk)
            else:
                return results

    async def run(self, function: Callable[..., Awaitable[Result]], *arguments: Any) -> Result:
        """See `Workers`."""
        result: Result = await self._end(*await self._begin(function, *arguments))
        return result

    async def _begin(self, function: Callable[..., Awaitable[Any]], *arguments: Any) -> tuple[int, Any]:
        numbers = range(len(self._actors))
        number = min(numbers, key=lambda i: (not self._there[i].is_set(), self._under_way[i]))
        await self._there[number].wait()
        self._under_way[number] += 1
        return number, self._actors[number].run.remote(self._sent, function, *arguments)

    async def _end(self, number: int, answer: Any) -> Any:
        errors = self._ray.exceptions
        try:
            result, failure = await answer
        except errors.ActorUnavailableError as error:
            await self._back(number)
            raise WorkerLost(
                "the worker in the Ray cluster died; run the same command again to repeat the call"
            ) from error
        except (errors.ActorDiedError, errors.RaySystemError, ConnectionError) as error:
            raise ClusterLost("the Ray cluster does not answer; run the same command again to continue") from error
        finally:
            self._under_way[number] -= 1
        if failure is not None:
            raise failure
        return result

    async def _back(self, number: int) -> None:
        """Wait until Ray has replaced a worker."""
        self._there[number].clear()
        while not self._there[number].is_set():
            with suppress(self._ray.exceptions.ActorUnavailableError):
                await self._actors[number].close.remote("")  # a call without effect, to see whether a worker is there
                self._there[number].set()
            await asyncio.sleep(RETRY_S)
