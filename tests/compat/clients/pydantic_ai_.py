"""pydantic-ai by chat, Responses and Messages: text, stream, typed output."""

import asyncio
import json
import os

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider

QUESTION = "What is the capital of Australia?"


class City(BaseModel):
    """What is to be parsed."""

    name: str
    population: int


async def main() -> dict:
    out = {}
    base = os.environ["OPENAI_BASE_URL"].removesuffix("/v1")
    ways = {
        "chat": OpenAIChatModel("m"),
        "responses": OpenAIResponsesModel("m"),
        "messages": AnthropicModel("m", provider=AnthropicProvider(api_key="sk-test", base_url=base)),
    }
    for name, model in ways.items():
        out[name] = (await Agent(model).run(QUESTION)).output
        async with Agent(model).run_stream(QUESTION) as stream:
            out[f"{name} stream"] = await stream.get_output()
    typed = await Agent(ways["chat"], output_type=NativeOutput(City)).run(QUESTION)
    out["typed"] = typed.output.model_dump()
    return out


print(json.dumps(asyncio.run(main())))
