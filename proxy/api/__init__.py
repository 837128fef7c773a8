"""Our own JSON endpoints: feedback, audit, administration, health, perceive, models."""
