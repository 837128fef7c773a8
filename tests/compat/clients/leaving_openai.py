"""openai for Python, leaving: each stream is left at its first event, or after some seconds where none has come."""

import asyncio
import json

from openai import AsyncOpenAI

QUESTION = "What is the weather in Canberra? Answer slowly."
ASK = {"model": "m", "stream": True}
CHAT = {**ASK, "messages": [{"role": "user", "content": QUESTION}]}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
LONGEST_S = 6.5
"""A proxy that holds a stream back has sent a comment line by then."""


async def leave(opened):
    """Open a stream, and close it; one on which nothing comes is left as well, since a client gives up before its first event too."""
    try:
        async with asyncio.timeout(LONGEST_S), await opened as stream:
            async for _ in stream:
                return "left"
    except TimeoutError:
        return "left"
    return "ended without an event"


async def main():
    """Leave all of them side by side."""
    async with AsyncOpenAI(max_retries=0) as client:
        chat, responses = client.chat.completions.create, client.responses.create
        ways = {"chat": chat(**CHAT), "tool": chat(**CHAT, tools=[TOOL]), "responses": responses(**ASK, input=QUESTION)}
        left = await asyncio.gather(*map(leave, ways.values()))
        return dict(zip(ways, left, strict=True))


print(json.dumps(asyncio.run(main())))
