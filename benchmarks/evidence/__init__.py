"""The documents' evidence: parts that compute it, and what they share."""
