// openai for Node, leaving: each stream is left at its first event, or after some seconds where none has come.
import OpenAI from "openai";

const client = new OpenAI({ maxRetries: 0 });
const question = "What is the weather in Canberra? Answer slowly.";
const messages = [{ role: "user", content: question }];
const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }];
const longest = 6500; // a proxy that holds a stream back has sent a comment line by then
async function leave(open) {
  const signal = AbortSignal.timeout(longest);
  try {
    for await (const _ of await open({ signal })) break; // which aborts the stream
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return "left";
}
const ways = {
  chat: (options) => client.chat.completions.create({ model: "m", messages, stream: true }, options),
  tool: (options) => client.chat.completions.create({ model: "m", messages, tools, stream: true }, options),
  responses: (options) => client.responses.create({ model: "m", input: question, stream: true }, options),
};
const left = await Promise.all(Object.entries(ways).map(async ([name, open]) => [name, await leave(open)]));
console.log(JSON.stringify(Object.fromEntries(left)));
