"""Box proposals: detectors, and how well proposals cover the boxes that people drew."""
