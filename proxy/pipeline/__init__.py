"""The way of one request, step by step."""
