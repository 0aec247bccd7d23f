"""Kinds that stand for later ones: two images and two record types, no image, other scales, three arms."""
