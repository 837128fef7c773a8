"""The upstreams of a process: opened, shared by successive services, combined into groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..config import GroupUpstream, Route, Settings
from ..config import Upstream as UpstreamSettings
from ..config.lazy import load_object
from ..config.sections import check_known
from ..protocols import Upstream
from ..upstreams.circuits import CallCounter, WatchedUpstream
from ..upstreams.converting import Converting
from ..upstreams.group import Group

if TYPE_CHECKING:
    from ..config.upstreams import Single
    from ..monitoring.tracing import Tracing


@dataclass(slots=True)
class OpenUpstream:
    """An upstream, and the number of sets of services that use it."""

    name: str
    settings: Single
    upstream: WatchedUpstream
    users: int = 0


class UpstreamPool:
    """Opens upstreams. One with unchanged settings is shared by the old and the new services."""

    def __init__(self, tracing: Tracing | None = None, counter: CallCounter | None = None) -> None:
        self._tracing, self._counter = tracing, counter
        self._open: dict[str, OpenUpstream] = {}

    async def acquire(self, settings: Settings) -> list[OpenUpstream]:
        """The upstreams that routes may call, opened if necessary.

        Raises:
            ConfigError: one cannot be opened; those that were are released.
        """
        acquired: list[OpenUpstream] = []
        single = singles(settings.upstreams)
        try:
            for name in named_upstreams(settings):
                acquired.append(await self._acquire(name, single[name]))
        except BaseException:  # also on cancellation: nothing stays open
            await self.release(acquired)
            raise
        return acquired

    async def _acquire(self, name: str, settings: Single) -> OpenUpstream:
        entry = self._open.get(name)
        if entry is None or entry.settings != settings:
            upstream = await _open(name, settings, self._tracing, self._counter)
            entry = self._open[name] = OpenUpstream(name, settings, upstream)
        entry.users += 1
        return entry

    async def release(self, acquired: Sequence[OpenUpstream]) -> None:
        """Release upstreams; unused ones are closed."""
        for entry in acquired:
            entry.users -= 1
            if entry.users == 0:
                if self._open.get(entry.name) is entry:
                    del self._open[entry.name]
                await entry.upstream.aclose()


def named_upstreams(settings: Settings) -> list[str]:
    """The upstreams that any route may call, by itself or as members of a group."""
    named = {name for route in settings.routes for name in _named(route)}
    called = {member for name in named if name is not None for member in settings.members(name)}
    return [name for name in settings.upstreams if name in called]


def singles(upstreams: Mapping[str, UpstreamSettings]) -> dict[str, Single]:
    """The upstreams that are not groups."""
    return {name: each for name, each in upstreams.items() if not isinstance(each, GroupUpstream)}


def by_name(settings: Settings, acquired: Sequence[OpenUpstream], *, firsts_alone: bool = False) -> dict[str, Upstream]:
    """Upstreams by name, with the groups that can be made of them; with `firsts_alone` a group is its first member."""
    single = {entry.name: entry.upstream for entry in acquired}
    groups = {
        name: Group(name, group.of_first() if firsts_alone else group, single)
        for name, group in settings.upstreams.items()
        if isinstance(group, GroupUpstream) and single.keys() >= set(group.names)
    }
    return {**single, **groups}


def _named(route: Route) -> set[str | None]:
    """The upstreams that a route may call."""
    stronger = route.policy.escalate_to if route.policy else None
    grader = route.grading.upstream if route.grading.share else None
    readers = {one.upstream for one in route.linguistic.models}
    return {route.upstream, route.rewriting.upstream, route.judge.upstream, grader, stronger, *readers}


async def open_upstream(name: str, upstreams: Mapping[str, UpstreamSettings]) -> Upstream:
    """Open one of these upstreams for a command; of a group, its first member.

    Raises:
        ConfigError: a library or a model file is missing or unusable.
    """
    settings = upstreams[name]
    if not isinstance(settings, GroupUpstream):
        return await _open(name, settings)
    first, single = settings.of_first(), singles(upstreams)
    return Group(name, first, {each: await _open(each, single[each]) for each in first.names})


async def _open(
    name: str, settings: Single, tracing: Tracing | None = None, counter: CallCounter | None = None
) -> WatchedUpstream:
    """Open one upstream that is not a group, with metrics; with tracing each call is a span.

    Raises:
        ConfigError: a library or a model file is missing or unusable.
    """
    check_known(f"upstreams.{name}", settings)
    upstream: Upstream = await load_object(settings.opens)(name, settings)
    if settings.converts:
        upstream = Converting(name, upstream, settings.converts)
    return WatchedUpstream(
        name, upstream if tracing is None else tracing.around(name, upstream, settings), settings, counter
    )
