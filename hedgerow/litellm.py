"""Answers of LiteLLM, worded as confidently as they deserve, in the program that asks for them. Needs LiteLLM."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import litellm
from litellm.integrations.custom_logger import CustomLogger

from .hedging import Hedging

_NOT_OF_A_SAMPLE = {"cache", "caching", "client", "model_info", "n", "seed", "stream", "temperature"}
_drawing: ContextVar[bool] = ContextVar("drawing", default=False)
"""Whether the current call draws a sample, which must not be sampled again."""


class HedgingCallback(CustomLogger):
    """Words the answers of `litellm.acompletion` and of an asynchronous Router: `litellm.callbacks = [HedgingCallback()]`.

    Each answer costs `samples - 1` further calls, side by side, with the same settings but for the temperature. Streams, several choices, tool
    calls, structured output and synchronous calls are left as they are. Where a sample fails, LiteLLM logs it and the plain answer stands.

    Parameters
    ----------
    hedging : Hedging, optional

    Notes
    -----
    The response carries what was found in `response.hedgerow`.
    """

    def __init__(self, hedging: Hedging | None = None) -> None:
        super().__init__()
        self.hedging = hedging or Hedging()

    async def async_post_call_success_deployment_hook(self, request_data: Any, response: Any, call_type: Any) -> Any:
        """Called by LiteLLM with each answer before it is returned."""
        if (
            _drawing.get()
            or call_type is None
            or call_type.value != "acompletion"
            or not _is_text(request_data, response)
        ):
            return None
        request, message = _whole(request_data), response.choices[0].message
        samples = await self._draw(request)
        text, confidence = await asyncio.to_thread(self.hedging.word, _question(request), [message.content, *samples])
        message.content, response.hedgerow = text, confidence
        return response

    async def _draw(self, request: Mapping[str, Any]) -> list[str]:
        """Draw the further answers; those without text do not count."""
        call = {key: value for key, value in request.items() if key not in _NOT_OF_A_SAMPLE}
        call = {key: value for key, value in call.items() if not key.startswith(("_", "litellm_"))}
        call |= {"temperature": self.hedging.temperature, "cache": {"no-cache": True, "no-store": True}}
        token = _drawing.set(True)
        try:
            drawn = await asyncio.gather(*(litellm.acompletion(**call) for _ in range(self.hedging.samples - 1)))
        finally:
            _drawing.reset(token)
        texts = (answer.choices[0].message.content for answer in drawn)
        return [text for text in texts if text]


def _whole(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The request including positional arguments, which LiteLLM keeps only in its log object."""
    log = request["litellm_logging_obj"]
    return {"model": f"{log.custom_llm_provider}/{log.model}", "messages": log.messages, **request}


def _is_text(request: Mapping[str, Any], response: Any) -> bool:
    """Whether this is a single text answer."""
    choices = getattr(response, "choices", [])
    if request.get("response_format") or request.get("stream") or len(choices) != 1:
        return False
    message = choices[0].message
    return isinstance(message.content, str) and bool(message.content) and not message.tool_calls


def _question(request: Mapping[str, Any]) -> str:
    """The user's last question."""
    asked = [message for message in request["messages"] if message.get("role") == "user"]
    content = asked[-1]["content"] if asked else ""
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in content if part.get("type") == "text")
