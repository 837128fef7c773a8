"""Commands that show or word single answers: ask, demo, rewrite, confidence, claims, same-meaning."""
