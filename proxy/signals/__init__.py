"""From samples and clusters to a raw Beta of confidence."""
