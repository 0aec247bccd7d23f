"""Money: dollars and cents, fees, costs, pay per hour and its forecast."""
