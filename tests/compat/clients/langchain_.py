"""langchain-openai: chat, stream, tools, Responses, and where our headers are."""

import json

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

QUESTION = "What is the capital of Australia?"


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


out = {}
model = ChatOpenAI(model="m", max_retries=0, include_response_headers=True)
answer = model.invoke(QUESTION)
out["chat"] = answer.content
out["stream"] = "".join(chunk.content for chunk in model.stream(QUESTION))
called = model.bind_tools([weather]).invoke("What is the weather in Canberra?")
out["tool"] = {"called": [call["args"] for call in called.tool_calls], "said": called.content}
out["responses"] = ChatOpenAI(model="m", max_retries=0, use_responses_api=True).invoke(QUESTION).text
print(json.dumps(out, default=str))
