"""openai for Python: chat, streams, tools, parsed output, Responses, models, embeddings."""

import json

from openai import OpenAI
from pydantic import BaseModel

QUESTION = "What is the capital of Australia?"
ASK = [{"role": "user", "content": QUESTION}]
WEATHER = [{"role": "user", "content": "What is the weather in Canberra?"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}


class City(BaseModel):
    """What is to be parsed."""

    name: str
    population: int


client = OpenAI(max_retries=0)
out = {}
answer = client.chat.completions.create(model="m", messages=ASK)
out["chat"] = answer.choices[0].message.content
stream = client.chat.completions.create(model="m", messages=ASK, stream=True, stream_options={"include_usage": True})
chunks = list(stream)
out["stream"] = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
out["usage in the stream"] = chunks[-1].usage.completion_tokens


def tool(choice):
    """What was called, what was said, and why the answer ended."""
    called = [json.loads(call.function.arguments) for call in choice.message.tool_calls or ()]
    return {"called": called, "said": choice.message.content, "ended": choice.finish_reason}


out["tool"] = tool(client.chat.completions.create(model="m", messages=WEATHER, tools=[TOOL]).choices[0])
with client.chat.completions.stream(model="m", messages=WEATHER, tools=[TOOL]) as events:
    out["tool stream"] = tool(events.get_final_completion().choices[0])
parsed = client.chat.completions.parse(model="m", messages=ASK, response_format=City)
out["parse"] = parsed.choices[0].message.parsed.model_dump()
response = client.responses.create(model="m", input=QUESTION)
out["responses"] = response.output_text
with client.responses.stream(model="m", input=QUESTION) as events:
    for _ in events:
        pass
    out["responses stream"] = events.get_final_response().output_text
flat = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}
for name, stream in (("responses tool", False), ("responses tool stream", True)):
    answer = client.responses.create(model="m", input=WEATHER, tools=[flat], store=False, stream=stream)
    answer = list(answer)[-1].response if stream else answer
    called = [json.loads(item.arguments) for item in answer.output if item.type == "function_call"]
    out[name] = {"called": called, "said": answer.output_text}
out["two choices"] = [c.message.content for c in client.chat.completions.create(model="m", messages=ASK, n=2).choices]
out["models"] = "m" in [model.id for model in client.models.list()]
out["embeddings"] = client.embeddings.create(model="m", input="x", encoding_format="float").data[0].embedding
print(json.dumps(out))
