"""openai-agents, by Responses (its default) and by chat: an answer, a stream, an agent with a tool. Nothing is kept by the provider."""

import asyncio
import json

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

set_tracing_disabled(True)
heard = []
QUESTION = "What is the capital of Australia?"


@function_tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    heard.append(city)
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
        tooled = Agent(
            name="b",
            instructions="Use the tool.",
            model=model,
            tools=[weather],
            model_settings=ModelSettings(store=False),
        )
        run = await Runner.run(tooled, "What is the weather in Canberra?", run_config=config)
        called = [*heard]
        heard.clear()
        out[f"{name} tool"] = {"called": called, "said": "" if called else run.final_output}
        if called:
            out[f"{name} tool"]["items"] = [item.type for item in run.new_items]
    return out


print(json.dumps(asyncio.run(main())))
