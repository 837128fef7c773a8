"""Answers that a program reads: a hedge would break its parser. They are measured like others but not reworded.

The request shows it (a grammar, an assistant message to continue, a limit of a few tokens, "reply with only ..."), or the answer does
(markup, a query, a command, a link, key and value, a moderation verdict). Ordinary text is never classified by its words alone.
"""

from __future__ import annotations

import re

from ..types import Json
from .job import words_of

GRAMMARS = ("grammar", "guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs", "json_schema", "regex", "ebnf", "format")  # fmt: skip
"""Request fields that constrain the form of an answer (vLLM, llama.cpp, SGLang)."""
FEW_TOKENS = 5
"""An answer limited to this many tokens has no room for a hedge."""
LOOKED_AT = 4_000
"""Characters that are read of an answer and of a prompt; of a prompt, half from its beginning and half from its end."""

_ONLY = (
    r"\b(?:reply|respond|answer|output|return|print|write|say|give|produce|generate)\b[^.\n]{0,40}\b(?:only|exclusively|nothing (?:else|but)|exactly one|just)\b"
    r"[^.\n]{0,60}\b(?:json|xml|yaml|csv|sql|code|label|letter|number|integer|digit|word|name|query|url|link|yes|no|true|false|category|class|option|"
    r"choice|score|rating|index|id|list|tag|command|sentiment|one of|answer|output|result|translation|text|value|context|[a-e](?:,| or))\b"
    r"|\b(?:only|just) (?:reply|respond|answer|output|return|print)\b"
)
_Forms = tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]


def _compiled(*forms: tuple[tuple[str, ...], str]) -> _Forms:
    return tuple((words, re.compile(pattern, re.MULTILINE)) for words, pattern in forms)


_FORMS = _compiled(
        # requests for a format in words
        (("only", "exclusively", "nothing", "exactly one", "just"), _ONLY),
        (("one of the following",), r"\bone of the following (?:labels|categories|classes|options|words|values)\b"),
        (("no ",), r"\bno (?:other|additional|extra) (?:text|words|output|explanation)\b"),
        (("do not", "don't"), r"\b(?:do not|don't) (?:add|include|write|output) (?:any|anything)\b"),
        (("format",), r"\b(?:in|use|follow|using|following) (?:exactly |strictly )?(?:the|this) (?:following |exact )?(?:output )?format\b|\boutput format\b"),
        ((" or ", "word"), r"\b(?:answer|reply|respond)(?: with)?(?: only)? (?:yes or no|true or false|in (?:one|a single) word)\b"),
        (("single", "letter", "word"), r"\b(?:answer|reply|respond) with (?:a single word|one word|(?:the|a single|only the) letter)\b"),
        (("parsed by",), r"\bparsed by\b"),
        (("json",), r"\b(?:respond|reply|answer|output|return)\w* (?:\w+ )?(?:in|as|with) (?:valid )?json\b|\bjson (?:response|format|object)\b"),
        # requests of evaluators: verdicts, labels, translations
        (("extract", "generate"), r"\b(?:extract|generate)\b[^.\n]{0,40}\b(?:keywords|tags|triples|entities)\b"),
        (("classify",), r"\bclassify\b[^.\n]{0,60}\b(?:as|into|sentiment|intent)\b"),
        (("you are a",), r"\byou are (?:a|an) (?:\w+ )?(?:classifier|evaluator|judge|grader|translator|translation)\b"),
        (("judge", "score", "evaluation"), r"\bimpartial judge\b|\bbinary score\b|\bevaluation form\b"),
        (("rate the",), r"\brate the\b[^.\n]{0,60}\b(?:on one metric|from \d|on a scale)\b"),
        (("safety polic",), r"\bsafety polic(?:y|ies)\b"),
        (("translat",), r"\b\w+ to \w+ translator\b|^[^\w\n]*+(?:please )?translate\b[^.\n]{0,60}\b(?:in)?to\b"),
)  # fmt: skip
"""A regular expression and the words of which a lower-cased request must hold one before it is tried: most requests hold none, and an
expression costs a hundred times as much as a search for a word.
"""
_AUXILIARY = _compiled(
    (("question",), r"\b(?:standalone|stand-alone|follow-?up) questions?\b"),
    (("search quer",), r"\bsearch quer(?:y|ies)\b"),
    (("title",), r"\b(?:concise|short|brief)\b[^.\n]{0,30}\btitle\b|\bas a title\b|\btitle generator\b"),
    (("### task:", "autocompletion", "fim_"), r"^[^\w\n]*### task:|\bautocompletion\b|<\|?fim_"),
    (("retriev", "search"), r"\b(?:retriev(?:e|al) relevant|used for retrieval|search retrieval)\b"),
    (("commit message",), r"\bcommit message\b"),
)
"""What front ends and agents ask for themselves: nothing in these texts could be right or wrong."""
_IS_ASKED = re.compile(r"[^.?!:\n]*\?")
_MARKUP = re.compile(r"\s*<[A-Za-z!?/|][^>\n]{0,200}>|.*</[A-Za-z]\w*>\s*$|.*\[\[ ?##", re.DOTALL)
_TOKENS = re.compile(
    r"<[|｜]|[|｜]>|\[TOOL_CALLS\]|\[RESULT\]|\[\[[\w<>=]{1,6}\]\]|<tool_call>|<function|^[*]{3} Begin Patch|^<{7} |\d\d:\d\d[.,]\d{3} --> |^WEBVTT\b|\\begin\{(?:tabular|table|document|figure)|^[^\S\n]*+\\boxed\{[^}]{0,400}\}[^\S\n]*+$"
    r"|\w/[BI]-[A-Z]{3}|\{\s*+(?://[^\n]*+\s*+)?+[\"']\w[\w $.-]*[\"']\s*+:|\[\s*+[\"'][^\"'\n]{1,80}[\"']\s*[,\]](?!\()|^[^\S\n]*+@\w+\{\w+,",
    re.MULTILINE,
)
"""Syntax of tool calls, verdicts, patches, subtitles and JSON, anywhere in an answer."""
_CODE = re.compile(
    r"\s*+(?:def \w+\(|class \w+[:(]|import [\w.]+|from [\w.]+ import |(?:const|let|var) \w+ =|function \w*\(|#include|#!/|FROM \w+:|(?:flowchart|graph) (?:[TL][DR]|TB|BT|RL)\b|digraph\b|"
    r"\\(?:(?:sub)?section|chapter|documentclass|usepackage)\b|(?:sequence|class|state|er)Diagram\b|@start\w+\n|HTTP/\d|(?:message|struct|interface|enum|type) \w+ \{|"
    r"(?:query|mutation)\b[^\n]{0,40}\{|[.#]?[\w-]+ \{ ?[\w-]+:|(?:GET|POST|PUT|DELETE|PATCH) /|\[[\w.]+\][^\S\n]*+\n\s*+\w+ ?=|(?:git|curl|find|grep|docker|npm|pip|kubectl|ls|cd) [^\n.?!]*"
    r"(?:[-/|~]|HEAD)|find \. -|\w+\([^()\n]*\): \S)"
)
_QUERY = re.compile(
    r"\s*(?:(?:select|insert into|update|delete from|create (?:table|index|view)|alter table|drop table|with \w+ as)\s[^.!?]*(?:;|\bfrom\b|\bset\b|\bvalues\b)"
    r"|match \(\w*:?\w*|prefix \w+:|select \?\w)",
    re.IGNORECASE,
)
_QUERY_LINE = re.compile(
    r"^(?:SELECT\s.+\sFROM\s|INSERT INTO\s|DELETE FROM\s|CREATE TABLE\s|UPDATE\s\w+\sSET\s)", re.MULTILINE
)
_PATCH = re.compile(r"(?:^|\n)(?:diff --git |--- [ab/]|\+\+\+ [ab/]|@@ -\d)")
_TURNS = re.compile(
    r"(?:^|\n)(?:thought|action|action input|observation|final answer|intermediate answer|tool|function|sql ?query|search ?query|query|rating|verdict|plan)\s*:",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"\W*(?:(?:all|now|task|everything|it|is|it's) ){0,3}[^\W\d_]{2,}(?:ed|ne)(?: successfully)?\W*", re.IGNORECASE
)
_STEPS = re.compile(
    r"```|~~~|<code>|</?tool_call|<function|\[\[ ?##|^(?:thought|action|observation|code):",
    re.MULTILINE | re.IGNORECASE,
)
_ALONE = re.compile(
    r"\s*+(?:[a-z][a-z0-9+.-]*://\S+|[\w.+-]+@[\w-]+\.[\w.]+|(?=\S*[A-Za-z])(?>(?:\.{0,2}/|~/|[A-Za-z]:\\|[\w.-]++/)[\w./\\~-]*\w)(?:\s++(?:\.{0,2}/|~/|[A-Za-z]:\\|[\w.-]++/)[\w./\\~-]*\w)*+|#[0-9A-Fa-f]{3,8}|[0-9a-f]{8}-[0-9a-f-]{27}(?: \w+)?|[a-z_]+: ?-?\d+(?:\.\d+)?|(?=[^\n]*[A-Za-z])(?:[^\s,\"]+|\"[^\"\n]*\")(?:,(?:[^\s,\"]+|\"[^\"\n]*\")){2,}|"
    r"(?=\S*(?:\w_\w|//|\\|\*\*?/|/\*|\*\.\w|[{}|]|\w\.(?:csv|tsv|json|jsonl|ya?ml|toml|txt|md|py|[jt]sx?|html?|xml|pdf|png|jpe?g|svg|zip|log|sh|sql|docx?|xlsx?|parquet|lock|env|prod|dev)$))\S+|"
    r"[0-9a-f]{32,64}|"
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d\S*)?|/.+/[gimsuy]*|\^.*\$|\$ [a-z].*+|\w++=\S++(?:\s++\w++=\S++)*+|\[?\w+\([^\n]*\)(?:, )?\]?;?|(?:positive|negative|neutral|unsafe|safe|true|false|null|none)"
    r"|['\"`][^'\"`\n]{1,80}['\"`]|\[[^\]\n]*\]\([^)\s]*\)|v?\d+(?:\.\d+){2,3}(?:-[\w.]+)?|-?\d+\.\d+, ?-?\d+\.\d+|(?:[\d*/,-]+ ){4}[\d*/,-]+"
    r"|(?:\d{1,3}\. ?(?=[A-Za-z])\S{2,7} (?=\S*\d|O-O)(?:(?!\d{1,3}\.)\S{2,7} ?)?)++|(?:[\w]{1,8}/){7}\w{1,8} [wb] \S+ \S+ \d+ \d+)(?:\s*\n(?:[SO]\d+,?)+)?\s*+",
)  # fmt: skip
_FILLED = re.compile(r"(?i:fim[_▁ -])|<\|?(?:PRE|SUF|MID|EOT)\|?>|\[(?:PREFIX|SUFFIX|MIDDLE)\]")
"""Markers around the place that a plain completion fills, of all families of code models."""
_ENDED = re.compile(r"(?:[.?!:…。？！：][\"'”’)\]*_`]{0,9}|(?<!\s)[^\S\n]*+\n)\s*+\Z|\A\s*+\Z")
"""The end of a prompt that a plain completion answers; otherwise it continues the prompt's last sentence."""
_CAPITALS = re.compile(r"\s*+[A-Z]{2}[A-Z_]*+\d*+(?: \[\d+\])?\s*+")
_VERDICT = re.compile(
    r"POSITIVE|NEGATIVE|NEUTRAL|SPAM|HAM|SAFE|UNSAFE|TRUE|FALSE|YES|NO|PASS(?:ED)?|FAIL(?:ED)?|NONE|NULL|TERMINATED?|APPROVED?|REJECT(?:ED)?|ACCEPT(?:ED)?|HIGH|LOW|MEDIUM|"
    r"(?:IN)?CORRECT|(?:IR)?RELEVANT|ENTAILMENT|CONTRADICTION|SUPPORTED|REFUTED|SEARCH|CONTINUE|DONE|END|FINISH|STOP|OK|ERROR|UNKNOWN|[SO]\d|[^_\[\n]*+[_\[].*"
)
LONGEST_NAMED = 200
"""Characters of the longest answer whose words the request may name."""
_LISTED = re.compile(r"(?:^|[\s(\[])([a-z]|\d{1,2})[.):\]]\s", re.MULTILINE)
_LABEL = re.compile(
    r"(?:(?:final )?(?:answer|option|choice): ?)?[(\[*\"']*([a-z]|\d{1,2})[)\].:*\"']*(?:(?<=[).:*]) \S.*)?"
)
_GRADED = re.compile(r"\W*([a-z][\w ]{1,20}):\W*(?:[a-z]|-?\d{1,3}(?:\.\d+)?(?:/\d+)?|(?:in)?correct|pass|fail)\W*")
_TOLD = r"\b(?:say|reply|respond|answer|write|output|print|return|type|send|end|finish|stop)\w*+ (?:exactly|only|just|with|either)\b"
_QUOTE = "[\"'“”‘’`]"
_ASKING = r"\b(?:who|whom|whose|what|which|where)\b"
_ASKS = re.compile(rf"{_ASKING}(?:(?!{_ASKING})[^?])*+\?\s*+$", re.IGNORECASE)
_PAIR = re.compile(r"\s*+(?:-\s*+)?(?:[\w.\"' -]{1,30}\s*+|(?<=[ -]))[:=]\s*+\S++(?: \S*+){0,4}+ ?+(?<![.?!])\s*+$")
_KEY = re.compile(r"\s*+(?:- |(?:-\s*+)?[a-z_][\w.-]*+:(?: \S++(?: \S*+){0,6}+ ?+)?$|---$)")
_QUOTED_CELL = re.compile(r'"[^"\n]*"')
_TRIPLE = re.compile(r"\s*+\((?=(?>[^()]+?, )(?>[^()]+?, )[^()])[^()]++\)\s*+$")


def is_machine_read(body: Json, answer: str) -> bool:
    """Whether a program reads the answer to a request. Runs in linear time.

    >>> is_machine_read({}, "https://example.com/a"), is_machine_read({}, "The capital is Canberra.")
    (True, False)
    >>> ask = [{"role": "user", "content": "Reply with only the label: positive or negative."}]
    >>> is_machine_read({"messages": ask}, "Positive")
    True
    """
    return _binds_the_form(body) or _is_label(body, answer) or _is_named(body, answer) or looks_formal(answer)


def _binds_the_form(body: Json) -> bool:
    if any(body.get(name) for name in GRAMMARS):
        return True
    limits = (body.get("max_completion_tokens"), body.get("max_tokens"))
    if any(isinstance(limit, int) and limit <= FEW_TOKENS for limit in limits):
        return True
    if isinstance(prompt := body.get("prompt"), str) and (_FILLED.search(prompt) or not _ENDED.search(prompt)):
        return True
    messages = _messages(body)
    if messages and messages[-1].get("role") == "assistant":
        return True
    return any(_finds(_FORMS + _AUXILIARY, text) for text in _binding(messages))


def _binding(messages: list[Json]) -> list[str]:
    """The texts that may ask for a form: the instructions, and what the user said last. What a tool returned asks for nothing."""
    own = [message for message in messages if message.get("role") == "user"][-1:]
    binding = [message for message in messages if message.get("role") in ("system", "developer")] + own
    return [_ends(words_of(message.get("content"))).lower() for message in binding]


def _finds(forms: _Forms, text: str) -> re.Match[str] | None:
    tried = (pattern.search(text) for words, pattern in forms if any(word in text for word in words))
    return next(filter(None, tried), None)


def _messages(body: Json) -> list[Json]:
    return [message for message in body.get("messages") or () if isinstance(message, dict)]


def is_auxiliary(body: Json) -> bool:
    """Whether a program asks for a text of its own: a title, a search query, a question to go on with, a commit message.

    >>> is_auxiliary({"messages": [{"role": "user", "content": "Create a concise title for this chat: Who wrote Hamlet?"}]})
    True
    >>> is_auxiliary({"messages": [{"role": "user", "content": "How many search queries does a person make in a day?"}]})
    False
    """
    texts = _binding(_messages(body))
    found = ((text, _finds(_AUXILIARY, text)) for text in texts)
    return any(match and not _IS_ASKED.match(text, match.end()) for text, match in found)


def shows_steps(body: Json) -> bool:
    """Whether a conversation shows that its answers may be steps of an agent in the form of text: code, ReAct turns, tags."""
    shown = [message for message in _messages(body) if message.get("role") != "tool"]
    instructed = [message for message in shown if message.get("role") != "user"] + shown[-1:]
    return any(_STEPS.search(_ends(words_of(message.get("content")))) for message in instructed)


def closes_a_task(body: Json, answer: str) -> bool:
    """Whether an answer after the results of tools says no more than that something is done.

    >>> done = [{"role": "user", "content": "Fix the bug."}, {"role": "tool", "content": "ok"}]
    >>> closes_a_task({"messages": done}, "Fixed."), closes_a_task({"messages": done}, "The bug was in add.")
    (True, False)
    """
    messages = _messages(body)
    if not messages or messages[-1].get("role") != "tool" or _CLOSING.fullmatch(answer) is None:
        return False
    return not any("?" in text or _ASKS.search(f"{text}?") for text in _binding(messages)[-1:])


def _is_named(body: Json, answer: str) -> bool:
    """Whether the request names the words of an answer: as a label of a list, as a mark behind a key, or as what is to be said."""
    words = answer.strip().lower()
    if not words or len(words) > LONGEST_NAMED or "\n" in words:
        return False
    messages = _messages(body)
    texts = _binding(messages)
    if (label := _LABEL.fullmatch(words)) is not None:
        listed = {found[1] for text in texts for found in _LISTED.finditer(text)}
        if label[1] in listed and ({"a", "b"} <= listed or {"1", "2"} <= listed):
            return True
    if (graded := _GRADED.fullmatch(words)) is not None and any(f"{graded[1]}:" in text for text in texts):
        return True
    own = len(texts) - any(message.get("role") == "user" for message in messages)
    said = words.strip(" .!\"'`")
    return any(said in text and _is_told(text, said, instructed=place < own) for place, text in enumerate(texts))


def _is_told(text: str, said: str, *, instructed: bool) -> bool:
    """Whether a text tells to say this; instructions may just quote it."""
    before = rf"{_TOLD}(?:[^.?\n]{{0,80}}?{_QUOTE}|[^.?\n]{{0,40}}? )"
    if re.search(rf"{before}{re.escape(said)}[.!]?(?!\w)", text):
        return True
    return instructed and re.search(rf"{_QUOTE}{re.escape(said)}[.!]?{_QUOTE}", text) is not None


def _is_label(body: Json, answer: str) -> bool:
    """Whether an answer in capitals is a label that a program expects. If the question does not offer it, it is an abbreviation ("NASA")."""
    if _CAPITALS.fullmatch(answer) is None:
        return False
    messages = [message for message in body.get("messages") or () if isinstance(message, dict)]
    texts = [words_of(message.get("content")) for message in messages]
    own = [text for message, text in zip(messages, texts, strict=True) if message.get("role", "user") == "user"]
    asked = bool(own) and _ASKS.search(_ends(own[-1])) is not None
    return not asked or _VERDICT.fullmatch(answer.strip()) is not None or any(answer.strip() in text for text in texts)


def _ends(text: str) -> str:
    return text if len(text) <= LOOKED_AT else f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT // 2 :]}"


def looks_formal(answer: str) -> bool:
    """Whether an answer has a form that programs read, whatever was asked."""
    answer = answer[:LOOKED_AT]
    if _MARKUP.match(answer) or _QUERY.match(answer) or _CODE.match(answer) or _ALONE.fullmatch(answer):
        return True
    found = _TOKENS.search(answer) or _QUERY_LINE.search(answer) or _PATCH.search(answer) or _TURNS.search(answer)
    return found is not None or _is_data(answer)


def _is_data(answer: str) -> bool:
    """Whether the lines, except an introduction that ends in a colon, are keys with values, or rows with equal numbers of cells."""
    lines = [line for line in answer.splitlines() if line.strip()]
    if len(lines) > 2 and lines[0].rstrip().endswith(":") and " " in lines[0].strip():
        lines = lines[1:]
    if len(lines) < 2:
        return False
    if all(map(_PAIR.match, lines)) or all(map(_TRIPLE.match, lines)):
        return True
    keys = all(_KEY.match(line) for line in lines) and sum(not line.lstrip().startswith("- ") for line in lines) > 1
    return keys or any(_are_cells(lines, mark) for mark in (",", ";", "\t"))


def _are_cells(lines: list[str], mark: str) -> bool:
    """Whether lines are rows of a table: equal numbers of separators, no sentences, and either two separators a line or one without a space after it."""
    counts = {len(_QUOTED_CELL.sub("", line).split(mark)) for line in lines}
    close = all(re.search(rf"{mark}\S", line) for line in lines)
    return (
        len(counts) == 1
        and counts != {1}
        and (close or counts != {2})
        and not any(line.rstrip().endswith((".", "?", "!")) for line in lines)
    )
