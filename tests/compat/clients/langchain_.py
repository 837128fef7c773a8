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
out["tool"] = model.bind_tools([weather]).invoke("What is the weather in Canberra?").tool_calls[0]["args"]
out["responses"] = ChatOpenAI(model="m", max_retries=0, use_responses_api=True).invoke(QUESTION).text
print(json.dumps(out, default=str))
