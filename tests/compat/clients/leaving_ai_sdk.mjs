// Vercel's AI SDK, leaving: each stream is aborted at its first text, or after some seconds where none has come.
import { streamText, tool } from "ai";
import { createOpenAI } from "@ai-sdk/openai";
import { z } from "zod";

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: "sk-test" });
const prompt = "What is the weather in Canberra? Answer slowly.";
const tools = { weather: tool({ inputSchema: z.object({}) }) };
const longest = 6500; // a proxy that holds a stream back has sent a comment line by then
async function leave(asked) {
  const abort = new AbortController();
  setTimeout(() => abort.abort(), longest).unref();
  const { fullStream } = streamText({ ...asked, prompt, maxRetries: 0, abortSignal: abort.signal, onError: () => {} });
  for await (const part of fullStream) if (part.type === "text-delta") abort.abort();
  return "left";
}
const ways = { chat: { model: openai.chat("m") }, tool: { model: openai.chat("m"), tools }, responses: { model: openai("m") } };
const left = await Promise.all(Object.entries(ways).map(async ([name, asked]) => [name, await leave(asked)]));
console.log(JSON.stringify(Object.fromEntries(left)));
