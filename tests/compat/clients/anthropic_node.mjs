// Anthropic's SDK for Node: messages and streams.
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: process.env.OPENAI_BASE_URL.replace(/\/v1$/, ""), apiKey: "sk-test", maxRetries: 0 });
const ask = { model: "m", max_tokens: 64, messages: [{ role: "user", content: "What is the capital of Australia?" }] };
const out = {};
const answer = await client.messages.create(ask);
out.messages = answer.content[0].text;
out.stream = await client.messages.stream(ask).finalText();
const tools = [{ name: "weather", input_schema: { type: "object", properties: { city: { type: "string" } } } }];
const weather = { ...ask, messages: [{ role: "user", content: "What is the weather in Canberra?" }], tools };
const tool = ({ content, stop_reason: ended }) => ({ called: content.map((block) => block.input), ended });
out.tool = tool(await client.messages.create(weather));
out["tool stream"] = tool(await client.messages.stream(weather).finalMessage());
console.log(JSON.stringify(out));
