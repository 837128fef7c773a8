"""The formats of endpoints that generate text: chat and plain completions, Responses, Anthropic's Messages."""
