"""openai-agents, by Responses (its default) and by chat: an answer, a stream, an agent with a tool."""

import asyncio
import json

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)
QUESTION = "What is the capital of Australia?"


@function_tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


async def main() -> dict:
    out = {}
    ways = {"responses": "m", "chat": OpenAIChatCompletionsModel(model="m", openai_client=AsyncOpenAI(max_retries=0))}
    for name, model in ways.items():
        config = RunConfig(tracing_disabled=True)
        agent = Agent(name="a", instructions="Be brief.", model=model)
        out[name] = (await Runner.run(agent, QUESTION, run_config=config)).final_output
        streamed = Runner.run_streamed(agent, QUESTION, run_config=config)
        async for _ in streamed.stream_events():
            pass
        out[f"{name} stream"] = streamed.final_output
        tooled = Agent(name="b", instructions="Use the tool.", model=model, tools=[weather])
        run = await Runner.run(tooled, "What is the weather in Canberra?", run_config=config)
        out[f"{name} tool"] = [item.type for item in run.new_items]
    return out


print(json.dumps(asyncio.run(main())))
