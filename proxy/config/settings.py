"""The whole configuration, and its sections other than routes and upstreams.

`HEDGEROW_SERVER__PORT=4001` in the environment overrides `server.port`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from ...calibration.kinds import choices
from ..types import Role
from .kinds import SIGNALS
from .routes import Route, StoreText
from .secret import Address, HeaderName, Line, OwnSecret, Secret
from .sections import Section
from .upstreams import GroupUpstream, Upstream

# Settings of access, and of the counters for limits.


class Counting(Section):
    """Counters for the limits of named keys."""

    store: Literal["memory", "redis"] = "memory"
    """`memory` counts in each process separately, so that a key has its full limits in each. `redis` counts over all processes that use the
    same server (extra `redis`)."""
    url: Address | None = None
    """`redis`: address of the server, e.g. `redis://localhost:6379/0`."""


class Oidc(Section):
    """Sign-in to the pages with an OpenID Connect provider (extra `oidc`)."""

    issuer: Annotated[str, Field(pattern=r"^https?://")]
    """Address of the provider, below which `/.well-known/openid-configuration` lies."""
    client_id: str
    """Client id of this proxy at the provider. Its redirect address is `PUBLIC_URL/sign-in/oidc/back`."""
    client_secret: OwnSecret
    """Client secret of this proxy; it also signs sessions, so it has 16 characters or more."""
    public_url: Annotated[str, Field(pattern=r"^https?://[^/]+$")]
    """Where browsers reach the pages, e.g. `https://hedgerow.example.com`."""
    name: str = "your account"
    """Name on the button: "Sign in with ..."."""
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    """Requested scopes; some providers need a special scope to return groups."""
    name_claim: str = "email"
    """Claim of the ID token with the person's name for records; `sub` if it is missing."""
    roles_claim: str = "groups"
    """Claim of the ID token with the person's groups, as text or list; dots select fields of objects (`realm_access.roles`)."""
    roles: Mapping[str, Role] = {}
    """Role of each group: viewer, reviewer or operator. The highest one counts."""
    default_role: Role | None = None
    """Role of people in none of these groups. Null: they are refused."""


class Access(Section):
    """Access to the proxy (docs/keys.md). The named keys themselves are in the audit store."""

    require_key: bool | None = None
    """Whether to refuse requests without a known key. Null: as soon as a client has a named key. `false` also admits requests without one,
    anonymous and without limits, while clients migrate. If `keys` has hashes, other keys are always refused."""
    counting: Counting = Counting()
    """Counters for the limits of named keys."""
    oidc: Oidc | None = None
    """Sign-in with an OpenID Connect provider, besides the admin key and people's keys. Unset: keys only."""
    session_s: Annotated[float, Field(ge=60)] = 12 * 3600.0
    """Seconds after which a person must sign in to the pages again."""


Limit = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Budget(Section):
    """What requests of calibrating routes may spend in a day, until midnight UTC (docs/costs.md)."""

    route: str | None = None
    """Pattern for route names; each matching route has its own budget. Unset: all routes share one."""
    key: str | None = None
    """Pattern for key names; each matching key has its own budget, and requests without a named key have none. Unset: all requests share
    one."""
    unit: Literal["tokens", "dollars"] = "tokens"
    """The unit. Dollars include only calls with a known price."""
    soft: Limit | None = None
    """Amount from which requests draw fewer answers. Unset: no such limit."""
    hard: Limit | None = None
    """Maximum amount; requests that would exceed it are passed through, with the reason `over_budget`. Unset: no such limit."""
    samples: Annotated[int, Field(ge=2, le=100)] | None = None
    """Number of answers for a request over `soft`. Unset: half of the route's `sampling.n`. Never fewer than its `min_n`."""

    @model_validator(mode="after")
    def _limits_something(self) -> Budget:
        if self.soft is None and self.hard is None:
            raise ValueError("needs `soft`, `hard` or both")
        if self.soft is not None and self.hard is not None and self.soft > self.hard:
            raise ValueError(f"soft is {self.soft:g}, beyond hard ({self.hard:g})")
        return self


Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelPrice(Section):
    """What the tokens of some models cost, in US dollars per million."""

    model: str
    """Pattern for the model's name in the request or the answer (`*` and `?`, in any case). The first match counts."""
    prompt: Dollars
    """Price of prompt tokens."""
    completion: Dollars
    """Price of completion tokens."""
    cached: Dollars | None = None
    """Price of prompt tokens read from the provider's cache. Unset: as `prompt`."""
    written: Dollars | None = None
    """Price of prompt tokens written to the provider's cache. Unset: as `prompt`."""
    reasoning: Dollars | None = None
    """Price of hidden reasoning tokens. Unset: as `completion`."""


class PriceSettings(Section):
    """What tokens cost (docs/costs.md). A model without a price has no cost."""

    models: tuple[ModelPrice, ...] = ()
    """Your own prices; they have precedence over the tables."""
    tables: bool = True
    """Whether to use tables for other models: LiteLLM's, if its package is installed, then the short one of this package."""


_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class ServerSettings(Section):
    """Where the proxy listens and what it accepts."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Field(ge=0, le=65535)] = 4000
    """Port to listen on; 0 takes a free one."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 32 * 1024 * 1024
    """Largest request body that is read, in bytes. A larger one is answered with status 413."""
    max_messages: Annotated[int, Field(ge=1)] = 2048
    """Maximum number of messages of a calibrated request; a longer one is answered with status 400."""
    keep_alive_s: Annotated[float, Field(gt=0)] = 5.0
    """Seconds between comment lines that keep a buffered stream open while the pipeline runs. The first one sends status 200; a later error (of a
    first answer that takes longer than this to fail) is the last event of the stream."""
    allowed_origins: tuple[str, ...] = ()
    """Origins whose pages may call `/v1` from a browser, e.g. `https://chat.example.com`; `*` for all. Empty: browsers block pages of other
    origins."""
    admin_key: OwnSecret | None = None
    """Key for `/v1/audit`, `/v1/feedback` and `/v1/admin` (`Authorization: Bearer ...`) and for the pages (docs/dashboard.md), 16 characters or more. Unset: audit and
    feedback are open to all users of the proxy, the pages to this machine only, and `/v1/admin` to nobody."""


class Audit(Section):
    """The audit store."""

    url: Address = "sqlite:///var/audit.db"
    """SQLAlchemy address of the store; a relative SQLite path is relative to the working directory."""
    store_text: StoreText = "full"
    """How questions, samples and answers are stored: `none`, `hashed` (only equality can be seen), `redacted` (without e-mail addresses,
    telephone, card and account numbers, IP addresses and keys; names stay) or `full`."""
    keep_texts_days: Annotated[float, Field(gt=0)] | None = None
    """Days after which texts and users' hashes are erased; figures stay. Null: never."""
    keep_rows_days: Annotated[float, Field(gt=0)] | None = None
    """Days after which rows are deleted with their verdicts. Null: never."""
    purge_every_s: Annotated[float, Field(gt=0)] = 3600.0
    """Seconds between two purges by a running proxy; `hedgerow audit purge` purges at once."""
    spool: Path = Path("var/spool")
    """Folder for rows while the store is down; preferably on another disk than the store."""
    hash_key: OwnSecret | None = None
    """Key of the hash chain, of its ends, and of users' hashes, 16 characters or more. Unset: the chain finds accidents and careless changes; with a key it also
    finds those of anybody who can write to the database but does not have the key. Rows written with one key are verified with that key."""
    synchronous: Literal["full", "normal"] = "full"
    """SQLite only: `full` survives a power cut, `normal` only the death of the process."""


class Maps(Section):
    """Folder of maps, besides the audit store, which holds fitted maps."""

    folder: Path = Path("maps")
    """Folder of maps under version control (in it `maps/NAME.json` and `active.json`), read beside those of the audit store; it need not exist."""


class TracingSettings(Section):
    """OpenTelemetry traces, sent over OTLP/HTTP. They contain codes and figures, never text."""

    endpoint: str | None = None
    """Address for spans, e.g. http://collector:4318/v1/traces. Unset: no tracing. Needs the extra `tracing`."""
    headers: Mapping[HeaderName, Secret] = {}
    """Headers for the collector, e.g. its key."""
    share: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of requests that are traced if the caller has not decided."""
    service: str = "hedgerow"
    """`service.name` of the spans."""


class Drift(Section):
    """Watching whether the maps in use are still right (docs/drift.md)."""

    every_s: Annotated[float, Field(gt=0)] = 30.0
    """Seconds between two examinations of new verdicts and confidences; longer if they take long."""
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.01
    """Probability that a correct map ever raises a false alarm, for each of the two tests."""
    window: Annotated[int, Field(ge=50)] = 500
    """Number of answers in a window, whose raw confidences are compared with those of the fit."""
    kinds: tuple[Literal["client", "human", "import", "grader"], ...] = ("client", "human", "import", "grader")
    """Whose verdicts count. Leave out `client` if users report wrong answers more often than right ones."""
    max_age_days: Annotated[float, Field(gt=0)] = 90.0
    """Age in days from which a map counts as stale."""
    on_alarm: Literal["nothing", "shadow"] = "nothing"
    """`shadow`: a route in mode `on` whose map is wrong switches to shadow, until an operator changes it."""


class ReviewSettings(Section):
    """The queue of answers for people to review (docs/drift.md)."""

    order: Literal["mixed", "random"] = "mixed"
    """Order of the queue. `mixed`: in turn a random answer, one near a confidence of one half, and one whose verdict may surprise. `random`: random
    order."""


class Log(Section):
    """Log lines."""

    format: Literal["auto", "json", "console"] = "auto"
    """`auto` writes JSON unless standard error is a terminal."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe line that is written."""


class Settings(BaseSettings):
    """The whole configuration."""

    model_config = SettingsConfigDict(
        env_prefix="HEDGEROW_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
    )

    server: ServerSettings = ServerSettings()
    """Where the proxy listens and what it accepts."""
    keys: tuple[Annotated[str, Field(pattern="^[0-9a-f]{64}$")], ...] = ()
    """SHA-256 of the accepted client keys, in hex (`hedgerow config hash-key`). Empty: every key passes through to the upstream."""
    access: Access = Access()
    """Access to the proxy, and counters for limits."""
    upstreams: Mapping[Line, Upstream]
    """The models behind the proxy, by name."""
    default_upstream: str | None = None
    """Upstream of requests that generate no text and match no route by model: files, lists, moderations. One of its routes must match their headers
    and key. Unset: the upstream of all routes, if they share one."""
    routes: Annotated[tuple[Route, ...], Field(min_length=1)]
    """Which requests are calibrated and how; the first matching route is used."""
    audit: Audit = Audit()
    """The audit store."""
    maps: Maps = Maps()
    """Folder of maps, besides the audit store, which holds fitted maps."""
    prices: PriceSettings = PriceSettings()
    """What tokens cost, by model."""
    budgets: tuple[Budget, ...] = ()
    """What requests may spend in a day before they are passed through."""
    tracing: TracingSettings = TracingSettings()
    """OpenTelemetry traces; off by default."""
    drift: Drift = Drift()
    """Watching whether the maps in use are still right."""
    review: ReviewSettings = ReviewSettings()
    """The order of the review queue."""
    log: Log = Log()
    """Log lines."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment overrides the file."""
        return env_settings, init_settings

    @property
    def default(self) -> str | None:
        """The upstream of requests that match no route by model; None if it is ambiguous."""
        named = {route.upstream for route in self.routes}
        return self.default_upstream or (named.pop() if len(named) == 1 else None)

    @property
    def unrouted(self) -> str | None:
        """A warning if requests without a model match no route."""
        if self.default is not None or any(route.takes(None, {}, None) for route in self.routes):
            return None
        return (
            "requests that name no model (files, lists of models, moderations) are answered with status 404: the routes have several "
            "upstreams, and each wants a model; set default_upstream to one of them"
        )

    @property
    def asks_itself(self) -> str | None:
        """An error message if an upstream is this proxy's own address; else None."""
        if self.server.host not in (*_LOOPBACK, "0.0.0.0", "::"):  # noqa: S104 # what is compared is not bound
            return None
        for name, upstream in self.upstreams.items():
            address = urlsplit(getattr(upstream, "base_url", None) or "")
            port = address.port or (443 if address.scheme == "https" else 80)
            if address.hostname in _LOOPBACK and port == self.server.port:
                return (
                    f"upstreams.{name}.base_url is {upstream.base_url}, where this proxy listens itself: it would ask itself without end; "  # type: ignore[union-attr]
                    "give the address of the model's server, or let this proxy listen on another port (server.port)"
                )
        return None

    def members(self, name: str) -> tuple[str, ...]:
        """The upstreams of a name: the members of a group, or the upstream itself."""
        upstream = self.upstreams[name]
        return upstream.names if isinstance(upstream, GroupUpstream) else (name,)

    def hides_keys(self, name: str) -> bool:
        """Whether an upstream, or each member of a group, sees its own key in place of the client's, or none."""
        return all(getattr(self.upstreams[member], "api_key", "") is not None for member in self.members(name))

    def converts(self, name: str, endpoint: str) -> bool:
        """Whether an upstream, or each member of a group, is called as chat for this endpoint."""
        return all(endpoint in getattr(self.upstreams[member], "converts", ()) for member in self.members(name))

    @model_validator(mode="after")
    def _groups_fit(self) -> Settings:
        for name, upstream in self.upstreams.items():
            if isinstance(upstream, GroupUpstream) and (fault := _misfit(upstream, self.upstreams)):
                raise ValueError(f"upstreams.{name}.{fault}")
        return self

    @model_validator(mode="after")
    def _counting_has_address(self) -> Settings:
        if self.access.counting.store == "redis" and self.access.counting.url is None:
            raise ValueError("access.counting.url is unset; `store: redis` needs an address")
        return self

    @model_validator(mode="after")
    def _default_is_used(self) -> Settings:
        named = {route.upstream for route in self.routes}
        if self.default_upstream is not None and self.default_upstream not in named:
            used = ", ".join(sorted(named))
            raise ValueError(f"default_upstream is {self.default_upstream!r}; the upstreams of routes are: {used}")
        return self

    @model_validator(mode="after")
    def _routes_fit(self) -> Settings:
        names = [route.name for route in self.routes]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"routes: two routes are called {twice[0]!r}; every route needs a name of its own")
        for index, route in enumerate(self.routes):
            faults = (_unknown_upstream(route, self.upstreams), *(rule(route) for rule in _ROUTE_RULES))
            for fault in faults:
                if fault:
                    raise ValueError(f"routes.{index}.{fault}")
        return self


def _misfit(group: GroupUpstream, upstreams: Mapping[str, Upstream]) -> str | None:
    """The error in the names of a group, starting with the key."""
    single = [name for name, upstream in upstreams.items() if not isinstance(upstream, GroupUpstream)]
    for key, names, allowed in (
        ("members", tuple(group.members), single),
        ("fallback", group.fallback, [name for name in single if name not in group.members]),
        ("models", tuple(group.models), group.names),
    ):
        wrong = [name for name in names if name not in allowed] or [name for name in names if names.count(name) > 1]
        if wrong:
            return f"{key} names {wrong[0]!r}; allowed, once each, are: {', '.join(sorted(allowed)) or 'none'}"
    return None


def _unknown_upstream(route: Route, upstreams: Collection[str]) -> str | None:
    named = (
        ("upstream", route.upstream),
        ("rewriting.upstream", route.rewriting.upstream),
        ("judge.upstream", route.judge.upstream),
        ("grading.upstream", route.grading.upstream),
        ("policy.escalate_to", route.policy.escalate_to if route.policy else None),
        *((f"linguistic.models.{i}.upstream", model.upstream) for i, model in enumerate(route.linguistic.models)),
    )
    known = ", ".join(sorted(upstreams)) or "none"
    faults = (
        f"{key} is {name!r}; the upstreams are: {known}"
        for key, name in named
        if name is not None and name not in upstreams
    )
    return next(faults, None)


def _redis_without_url(route: Route) -> str | None:
    cache = route.sampling.cache
    if cache is None or cache.store != "redis" or cache.url is not None:
        return None
    return "sampling.cache.url is unset; `store: redis` needs an address"


def _more_needed_than_drawn(route: Route) -> str | None:
    if route.sampling.min_n <= route.sampling.n:
        return None
    return f"sampling.min_n is {route.sampling.min_n}; at most sampling.n ({route.sampling.n})"


def _short_probe_of_sentences(route: Route) -> str | None:
    if route.sampling.probe != "short" or route.signal != "consistency":
        return None
    return "sampling.probe is 'short', which does not go with `signal: consistency`: a short answer cannot support each sentence of a draft"


def _append_without_logprobs(route: Route) -> str | None:
    if route.stream != "append" or not SIGNALS[route.signal].needs_logprobs:
        return None
    allowed = choices({name: kind for name, kind in SIGNALS.items() if not kind.needs_logprobs})
    return (
        f"stream is 'append', which does not go with `signal: {route.signal}`: what is sent on as it comes brings no "
        f"log-probabilities; the signal may be {allowed}"
    )


def _escalates_to_nobody(route: Route) -> str | None:
    if (policy := route.policy) is None or policy.escalate_to:
        return None
    keys = {"low_confidence": policy.low_confidence, "calls": policy.calls}
    key = next((key for key, action in keys.items() if action == "escalate"), None)
    return key and f"policy.escalate_to is unset; `{key}: escalate` needs the upstream of a stronger model"


def _calls_not_measured(route: Route) -> str | None:
    if route.policy is None or route.policy.calls == "pass" or route.tool_calls == "measure":
        return None
    return f"policy.calls is {route.policy.calls!r}, which needs `tool_calls: measure`: what is not measured cannot disagree"


_ROUTE_RULES: tuple[Callable[[Route], str | None], ...] = (
    _escalates_to_nobody,
    _calls_not_measured,
    _redis_without_url,
    _more_needed_than_drawn,
    _short_probe_of_sentences,
    _append_without_logprobs,
)
"""Rules between the values of one route; each returns the error, starting with the key, or None."""
