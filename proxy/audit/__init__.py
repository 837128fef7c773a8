"""What was said, how sure, and was it right."""
