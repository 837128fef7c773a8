"""Commands that issue, verify and report promises with proof."""
