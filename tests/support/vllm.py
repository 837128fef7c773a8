"""A scripted vLLM: what its OpenAI server answers, refuses and adds, in the shapes of its sources.

Shapes and messages are those of vllm-project/vllm, `vllm/entrypoints/openai` (`ErrorResponse`, `ModelCard`, `ChatCompletionResponse`,
`check_logprobs`, `validate_stream_options`) and `vllm/sampling_params.py` (`_verify_greedy_sampling`), as of 2026.
"""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.support.upstream import Json, sse_response

MODEL = "qwen"
KEY = "the-servers-key"
MAX_LOGPROBS = 20


def error(status: int, message: str, kind: str = "BadRequestError", param: str | None = None) -> JSONResponse:
    """An error object of vLLM: its code is the number of the status."""
    return JSONResponse({"error": {"message": message, "type": kind, "param": param, "code": status}}, status)


class Vllm:
    """Answers in turn, as many as `n` asks for.

    Args:
        texts: the answers, over and over.
        greedy: whether the model's `generation_config.json` sets a temperature of 0.
    """

    def __init__(self, *texts: str, greedy: bool = False) -> None:
        self._texts, self._temperature, self._turn = texts, 0.0 if greedy else 1.0, 0

    def __call__(self, request: Request, body: Json) -> Response:
        if request.url.path == "/health":
            return Response(b"")
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return JSONResponse({"error": "Unauthorized"}, 401)  # a string where others have an object
        if request.url.path == "/v1/models":
            return JSONResponse({"object": "list", "data": [_card()]})
        return self._refused(body) or self._answer(body)

    def _refused(self, body: Json) -> Response | None:
        n, temperature = body.get("n") or 1, body.get("temperature", self._temperature)
        if body["model"] != MODEL:
            return error(404, f"The model `{body['model']}` does not exist.", "NotFoundError", "model")
        if temperature < 1e-5 and n > 1:
            return error(400, f"n must be 1 when using greedy sampling, got {n}.")
        if body.get("prompt_logprobs") and body.get("stream"):
            return error(400, "`prompt_logprobs` are not available when `stream=True`.", param="prompt_logprobs")
        if body.get("stream_options") and not body.get("stream"):
            return error(400, "Stream options can only be defined when `stream=True`.", param="stream_options")
        if (asked := body.get("top_logprobs") or 0) > MAX_LOGPROBS:
            said = f"Requested sample logprobs of {asked}, which is greater than max allowed: {MAX_LOGPROBS}"
            return error(400, said)
        return None

    def _answer(self, body: Json) -> Response:
        texts = [self._texts[(self._turn + i) % len(self._texts)] for i in range(body.get("n") or 1)]
        self._turn += len(texts) if body.get("temperature", self._temperature) else 0
        if body.get("stream"):
            return sse_response([*_chunks(texts, body.get("stream_options") or {}), "[DONE]"])
        return JSONResponse(_completion(texts, body))


def _card() -> Json:
    permission = {"id": "modelperm-1", "object": "model_permission", "created": 1, "organization": "*", "group": None}
    return {
        "id": MODEL, "object": "model", "created": 1_760_000_000, "owned_by": "vllm", "root": "Qwen/Qwen3-8B",
        "parent": None, "max_model_len": 40_960, "permission": [permission | {"allow_sampling": True}],
    }  # fmt: skip


def _usage(answers: int) -> Json:
    return {
        "prompt_tokens": 12,
        "total_tokens": 12 + 3 * answers,
        "completion_tokens": 3 * answers,
        "prompt_tokens_details": None,
    }


def _completion(texts: list[str], body: Json) -> Json:
    def choice(index: int, text: str) -> Json:
        said = {"role": "assistant", "content": text, "refusal": None, "annotations": None, "audio": None}
        token = {"token": text, "logprob": -0.25, "bytes": list(text.encode()), "top_logprobs": []}
        return {
            "index": index,
            "message": said | {"function_call": None, "tool_calls": [], "reasoning": None, "reasoning_content": None},
            "logprobs": {"content": [token]} if body.get("logprobs") else None,
            "finish_reason": "stop", "stop_reason": None, "token_ids": None,
        }  # fmt: skip

    prompt = [None, {"9707": {"logprob": -1.5, "rank": 1, "decoded_token": "Hello"}}]
    return {
        "id": "chatcmpl-5f2c", "object": "chat.completion", "created": 1_760_000_000, "model": MODEL,
        "choices": [choice(i, text) for i, text in enumerate(texts)],
        "service_tier": None, "system_fingerprint": None, "usage": _usage(len(texts)),
        "prompt_logprobs": prompt if body.get("prompt_logprobs") else None, "prompt_token_ids": None,
        "kv_transfer_params": None,
    }  # fmt: skip


def _chunks(texts: list[str], options: Json) -> list[Json]:
    """The role, the text, the reason; with counts in each chunk, or in one without choices at the end, where they are asked for."""
    head = {"id": "chatcmpl-5f2c", "object": "chat.completion.chunk", "created": 1_760_000_000, "model": MODEL}
    running = {"usage": _usage(0)} if options.get("continuous_usage_stats") else {}
    chunks = []
    for index, text in enumerate(texts):
        for delta, end in (
            ({"role": "assistant", "content": ""}, None),
            ({"content": text}, None),
            ({"content": ""}, "stop"),
        ):
            choice: Json = {"index": index, "delta": delta, "logprobs": None, "finish_reason": end}
            choice |= {"stop_reason": None, "token_ids": None} if end else {"token_ids": None}
            chunks.append(head | running | {"choices": [choice]})
    chunks[0]["prompt_token_ids"] = None
    return [*chunks, head | {"choices": [], "usage": _usage(len(texts))}] if options.get("include_usage") else chunks


def breaks_off(_request: Any, _body: Json) -> Response:
    """A stream whose engine died: an error as an event, and the mark of the end all the same."""
    first = _chunks(["Canberra."], {})[:2]
    died = json.loads(bytes(error(500, "EngineCore encountered an issue.", "InternalServerError").body))
    return sse_response([*first, died, "[DONE]"])
