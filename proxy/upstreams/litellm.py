"""Every provider that LiteLLM supports.

Importing the library takes more than a second and by default downloads a price map: so it is imported when a route
needs it, in a worker thread, with its bundled price map. This is the only file that knows it; its exceptions are
converted here.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
import orjson

from ..config import LiteLLMUpstream
from ..errors import ConfigError, NotFound, UpstreamError, UpstreamRejected, UpstreamTimeout
from ..protocols import Call, RawCall, Relay
from ..types import Json
from . import sse
from .answers import asked, check_served, checked_completion, once
from .dialects.chat_stream import ServedChat
from .dialects.served import whole
from .retries import with_retries

INSTALL = "pip install 'hedgerow[litellm]'"
SELF = "an upstream of `provider: litellm`"


def _import() -> tuple[Any, type[Exception]]:
    """The library, imported with its bundled price map, and the base class of its errors.

    Raises:
        ConfigError: it is not installed.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        import litellm
        from openai import OpenAIError
    except ImportError as error:
        raise ConfigError(f"LiteLLM is not installed; install it with: {INSTALL}") from error
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    return litellm, OpenAIError


async def open_litellm(name: str, settings: LiteLLMUpstream) -> LiteLLMModel:
    """Import the library off the event loop.

    Raises:
        ConfigError: it is not installed.
    """
    return LiteLLMModel(name, settings, *await anyio.to_thread.run_sync(_import))


class LiteLLMModel:
    """LiteLLM as an upstream; made by `open_litellm`."""

    def __init__(self, name: str, settings: LiteLLMUpstream, library: Any, root: type[Exception]) -> None:
        self.honours_n = settings.honours_n
        self._name = name
        self._settings = settings
        self._slots = asyncio.Semaphore(settings.max_sampling_calls)
        self._library = library
        self._root = root

    async def complete(self, call: Call) -> Json:
        """See `Upstream`."""
        return await with_retries(self._name, self._complete_once, call, self._settings.retries, self._slots)

    async def _complete_once(self, call: Call) -> Json:
        answer = await self._ask(call.path, call.body, call.headers)
        if call.body.get("stream"):
            return await whole(self._stream(answer), ServedChat())
        return checked_completion(self._name, self._encoded(answer))

    async def _ask(self, path: str, body: Json, headers: Mapping[str, str]) -> Any:
        """One call of the library. Fields that a provider does not know are forwarded."""
        check_served(SELF, path)
        functions = {"/chat/completions": self._library.acompletion, "/completions": self._library.atext_completion}
        settings = self._settings
        key = settings.api_key.get_secret_value() if settings.api_key else _key(headers)
        arguments = body | {
            "model": settings.model_prefix + str(body.get("model", "")),
            "timeout": settings.timeout_s,
            "num_retries": 0,  # a retry by the library would hold its slot while it waits
            "max_retries": 0,
        }
        try:
            return await functions[path](**arguments, api_key=key, api_base=settings.api_base)
        except self._library.exceptions.Timeout as error:
            raise UpstreamTimeout(f"the upstream {self._name!r} did not answer in time") from error
        except self._library.exceptions.APIConnectionError as error:
            raise UpstreamError(
                f"the upstream {self._name!r} cannot be reached", code="upstream_unreachable"
            ) from error
        except self._root as error:
            status = getattr(error, "status_code", None)
            if not isinstance(status, int) or status < 400:
                raise UpstreamError(f"the upstream {self._name!r} failed") from error
            raise UpstreamRejected(
                status, _error_body(error, status), "application/json", _retry_after(error)
            ) from error

    @asynccontextmanager
    async def relay(self, call: RawCall) -> AsyncIterator[Relay]:
        """See `Upstream`."""
        if not isinstance(call.body, bytes) or call.method != "POST":
            raise NotFound(f"{SELF} does not serve {call.method} /v1{call.path}", code="unknown_path")
        path = call.path.partition("?")[0]
        body = asked(path, call.body)
        answer = await self._ask(path, body, dict(call.headers))
        if body.get("stream"):
            yield Relay(200, [(b"content-type", b"text/event-stream; charset=utf-8")], self._stream(answer))
        else:
            yield Relay(200, [(b"content-type", b"application/json")], once(self._encoded(answer)))

    async def _stream(self, answer: Any) -> AsyncIterator[bytes]:
        try:
            async for chunk in answer:
                yield b"data: " + self._encoded(chunk) + b"\n\n"
        except self._root as error:
            raise UpstreamError(f"the upstream {self._name!r} broke off its answer", code="upstream_broken") from error
        yield sse.DONE

    def _encoded(self, answer: Any) -> bytes:
        """An object of the library as JSON.

        Raises:
            UpstreamError: the provider put something into it that is no JSON of ours (half of a surrogate pair).
        """
        try:
            return orjson.dumps(answer.model_dump(mode="json", exclude_none=True))
        except orjson.JSONEncodeError as error:
            message = f"the upstream {self._name!r} answered with something that cannot be sent on"
            raise UpstreamError(message, code="upstream_not_completion") from error

    async def models(self, headers: Mapping[str, str], query: str = "") -> list[Json]:
        """See `Upstream`. LiteLLM cannot list the models of a provider's account, so the list is empty."""
        return []

    async def aclose(self) -> None:
        """Do nothing: no connection stays open between calls."""


def _key(headers: Mapping[str, str]) -> str | None:
    """The client's own key, from whichever header has it."""
    kind, _, key = headers.get("authorization", "").partition(" ")
    bearer = key if kind.lower() == "bearer" else None
    return bearer or headers.get("x-api-key") or headers.get("api-key")


def _error_body(error: Any, status: int) -> bytes:
    """The provider's own error object if LiteLLM kept it; else one with its message."""
    body = getattr(error, "body", None)
    if isinstance(body, dict) and body:
        return json.dumps(body if "error" in body else {"error": body}, default=str).encode()
    message = str(getattr(error, "message", "")) or "the provider refused the request"
    kind = "invalid_request_error" if status < 500 else "upstream_error"
    said = {"message": message, "type": kind, "param": None, "code": getattr(error, "code", None)}
    return json.dumps({"error": said}, default=str).encode()


def _retry_after(error: Any) -> str | None:
    """The provider's `Retry-After` if LiteLLM kept its headers."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    value = headers.get("retry-after")
    return str(value) if value is not None else None
