"""The context from which parts of a route are built, and calls of a model for a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..config import Route
from ..errors import ProxyError, StepFailed
from ..outcomes import Reason
from ..protocols import Asker, Call, Clusterer, ConfidenceSignal, RawCall, Relay, Supporter, Upstream
from ..supervision import Checked
from ..types import Json, Standing, Usage
from .answers import sample_of, usage_of
from .egress import harmless
from .group import Group
from .readiness import Readiness

if TYPE_CHECKING:
    from ...calibration import ActiveMap

Spent = Callable[[Usage], None]
"""Callback that receives the token usage of a call."""
SignalFactory = Callable[[Asker, Spent], ConfidenceSignal]
ClustererFactory = Callable[[Asker, Spent], Clusterer]
SupporterFactory = Callable[[Asker, Spent], Supporter]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another upstream than the one that a client's request goes to: for judges, editors, graders and escalations. It sees none of the
    headers that say who the client is.
    """

    upstream: Upstream

    @property
    def honours_n(self) -> bool:
        """See `Upstream`."""
        return self.upstream.honours_n

    async def complete(self, call: Call) -> Json:
        """See `Upstream`."""
        return await self.upstream.complete(replace(call, headers=harmless(call.headers)))

    def relay(self, call: RawCall) -> AbstractAsyncContextManager[Relay]:
        """See `Upstream`."""
        return self.upstream.relay(call._replace(headers=list(harmless(dict(call.headers)).items())))

    async def models(self, headers: Mapping[str, str], query: str = "") -> list[Json]:
        """See `Upstream`."""
        return await self.upstream.models(harmless(headers), query)

    async def aclose(self) -> None:
        """Nothing to close: the upstream belongs to the process."""


@dataclass(frozen=True, slots=True)
class RouteContext:
    """The argument of a kind's `build`.

    Attributes:
        route: the route's settings.
        upstreams: by name.
        active_map: the current calibration map for a model and a signal.
        standing: the current certificate for a map and a signal; None if the route promises nothing.
        editors: what is known of the editors of this process; None if no editor is asked.
        only_models: by upstream that has one model alone, the model's name.
        hides_keys: whether the route's upstream sees its own key in place of the client's.
        checked: told of checks without which answers pass all the same.
    """

    route: Route
    upstreams: Mapping[str, Upstream]
    active_map: Callable[[str, str], ActiveMap]
    standing: Callable[[str | None, str], Standing | None] = lambda _map_id, _signal: None
    editors: Readiness | None = None
    only_models: Mapping[str, str] = field(default_factory=dict)
    hides_keys: bool = False
    checked: Checked = lambda _check, _why: None

    def judged(self, why: str | None) -> None:
        """The route's judge was asked, or could not be, and why."""
        self.checked(f"judge:{self.route.name}", why)

    def upstream(self, name: str | None = None) -> Upstream:
        """The named upstream, or the route's own; another one sees nothing of who the client is."""
        asked, own = self.upstreams[name or self.route.upstream], self.upstreams.get(self.route.upstream)
        is_own = name is None or name == self.route.upstream
        is_member = isinstance(own, Group) and any(member.name == name for member in own.members)
        return asked if is_own or is_member else Elsewhere(asked)


@dataclass(frozen=True, slots=True)
class Prompting:
    """How a part of a route calls a model.

    Attributes:
        upstream: the upstream to call.
        step, reason: step and reason of the `StepFailed` if the model cannot be called.
        model: the model to call; None: that of the request.
        options: further fields of the request, such as the temperature.
    """

    upstream: Upstream
    step: str
    reason: Reason
    model: str | None
    options: Mapping[str, Any]

    async def complete(
        self, asker: Asker, spent: Spent, messages: Sequence[Json], options: Mapping[str, Any] | None = None
    ) -> Json:
        """The completion of messages, with these options in place of its own; its tokens go to `spent`.

        Raises:
            StepFailed: the model cannot be asked.
        """
        body = {
            "model": self.model or asker.model,
            **(self.options if options is None else options),
            "messages": list(messages),
        }
        try:
            member = asker.answered_by if self.model is None else ""  # the request's model is the one that answered
            call = Call("/chat/completions", body, asker.headers, id=asker.id, member=member, on_lost=asker.on_lost)
            answer = await self.upstream.complete(call)
        except ProxyError as error:
            raise StepFailed(self.step, self.reason, error.code) from error
        usage = usage_of(answer)
        spent(usage if usage.model else replace(usage, model=body["model"]))
        return answer

    def text(self, asker: Asker, spent: Spent) -> Callable[[str], Awaitable[str]]:
        """A function from a prompt to the model's reply, for one request."""

        async def ask(prompt: str) -> str:
            return sample_of((await self.complete(asker, spent, user(prompt)))["choices"][0]).text

        return ask


def user(prompt: str) -> list[Json]:
    """The messages of a single prompt."""
    return [{"role": "user", "content": prompt}]
