// Vercel's AI SDK: its OpenAI provider (Responses by default, chat) and the provider for compatible servers.
import { generateText, streamText, generateObject, tool } from "ai";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { z } from "zod";

const baseURL = process.env.OPENAI_BASE_URL;
const openai = createOpenAI({ baseURL, apiKey: "sk-test" });
const compatible = createOpenAICompatible({ name: "proxy", baseURL, apiKey: "sk-test", supportsStructuredOutputs: true });
const prompt = "What is the capital of Australia?";
const out = {};
for (const [name, model] of [["responses", openai("m")], ["chat", openai.chat("m")], ["compatible", compatible("m")]]) {
  out[name] = (await generateText({ model, prompt, maxRetries: 0 })).text;
  out[`${name} stream`] = await streamText({ model, prompt, maxRetries: 0 }).text;
}
const schema = z.object({ name: z.string(), population: z.number() });
out.object = (await generateObject({ model: openai.chat("m"), schema, prompt, maxRetries: 0 })).object;
const tools = { weather: tool({ description: "Tell the weather of a city.", inputSchema: z.object({ city: z.string() }) }) };
const openaiOptions = { providerOptions: { openai: { store: false } } };
for (const [name, model] of [["responses tool", openai("m")], ["chat tool", openai.chat("m")]]) {
  const ask = { model, prompt: "What is the weather in Canberra?", tools, maxRetries: 0, ...openaiOptions };
  const { text: said, toolCalls } = await generateText(ask);
  out[name] = { called: toolCalls.map((call) => call.input), said };
  const streamed = streamText(ask);
  out[`${name} stream`] = { said: await streamed.text, called: (await streamed.toolCalls).map((call) => call.input) };
}
console.log(JSON.stringify(out));
