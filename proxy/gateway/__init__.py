"""The HTTP edge: OpenAI-compatible endpoints, errors, streams."""
