"""The audit: answers, their confidence, and whether they were right."""
