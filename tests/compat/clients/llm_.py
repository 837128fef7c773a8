"""llm as a library: a prompt and a stream."""

import json
import os

from llm.default_plugins.openai_models import Chat

base = os.environ["OPENAI_BASE_URL"]
whole = Chat("m", model_name="m", api_base=base)
whole.key = "sk-test"
question = "What is the capital of Australia?"
out = {"chat": whole.prompt(question, stream=False).text(), "stream": "".join(whole.prompt(question, stream=True))}
print(json.dumps(out))
