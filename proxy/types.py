"""The values that travel down the pipeline.

Frozen, small, and free of I/O: every step takes some of these and gives some back. Only `pipeline/run.py` holds them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from hedgerow.calibration import Beta
from hedgerow.lexicon import Match

if TYPE_CHECKING:
    from hedgerow.calibration.promises.certificate import Certificate

Json = dict[str, Any]
"""A decoded JSON object as a client or an upstream sent it: unknown fields are kept and forwarded."""


KEY_HEADERS = ("authorization", "x-api-key", "api-key")
"""Headers that carry a client's key: OpenAI's, Anthropic's, Azure's."""
SESSION_COOKIE = "hedgerow_session"
"""Who is signed in to the pages. A browser sends it with every request to this host; it never goes to an upstream."""


Role = Literal["viewer", "reviewer", "operator"]
"""What a person may do, from least to most: see pages and audit; also say what was right; also change what routes and keys do."""


@dataclass(frozen=True, slots=True)
class Key:
    """A named key, as the store keeps it beside the hash of its secret.

    Attributes:
        team: whom it belongs to.
        role: of a person, who signs in with it and calls no model; None for a client.
        routes: names of the only routes that it may use; None for all.
        hint: the last characters of its secret, to tell it by.
        requests_per_minute, tokens_per_minute, concurrency: its limits; None where there is none.
        created_by: who made it.
        previous_until: when the secret before the last rotation ends.
    """

    name: str
    team: str | None = None
    role: Role | None = None
    routes: tuple[str, ...] | None = None
    hint: str = ""
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrency: int | None = None
    created_at: float = 0.0
    created_by: str = ""
    expires_at: float | None = None
    revoked_at: float | None = None
    previous_until: float | None = None

    def may_use(self, route: str) -> bool:
        """Whether a route is open to it."""
        return self.routes is None or route in self.routes


class Completion(Json):
    """A completion object as it came, with the headers of the answer that brought it.

    Attributes:
        headers: those that would reach a client; none where the object came from elsewhere.
        upstream: the member of a group that answered; "" where no group was asked.
        model: the model that it was asked for; "" where that is the request's.
    """

    headers: Sequence[tuple[bytes, bytes]] = ()
    upstream: str = ""
    model: str = ""


CLAIM_SIGNAL = "consistency"
"""What claims of long answers are measured by, whatever a route measures its short answers by; their maps serve beside those of answers."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens spent. Counts are what the upstream reported; an upstream that reports none counts 0.

    Attributes:
        cached: those of the prompt that came from the upstream's cache.
        reasoning: those of the completion that were thought and not said.
        written: those of the prompt that were written into the upstream's cache.
        model: who answered, as the upstream calls it; "" where it does not say.
        estimated: reckoned from the size of request and answer, because the upstream does not say.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    written: int = 0
    model: str = field(default="", compare=False)
    estimated: bool = field(default=False, compare=False)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
            self.written + other.written,
            self.model or other.model,
        )

    def __sub__(self, other: Usage) -> Usage:
        less = Usage(-other.prompt, -other.completion, -other.cached, -other.reasoning, -other.written)
        return self + less

    def of_one(self, choices: int) -> Usage:
        """The tokens of one of several choices of a call: the whole prompt, and what an average choice took."""
        said, thought = round(self.completion / choices), round(self.reasoning / choices)
        return replace(self, completion=said, reasoning=thought)

    @property
    def total(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion


NO_TOKENS = Usage()
BYTES_A_TOKEN = 4
"""Bytes of text that a token stands for, about: by it tokens are estimated where nobody says how many there were."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer drawn from the upstream.

    Attributes:
        text: the answer's content, as sent.
        finish_reason: the upstream's word for why it stopped ("stop", "length", "tool_calls", ...), if any.
        logprob_mean: mean log-probability per token, nats, <= 0; None where the upstream gives none.
        logprob_sum: log-probability of the answer, nats, <= 0; None where the upstream gives none.
        logprob_truncated: True where the log-probabilities are of a top-k / top-p truncated distribution.
        refusal: the upstream's refusal text, if it refused.
        has_tool_calls: True where the message carries tool calls.
    """

    text: str
    finish_reason: str | None = None
    logprob_mean: float | None = None
    logprob_truncated: bool = False
    refusal: str | None = None
    has_tool_calls: bool = False
    logprob_sum: float | None = None

    @property
    def is_comparable(self) -> bool:
        """Whether it says something, and was not cut off by an error of the upstream's (finish reason "error")."""
        return bool(self.text.strip() or self.refusal) and self.finish_reason != "error"


@dataclass(frozen=True, slots=True)
class Drawing:
    """How the answers to a request were drawn by worth.

    Attributes:
        of: most answers that could be drawn.
        price: the fall of the Brier score that each further answer had to be expected to bring.
        full: whether all were drawn by lot, whatever they were worth.
        propensity: probability of that lot, in [0, 1]; what estimates are weighted by.
        fallback: why less was known than the route asks for; None where nothing was missing.
    """

    of: int
    price: float
    full: bool
    propensity: float
    fallback: str | None = None


@dataclass(frozen=True, slots=True)
class Clustering:
    """A partition of the samples by meaning.

    Attributes:
        clusters: indices into the samples; each index stands in exactly one cluster. Largest cluster first, ties by the
            earliest index; indices ascend within a cluster. Where an answer was sent before the others were there (`stream: append`),
            its cluster comes first and counts as the largest.
        decided_by: how many pairs each step of the equivalence decided, e.g. {"normal": 31, "veto": 12, "judge": 2}.
        draft: the sample that speaks for the largest cluster, one of its indices; None where the equivalence has no opinion.
        is_final: whether the partition is somebody's own, or was asked for by equal texts: then nothing is read into answers of other clusters.
    """

    clusters: tuple[tuple[int, ...], ...]
    decided_by: Mapping[str, int] = field(default_factory=dict)
    draft: int | None = None
    is_final: bool = False

    def __post_init__(self) -> None:
        seen = sorted(i for cluster in self.clusters for i in cluster)
        if seen != list(range(len(seen))) or not all(self.clusters):
            raise ValueError(f"clusters are not a partition of 0..{len(seen) - 1}: {self.clusters!r}")
        if self.draft is not None and self.draft not in self.largest:
            raise ValueError(f"the draft {self.draft} is not in the largest cluster {self.largest!r}")

    @property
    def largest(self) -> tuple[int, ...]:
        """The cluster of the draft: the largest, the earliest among equals."""
        return self.clusters[0]

    @property
    def draft_index(self) -> int:
        """The sample that the answer is worded from: the equivalence's choice, else the first of the largest cluster."""
        return self.largest[0] if self.draft is None else self.draft


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    """What a rewriter may know.

    Attributes:
        question: the user's last message as plain text; "" where there is none.
        draft: the plain answer.
        target: the calibrated Beta that the wording should convey.
        hedges: the retrieved hedges, best first, never empty.
        complaint: why the guard refused the last attempt; None on the first.
        refused: ids of hedges whose wordings the guard refused.
        language: of draft and question; None where it was not detected yet.
        must_hedge: whether the draft may not stand as it is, however sure it is; `hedges` holds none that says nothing then.
        said: how the conversation's last answer ended; no closing sentence that stands there is written again.
    """

    question: str
    draft: str
    target: Beta
    hedges: tuple[Match, ...]
    complaint: str | None = None
    refused: frozenset[str] = frozenset()
    language: str | None = None
    must_hedge: bool = False
    said: str = ""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A reworded answer. `hedge` is the id of the lexicon entry used; None where an editor chose its own words."""

    text: str
    hedge: str | None
    usage: Usage = NO_TOKENS


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the guard says of a rewrite.

    Attributes:
        accepted: True where nothing but the confidence changed.
        reason: a reason code where it was refused ("numbers_changed", "too_long", ...), else None.
        detail: one sentence for the operator and for the editor's second attempt, without a word of the texts.
        words: the words at fault, for the editor's second attempt. They are a user's and a model's: never log them.
    """

    accepted: bool
    reason: str | None = None
    detail: str | None = None
    words: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimSupport:
    """How far the other answers bear out one claim.

    Attributes:
        mean: raw probability that the claim is right, as far as they tell; 0..1.
        borne_out: for each other answer, whether it says so (True), contradicts it (False), or does neither (None).
        by: what said so: "words", "local" (the shipped judge), "llm"; "words:<reason>" where a judge was to say so and could not.
    """

    mean: float
    borne_out: tuple[bool | None, ...]
    by: str = "words"


@dataclass(frozen=True, slots=True)
class ClaimConfidence:
    """One claim of a long answer, or one field of a JSON answer, and how sure it is.

    Attributes:
        text: as it stands in the draft.
        start, end: offsets of `text` in the draft.
        sentence: index of the sentence or list item that says it; None for a table cell.
        raw, calibrated: before and after the map for claims.
        borne_out: for each other answer with text, in the order drawn, whether it says so (True), contradicts it (False), or does neither (None).
        path: of a field, its place as JSONPath writes it, which is its `text` too; it has no offsets.
        by: what said so, as in `ClaimSupport`.
        context: words that say of whom or what, where those stand elsewhere.
    """

    text: str
    start: int
    end: int
    sentence: int | None
    raw: Beta
    calibrated: Beta
    borne_out: tuple[bool | None, ...]
    path: str | None = None
    by: str = "words"
    context: str = ""

    @property
    def statement(self) -> str:
        """The claim so that it can be read alone: "Passy: died there in 1934"."""
        return f"{self.context}: {self.text}" if self.context else self.text


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a certificate speaks of an answer: one does, or a code of `Uncovered` says why none; `withdrawn` would, were it not broken."""

    certificate: Certificate | None
    reason: str | None = None
    withdrawn: Certificate | None = None


@dataclass(frozen=True, slots=True)
class Promised:
    """What is promised of an answer that was served.

    Attributes:
        certificate: the id of the one that decided what was served; None where none did.
        covered: the promises that speak of this answer, each in its canonical form and as a sentence.
        reason: why there are none, or not all that could be.
        language: of the answer; None where it is not known.
    """

    certificate: str | None
    covered: tuple[tuple[str, str], ...] = ()
    reason: str | None = None
    language: str | None = None


Position = Literal["start", "verb", "end"]
"""Where in a sentence a hedge goes: before it, beside its verb, behind it."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Which hedge goes where in a sentence. `hedge` is the id of a lexicon entry."""

    hedge: str
    position: Position


SentenceStatus = Literal["hedged", "plain", "unhedged", "kept"]


@dataclass(frozen=True, slots=True)
class WordedSentence:
    """One sentence of an answer that was worded sentence by sentence.

    Attributes:
        start, end: offsets into the final text.
        target: its calibrated confidence; None where it asserts nothing.
        status: "hedged" (with a hedge or a mark of its own), "plain" (none is due: it does not stand clearly below the others, or it claims
            nothing), "unhedged" (no wording passed the guard), "kept" (part of a list or a quotation).
        hedge: the id of its lexicon entry, if it has one of its own.
    """

    start: int
    end: int
    target: Beta | None
    status: SentenceStatus
    hedge: str | None = None


@dataclass(frozen=True, slots=True)
class Rewording:
    """The end of the rewriting step.

    Attributes:
        text: what the client gets.
        status: "hedged" (reworded), "plain" (the nearest hedge is `no hedge`, so the draft stands) or "unhedged" (no
            attempt passed the guard, so the draft stands).
        reason: why, where status is not "hedged".
        hedge: the id of the lexicon entry in the text, if one is.
        rewriter: the name of the rewriter whose text was taken, None where the draft stands.
        attempts: reason codes of refused attempts, in order, as "rewriter:reason".
        perceived: the confidence that the final text conveys, where a reader was asked.
        sentences: what became of each sentence, where each was worded at a confidence of its own; else empty.
    """

    text: str
    status: Literal["hedged", "plain", "unhedged"]
    reason: str | None
    hedge: str | None
    rewriter: str | None
    attempts: tuple[str, ...] = ()
    perceived: Beta | None = None
    usage: Usage = NO_TOKENS
    sentences: tuple[WordedSentence, ...] = ()
