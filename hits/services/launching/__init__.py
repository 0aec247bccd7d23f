"""Launch a batch: terms and their estimate, then units and HITs as rows with request tokens."""
