"""Real clients in front of a scripted provider: direct, and through the proxy in every mode. `make compat` runs them all."""
