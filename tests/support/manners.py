"""How providers of chat say an answer, whole and as a stream: in our own words from their public documentation, one row each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import JSONResponse, Response

from .upstream import Json, Reply

HEAD = {"id": "chatcmpl-7", "created": 1700000000, "model": "m-1"}
SAFE = {"hate": {"filtered": False, "severity": "safe"}}
TEXT = "The capital of Australia is Canberra."
CALLS = [("call_a", "get_weather", '{"city": "Canberra"}'), ("call_b", "get_time", '{"tz": "UTC"}')]
USAGE = {"prompt_tokens": 7, "completion_tokens": 9, "total_tokens": 16}


@dataclass(frozen=True)
class Manner:
    """One provider's.

    Attributes:
        about: what is particular about it, for readers.
        index: the index of each call; None: calls have none.
        later: what names the later pieces of a call, besides its index.
        opening: a chunk before all others.
        late: fields of the answer that only the last chunk has.
        of_choice: fields of a choice that every chunk repeats.
        thought: fields of the message with a thought, and the pieces in which they come.
        as_parts: whether the content is a list of parts.
        at_once: whether a call comes in one chunk.
        no_choices: what a chunk with the usage alone has for choices; "with": the last chunk has it.
        blank, done: what ends an event, and the stream.
    """

    about: str
    index: tuple[int, int] | None = (0, 1)
    later: Json = field(default_factory=dict)
    opening: Json = field(default_factory=dict)
    late: Json = field(default_factory=dict)
    of_choice: Json = field(default_factory=dict)
    thought: tuple[Json, list[Json]] = field(default_factory=lambda: ({}, []))
    as_parts: bool = False
    at_once: bool = False
    no_choices: Any = field(default_factory=list)
    blank: str = "\n\n"
    done: str = "data: [DONE]"

    def _content(self, text: str | None) -> Any:
        return [{"type": "text", "text": text}] if self.as_parts and text is not None else text

    def whole(self, text: str | None) -> Json:
        """The answer as one object: a text, or two calls."""
        calls = [
            {"id": i, "type": "function", "function": {"name": name, "arguments": arguments}}
            for i, name, arguments in (CALLS if text is None else ())
        ]
        content = self._content(text)
        if self.as_parts and self.thought[0]:
            content = [*self.thought[0]["content"], *(content or ())]
        message = (
            {"role": "assistant"} | self.thought[0] | {"content": content} | ({"tool_calls": calls} if calls else {})
        )
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop", "logprobs": None}
        opened = {name: value for name, value in self.opening.items() if name not in (*HEAD, "object", "choices")}
        answer = HEAD | {"object": "chat.completion"} | opened | self.late
        return answer | {"choices": [choice | self.of_choice], "usage": USAGE}

    def _deltas(self, text: str | None) -> Iterator[Json]:
        yield {"role": "assistant", "content": ""}
        yield from self.thought[1]
        for piece in (text[:9], text[9:]) if text is not None else ():
            yield {"content": self._content(piece)}
        for number, (i, name, arguments) in enumerate(CALLS if text is None else ()):
            index = {} if self.index is None else {"index": self.index[number]}
            pieces = [arguments] if self.at_once else ["", arguments[:6], arguments[6:]]
            for place, piece in enumerate(pieces):
                names = self.later if place else {"id": i, "type": "function", "name": name}
                inner = {"arguments": piece} | ({"name": names["name"]} if "name" in names else {})
                outer = {key: value for key, value in names.items() if key != "name"}
                yield {"tool_calls": [index | outer | {"function": inner}]}

    def stream(self, text: str | None) -> bytes:
        """The same as the bytes of a stream."""
        head = HEAD | {"object": "chat.completion.chunk"}
        chunks: list[Json] = [head | self.opening] if self.opening else []
        for delta in self._deltas(text):
            chunks.append(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None} | self.of_choice]})
        reason = "tool_calls" if text is None else "stop"
        last = head | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]} | self.late
        chunks.append(last | ({"usage": USAGE} if self.no_choices == "with" else {}))
        if self.no_choices != "with":
            chunks.append(head | {"choices": self.no_choices, "usage": USAGE})
        events = [f"data: {json.dumps(chunk)}" for chunk in chunks] + ([self.done] if self.done else [])
        return "".join(event + self.blank for event in events).encode()

    def reply(self, body: Json) -> Response:
        """The answer to a request: calls where it offers tools."""
        text = None if body.get("tools") else TEXT
        if body.get("stream"):
            return Response(self.stream(text), media_type="text/event-stream")
        answer, n = self.whole(text), body.get("n") or 1
        usage = USAGE | {"completion_tokens": 9 * n, "total_tokens": 7 + 9 * n}
        several = [answer["choices"][0] | {"index": i} for i in range(n)]
        return JSONResponse(answer | {"choices": several, "usage": usage})

    def says(self, *, only_streams: bool = False) -> Reply:
        """An upstream that answers so."""

        def reply(_request: Any, body: Json) -> Response:
            if only_streams and not body.get("stream"):
                return JSONResponse({"error": {"message": "stream must be set to true", "code": None}}, 400)
            return self.reply(body)

        return reply


_EMPTY_LATER = {"id": "", "type": "function", "name": ""}
_DETAIL = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
_THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "Hmm."}]}
MANNERS = {
    "OpenAI": Manner("id and name of a call in its first piece; usage in a chunk of its own"),
    "Azure OpenAI": Manner("a first chunk without choices, id and model; results of filters in every chunk",
        opening=dict.fromkeys(HEAD, "") | {"created": 0, "object": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0} | SAFE]},
        of_choice={"content_filter_results": SAFE},
    ),
    "Gemini": Manner("calls come in one piece, all with index 0, or without one; usage in the last chunk", index=(0, 0), at_once=True, no_choices="with"),
    "Gemini, without indices": Manner("", index=None, at_once=True, no_choices="with"),
    "Mistral": Manner("the content is a list of parts, thoughts among them; calls come in one piece",
        as_parts=True,
        thought=({"content": [_THINKING]}, [{"content": [_THINKING | {"thinking": [{"type": "text", "text": t}]}]} for t in ("Hm", "m.")]),
        at_once=True,
        no_choices="with",
    ),
    "DeepSeek": Manner("thoughts in `reasoning_content`, beside an empty content", thought=({"reasoning_content": "Hmm."}, [{"reasoning_content": "Hm", "content": None}, {"reasoning_content": "m."}]), no_choices="with"),
    "Qwen (DashScope)": Manner("later pieces of a call have an empty id and name", later=_EMPTY_LATER),
    "GLM": Manner("later pieces of a call have an empty id and name; usage in the last chunk", later=_EMPTY_LATER, no_choices="with"),
    "Perplexity": Manner("citations and search results in the last chunk", late={"citations": ["https://a.example"], "search_results": [{"title": "A", "url": "https://a.example"}]}, no_choices="with"),
    "OpenRouter": Manner("thoughts in signed `reasoning_details`; `native_finish_reason` in every chunk",
        later={"id": None, "type": "function"},
        thought=(
            {"reasoning_details": [_DETAIL | {"text": "Hmm.", "signature": "sig"}]},
            [{"reasoning_details": [_DETAIL | piece]} for piece in ({"text": "Hm"}, {"text": "m."}, {"signature": "sig"})],
        ),
        of_choice={"native_finish_reason": "stop"},
    ),
    "Groq": Manner("calls come in one piece; `x_groq` in the last chunk", late={"x_groq": {"id": "req_1"}}, no_choices="with", at_once=True),
    "vLLM": Manner("later pieces of a call have null for id, type and name; `stop_reason` of a choice", later={"id": None, "type": None, "name": None}, of_choice={"stop_reason": None}),
    "SGLang": Manner("`choices: null` beside the usage; `metadata` in the last chunk", no_choices=None, late={"metadata": {"weight_version": "default"}}),
    "llama.cpp": Manner("`timings` in the last chunk; no `[DONE]`", late={"timings": {"prompt_n": 7, "predicted_ms": 12.5}, "system_fingerprint": "b9"}, done=""),
    "Ollama": Manner("calls come in one piece, all with index 0", index=(0, 0), at_once=True, no_choices="with"),
    "TGI": Manner("lines end with CRLF", blank="\r\n\r\n"),
    "LM Studio": Manner("`stats` in the last chunk", late={"stats": {}}, later={"type": "function"}),
}  # fmt: skip
OTHERS = {
    "Anthropic": "Messages: blocks that grow side by side; signed thoughts; calls as pieces of JSON",
    "Codex backend": "Responses: in streams only; the last event has no items",
}
"""Providers of other endpoints; their streams are in tests/contract/test_accumulators.py."""


def table() -> str:
    """What is particular about each provider, as the table of docs/clients.md."""
    about = {name: manner.about for name, manner in MANNERS.items() if manner.about} | OTHERS
    rows = [f"| {name} | {about[name]} |" for name in sorted(about, key=str.lower)]
    return "\n".join(["| provider | its manner |", "|---|---|", *rows])
