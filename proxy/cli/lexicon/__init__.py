"""Commands on hedges: reading, checking and building lexicons."""
