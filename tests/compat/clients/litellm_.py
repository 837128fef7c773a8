"""LiteLLM as a client: chat and stream."""

import json

import litellm

ask = [{"role": "user", "content": "What is the capital of Australia?"}]
answer = litellm.completion(model="openai/m", messages=ask, num_retries=0)
out = {"chat": answer.choices[0].message.content}
stream = litellm.completion(model="openai/m", messages=ask, stream=True, num_retries=0)
out["stream"] = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
print(json.dumps(out))
