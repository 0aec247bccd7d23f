"""The models: R2C, CLIP with coloured boxes, and models of text alone."""
