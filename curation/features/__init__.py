"""Vectors of images, regions and texts. Only the adapters in here import torch."""
