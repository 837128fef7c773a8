"""llama-index-llms-openai: chat and stream."""

import json

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAI

model = OpenAI(model="gpt-4o-mini", max_retries=0)
ask = [ChatMessage(role="user", content="What is the capital of Australia?")]
answer = model.chat(ask)
out = {"chat": answer.message.content}
out["stream"] = list(model.stream_chat(ask))[-1].message.content
print(json.dumps(out))
