"""The models behind the proxy: OpenAI-compatible HTTP, LiteLLM, embedded."""
