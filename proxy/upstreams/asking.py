"""What the parts of a route are built from, and one prompt put to a model on behalf of a request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hedgerow.proxy.config import Route
from hedgerow.proxy.errors import ProxyError, StepFailed
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.protocols import Asker, Call, Clusterer, ConfidenceSignal, Rewriter, Supporter, Upstream
from hedgerow.proxy.types import Json, Standing, Usage
from hedgerow.proxy.upstreams.answers import sample_of, usage_of

if TYPE_CHECKING:
    from hedgerow.calibration import ActiveMap

Spent = Callable[[Usage], None]
"""Callback that receives the tokens that a call has spent."""
SignalFactory = Callable[[Asker, Spent], ConfidenceSignal]
ClustererFactory = Callable[[Asker, Spent], Clusterer]
SupporterFactory = Callable[[Asker, Spent], Supporter]
RewriterFactory = Callable[[Asker], Rewriter]


@dataclass(frozen=True, slots=True)
class RouteContext:
    """What `build` of a kind gets.

    Attributes:
        route: the route's settings.
        upstreams: by name.
        active_map: the calibration map for a model and a signal, as it is now.
        standing: whether a certificate of the route speaks of answers with a map and a signal, as it is now; None: nothing is promised.
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
    """How a part of a route asks a model.

    Attributes:
        upstream: who is asked.
        step, reason: what failed, and why, where it cannot be asked.
        model: the model to ask for; None: that of the request.
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
            member = asker.answered_by if self.model is None else ""  # the request's model is the one that has answered
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
