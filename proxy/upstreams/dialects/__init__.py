"""How each endpoint words a request for text and the answer to it: chat and plain completions, Responses, Anthropic's Messages."""
