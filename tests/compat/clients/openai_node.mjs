// openai for Node: chat, streams, tools, Responses.
import OpenAI from "openai";

const client = new OpenAI({ maxRetries: 0 });
const messages = [{ role: "user", content: "What is the capital of Australia?" }];
const out = {};
const answer = await client.chat.completions.create({ model: "m", messages });
out.chat = answer.choices[0].message.content;
const runner = client.chat.completions.stream({ model: "m", messages });
out.stream = await runner.finalContent();
const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } } }];
const weather = { model: "m", messages: [{ role: "user", content: "What is the weather in Canberra?" }], tools };
const tool = ({ message, finish_reason: ended }) => ({ called: (message.tool_calls ?? []).map((call) => JSON.parse(call.function.arguments)), said: message.content, ended });
out.tool = tool((await client.chat.completions.create(weather)).choices[0]);
out["tool stream"] = tool((await client.chat.completions.stream(weather).finalChatCompletion()).choices[0]);
out.responses = (await client.responses.create({ model: "m", input: messages[0].content })).output_text;
const events = client.responses.stream({ model: "m", input: messages[0].content });
out["responses stream"] = (await events.finalResponse()).output_text;
console.log(JSON.stringify(out));
