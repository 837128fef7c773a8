"""Everything that can go wrong, as one tree.

    HedgerowError
      ConfigError              at start only: the command exits with 2 and one sentence
      InputError               a file that a command was given cannot be used: exit status 2
      ProxyError               reaches the client as an OpenAI error object
        BadRequest             400
          PayloadTooLarge      413
        Unauthorized           401
        Forbidden              403
        NotFound               404
        RateLimited            429, with Retry-After
        Overloaded             503, with Retry-After
        StoreUnavailable       503, with Retry-After
        UpstreamError          502
          UpstreamTimeout      504
          UpstreamRejected     the upstream's own status and body, as they were
        Internal               500
      StepFailed               a step of the pipeline could not be done; `on_failure` of the route decides
      StoreError               the audit store could not be written or read

Foreign exceptions are turned into these at the border file that talks to the foreign part, nowhere else.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .outcomes import Reason
from .strict_json import loads

if TYPE_CHECKING:
    from .types import Usage


class HedgerowError(Exception):
    """Root of every error that this project raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors travel between processes as they are, whatever their constructors ask for."""
        return _remade, (type(self), self.args), self.__dict__


def _remade(kind: type[HedgerowError], arguments: tuple[Any, ...]) -> HedgerowError:
    return kind.__new__(kind, *arguments)


class ConfigError(HedgerowError):
    """The configuration cannot be used; the message names the key, its value and what is allowed."""


class InputError(HedgerowError):
    """A file or choice that a command was given cannot be used; the message names it and what to do."""


class ProxyError(HedgerowError):
    """An answer to the client in the form of an OpenAI error object.

    Attributes:
        status: HTTP status.
        type: OpenAI's coarse kind of error.
        code: a stable word for programs.
        param: the request field at fault, if one is.
        cause: what failed below, for the operator; never shown to the client.
        retry_after_s: seconds after which trying again makes sense, if it does.
        is_free: whether a call that failed so has cost no tokens: it was refused, or never sent.
        is_final: whether asking again is of no use now: it was done here already, or what came is not an answer.
    """

    status = 500
    type = "server_error"
    code = "internal_error"
    cause: str | None = None
    is_final = False

    def __init__(
        self, message: str, *, code: str | None = None, param: str | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.param = param
        self.retry_after_s = retry_after_s

    @property
    def is_free(self) -> bool:
        """See the class."""
        return True

    def body(self) -> dict[str, dict[str, str | None]]:
        """The OpenAI error object."""
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}


class BadRequest(ProxyError):
    """The request cannot be understood or served."""

    status = 400
    type = "invalid_request_error"
    code = "bad_request"


class PayloadTooLarge(BadRequest):
    """The body is over `server.max_body_bytes`."""

    status = 413
    code = "payload_too_large"


class Unauthorized(ProxyError):
    """No key, or a key that is not listed."""

    status = 401
    type = "invalid_request_error"
    code = "invalid_api_key"


class Forbidden(ProxyError):
    """Nobody may do this, whatever the key, as the proxy is configured."""

    status = 403
    type = "invalid_request_error"
    code = "not_configured"


class NotFound(ProxyError):
    """No such route, model or audit row."""

    status = 404
    type = "invalid_request_error"
    code = "not_found"


class RateLimited(ProxyError):
    """A limit of the request's key is used up for now.

    Attributes:
        headers: what tells a client how much it has left.
    """

    status = 429
    code = "rate_limit_exceeded"
    headers: Sequence[tuple[bytes, bytes]] = ()

    def __init__(self, message: str, *, kind: str, retry_after_s: float) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
        self.type = kind


class Overloaded(ProxyError):
    """A queue is full; try again later."""

    status = 503
    type = "server_error"
    code = "overloaded"


class StoreUnavailable(ProxyError):
    """The audit store is down, and the route wants no answer without a row."""

    status = 503
    code = "store_unavailable"

    def __init__(self, message: str) -> None:
        super().__init__(message, retry_after_s=1.0)


class UpstreamError(ProxyError):
    """The upstream could not be reached or answered with something that is not an answer."""

    status = 502
    type = "upstream_error"
    code = "upstream_error"

    @property
    def cause(self) -> str | None:  # type: ignore[override]
        """Class and reason of the fault of the network that it was raised from, without addresses; None without one."""
        found, error = None, self.__cause__
        while error is not None:
            found = error if isinstance(error, OSError) else found
            error = error.__cause__ or error.__context__
        return None if found is None else f"{type(found).__name__}: {_reason(found)}"

    @property
    def is_free(self) -> bool:
        """See `ProxyError`."""
        return self.code == Reason.UPSTREAM_UNREACHABLE


_ERRNO = re.compile(r"\[Errno (\d+)\]")


def _reason(error: OSError) -> str:
    """What the network, the name service or TLS says, without addresses."""
    if isinstance(error, ssl.SSLError):
        said = getattr(error, "verify_message", "") or (error.reason or "failed").replace("_", " ").lower()
        is_refusal = isinstance(error, ssl.SSLCertVerificationError) or "alert" in said
        return said if is_refusal else f"{said} (does this port speak TLS?)"
    if isinstance(error, TimeoutError) and not error.errno:
        return "no connection in time"
    numbers = [error.errno] if error.errno else sorted({int(number) for number in _ERRNO.findall(str(error))})
    named = isinstance(error, socket.gaierror) or not numbers
    return str(error.strerror or error) if named else ", ".join(os.strerror(number or 0) for number in numbers)


class UpstreamTimeout(UpstreamError):
    """The upstream did not answer in time."""

    status = 504
    code = "upstream_timeout"


class UpstreamRejected(UpstreamError):
    """The upstream answered with an error of its own; status and body reach the client as they were.

    Attributes:
        event: the event of a stream in which it came; empty if it was no stream.
    """

    def __init__(
        self,
        status: int,
        body: bytes,
        content_type: str,
        retry_after: str | None = None,
        headers: Sequence[tuple[bytes, bytes]] = (),
        event: bytes = b"",
    ) -> None:
        super().__init__(f"the upstream answered with status {status}", code="upstream_rejected")
        self.status = status
        self.raw_body = body
        self.content_type = content_type
        self.retry_after = retry_after
        self.headers = headers
        self.event = event

    @property
    def is_free(self) -> bool:
        """See `ProxyError`."""
        return not self.event

    @property
    def sentence(self) -> str:
        """What happened, for a person: the status and, where the body is an error object, what the upstream says, in one line."""
        try:
            said = " ".join(str(loads(self.raw_body)["error"]["message"]).split())
        except (ValueError, KeyError, TypeError):  # not an error object
            return self.message
        return f"{self.message}: {said[:300]}"


class Internal(ProxyError):
    """A fault of ours."""

    @property
    def is_free(self) -> bool:
        """See `ProxyError`."""
        return False


class StepFailed(HedgerowError):
    """A step of the pipeline could not be done.

    Attributes:
        step: the step's name, as in the log line.
        reason: its code, for the header, the counter and the audit row.
        usage: the tokens that were spent in vain, where they are known.
    """

    def __init__(self, step: str, reason: Reason, detail: str = "", usage: Usage | None = None) -> None:
        super().__init__(f"{step}: {reason}" + (f" ({detail})" if detail else ""))
        self.step = step
        self.reason = reason
        self.detail = detail
        self.usage = usage


class StoreError(HedgerowError):
    """The audit store could not be written or read."""
