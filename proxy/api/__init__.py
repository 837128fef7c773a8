"""The proxy's own JSON endpoints: feedback, audit, administration, health, perceive, models."""
