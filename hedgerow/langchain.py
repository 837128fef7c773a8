"""A LangChain Runnable that words a chat model's answers as confidently as they deserve. Needs langchain-core."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig

from .hedging import Hedging


class Hedged(Runnable[LanguageModelInput, AIMessage]):
    """A chat model whose answers are worded by their confidence: `Hedged(model).invoke("Who wrote Emma?")`, or in a chain.

    Each answer costs `samples` calls of the model, side by side. Messages with tool calls and without text are passed on as they are; a stream
    gives the whole answer at once.

    Parameters
    ----------
    model : BaseChatModel
    hedging : Hedging, optional

    Notes
    -----
    The message carries what was found in `response_metadata["hedgerow"]`.
    """

    def __init__(self, model: BaseChatModel, hedging: Hedging | None = None) -> None:
        self.hedging = hedging or Hedging()
        self._model = model.bind(temperature=self.hedging.temperature)

    def invoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """The worded answer."""
        drawn = self._model.batch([input] * self.hedging.samples, config, **kwargs)
        return self._worded(input, drawn)

    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AIMessage:
        """The worded answer."""
        drawn = await self._model.abatch([input] * self.hedging.samples, config, **kwargs)
        return await asyncio.to_thread(self._worded, input, drawn)

    def _worded(self, input: LanguageModelInput, drawn: list[AIMessage]) -> AIMessage:
        first, texts = drawn[0], [message.text for message in drawn if message.text]
        if first.tool_calls or not first.text:
            return first
        text, confidence = self.hedging.word(_question(input), texts)
        said = next(message for message in drawn if message.text)
        metadata = said.response_metadata | {"hedgerow": confidence}
        return said.model_copy(update={"content": text, "response_metadata": metadata})


def _question(input: LanguageModelInput) -> str:
    """The user's last question."""
    if isinstance(input, str):
        return input
    messages: list[BaseMessage] = input.to_messages() if isinstance(input, PromptValue) else convert_to_messages(input)
    asked = [message for message in messages if isinstance(message, HumanMessage)]
    return asked[-1].text if asked else ""
