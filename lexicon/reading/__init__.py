"""An answer read once: its sentences, what each does, its own words of doubt, and what must not be touched."""
