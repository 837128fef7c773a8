"""pydantic-ai by chat and Responses: text, stream, typed output."""

import asyncio
import json

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

QUESTION = "What is the capital of Australia?"


class City(BaseModel):
    """What is to be parsed."""

    name: str
    population: int


async def main() -> dict:
    out = {}
    ways = {
        "chat": OpenAIChatModel("m"),
        "responses": OpenAIResponsesModel("m"),
    }
    for name, model in ways.items():
        out[name] = (await Agent(model).run(QUESTION)).output
        async with Agent(model).run_stream(QUESTION) as stream:
            out[f"{name} stream"] = await stream.get_output()
    typed = await Agent(ways["chat"], output_type=NativeOutput(City)).run(QUESTION)
    out["typed"] = typed.output.model_dump()
    return out


print(json.dumps(asyncio.run(main())))
