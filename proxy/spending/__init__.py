"""What answers cost, and how much may be spent: prices, estimates, budgets."""
