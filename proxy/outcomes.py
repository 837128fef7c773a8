"""The outcomes of requests: every status and reason code, each with a sentence.

Codes are used in header, log line, counter and audit row, and never change their meaning. docs/api.md lists them.
"""

from __future__ import annotations

from enum import StrEnum


class _Code(StrEnum):
    """A stable code with the sentence that explains it."""

    sentence: str

    def __new__(cls, code: str, sentence: str = "") -> _Code:
        """A member: its value is the code."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.sentence = sentence
        return member


class Status(_Code):
    """What the client received."""

    HEDGED = "hedged", "the reworded answer"
    PLAIN = "plain", "the draft: the confidence calls for no hedge, or there is nothing to hedge"
    UNHEDGED = "unhedged", "the draft: no wording passed the guard"
    ABSTAINED = "abstained", "the route's refusal (`policy`)"
    ESCALATED = "escalated", "a stronger model's answer (`policy`)"
    PASSED = "passed", "the upstream's answer untouched; the reason says why"
    DEGRADED = "degraded", "the draft: a step failed (`on_failure: pass`)"
    FAILED = "failed", "an error object"
    CANCELLED = "cancelled", "nothing: the client had left"


class Reason(_Code):
    """The reason for a status."""

    # passed: read from the request
    MODE_OFF = "mode_off", "The route is off."
    NOT_GENERATING = (
        "not_generating",
        "The path generates no text, or its answers come over a WebSocket, which is passed on as it is.",
    )
    SEVERAL_CHOICES = "several_choices", "The request asks for several choices (`n` or `best_of` over 1)."
    LOGPROBS = (
        "logprobs",
        "The request asks for log-probabilities, which a reworded text would not have: measured, and left as it is.",
    )
    STRUCTURED_OUTPUT = "structured_output", "The answer is JSON, or the request asks for it: a program reads it."
    MEDIA = "media", "The request or the answer holds pictures or sound."
    TOOL_CALLS = "tool_calls", "The answer is a tool call, or must be one."
    RAW_PROMPT = "raw_prompt", "The plain completion is not for a single prompt, or echoes or continues it."
    CONVERSATION = "conversation", "The upstream writes every answer into a conversation that it keeps."
    BACKGROUND = "background", "The upstream works in the background, and the client fetches its answer later."
    ACTING_TOOLS = (
        "acting_tools",
        "A tool is offered that the upstream runs itself and that may act or cost by itself: every sample would run it.",
    )
    OVER_BUDGET = "over_budget", "A hard budget of the route or the key is spent for today (`budgets`)."
    BUDGET_UNKNOWN = (
        "budget_unknown",
        "What was spent today could not be looked up, so the hard budget counts as spent.",
    )
    NESTED_TOO_DEEP = "nested_too_deep", "The request's JSON is nested deeper than can be sent again."
    UNREADABLE_REQUEST = "unreadable_request", "The request has a form that is not read here; the upstream judges it."
    NOT_A_CLAIM = (
        "not_a_claim",
        "Nothing is asked that could be right or wrong (an empty message, a greeting, an opinion, a poem).",
    )
    # passed: read from the answers
    TOO_LONG = (
        "too_long",
        "An answer is longer than `rewriting.max_chars`, or a rewrite is longer than its draft allows.",
    )
    NO_TEXT = "no_text", "The answer holds no text."
    NOT_A_STREAM = "not_a_stream", "The upstream did not answer with a stream."
    REFUSAL = "refusal", "The model refused to answer."
    CONTENT_FILTER = "content_filter", "The upstream's content filter cut the answer off."
    CODE = "code", "The answer holds a block of code."
    # plain, abstained, escalated
    SURE_ENOUGH = "sure_enough", "The policy answers plainly at this confidence."
    NOT_SURE_ENOUGH = "not_sure_enough", "The policy does not give the model's own answer at this confidence."
    CALLS_DISAGREE = (
        "calls_disagree",
        "The answers that were drawn disagree on a call of a tool, and the policy does not let it go on.",
    )
    NO_HEDGE_NEEDED = "no_hedge_needed", "The plain wording is the nearest to the confidence."
    MACHINE_READ = "machine_read", "A program reads the answer: it is measured and left as it is."
    CITATIONS = "citations", "The answer's citations point into its text: it is measured and left as it is."
    NOT_MEASURED = (
        "not_measured",
        "A long answer, and no map for the claims of long answers is active: its sentences stay plain.",
    )
    ALREADY_HEDGED = "already_hedged", "The draft hedges itself in words that are part of what it says."
    NO_ASSERTION = "no_assertion", "The draft asserts nothing that could be hedged."
    # unhedged: why the last wording was refused
    NO_FRAME = "no_frame", "No phrase of the retrieved hedges fits the draft's grammar."
    UNKNOWN_LANGUAGE = "unknown_language", "The answer's language is unknown, or has no hedges."
    EMPTY = "empty", "The rewrite was empty."
    CODE_CHANGED = "code_changed", "The rewrite changed code."
    MATHS_CHANGED = "maths_changed", "The rewrite changed a formula."
    URL_CHANGED = "url_changed", "The rewrite changed a link."
    EMAIL_CHANGED = "email_changed", "The rewrite changed an e-mail address."
    CITATION_CHANGED = "citation_changed", "The rewrite changed a citation."
    DATE_CHANGED = "date_changed", "The rewrite changed a date."
    QUOTATION_CHANGED = "quotation_changed", "The rewrite changed a quotation."
    NUMBER_CHANGED = "number_changed", "The rewrite changed a number."
    STRUCTURE_CHANGED = "structure_changed", "The rewrite changed the form of the lines."
    CONTENT_ADDED = "content_added", "The rewrite added words that are not words of confidence."
    CONTENT_DROPPED = "content_dropped", "The rewrite dropped or moved words of the answer."
    CONTENT_NEGATION = "content_negation", "The rewrite added or dropped a negation."
    SYMBOL_CHANGED = "symbol_changed", "The rewrite changed a sign (`<`, `+`, `#`, emphasis)."
    MODAL_CHANGED = (
        "modal_changed",
        "The rewrite changed what the answer says may, can, should, must or is likely to be.",
    )
    QUANTITY_CHANGED = "quantity_changed", "The rewrite changed how many, how much or how often."
    TENSE_CHANGED = "tense_changed", "The rewrite changed a tense or a voice."
    DOUBT_DROPPED = (
        "doubt_dropped",
        "The rewrite dropped a hedge of the answer's own without putting another in its place.",
    )
    ATTRIBUTION_CHANGED = "attribution_changed", "The rewrite put a hedge into what the answer reports others to say."
    HEDGED_NO_CLAIM = (
        "hedged_no_claim",
        "The rewrite hedged a sentence that claims nothing (an instruction, a courtesy).",
    )
    CONFIDENCE_OFF = "confidence_off", "The rewrite's perceived confidence is too far from the calibrated confidence."
    NOT_ENTAILED = "not_entailed", "The rewrite and the draft do not entail each other."
    NO_ENTAILMENT = "no_entailment", "The model that checks entailment could not be used."
    EDITOR_FAILED = "editor_failed", "The upstream of the editor could not be asked."
    EDITOR_LATE = "editor_late", "The editor did not reply in time."
    EDITOR_TOO_LONG = "editor_too_long", "The editor's reply needs more than `rewriting.max_tokens`."
    EDITOR_NONSENSE = "editor_nonsense", "The editor's reply could not be read, or does not fit the answer."
    NO_HEDGE_CHOSEN = "no_hedge_chosen", "The editor sees claims in the draft and marks none."
    # degraded: a step could not be done
    DEADLINE = "deadline", "The route's `deadline_s` passed."
    TOO_FEW_SAMPLES = "too_few_samples", "Fewer answers than `sampling.min_n` have text."
    MODEL_UNREACHABLE = (
        "model_unreachable",
        "A model that a step asks (a judge, a reader, a grader, the model itself about its draft) could not be asked.",
    )
    JUDGE_LATE = "judge_late", "The judge did not reply in time."
    JUDGE_OVERLOADED = "judge_overloaded", "The answer makes more claims than a judge is asked about at once."
    JUDGE_NONSENSE = "judge_nonsense", "The judge's reply could not be read."
    NO_MODEL = "no_model", "A model that a step loads (the judge, the sentence encoder) could not be loaded."
    NO_LOGPROBS = "no_logprobs", "The upstream gave no log-probabilities, or none that can be."
    NO_VERDICT = "no_verdict", "Neither True nor False was among the likely words."
    UNREADABLE = "unreadable", "The confidence of the draft's wording could not be read."
    NO_WEIGHTS = "no_weights", "The weights of the combined signal are missing, or cannot be read."
    ESCALATION_FAILED = "escalation_failed", "The stronger model could not be asked."
    STEP_FAULT = "step_fault", "A fault of ours in a step; the detail names the step, the log has the cause."
    # cancelled
    CLIENT_GONE = "client_gone", "The client closed the connection before its answer was complete."
    # failed: codes of error objects
    INVALID_JSON = "invalid_json", "The body is not a valid JSON object."
    INVALID_TYPE = "invalid_type", "A field has the wrong type."
    MISSING_FIELD = "missing_field", "A required field is missing."
    EMPTY_MESSAGES = "empty_messages", "`messages` is empty."
    TOO_MANY_MESSAGES = "too_many_messages", "There are more messages than `server.max_messages`."
    INVALID_MODE = "invalid_mode", "The header `x-hedgerow-mode` does not name a mode."
    NOT_IN_CHAT = (
        "not_in_chat",
        "The upstream is asked through chat completions, which do not have what the request asks for.",
    )
    TEXT_ONLY = "text_only", "The upstream's model reads and writes text alone: it calls no tools and sees no pictures."
    BAD_REQUEST = "bad_request", "The request cannot be served."
    CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded", "The prompt is longer than the model's context."
    PAYLOAD_TOO_LARGE = "payload_too_large", "The body is larger than `server.max_body_bytes`."
    CROSS_SITE = "cross_site", "A page of another origin sent the request, which its browser did not ask leave for."
    INVALID_API_KEY = (
        "invalid_api_key",
        "No API key was sent, it is not known here, or it has expired, was replaced or was revoked.",
    )
    ROUTE_NOT_ALLOWED = "route_not_allowed", "The key may not use the routes that take the request."
    RATE_LIMIT_EXCEEDED = "rate_limit_exceeded", "A limit of the key is used up for now; the message says which."
    NOT_CONFIGURED = "not_configured", "The proxy is not configured for this."
    ROLE_TOO_LOW = "role_too_low", "The person's role does not allow this."
    NO_ROUTE = "no_route", "No route takes the request."
    NOT_FOUND = "not_found", "What the request names does not exist."
    UNKNOWN_PATH = "unknown_path", "The upstream does not serve this path."
    OVERLOADED = "overloaded", "A queue is full; try again after `Retry-After`."
    STORE_UNAVAILABLE = "store_unavailable", "The audit store is down, and the route answers nothing without a row."
    UPSTREAM_ERROR = "upstream_error", "The upstream answered with something that is not an answer."
    UPSTREAM_UNREACHABLE = (
        "upstream_unreachable",
        "The upstream cannot be reached, or closed a kept connection before it answered.",
    )
    UPSTREAM_TIMEOUT = "upstream_timeout", "The upstream did not answer in time."
    UPSTREAM_BROKEN = "upstream_broken", "The upstream broke off its answer."
    UPSTREAM_REJECTED = "upstream_rejected", "The upstream answered with an error of its own."
    UPSTREAM_NOT_JSON = "upstream_not_json", "The upstream's answer is not JSON."
    UPSTREAM_NOT_COMPLETION = "upstream_not_completion", "The upstream's answer is not a completion object."
    UPSTREAM_NO_CHOICES = "upstream_no_choices", "The upstream's answer has no choices."
    INTERNAL_ERROR = "internal_error", "A fault of ours; the log has its cause."


class Uncovered(_Code):
    """Why no promise, or not every promise, of a route covers an answer."""

    NO_CERTIFICATE = "no_certificate", "No certificate is stored for this route and the map in use."
    CERTIFICATE_ALTERED = (
        "certificate_altered",
        "The certificate is not as it was sealed, or was sealed with another `audit.hash_key`.",
    )
    OTHER_ROUTE = "other_route", "The certificate is for another route."
    OTHER_MAP = "other_map", "The certificate is for the confidences of another map, or of another signal."
    WITHDRAWN = "withdrawn", "A promise of the certificate proved broken (`promises.on_broken: withdraw`)."
    UNREADABLE_STORE = "unreadable_store", "The certificates could not be read."
    OTHER_ANSWERS = (
        "other_answers",
        "The promises speak of other answers: of plain ones, of surer ones, or of those that are given.",
    )
    NOT_MEASURED = "not_measured", "The answer has no confidence, or is one of several choices."
    NOT_DECIDED = (
        "not_decided",
        "The answer is left as it is, whatever its confidence: a program reads it, or its words are cited.",
    )
    NOT_WORDED = "not_worded", "A hedge was due, and no wording passed the guard."
    NOT_REPLACED = (
        "not_replaced",
        "The answer was not to be given, but the client had read it already (`stream: append`).",
    )
    ESCALATED = "escalated", "A stronger model answered, of which nothing is promised."
    FAILED = "failed", "A step failed, and the draft stands."


def explain(code: str) -> str:
    """The sentence of a status or a reason; an unknown code (an upstream's own) unchanged.

    >>> explain("code"), explain("insufficient_quota")
    ('The answer holds a block of code.', 'insufficient_quota')
    """
    known = {**Status.__members__, **Reason.__members__}.get(code.upper())
    return known.sentence if known is not None else code
