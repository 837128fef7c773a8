"""Which requests and answers are never hedged, and the reason.

Two poems disagree and neither is wrong. Most such requests are recognised by the prompt (`asks_for_claim`, a trained classifier), the rest by the
answers (`comparable`). Nothing here stores a text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...lexicon.reading.features import ends
from ...lexicon.reading.local import seeks_claim
from ..config.kinds import SIGNALS
from ..outcomes import Reason
from ..strict_json import loads
from ..types import Json, Sample
from ..upstreams.dialects.table import DIALECTS
from .job import Job, asks_for_logprobs
from .machine_read import is_auxiliary, looks_formal, shows_steps

WORDS_OF_A_TEXT = 60
"""Answers of at least this many words that all differ were not answers to a question with one right answer."""

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n```", re.DOTALL | re.IGNORECASE)


def skip_reason(job: Job) -> Reason | None:
    """The reason why an answer to this request is never hedged; None if it may be."""
    reason = DIALECTS[job.path].reason(job.body) or request_reason(job.path, job.chat)
    if reason is Reason.STRUCTURED_OUTPUT and job.route.structured_output == "measure":
        reason = None
    if reason is Reason.TOOL_CALLS and measures_calls(job):
        reason = None
    if reason in (Reason.SEVERAL_CHOICES, Reason.RAW_PROMPT) and measures_choices(job):
        reason = None
    if reason is not None:
        return reason
    return None if measures_calls(job) else unasked_reason(job)


def unasked_reason(job: Job) -> Reason | None:
    """The reason if the request asks for nothing that could be right or wrong and the route hedges claims only."""
    if not job.route.claims_only:
        return None
    if is_auxiliary(job.chat):
        return Reason.MACHINE_READ
    return Reason.NOT_A_CLAIM if says_nothing(job.chat) or not asks_for_claim(job.question) else None


def says_nothing(chat: Json) -> bool:
    """Whether the user's last message is empty. Without a user message the other messages may hold the question; a picture counts as content."""
    content = next((m.get("content") for m in reversed(chat.get("messages") or ()) if m["role"] == "user"), "?")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return len(texts) == len(parts) and not any(isinstance(text, str) and text.strip() for text in texts)


def measures_calls(job: Job) -> bool:
    """Whether the route compares tool calls and the request offers tools."""
    return job.route.tool_calls == "measure" and offers_tools(job.chat)


def replaces_calls(job: Job) -> bool:
    """Whether the policy may replace a tool call: then the client must not have read it yet."""
    return measures_calls(job) and job.route.policy is not None and job.route.policy.calls != "pass"


def measures_choices(job: Job) -> bool:
    """Whether the choices of a request serve as its samples: the client asked for enough of them without changing how they are sampled, and
    the route's signal needs nothing else.
    """
    body, sampling = job.body, job.route.sampling
    n, prompt = body.get("n"), body.get("prompt", "")
    signal = job.route.signal == "semantic" or (SIGNALS[job.route.signal].needs_logprobs and asks_for_logprobs(body))
    words = isinstance(prompt, str) or (
        bool(prompt) and isinstance(prompt, list) and all(isinstance(p, str) for p in prompt)
    )
    ours = DIALECTS[job.path].several
    as_said = not (body.get("echo") or body.get("suffix") or body.get("best_of") or asks_for_structure(job.chat))
    return ours and signal and words and as_said and isinstance(n, int | float) and max(2, sampling.min_n) <= n


def is_shown_as_it_comes(job: Job) -> bool:
    """Whether a streamed answer is forwarded as it arrives, whatever the route's stream setting: it holds several choices, or
    log-probabilities of exactly these words.
    """
    return measures_choices(job) or asks_for_logprobs(job.chat)


def request_reason(path: str, body: Json) -> Reason | None:
    """The reason why the form of a request forbids rewriting its answer; None if it does not."""
    if _over_one(body.get("n")) or _over_one(body.get("best_of")):
        return Reason.SEVERAL_CHOICES
    if body.get("modalities") not in (None, [], ["text"]) or body.get("audio"):
        return Reason.MEDIA
    choice = body.get("tool_choice")
    if choice == "required" or isinstance(choice, dict):
        return Reason.TOOL_CALLS
    if path == "/completions" and (not isinstance(body["prompt"], str) or body.get("echo") or body.get("suffix")):
        return Reason.RAW_PROMPT
    return Reason.STRUCTURED_OUTPUT if asks_for_structure(body) else None


def asks_for_structure(body: Json) -> bool:
    """Whether a request asks for JSON."""
    kind = body.get("response_format")
    return isinstance(kind, dict) and kind.get("type") not in (None, "text")


def _over_one(count: object) -> bool:
    """Whether a count is over one or is not a number; the upstream judges an invalid count."""
    return count is not None and (not isinstance(count, int | float) or count > 1)


def answer_reason(samples: Sequence[Sample], choices: Sequence[Json]) -> Reason | None:
    """The reason why these answers are not compared: they call a tool, or hold pictures or sound; else None."""
    if any(sample.has_tool_calls for sample in samples):
        return Reason.TOOL_CALLS
    return Reason.MEDIA if any(_has_media(choice.get("message")) for choice in choices) else None


def draft_reason(sample: Sample) -> Reason | None:
    """The reason why this draft is not rewritten; None if it may be."""
    if sample.refusal is not None:
        return Reason.REFUSAL
    if sample.finish_reason == "content_filter":
        return Reason.CONTENT_FILTER
    if "```" in sample.text or "~~~" in sample.text:
        return Reason.CODE
    return None if json_in(sample.text) is None else Reason.STRUCTURED_OUTPUT


def turn_reason(job: Job, sample: Sample) -> Reason | None:
    """The reason why an answer that came alone is neither reworded nor measured, so that no others are drawn; else None."""
    reason = draft_reason(sample)
    if reason is Reason.STRUCTURED_OUTPUT and job.route.structured_output == "measure":
        return None
    return reason or (Reason.MACHINE_READ if looks_formal(sample.text) else None)


def _has_media(message: object) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else []
    others = [part for part in parts if not isinstance(part, dict) or part.get("type") not in ("text", "thinking")]
    return isinstance(message, dict) and bool(message.get("audio") or others)


def json_in(text: str) -> Any:
    """The JSON object or array that makes up a text, with or without a code fence; None for every other text."""
    text = text.strip()
    if fenced := _FENCED.fullmatch(text):
        text = fenced[1].strip()
    if not (text.startswith(("{", "[")) and text.endswith(("}", "]"))):
        return None
    try:
        return loads(text)
    except ValueError:
        return None


def offers_tools(body: Json) -> bool:
    """Whether the answer may be a tool call; then one answer is drawn first to find out."""
    return bool(body.get("tools") or body.get("functions")) and body.get("tool_choice") != "none"


def comes_alone(body: Json) -> bool:
    """Whether one answer is drawn before the others: it may be a step of an agent, which needs no others."""
    return offers_tools(body) or shows_steps(body)


ASKS = 0.2
"""`seeks_claim` from which an answer is measured: a needless measurement costs less than a missing hedge, so this is below one half."""


def asks_for_claim(prompt: str) -> bool:
    """Whether an answer to this prompt could be right or wrong.

    >>> asks_for_claim("Who wrote the poem The Raven?"), asks_for_claim("Write a poem about a raven.")
    (True, False)
    """
    if not any(map(str.isalnum, ends(prompt))):
        return (
            not prompt.strip()
        )  # punctuation alone is small talk; a prompt without text (a picture, say) cannot be judged here
    return seeks_claim(prompt) >= ASKS


def comparable(answers: Sequence[str], largest: int | None) -> bool:
    """Whether answers can be compared: most are statements, most do not ask back, and they are not long texts that all differ.

    Args:
        answers: the texts that were compared.
        largest: size of their largest cluster; None where long answers are compared sentence by sentence.
    """
    asking = sum(answer.rstrip(" \n*\"')").endswith(("?", "\uff1f")) for answer in answers)
    silent = sum(not any(map(str.isalnum, answer)) for answer in answers)
    if 2 * asking > len(answers) or 2 * silent > len(answers):
        return False
    long = all(len(answer.split()) >= WORDS_OF_A_TEXT for answer in answers)
    return not (long and largest == 1 and len(answers) > 1)
