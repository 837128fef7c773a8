"""The formats of endpoints for text: chat and plain completions, Responses, Anthropic's Messages."""
