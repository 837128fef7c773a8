"""One part of the evidence a file, each with `section(data) -> str`."""
