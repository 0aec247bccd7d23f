"""Read pay, budgets, forecasts and top-ups."""
