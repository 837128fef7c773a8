"""Settings of a route: which requests it takes, and what is done with them."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from hedgerow.proxy.config.kinds import JUDGES, REWRITERS, SIGNALS
from hedgerow.proxy.config.sections import Section

if TYPE_CHECKING:
    SignalName = str
    JudgeName = str
    RewriterName = str
else:  # the names that the tables hold, for pydantic and for docs/config.md
    SignalName, JudgeName, RewriterName = Literal[tuple(SIGNALS)], Literal[tuple(JUDGES)], Literal[tuple(REWRITERS)]

Mode = Literal["off", "shadow", "on"]
StoreText = Literal["none", "hashed", "redacted", "full"]


def _yaml_switch(value: object) -> object:
    """YAML 1.1 reads a bare `on` or `off` as a boolean; here they are words."""
    return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


def _model_alone(value: object) -> object:
    """A model's name in place of the section that holds it."""
    return {"model": value} if isinstance(value, str) else value


def _share(value: object) -> object:
    """A percentage such as "10%" as a share."""
    if isinstance(value, str) and value.strip().endswith("%"):
        try:
            return float(value.strip()[:-1]) / 100.0
        except ValueError:
            return value
    return value


class Split(Section):
    """An experiment: a share of the conversations, drawn by lot, is answered in mode `on`, the rest in another mode. What was drawn stands in the
    audit (`arm`); the dashboard compares both arms (docs/operations.md).
    """

    on: Annotated[float, BeforeValidator(_share), Field(gt=0, lt=1)]
    """Share in mode `on`: `10%`, or 0.1. A larger one later keeps everybody who was in it."""
    rest: Annotated[Literal["shadow", "off"], BeforeValidator(_yaml_switch)] = "shadow"
    """Mode of the rest. In `off` there is no confidence to compare, only feedback."""
    by: Annotated[str, Field(pattern=r"^(conversation|user|key|header:[A-Za-z0-9-]+)$")] = "conversation"
    """What stays in one arm: a `conversation` (known by its first user message, with key and user), a `user` as the client names
    it, a `key`, or a value of a header (`header:x-session-id`). Requests that do not say which fall back to their conversation."""


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


class Adaptive(Section):
    """Draw by worth: the route's active map of the kind `adaptive` says whether further answers are worth their price (docs/sampling.md). Without such a
    map all `n` are drawn.
    """

    price: Annotated[float, Field(gt=0, lt=1)] | None = None
    """The fall of the Brier score that each further answer must be expected to bring. Unset: the map's own, as `hedgerow fit --samples` chose it."""
    full_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Share of requests whose `n` answers are all drawn, by lot: what the map is fitted again and checked on."""


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
    reasoning_effort: Annotated[str, Field(pattern=r"^[a-z]{1,16}$")] | None = None
    """How long reasoning models think over the draws, in the provider's words (`minimal`, `low`, ...). Null: as the client asked. The answer that the
    client gets is one of the draws, unless `probe: short` or a kept response (docs/clients.md) makes it the client's own call."""
    probe: Literal["full", "short"] = "full"
    """What is drawn beside the draft. `full`: further answers to the same request, the draft being one of them. `short`: chat models are asked for
    the answer alone, in as few words as possible; the draft is a call of its own with the client's request as it stands. It counts as one of
    the `n`, its group is the one that the confidence is in, and a long draft is worded as one. Maps are fitted for the one or the other."""
    stop_early: bool = False
    """Whether answers are drawn in batches until the rest would hardly change the confidence. It saves answers and costs rounds: worth
    it where every answer is a call of its own, seldom where one call brings all `n` (see docs/evidence.md)."""
    batch: Annotated[int, Field(ge=1, le=100)] = 3
    """With `stop_early` or `adaptive`: answers drawn at a time."""
    tolerance: Annotated[float, Field(ge=0, le=1)] = 0.2
    """With `stop_early`: how far the confidence may still move, with 95 % probability, when drawing stops."""
    adaptive: Adaptive | None = None
    """Draw by worth, at most `batch` answers at a time, from one answer on. Unset: `n` answers, or as `stop_early` says."""
    share: bool = True
    """Whether equal requests of one client that are under way at once share their answers. Requests with tools and `stream: append` never do."""
    cache: SampleCache | None = None
    """Keep the answers for equal requests that come later. Unset: nothing is kept."""

    @property
    def in_batches(self) -> bool:
        """Whether answers are drawn one batch after the other."""
        return self.stop_early or self.adaptive is not None

    @property
    def least(self) -> int:
        """Fewest answers that a confidence is measured from."""
        return self.min_n if self.adaptive is None else 1


class Judge(Section):
    """Who decides whether two answers mean the same where the rules cannot tell."""

    model: str | None = None
    """`nli`: a cross-encoder's name or folder (required). `embeddings`: a sentence-transformers model; unset: the int8 MiniLM of the
    extra `semantic`. `llm`: the model that is asked; unset: the model of the request."""
    upstream: str | None = None
    """`llm`: upstream of the judge. Unset: the route's own."""
    budget_s: Annotated[float, Field(gt=0)] = 2.0
    """`nli`: seconds for one request; pairs beyond count as different, and as `judge_late` in the audit. Of `claims`: seconds for those of a
    long answer, which beyond them have the support that words alone give them; with `claims: llm` 20 seconds where this is unset."""
    claims: Literal["auto", "local", "llm", "none"] = "none"
    """Who reads the claims of long answers in the other answers: `local`, the shipped judge (English; extra `judge`); `llm`, one call to `model` at
    `upstream` for all claims of an answer; `none`, words alone; `auto`, the shipped judge where the extra is installed. Maps for claims are fitted
    for one of them."""
    strict: bool = False
    """Whether a failing judge fails the step. Otherwise its pairs count as different, and as `judge_failed` in the audit."""


class ReaderModel(Section):
    """A model that says how sure an answer sounds."""

    upstream: str
    """Name of the upstream that is asked."""
    model: str | None = None
    """Model name sent to it. Unset: the model of the request."""


class Linguistic(Section):
    """Who rates how sure an answer sounds, for `signal: linguistic`."""

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
    """`local`: the shipped judge (English; extra `judge`). Otherwise a cross-encoder's name or folder, with labels called `entailment` and
    `neutral` (extra `semantic`). Loaded on first use."""
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Least p(entailed) + 0.5 p(neutral), both ways (RALC 5.3.1)."""


class Rewriting(Section):
    """How the answer is reworded."""

    rewriter: RewriterName = "template"
    """`template` makes no model call; `decide` asks an editor which sentence gets which hedge where, and writes it as the template does, long answers
    too; `llm` has an editor write short answers anew, behind the guard; `direct_beta` and `hedged_qa` are the paper's baselines, for experiments."""
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
    `consistency`), and the template words each at its own. 0: never. The two baselines always word
    an answer as one."""
    hedge_uncalibrated_sentences: bool = False
    """Hedge the sentences of a long answer also where no map for them (signal `consistency`) is active. Off: such an answer stays plain, with
    the reason `not_measured`, because a hedge placed by an uncalibrated confidence says nothing.
    """
    max_chars: Annotated[int, Field(ge=1)] = 20_000
    """Longest answer that is compared and reworded, in characters; where one is longer, the answer passes as it is (reason `too_long`)."""
    languages: tuple[Annotated[str, Field(pattern=r"^[a-z]{2}$")], ...] = ("en",)
    """Languages in which answers are hedged; in every other one they stay as they are, with the reason `unknown_language`. English hedges were read by
    thousands of people. The German, French and Spanish ones are translations that no native speakers have judged: offer them knowingly."""
    wordings: Literal["vetted", "all"] = "vetted"
    """Hedges that are written: `vetted` is a short list of wordings that a product would say ("probably", "it appears", "may"), `all` the whole
    lexicon. Entries of the route's own lexicon are written in both."""
    voice: Literal["impersonal", "first_person"] = "impersonal"
    """Who speaks: `impersonal` says "I think" only where the answer itself says "I"; `first_person` always does, in English."""
    register_: Annotated[Literal["neutral", "formal", "casual"], Field(alias="register")] = "neutral"
    """Tone. `formal` has "in all probability" too, `casual` "maybe" and "I reckon"; their own wordings come first among those as near."""
    boosters: bool = False
    """Whether an answer may be worded more surely than the plain assertion ("without a doubt")."""
    registers: tuple[Literal["plain", "formal", "casual"], ...] | None = None
    """Tones of the lexicon's entries that are written. Unset: those that `register` implies; `plain` and `formal` for `wordings: all`;
    of the route's own entries every one while `register` is `neutral`."""
    never: tuple[str, ...] | None = None
    """Ids of hedges that are never written. Unset: the shipped list of those that contradict the answer, overstate it or invent evidence."""
    word_at: Literal["mean", "lower"] = "mean"
    """Which confidence a short answer is worded at: the calibrated `mean`, or the `lower` end of its interval (`confidence_interval`), which lies the
    deeper the fewer labels the map saw there."""
    tolerance: Annotated[float, Field(gt=0, le=1)] = 0.25
    """How much farther from the target than the best hedge the new wording's perceived confidence may be, as a 1-Wasserstein distance."""
    entailment: Annotated[Entailment | None, BeforeValidator(_model_alone)] = None
    """A further check of every rewrite by a model; a text is the model's name (`entailment: local`). Unset: none."""


class Policy(Section):
    """What to do at which confidence: from what outcomes cost, in any one unit (only their ratios matter), and where there is next to none."""

    low_confidence: Literal["note", "abstain", "escalate"] = "note"
    """What to do up to a calibrated mean of .25, where the costs do not say otherwise: a statement with a denial beside it would contradict
    itself. `note` puts "This answer is very uncertain; please verify it." or the like after the answer, `abstain` gives the refusal, `escalate` asks
    `escalate_to`."""
    wrong: Annotated[float, Field(gt=0)] = 1.0
    """Cost of a wrong answer."""
    needless_abstention: Annotated[float, Field(ge=0)] | None = None
    """Cost of refusing where the answer would have been right. Unset: the costs decide nothing, and `low_confidence` alone does."""
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
    calls: Literal["pass", "ask", "escalate"] = "pass"
    """What to do with a call of a tool on which the answers disagree, on a route with `tool_calls: measure`: `pass` lets it go on, `ask` puts
    `question` to the user in its place, `escalate` asks `escalate_to`. A streamed answer is then held back where tools are offered, whatever `stream` says."""
    calls_below: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Calibrated mean of a name or an argument of the call below which they count as disagreeing."""
    question: Annotated[str, Field(min_length=1)] = "I am not sure how to go on. Please check this first: {doubts}"
    """What the user is asked. `{doubts}` stands for the parts of the call that are in doubt, such as `book_hotel: city "Canberra"`."""


class Promises(Section):
    """What may be promised of a route's answers: by a stored certificate, whose thresholds decide which answers go out plain,
    hedged or not at all, instead of `policy`'s costs and `low_confidence`; and how it is watched whether the promises hold (docs/promises.md).
    """

    certificate: str = "auto"
    """`auto` takes the newest valid certificate of this route and of the map in use; anything else is the id of one."""
    without: Literal["policy", "hedge", "abstain"] = "policy"
    """What happens to answers while no certificate is valid for them: `policy` serves them as a route without promises does, `hedge` the same but
    never without a hedge, `abstain` gives the refusal (or asks `policy.escalate_to`)."""
    share: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Share of answers, drawn at random by their audit ids, whose verdicts say whether the promises hold; the review queue shows them first. 1: every
    verdict counts, where feedback comes on all answers or on a random part of them."""
    kinds: Annotated[tuple[Literal["client", "human", "import", "grader"], ...], Field(min_length=1)] = (
        "human",
        "import",
        "grader",
    )
    """Whose verdicts count. `client` only where clients report right answers as often as wrong ones."""
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.01
    """Probability that promises of a certificate which are kept ever raise a false alarm, all of them together; the same again for their groups."""
    groups: tuple[Literal["model", "signal", "language", "path", "key", "team", "regime", "user"], ...] = ("model",)
    """What splits the answers into groups, in each of which every promise is watched as well: a promise can hold on the whole and be broken for
    some. `regime`: the kind of question by a map that reads questions (`kind: local`)."""
    on_broken: Literal["nothing", "withdraw", "shadow"] = "nothing"
    """What follows when a promise proves broken, until an operator clears the alarm: `withdraw` serves as without a certificate, `shadow` takes a
    route in mode `on` back to shadow."""


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
    claims: bool = True
    """In that field, the claims of a long answer with their words and how sure each is."""
    usage: Literal["answer", "sum"] = "answer"
    """What stands in an answer's `usage`: the `answer`'s own tokens with their details, as a call without Hedgerow would report them, or the
    `sum` of all calls. All tokens stand in the field `hedgerow` by purpose either way."""


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
    split: Split | None = None
    """Two modes at once, by lot; written as the mode: `mode: {on: 10%}`. A mode that an operator sets ends it."""
    stream: Literal["buffer", "append"] = "buffer"
    """How a streamed chat answer is hedged in mode `on`: `buffer` holds it back and sends the reworded text; `append` sends the upstream's
    own tokens at once and says in a closing sentence how sure the answer is. A policy then only decides whether that sentence comes."""
    claims_only: bool = True
    """Whether requests whose answers cannot be compared (greetings, opinions, texts and programs to be written) are passed on as they are,
    with the reason `not_a_claim`. The prompt tells most of them before anything is drawn, the answers tell the rest."""
    structured_output: Literal["measure", "pass"] = "measure"
    """What becomes of JSON, which is never reworded: `measure` draws samples and gives every field a confidence (`hedgerow.fields`), `pass`
    passes such requests on with one call."""
    tool_calls: Literal["pass", "measure"] = "pass"
    """What becomes of calls of tools, which are never reworded: `pass` passes them on, `measure` draws the other samples all the same and tells
    how many agree on each name and argument (`hedgerow.fields`); that costs a call of the model for each sample of every step of an agent."""
    allow_override: bool = False
    """Whether the header `x-hedgerow-mode` may set another mode for one request."""
    equivalence: JudgeName = "rules"
    """What decides which answers mean the same: `rules` alone, or rules first and then a judge: fitted weights of words between a short
    answer and a long one (`local`, English, no model), sentence `embeddings`, an `nli` cross-encoder, or one call to an `llm`."""
    judge: Judge = Judge()
    """The judge of `equivalence`, where it is not `rules`."""
    signal: SignalName = "semantic"
    """Where the raw confidence comes from: how many answers agree (`semantic`), how probable their words were (`token`), how sure the
    answer sounds (`linguistic`), how many answers support each of its sentences (`consistency`), or what the model says when asked
    whether it is right (`p_true`). `combined` weighs `semantic` and `token` as `hedgerow fit --signal combined` found best; it needs a map of that kind."""
    linguistic: Linguistic = Linguistic()
    """Who rates the wording, where the signal is `linguistic`."""
    sampling: Sampling = Sampling()
    """How answers are drawn."""
    map: str = "auto"
    """`auto` takes the active map of this route and model, `identity` none, anything else is a map id in the registry."""
    lexicon: str = "en"
    """Name of a built-in lexicon, or the path of a lexicon file."""
    policy: Policy | None = None
    """When to answer plainly, hedge, abstain or escalate. Unset: every answer is worded by its confidence."""
    promises: Promises | None = None
    """What is promised of the answers, by which certificate. Unset: nothing is."""
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
    keep_texts_days: Annotated[float, Field(gt=0, allow_inf_nan=True)] | None = None
    """As `audit.keep_texts_days`, for this route. Unset: as there; `.inf`: for ever."""
    keep_rows_days: Annotated[float, Field(gt=0, allow_inf_nan=True)] | None = None
    """As `audit.keep_rows_days`, for this route. Unset: as there; `.inf`: for ever."""

    @model_validator(mode="before")
    @classmethod
    def _split_mode(cls, given: Any) -> Any:
        """Take a split from where the mode stands; what it leaves is the mode."""
        if not isinstance(given, Mapping) or not isinstance(given.get("mode"), Mapping):
            return given
        split = {_yaml_switch(name): value for name, value in given["mode"].items()}
        return {**given, "split": split, "mode": split.get("rest", "shadow")}

    @property
    def calibrates(self) -> bool:
        """Whether any request of this route may be calibrated."""
        return self.mode != "off" or self.allow_override or self.split is not None

    @property
    def rewords(self) -> bool:
        """Whether the route answers any request in mode `on` by itself."""
        return self.mode == "on" or self.split is not None

    def takes(self, model: str | None, headers: Mapping[str, str], key_hash: str | None) -> bool:
        """Whether this route takes a request."""
        wanted = self.match.model
        return (wanted == "*" or fnmatchcase(model or "", wanted)) and self.admits(headers, key_hash)

    def admits(self, headers: Mapping[str, str], key_hash: str | None) -> bool:
        """Whether this route takes a request's headers and key, whatever its model."""
        match = self.match
        if match.keys and key_hash not in match.keys:
            return False
        return not match.headers or all(
            fnmatchcase(headers.get(name.lower(), ""), pattern) for name, pattern in match.headers.items()
        )
