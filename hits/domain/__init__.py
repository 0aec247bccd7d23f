"""Plain data and rules. Imports no framework and no other layer of the platform."""
