"""The scorer m(image, region, inference): its model, its loss, its training loop. Torch; no Django."""
