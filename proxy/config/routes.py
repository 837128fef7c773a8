"""Settings of a route: which requests it matches, and how they are handled."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from .kinds import JUDGES, REMOVED, REWRITERS, SIGNALS
from .secret import Address
from .sections import Section

if TYPE_CHECKING:
    SignalName = str
    JudgeName = str
    RewriterName = str
else:  # the names in the tables, for pydantic and for docs/config.md
    SignalName, JudgeName, RewriterName = Literal[tuple(SIGNALS)], Literal[tuple(JUDGES)], Literal[tuple(REWRITERS)]

Mode = Literal["off", "shadow", "on"]
StoreText = Literal["none", "hashed", "redacted", "full"]


def _yaml_switch(value: object) -> object:
    """YAML 1.1 reads a bare `on` or `off` as a boolean; here they are strings."""
    return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


def _no_removed_kind(value: str) -> str:
    """Refuse the name of a kind of map that is gone: it would be looked for among the stored maps."""
    if f"map: {value}" in REMOVED:
        raise ValueError("there is no such kind of map")
    return value


def _model_alone(value: object) -> object:
    """Accept a model's name in place of the section that holds it."""
    return {"model": value} if isinstance(value, str) else value


def _share(value: object) -> object:
    """Convert a percentage such as "10%" to a share."""
    if isinstance(value, str) and value.strip().endswith("%"):
        try:
            return float(value.strip()[:-1]) / 100.0
        except ValueError:
            return value
    return value


class Split(Section):
    """An experiment: a random share of the conversations is answered in mode `on`, the rest in another mode. The audit records the choice (`arm`);
    the dashboard compares both arms (docs/operations.md).
    """

    on: Annotated[float, BeforeValidator(_share), Field(gt=0, lt=1)]
    """Share in mode `on`: `10%`, or 0.1. If it is increased later, everybody who was in it stays in it."""
    rest: Annotated[Literal["shadow", "off"], BeforeValidator(_yaml_switch)] = "shadow"
    """Mode of the rest. In `off` there is no confidence to compare, only feedback."""
    by: Annotated[str, Field(pattern=r"^(conversation|user|key|header:[A-Za-z0-9-]+)$")] = "conversation"
    """What stays in one arm: a `conversation` (identified by its first user message, key and user), a `user` as named by the client, a `key`, or
    a value of a header (`header:x-session-id`). Requests without that value are assigned by conversation."""


class RouteMatch(Section):
    """Which requests a route matches; all given conditions must hold."""

    model: str = "*"
    """Pattern for the request's model name (`*` and `?`)."""
    headers: Mapping[str, str] = {}
    """Header names, each with a pattern for its value. A request without the header does not match, whatever the pattern."""
    keys: tuple[str, ...] = ()
    """SHA-256 of client keys, in hex (`hedgerow config hash-key`). Empty: any key."""


class SampleCacheSettings(Section):
    """A cache of drawn answers for later equal requests."""

    ttl_s: Annotated[float, Field(gt=0)] = 300.0
    """Seconds for which a set of answers is kept."""
    store: Literal["memory", "redis"] = "memory"
    """`memory` is for one process; `redis` is shared by all processes that use the same server, which then holds the texts of answers (extra
    `redis`)."""
    url: Address | None = None
    """`redis`: address of the server, e.g. `redis://localhost:6379/0`."""
    max_entries: Annotated[int, Field(ge=1)] = 1024
    """`memory`: maximum number of sets; the oldest is dropped first, also where all take more than 64 MiB."""
    share_between_keys: bool = False
    """Whether clients with different keys share answers, where the upstream does not see these keys: named keys, and any key where the upstream has
    its own `api_key`. Everything that it sees must be equal in any case."""


class Sampling(Section):
    """How answers are drawn."""

    n: Annotated[int, Field(ge=2, le=100)] = 10
    """Number of answers drawn for a request (RALC draws 20; docs/evidence.md shows the effect of fewer)."""
    min_n: Annotated[int, Field(ge=2, le=100)] = 3
    """Fewest answers for measuring a confidence; with fewer, the step fails."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 1.0
    """Temperature of the samples. Null: the client's own (at 0 all answers would be the same)."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """`top_p` of the samples. Null: the client's own."""
    reasoning_effort: Annotated[str, Field(pattern=r"^[a-z]{1,16}$")] | None = None
    """Reasoning effort of the samples, in the provider's terms (`minimal`, `low`, ...). Null: as the client asked. The client's answer is one of
    the samples, except with `probe: short` or a stored response (docs/clients.md)."""
    probe: Literal["full", "short"] = "full"
    """`full`: all samples are answers to the same request, and the draft is one of them. `short`: chat models are asked for the answer alone, in
    as few words as possible, and the draft is a separate call with the client's unchanged request. It counts as one of the `n`, the
    confidence is that of its group, and a long draft is worded like a short one. A map is fitted for one of the two."""
    stop_early: bool = False
    """Whether to draw answers three at a time until further ones would change the confidence by .2 at most, with 95 % probability. This saves answers but takes several calls in
    sequence: useful if every answer is a separate call, rarely if one call returns all `n` (docs/evidence.md)."""
    share: bool = True
    """Whether equal concurrent requests of one client share their answers. Requests with tools and `stream: append` never do."""
    cache: SampleCacheSettings | None = None
    """Cache the answers for later equal requests. Unset: no cache."""


class Judge(Section):
    """The judge of same meaning, for pairs of answers that the rules do not decide."""

    model: str | None = None
    """`llm`: the model to ask. Unset: the model of the request."""
    upstream: str | None = None
    """`llm`: upstream of the judge. Unset: the route's own."""
    budget_s: Annotated[float, Field(gt=0)] = 20.0
    """Seconds for the call about the claims of a long answer; after them words alone measure."""
    claims: Literal["llm", "stated", "none"] = "none"
    """What measures the claims of long answers beside the words that the other answers share with them: `stated`, one call in which the model that
    answered finds and rates its own claims; `llm`, one call in which `model` at `upstream` reads the other answers; `none`,
    nothing. A map for claims is fitted for one of these."""
    strict: bool = False
    """Whether a failing judge fails the step. Otherwise its pairs count as different, and as `judge_failed` in the audit."""


class ReaderModel(Section):
    """A model that rates how sure an answer sounds."""

    upstream: str
    """Name of its upstream."""
    model: str | None = None
    """Model name sent to it. Unset: the model of the request."""


class Linguistic(Section):
    """The reader that rates how sure an answer sounds, for `signal: linguistic`."""

    reader: Literal["local", "models"] = "local"
    """`local`: the lexicon's own reader, without a model. `models`: language models are asked for a number (RALC D.1)."""
    models: tuple[ReaderModel, ...] = ()
    """`models`: the models to ask. Empty: the route's own upstream with the model of the request."""


class Entailment(Section):
    """A model that must find that draft and rewrite entail each other."""

    model: str
    """`local`: the shipped judge (English; extra `judge`). Otherwise a cross-encoder's name or folder, with labels called `entailment` and
    `neutral` (extra `semantic`). Loaded on first use."""
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Lowest accepted p(entailed) + 0.5 p(neutral), in both directions (RALC 5.3.1)."""


class Rewriting(Section):
    """How the answer is reworded."""

    by: RewriterName = "auto"
    """Who words an answer below a confidence of .8. `auto`: an editor, a chat model that is asked once for edits and notes, if it has replied as asked
    when it was tried (at the start, or by the first answer), else the local way; an `embedded` model is not tried. `editor`: the same without a trial.
    `local`: no model is called. What an editor does not do, because it is late, cannot be read or is refused by the guard, the local way does."""
    upstream: str | None = None
    """Upstream of the editor. Unset: the route's own."""
    model: str | None = None
    """Model of the editor. Unset: the model of the request."""
    timeout_s: Annotated[float, Field(gt=0)] = 15.0
    """Seconds to wait for an editor's reply; less where `deadline_s` leaves less."""
    max_tokens: Annotated[int, Field(ge=1)] = 1000
    """Most tokens of an editor's reply. A usual one has about sixty; a reasoning model needs more."""
    by_sentence_from: Annotated[int, Field(ge=0)] = 3
    """An answer with at least this many sentences of running text is long: confidence is measured claim by claim (signal `consistency`), and each
    sentence is worded at its own confidence. 0: never."""
    hedge_uncalibrated_sentences: bool = False
    """Hedge sentences of long answers even if no map for them (signal `consistency`) is active. Off: such an answer stays plain, with the reason
    `not_measured`, because an uncalibrated confidence does not justify a hedge."""
    max_chars: Annotated[int, Field(ge=1)] = 20_000
    """Longest answer in characters that is compared and reworded; if a sample is longer, the answer is passed through (reason `too_long`)."""
    languages: tuple[Annotated[str, Field(pattern=r"^[a-z]{2}$")], ...] = ("en",)
    """Languages in which answers are hedged; answers in others stay unchanged, with the reason `unknown_language`. English hedges were rated by
    thousands of people. The German, French and Spanish ones are translations that native speakers have not rated."""
    voice: Literal["auto", "first_person", "impersonal"] = "auto"
    """Voice: `first_person` uses "I think", `impersonal` only if the answer itself says "I". `auto`: an editor writes in the first person, the local way
    impersonally."""
    word_at: Literal["mean", "lower"] = "mean"
    """Confidence at which a short answer is worded: the calibrated `mean`, or the `lower` end of its interval (`confidence_interval`), which is
    lower the fewer labels the map had there."""
    tolerance: Annotated[float, Field(gt=0, le=1)] = 0.25
    """How much farther than the best hedge the perceived confidence of the new wording may be from the target, as a 1-Wasserstein distance."""
    entailment: Annotated[Entailment | None, BeforeValidator(_model_alone)] = None
    """A model that also checks every rewrite; a text is the model's name (`entailment: local`). Unset: none."""


class Policy(Section):
    """What to do at which confidence: by the costs of outcomes in any unit (only their ratios matter), and at very low confidence."""

    low_confidence: Literal["note", "abstain", "escalate"] = "note"
    """What to do up to a calibrated mean of .25, unless the costs decide, because a statement with a strong doubt would contradict itself. `note`
    adds a sentence such as "This answer is very uncertain; please verify it.", `abstain` gives the refusal, `escalate` asks `escalate_to`."""
    wrong: Annotated[float, Field(gt=0)] = 1.0
    """Cost of a wrong answer."""
    needless_abstention: Annotated[float, Field(ge=0)] | None = None
    """Cost of refusing if the answer would have been right. Unset: costs are not used, only `low_confidence`."""
    hedged_wrong: Annotated[float, Field(ge=0)] | None = None
    """Cost of a wrong answer that was hedged. Unset: the same as a plain one; answers are then worded by their confidence alone."""
    hedged_right: Annotated[float, Field(ge=0)] = 0.0
    """Cost of a right answer that was hedged."""
    refusal: Annotated[str, Field(min_length=1)] = "I am not sure enough of an answer to give you one."
    """The refusal that replaces an answer."""
    escalate_to: str | None = None
    """Upstream of a stronger model, which is asked if an answer is too unsure. Unset: none."""
    escalate_model: str | None = None
    """The stronger model. Unset: the model of the request."""
    escalation: Annotated[float, Field(ge=0)] = 0.1
    """Cost of asking the stronger model."""
    escalated_accuracy: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of the stronger model's answers that are right."""
    calls: Literal["pass", "ask", "escalate"] = "pass"
    """What to do with a tool call on which the samples disagree, on a route with `tool_calls: measure`: `pass` forwards it, `ask` sends `question`
    to the user instead, `escalate` asks `escalate_to`. With the last two, streamed answers are held back if tools are offered, whatever `stream` says."""
    calls_below: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Calibrated mean below which a tool name or argument counts as disagreed."""
    question: Annotated[str, Field(min_length=1)] = "I am not sure how to go on. Please check this first: {doubts}"
    """The question to the user. `{doubts}` is replaced by the doubtful parts of the call, such as `book_hotel: city "Canberra"`."""


class Promises(Section):
    """Promises on a route's answers (docs/promises.md): the thresholds of a stored certificate decide which answers go out plain, hedged or not at
    all, in place of `policy`'s costs and `low_confidence`. Verdicts are used to watch whether the promises hold.
    """

    certificate: str = "auto"
    """`auto`: the newest valid certificate of this route and the map in use; anything else is the id of one."""
    without: Literal["policy", "hedge", "abstain"] = "policy"
    """How answers are served without a valid certificate: `policy` as on a route without promises, `hedge` the same but always with a hedge,
    `abstain` by the refusal (or `policy.escalate_to`)."""
    share: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Random share of answers, by audit id, whose verdicts are used to watch the promises; the review queue shows them first. 1: every verdict
    counts, which is right if feedback comes on all answers or on a random part."""
    kinds: Annotated[tuple[Literal["client", "human", "import", "grader"], ...], Field(min_length=1)] = (
        "human",
        "import",
        "grader",
    )
    """Whose verdicts count. Use `client` only if clients report right answers as often as wrong ones."""
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.01
    """Probability that the promises of a certificate, together, ever raise a false alarm while they hold; the same again for their groups."""
    groups: tuple[Literal["model", "signal", "language", "path", "key", "team", "regime", "user"], ...] = ("model",)
    """Columns by which answers are grouped; every promise is also watched in each group, because it can hold in total and be broken in a group.
    `regime`: the kind of question, from a map that depends on the question (`kind: local`)."""
    on_broken: Literal["nothing", "withdraw", "shadow"] = "nothing"
    """What happens when a promise is broken, until an operator clears the alarm: `withdraw` serves as without a certificate, `shadow` switches a
    route in mode `on` to shadow."""


class Grading(Section):
    """A language model that grades a share of the answers in the background. Its verdicts are marked, and people's verdicts override them."""

    share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Random share of calibrated answers that are graded; 0: none."""
    upstream: str | None = None
    """Upstream of the grader. Unset: the route's own. Prefer a stronger model: a model is a poor judge of itself."""
    model: str | None = None
    """Model of the grader. Unset: the model of the request."""


class Expose(Section):
    """What the client may see."""

    field: bool = True
    """The extra top-level field `hedgerow` of the answer."""
    headers: bool = True
    """The headers `x-hedgerow-*`."""
    claims: bool = True
    """In that field, the claims of a long answer with their texts and confidences."""
    usage: Literal["answer", "sum"] = "answer"
    """The `usage` of an answer: `answer` for its own tokens with details, as without Hedgerow, or `sum` for all calls. The field `hedgerow` has all
    tokens by purpose in both cases."""


class Route(Section):
    """Which requests are calibrated, how, and by which upstream they are answered."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
    """Name in log, audit and map registry."""
    match: RouteMatch = RouteMatch()
    """Which requests this route matches. Routes are tried in order."""
    upstream: str
    """Name of its upstream."""
    model: str | None = None
    """Model name sent upstream. Unset: the client's."""
    mode: Annotated[Mode, BeforeValidator(_yaml_switch)] = "off"
    """`off` forwards byte for byte, `shadow` does the work and changes nothing, `on` answers with the reworded text."""
    split: Split | None = None
    """Two modes at random; written as the mode: `mode: {on: 10%}`. It ends when an operator sets a mode."""
    stream: Literal["buffer", "append"] = "buffer"
    """How a streamed chat answer is hedged in mode `on`: `buffer` holds it back and sends the reworded text; `append` sends the upstream's own
    tokens at once, and a closing sentence with the confidence. A policy then only decides whether that sentence is sent."""
    claims_only: bool = True
    """Whether to pass through requests whose answers cannot be compared (greetings, opinions, texts and programs to be written), with the reason
    `not_a_claim`. Most are recognised by the prompt before sampling, the rest by the answers."""
    structured_output: Literal["measure", "pass"] = "measure"
    """Handling of JSON, which is never reworded: `measure` draws samples and gives every field a confidence (`hedgerow.fields`), `pass` passes
    such requests through with one call."""
    tool_calls: Literal["pass", "measure"] = "pass"
    """Handling of tool calls, which are never reworded: `pass` passes them through, `measure` draws the other samples too and reports how many
    agree on each name and argument (`hedgerow.fields`); this costs a model call for each sample of every step of an agent."""
    allow_override: bool = False
    """Whether the header `x-hedgerow-mode` may set another mode for one request."""
    equivalence: JudgeName = "rules"
    """How to decide which answers mean the same: by `rules` alone, or by rules and then a judge: `local` compares a short and a long answer by
    fitted word weights (English, no model), `llm` makes one call to a language model."""
    judge: Judge = Judge()
    """The judge of `equivalence`, unless that is `rules`; and the judge of claims."""
    signal: SignalName = "semantic"
    """Source of the raw confidence: how many answers agree (`semantic`), how probable their words were (`token`), how sure the answer sounds
    (`linguistic`), how many answers support each of its sentences (`consistency`), or the model's own answer to whether it is right (`p_true`).
    `combined` weighs `semantic` and `token` with weights from `hedgerow fit --signal combined`; it needs a map of that kind."""
    linguistic: Linguistic = Linguistic()
    """The reader for the signal `linguistic`."""
    sampling: Sampling = Sampling()
    """How answers are drawn."""
    map: Annotated[str, AfterValidator(_no_removed_kind)] = "auto"
    """`auto`: the active map of this route and model; `identity`: none; anything else is a map id in the registry."""
    lexicon: str = "en"
    """Name of a built-in lexicon, or the path of a lexicon file."""
    policy: Policy | None = None
    """When to answer plainly, hedge, abstain or escalate. Unset: every answer is worded by its confidence."""
    promises: Promises | None = None
    """Promises on the answers, by a certificate. Unset: none."""
    rewriting: Rewriting = Rewriting()
    """How the answer is reworded."""
    deadline_s: Annotated[float, Field(gt=0)] = 60.0
    """Seconds after which the work stops and `on_failure` decides."""
    on_failure: Literal["pass", "error"] = "pass"
    """If a step fails: `pass` answers with the plain draft, marked; `error` answers with an error object. While the audit store is down: `pass`
    answers and keeps the row in the spool, `error` answers with status 503."""
    grading: Grading = Grading()
    """A language model that grades a share of the answers."""
    expose: Expose = Expose()
    """What the client may see."""
    audit: bool = True
    """Whether requests of this route are written to the audit. Calibrated ones always are."""
    store_text: StoreText | None = None
    """`audit.store_text` for this route. Unset: as there."""
    keep_texts_days: Annotated[float, Field(gt=0, allow_inf_nan=True)] | None = None
    """`audit.keep_texts_days` for this route. Unset: as there; `.inf`: forever."""
    keep_rows_days: Annotated[float, Field(gt=0, allow_inf_nan=True)] | None = None
    """`audit.keep_rows_days` for this route. Unset: as there; `.inf`: forever."""

    @model_validator(mode="before")
    @classmethod
    def _split_mode(cls, given: Any) -> Any:
        """Move a split from `mode` to `split`; the rest's mode becomes the mode."""
        if not isinstance(given, Mapping) or not isinstance(given.get("mode"), Mapping):
            return given
        split = {_yaml_switch(name): value for name, value in given["mode"].items()}
        return {**given, "split": split, "mode": split.get("rest", "shadow")}

    @property
    def calibrates(self) -> bool:
        """Whether requests of this route may be calibrated."""
        return self.mode != "off" or self.allow_override or self.split is not None

    @property
    def rewords(self) -> bool:
        """Whether the route answers requests in mode `on`, without an override by the client."""
        return self.mode == "on" or self.split is not None

    def takes(self, model: str | None, headers: Mapping[str, str], key_hash: str | None) -> bool:
        """Whether this route matches a request."""
        wanted = self.match.model
        return (wanted == "*" or fnmatchcase(model or "", wanted)) and self.admits(headers, key_hash)

    def admits(self, headers: Mapping[str, str], key_hash: str | None) -> bool:
        """Whether this route matches a request's headers and key, whatever its model."""
        match = self.match
        if match.keys and key_hash not in match.keys:
            return False
        sent = ((headers.get(name.lower()), pattern) for name, pattern in match.headers.items())
        return all(value is not None and fnmatchcase(value, pattern) for value, pattern in sent)
