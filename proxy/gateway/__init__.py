"""The HTTP edge: the OpenAI surface, errors, streams."""
