"""The sampling step: how many answers to draw, in which order, and when to stop."""
