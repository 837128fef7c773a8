"""Several upstreams under one name: chooses who answers a request, and who takes over if that one fails early.

All calls of one answer go to one member, so that its samples come from one model. `one_answer` makes this happen: it
settles on the first member that answers, and moves the whole answer to another if one fails before it has begun.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import structlog

from ..config import GroupUpstream
from ..errors import ProxyError
from ..protocols import Call, RawCall, Relay, Upstream
from ..types import Completion, Json
from .answers import encoded
from .circuits import WatchedUpstream

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One upstream of a group, with the models requested from it in place of others."""

    upstream: WatchedUpstream
    models: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As in the configuration."""
        return self.upstream.name

    def model(self, asked: object) -> str:
        """The model to request instead; "" to keep the requested one."""
        return self.models.get(asked if isinstance(asked, str) else "", self.models.get("*", ""))

    async def complete(self, call: Call, *, patient: bool) -> Completion:
        """The answer to a call, marked with this member."""
        model = self.model(call.body.get("model"))
        body = call.body | {"model": model} if model else call.body
        answer = await self.upstream.complete(replace(call, body=body, patient=patient))
        marked = answer if isinstance(answer, Completion) else Completion(answer)
        marked.upstream, marked.model = self.name, model
        return marked

    def raw(self, call: RawCall) -> RawCall:
        """A request for text for this member: unchanged except for the model."""
        model = self.model(call.request.get("model")) if call.request else ""
        if not call.request or not model:
            return call
        headers = [pair for pair in call.headers if pair[0] != "content-encoding"]
        return call._replace(headers=headers, body=encoded(call.request | {"model": model}))


class Group:
    """Members that share requests by weight, and members that are asked if none of these answers.

    Args:
        name: as in the configuration.
        settings: which upstreams, and how.
        upstreams: all that are named, by name.
    """

    def __init__(self, name: str, settings: GroupUpstream, upstreams: Mapping[str, WatchedUpstream]) -> None:
        self.name = name
        members = {each: Member(upstreams[each], settings.models.get(each, {})) for each in settings.names}
        self.members = tuple(members.values())
        self._turns = tuple(members[each] for each in turns(settings.members))
        self._turn = -1
        self.honours_n = all(member.upstream.honours_n for member in self.members)

    def choose(self, tried: Collection[Member] = ()) -> Member | None:
        """The member to ask now; None if all available ones were tried.

        The member whose turn it is, else one whose circuit is closed. If every circuit is open, the one whose turn it
        is is asked anyway.
        """
        self._turn = (self._turn + 1) % len(self._turns)
        first = self._turns[self._turn]
        if first in tried or not first.upstream.circuit.admits:
            admitting = (member for member in self.members if member not in tried and member.upstream.circuit.admits)
            chosen = next(admitting, None if tried else first)
        else:
            chosen = first
        if chosen is not None:
            chosen.upstream.circuit.take()
        return chosen

    def has_others(self, tried: Collection[Member]) -> bool:
        """Whether another member could be asked."""
        return any(member not in tried and member.upstream.circuit.admits for member in self.members)

    async def complete(self, call: Call) -> Json:
        """See `Upstream`. A single call; a call that names a member goes only to that one."""
        named = next((member for member in self.members if member.name == call.member), None)
        if named is not None:
            return await named.complete(call, patient=call.patient)
        return await OneAnswer(self).complete(call)

    @asynccontextmanager
    async def relay(self, call: RawCall) -> AsyncIterator[Relay]:
        """See `Upstream`. Calls that generate no text go to the first member.

        Files and batches are stored there, and embeddings of two models must not be mixed.
        """
        if call.request is None:
            async with self.members[0].upstream.relay(call) as reply:
                yield reply._replace(upstream=self.members[0].name)
        else:
            async with OneAnswer(self).relay(call) as reply:
                yield reply

    async def models(self, headers: Mapping[str, str], query: str = "") -> list[Json]:
        """See `Upstream`. The members list them."""
        return []

    async def aclose(self) -> None:
        """Close the members, if they were opened only for this group."""
        for member in self.members:
            await member.upstream.aclose()


class OneAnswer:
    """A group while it answers one request.

    It is settled when a call has succeeded or a relayed answer has begun; after that no call moves to another member. A
    relayed answer is the client's: while it is in progress, it alone decides, and other calls wait for it.
    """

    def __init__(self, group: Group) -> None:
        self._group = group
        self._tried: list[Member] = []
        self._member = group.choose() or group.members[0]
        self._is_settled = False
        self._relaying: asyncio.Event | None = None

    @property
    def honours_n(self) -> bool:
        """See `Upstream`."""
        return self._member.upstream.honours_n

    @property
    def member(self) -> str:
        """The member to ask now."""
        return self._member.name

    @property
    def settled_on(self) -> str:
        """The name of the member that answers; "" until it is settled."""
        return self._member.name if self._is_settled else ""

    async def complete(self, call: Call) -> Json:
        """See `Upstream`."""
        while True:
            member = self._member
            patient = self._is_settled or not self._group.has_others([*self._tried, member])
            try:
                answer = await member.complete(call, patient=patient)
            except ProxyError as error:
                if not member.upstream.moves_on(error):
                    raise
                await self._relayed()
                if self._member is member:  # no other call has moved the answer in the meantime
                    if self._is_settled and patient:
                        raise
                    if not self._is_settled and not self._move(error.code, call.id):
                        raise
            else:
                await self._relayed()
                if self._member is member:
                    self._is_settled = True
                    return answer
                if call.on_lost is not None:
                    call.on_lost()

    async def _relayed(self) -> None:
        """Wait until it is known which member answers the client."""
        if self._relaying is not None:
            await self._relaying.wait()

    @asynccontextmanager
    async def relay(self, call: RawCall) -> AsyncIterator[Relay]:
        """See `Upstream`."""
        decided = self._relaying = asyncio.Event()
        try:
            while True:
                member = self._member
                try:
                    async with member.upstream.relay(member.raw(call)) as reply:
                        leaves = member.upstream.moves_on_from(reply.status)
                        if not leaves or not self._move(f"status_{reply.status}", call.id):
                            self._is_settled = True
                            decided.set()
                            model = member.model(call.request.get("model")) if call.request else ""
                            yield reply._replace(upstream=member.name, model=model)
                            return
                except ProxyError as error:
                    if self._is_settled or not member.upstream.moves_on(error) or not self._move(error.code, call.id):
                        raise
        finally:
            decided.set()

    def _move(self, code: str, request: str) -> bool:
        """Move the answer to another member; False if there is none."""
        left, self._tried = self._member, [*self._tried, self._member]
        chosen = self._group.choose(self._tried)
        if chosen is None:
            return False
        self._member = chosen
        left.upstream.counter.moved(left.name)
        log.warning(
            "upstream_fallback", id=request, group=self._group.name, upstream=left.name, to=chosen.name, code=code
        )
        return True

    async def models(self, headers: Mapping[str, str], query: str = "") -> list[Json]:
        """See `Upstream`."""
        return await self._group.models(headers, query)

    async def aclose(self) -> None:
        """Do nothing: the members belong to the group."""


def turns(weights: Mapping[str, int]) -> Sequence[str]:
    """The order in which names take turns, proportional to their weights and as even as possible.

    >>> turns({"a": 3, "b": 1}), turns({"a": 2, "b": 2})
    (['a', 'a', 'b', 'a'], ['a', 'b'])
    """
    divisor = math.gcd(*weights.values())
    shares = {name: weight // divisor for name, weight in weights.items()}
    total, credit, order = sum(shares.values()), dict.fromkeys(shares, 0), []
    for _ in range(total):
        for name, share in shares.items():
            credit[name] += share
        chosen = max(credit, key=lambda name: credit[name])
        credit[chosen] -= total
        order.append(chosen)
    return order


def one_answer(upstream: Upstream) -> Upstream:
    """The upstream for all calls of one answer; for a group, one that settles on a member."""
    return OneAnswer(upstream) if isinstance(upstream, Group) else upstream


def asked_at(upstream: Upstream, *, settled: bool = False) -> str:
    """The member that is asked for an answer, or has given it if `settled`; "" if the upstream is no group."""
    if not isinstance(upstream, OneAnswer):
        return ""
    return upstream.settled_on if settled else upstream.member
