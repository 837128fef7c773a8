"""The context from which parts of a route are built, and calls of a model for a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..config import Route
from ..errors import ProxyError, StepFailed
from ..outcomes import Reason
from ..protocols import Asker, Call, Clusterer, ConfidenceSignal, Rewriter, Supporter, Upstream
from ..types import Json, Standing, Usage
from .answers import sample_of, usage_of

if TYPE_CHECKING:
    from ...calibration import ActiveMap

Spent = Callable[[Usage], None]
"""Callback that receives the token usage of a call."""
SignalFactory = Callable[[Asker, Spent], ConfidenceSignal]
ClustererFactory = Callable[[Asker, Spent], Clusterer]
SupporterFactory = Callable[[Asker, Spent], Supporter]
RewriterFactory = Callable[[Asker], Rewriter]


@dataclass(frozen=True, slots=True)
class RouteContext:
    """The argument of a kind's `build`.

    Attributes:
        route: the route's settings.
        upstreams: by name.
        active_map: the current calibration map for a model and a signal.
        standing: the current certificate for a map and a signal; None if the route promises nothing.
    """

    route: Route
    upstreams: Mapping[str, Upstream]
    active_map: Callable[[str, str], ActiveMap]
    standing: Callable[[str | None, str], Standing | None] = lambda _map_id, _signal: None

    def upstream(self, name: str | None = None) -> Upstream:
        """The named upstream, or the route's own."""
        return self.upstreams[name or self.route.upstream]


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

    async def complete(self, asker: Asker, spent: Spent, messages: Sequence[Json]) -> Json:
        """The completion of messages; its tokens go to `spent`.

        Raises:
            StepFailed: the model cannot be asked.
        """
        body = {"model": self.model or asker.model, **self.options, "messages": list(messages)}
        try:
            member = asker.answered_by if self.model is None else ""  # the request's model is the one that answered
            call = Call("/chat/completions", body, asker.headers, id=asker.id, member=member)
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
