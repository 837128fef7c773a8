"""anthropic for Python: messages, streams, tools."""

import json
import os

from anthropic import Anthropic

ASK = [{"role": "user", "content": "What is the capital of Australia?"}]
WEATHER = [{"role": "user", "content": "What is the weather in Canberra?"}]
TOOL = {"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
client = Anthropic(base_url=os.environ["OPENAI_BASE_URL"].removesuffix("/v1"), api_key="sk-test", max_retries=0)
out = {}
answer = client.messages.create(model="m", max_tokens=64, messages=ASK)
out["messages"] = answer.content[0].text
with client.messages.stream(model="m", max_tokens=64, messages=ASK) as events:
    out["stream"] = "".join(events.text_stream)
    out["final message"] = events.get_final_message().content[0].text


def tool(message):
    """What was called, what was said, and why the answer ended."""
    called = [block.input for block in message.content if block.type == "tool_use"]
    said = "".join(block.text for block in message.content if block.type == "text")
    return {"called": called, "said": said, "ended": message.stop_reason}


out["tool"] = tool(client.messages.create(model="m", max_tokens=64, messages=WEATHER, tools=[TOOL]))
with client.messages.stream(model="m", max_tokens=64, messages=WEATHER, tools=[TOOL]) as events:
    out["tool stream"] = tool(events.get_final_message())
print(json.dumps(out))
