"""The sampling step: how many answers are drawn, in which order, and when to stop."""
