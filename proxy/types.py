"""The values that the steps of the pipeline exchange.

Frozen, small, and free of I/O: every step takes some of them and returns others. Only `pipeline/run.py` handles them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from ..calibration import Beta
from ..lexicon import Match

if TYPE_CHECKING:
    from ..calibration.promises.certificate import Certificate

Json = dict[str, Any]
"""A decoded JSON object as a client or an upstream sent it: unknown fields are kept and forwarded."""


OUR_COOKIES = "hedgerow_"
"""Prefix of the names of all our cookies. A browser sends them with every request to this host; no upstream sees or sets one."""


Role = Literal["viewer", "reviewer", "operator"]
"""A person's role, from least to most: view pages and audit; also give verdicts; also change routes and keys."""


@dataclass(frozen=True, slots=True)
class Key:
    """A named key, as stored beside the hash of its secret.

    Attributes:
        team: its owner.
        role: of a person, who signs in with it and cannot call models; None for a client.
        routes: names of the routes that it may use; None for all.
        hint: the last characters of its secret, to recognise it.
        requests_per_minute, tokens_per_minute, concurrency: its limits; None for no limit.
        created_by: who made it.
        previous_until: when the secret before the last rotation expires.
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
        """Whether the key may use a route."""
        return self.routes is None or route in self.routes


class Completion(Json):
    """A completion object as received, with the headers of its HTTP response.

    Attributes:
        headers: those that would reach a client; empty if the object came from elsewhere.
        upstream: the group member that answered; "" if no group was asked.
        model: the model that it was asked for; "" if it is the request's.
    """

    headers: Sequence[tuple[bytes, bytes]] = ()
    upstream: str = ""
    model: str = ""


CLAIM_SIGNAL = "consistency"
"""The signal of claims of long answers, whatever the route's signal for short answers; it has its own maps."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens spent. Counts are what the upstream reported; an upstream that reports none counts 0.

    Attributes:
        cached: those of the prompt that came from the upstream's cache.
        reasoning: those of the completion that are hidden reasoning.
        written: those of the prompt that were written into the upstream's cache.
        model: the model that answered, as the upstream names it; "" if it does not.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    written: int = 0
    model: str = field(default="", compare=False)

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
        """The tokens of one of several choices of a call: the whole prompt, and the average completion."""
        completion, reasoning = round(self.completion / choices), round(self.reasoning / choices)
        return replace(self, completion=completion, reasoning=reasoning)

    @property
    def total(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion


NO_TOKENS = Usage()
BYTES_A_TOKEN = 4
"""Bytes of text for one token, for estimates where no count is reported."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer drawn from the upstream.

    Attributes:
        text: the answer's content, without what the model thought aloud before it and without the tokens of its turn.
        finish_reason: the upstream's word for why it stopped ("stop", "length", "tool_calls", ...), if any.
        logprob_mean: mean log-probability per token, nats, <= 0; None if the upstream gives none.
        logprob_sum: log-probability of the answer, nats, <= 0; None if the upstream gives none.
        logprob_truncated: True where the log-probabilities are of a top-k / top-p truncated distribution.
        refusal: the upstream's refusal text, if it refused.
        has_tool_calls: True where the message carries tool calls.
        before, after: what was sent around the text.
    """

    text: str
    finish_reason: str | None = None
    logprob_mean: float | None = None
    logprob_truncated: bool = False
    refusal: str | None = None
    has_tool_calls: bool = False
    logprob_sum: float | None = None
    before: str = ""
    after: str = ""

    def around(self, text: str) -> str:
        """What was sent, with another text."""
        return self.before + text + self.after

    @property
    def is_comparable(self) -> bool:
        """Whether it has text or a refusal, and was not cut off by an upstream error (finish reason "error")."""
        return bool(self.text.strip() or self.refusal) and self.finish_reason != "error"


@dataclass(frozen=True, slots=True)
class Clustering:
    """A partition of the samples by meaning.

    Attributes:
        clusters: indices into the samples; each index is in exactly one cluster. Largest cluster first, ties by the
            earliest index; indices ascend within a cluster. If an answer was sent before the others were drawn (`stream: append`),
            its cluster comes first and counts as the largest.
        decided_by: how many pairs each step of the equivalence decided, e.g. {"normal": 31, "veto": 12, "judge": 2}.
        draft: the index of the sample that represents the largest cluster; None if the equivalence chose none.
        is_final: whether the partition was given by the user or made by equal texts: then answers of other clusters are never counted as agreeing.
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
        """The sample that is the draft: the equivalence's choice, else the first of the largest cluster."""
        return self.largest[0] if self.draft is None else self.draft


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    """The input of a rewriter.

    Attributes:
        question: the user's last message as plain text; "" without one.
        draft: the plain answer.
        target: the calibrated Beta that the wording should convey.
        hedges: the retrieved hedges, best first, never empty.
        complaint: the reason why the guard refused the last attempt; None on the first.
        refused: ids of hedges whose wordings the guard refused.
        language: of draft and question; None if not yet detected.
        must_hedge: whether the draft needs a hedge at any confidence; `hedges` then holds no empty one.
        said: the end of the conversation's last answer; a closing sentence in it is not repeated.
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
    """A reworded answer. `hedge` is the id of the lexicon entry used; None if an editor chose its own words."""

    text: str
    hedge: str | None
    usage: Usage = NO_TOKENS


@dataclass(frozen=True, slots=True)
class Verdict:
    """The guard's decision on a rewrite.

    Attributes:
        accepted: True if nothing but the confidence changed.
        reason: a reason code if it was refused ("numbers_changed", "too_long", ...), else None.
        detail: one sentence for the operator and for the editor's second attempt, without any words of the texts.
        words: the offending words, for the editor's second attempt. They come from user and model: never log them.
    """

    accepted: bool
    reason: str | None = None
    detail: str | None = None
    words: str | None = None


READERS = ("local", "llm")
"""Values of `ClaimSupport.by` where a judge read the other answers; else which of them state a claim is known from their words."""


@dataclass(frozen=True, slots=True)
class ClaimSupport:
    """How far the other answers support one claim.

    Attributes:
        mean: raw probability that the claim is right, in [0, 1].
        borne_out: for each other answer, whether it supports the claim (True), contradicts it (False), or does neither (None).
        by: what decided: "words", "llm", "stated" (the model itself); "words:<reason>" if a judge should have decided and failed.
    """

    mean: float
    borne_out: tuple[bool | None, ...]
    by: str = "words"


@dataclass(frozen=True, slots=True)
class ClaimConfidence:
    """One claim of a long answer, or one field of a JSON answer, with its confidence.

    Attributes:
        text: the claim's words in the draft.
        start, end: offsets of `text` in the draft.
        sentence: index of the sentence or list item that contains it; None for a table cell.
        raw, calibrated: before and after the map for claims.
        borne_out: for each other answer with text, in the order drawn: supports it (True), contradicts it (False), or neither (None).
        path: of a field, its JSONPath, which is also its `text`; a field has no offsets.
        by: what decided, as in `ClaimSupport`.
        context: the subject of the claim, if it is named elsewhere in the draft.
        asked: whether the question asks for it; None if nobody has said.
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
    asked: bool | None = None

    @property
    def statement(self) -> str:
        """The claim with its context, so that it can be understood alone: "Passy: died there in 1934"."""
        return f"{self.context}: {self.text}" if self.context else self.text


@dataclass(frozen=True, slots=True)
class Standing:
    """The certificate that covers an answer, or a code of `Uncovered` for why there is none. `withdrawn` is the one that would cover it but is
    broken.
    """

    certificate: Certificate | None
    reason: str | None = None
    withdrawn: Certificate | None = None


@dataclass(frozen=True, slots=True)
class Promised:
    """The promises that cover a served answer.

    Attributes:
        certificate: the id of the certificate that decided what was served; None without one.
        covered: the promises that cover this answer, each in its canonical form and as a sentence.
        reason: the reason if none, or not all, cover it.
        language: of the answer; None if unknown.
    """

    certificate: str | None
    covered: tuple[tuple[str, str], ...] = ()
    reason: str | None = None
    language: str | None = None


EDITOR = "editor"
"""The editor as a `rewriter`, and in `attempts`."""
SentenceStatus = Literal["hedged", "plain", "unhedged", "kept"]


@dataclass(frozen=True, slots=True)
class WordedSentence:
    """One sentence of an answer that was worded sentence by sentence.

    Attributes:
        start, end: offsets into the final text.
        target: its calibrated confidence; None if it asserts nothing.
        status: "hedged" (with its own hedge or mark), "plain" (needs none: it is not clearly less sure than the others, or claims
            nothing), "unhedged" (no wording passed the guard), "kept" (part of a list or a quotation).
        hedge: the id of its lexicon entry, if it has its own hedge.
    """

    start: int
    end: int
    target: Beta | None
    status: SentenceStatus
    hedge: str | None = None


@dataclass(frozen=True, slots=True)
class Rewording:
    """The result of the rewriting step.

    Attributes:
        text: what the client gets.
        status: "hedged" (reworded), "plain" (the nearest hedge is `no hedge`, so the draft stands) or "unhedged" (no
            attempt passed the guard, so the draft stands).
        reason: the reason if status is not "hedged".
        hedge: the id of the lexicon entry in the text, if one is.
        rewriter: the name of the rewriter whose text was used; None if the draft is kept.
        attempts: reason codes of refused attempts, in order, as "rewriter:reason".
        perceived: perceived confidence of the final text, if it was measured.
        sentences: one entry a sentence, if each was worded at its own confidence; else empty.
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
