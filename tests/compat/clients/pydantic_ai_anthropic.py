"""pydantic-ai by Messages: text and stream; what knows the answer in the audit."""

import asyncio
import json

from anthropic import AsyncAnthropic
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

QUESTION = "What is the capital of Australia?"


async def main() -> dict:
    out = {}
    model = AnthropicModel("m", provider=AnthropicProvider(anthropic_client=AsyncAnthropic(max_retries=0)))
    result = await Agent(model).run(QUESTION)
    out["messages"] = result.output
    out["id"] = result.all_messages()[-1].provider_response_id.startswith("msg_")
    async with Agent(model).run_stream(QUESTION) as stream:
        out["messages stream"] = await stream.get_output()
    return out


print(json.dumps(asyncio.run(main())))
