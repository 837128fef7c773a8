// openai for Node: what it makes of the streams of every provider, which are named as models.
import OpenAI from "openai";

const client = new OpenAI({ maxRetries: 0 });
const messages = [{ role: "user", content: "What is the weather in Canberra?" }];
const tools = [{ type: "function", function: { name: "get_weather", parameters: {} } }];
const out = {};
for await (const { id: model } of client.models.list()) {
  const stream = client.chat.completions.stream({ model, messages, tools, stream_options: { include_usage: true } });
  try {
    const { choices, hedgerow, ...rest } = await stream.finalChatCompletion();
    const calls = choices[0].message.tool_calls.map(({ id, function: { name, arguments: given } }) => [id, name, JSON.parse(given)]);
    if (calls.length === 2) out[model] = { calls, ended: choices[0].finish_reason, rest };
  } catch {
    continue; // the library cannot put this manner together: direct neither, or it is missed
  }
}
delete out.m;
console.log(JSON.stringify(out));
