"""DSPy, which reads its answers by markers; LiteLLM is its client."""

import json

import dspy

dspy.configure(lm=dspy.LM("openai/m", cache=False, num_retries=0))
answer = dspy.LM("openai/m", cache=False, num_retries=0)("What is the capital of Australia?")[0]
print(json.dumps({"text": answer if isinstance(answer, str) else answer["text"]}))
