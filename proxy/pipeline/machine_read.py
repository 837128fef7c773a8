"""Answers that a program reads: a hedge would break what parses them. They are measured like others and left as they are.

The request says so (a grammar, an answer that is begun already, room for a word or two, "reply with only ..."), or the answer looks like it
(markup, a query, a command, a link, key and value, a verdict of a guard). Text for people is never taken for one of these on its words alone.
"""

from __future__ import annotations

import re

from hedgerow.proxy.types import Json

GRAMMARS = (
    "grammar",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "structured_outputs",
    "json_schema",
    "regex",
    "ebnf",
)
"""Fields by which servers of models bind the form of an answer (vLLM, llama.cpp, SGLang)."""
FEW_TOKENS = 5
"""An answer of at most so many tokens has no room for a hedge."""
LOOKED_AT = 4_000
"""Characters of a prompt, and of an answer, that are read; of a prompt half from its beginning and half from its end."""

_STRICT = re.compile(
    r"\b(?:reply|respond|answer|output|return|print|write|say|give|produce|generate)\b[^.\n]{0,40}\b(?:only|exclusively|nothing (?:else|but)|exactly one|just)\b"
    r"[^.\n]{0,60}\b(?:json|xml|yaml|csv|sql|code|label|letter|number|integer|digit|word|name|query|url|link|yes|no|true|false|category|class|option|"
    r"choice|score|rating|index|id|list|tag|command|sentiment|one of|answer|output|result|translation|text|[a-e](?:,| or))\b"
    r"|\b(?:only|just) (?:reply|respond|answer|output|return|print)\b|\bone of the following (?:labels|categories|classes|options|words|values)\b"
    r"|\bno (?:other|additional|extra) (?:text|words|output|explanation)\b|\b(?:do not|don't) (?:add|include|write|output) (?:any|anything)\b"
    r"|\b(?:in|use|follow|using) (?:exactly |strictly )?(?:the|this) (?:following |exact )?(?:output )?format\b|\boutput format\b"
    r"|\b(?:standalone|stand-alone|follow-?up) question\b|\bsearch quer(?:y|ies)\b|\b(?:concise|short|brief)\b[^.\n]{0,30}\btitle\b",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"\s*<[A-Za-z!?/|][^>\n]{0,200}>|.*</[A-Za-z]\w*>\s*$|.*\[\[ ?##", re.DOTALL)
_QUERY = re.compile(
    r"\s*(?:(?:select|insert into|update|delete from|create (?:table|index|view)|alter table|drop table|with \w+ as)\s[^.!?]*(?:;|\bfrom\b|\bset\b|\bvalues\b)"
    r"|match \(\w*:?\w*|prefix \w+:)",
    re.IGNORECASE,
)
_PATCH = re.compile(r"(?:^|\n)(?:diff --git |--- [ab/]|\+\+\+ [ab/]|@@ -\d)")
_TURNS = re.compile(
    r"(?:^|\n)(?:thought|action|action input|observation|final answer|tool|function|sql ?query|search ?query|query)\s*:",
    re.IGNORECASE,
)
_ALONE = re.compile(
    r"\s*(?:[a-z][a-z0-9+.-]*://\S+|[\w.+-]+@[\w-]+\.[\w.]+|(?:\.{0,2}/|~/|[A-Za-z]:\\)\S+|#[0-9A-Fa-f]{3,8}|[0-9a-f]{8}-[0-9a-f-]{27}|"
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d\S*)?|/.+/[gimsuy]*|\$\s?\w+.*|(?:\w+=\S+\s*)+|\w+\(.*\);?|(?:positive|negative|neutral|unsafe|safe|true|false|null|none)"
    r"|['\"`][^'\"`\n]{1,80}['\"`]|[A-Z]{2,}[A-Z_]*\d*)\s*(?:\n[SO]\d+)?\s*",
)  # fmt: skip
_PAIR = re.compile(r"\s*-?\s*[\w.\"'-]{1,40}\s*[:=]\s*\S")
_CELLS = re.compile(r"[^,;\t|]*[,;\t|][^ ]")


def is_machine_read(body: Json, answer: str) -> bool:
    """Whether a program reads the answer to a request. Linear in what is looked at.

    >>> is_machine_read({}, "https://example.com/a"), is_machine_read({}, "The capital is Canberra.")
    (True, False)
    >>> ask = [{"role": "user", "content": "Reply with only the label: positive or negative."}]
    >>> is_machine_read({"messages": ask}, "Positive")
    True
    """
    return _binds_the_form(body) or _looks_formal(answer[:LOOKED_AT])


def _binds_the_form(body: Json) -> bool:
    if any(body.get(name) for name in GRAMMARS):
        return True
    limits = (body.get("max_completion_tokens"), body.get("max_tokens"))
    if any(isinstance(limit, int) and limit <= FEW_TOKENS for limit in limits):
        return True
    messages = [message for message in body.get("messages") or () if isinstance(message, dict)]
    if messages and messages[-1].get("role") == "assistant":
        return True
    instructions = [_text(m) for m in messages if m.get("role") in ("system", "developer")] + [
        _text(m) for m in messages[-1:]
    ]
    return any(_STRICT.search(_ends(text)) for text in instructions)


def _text(message: Json) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _ends(text: str) -> str:
    return text if len(text) <= LOOKED_AT else f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT // 2 :]}"


def _looks_formal(answer: str) -> bool:
    if (
        _MARKUP.match(answer)
        or _QUERY.match(answer)
        or _PATCH.search(answer)
        or _TURNS.search(answer)
        or _ALONE.fullmatch(answer)
    ):
        return True
    lines = [line for line in answer.splitlines() if line.strip()]
    if len(lines) < 2:
        return False
    return all(_PAIR.match(line) for line in lines) or all(_CELLS.match(line) and " " not in line for line in lines)
