"""Read leaderboards and what was handed in; one module for rows, one for tables of figures."""
