"""Vectors of images, regions and texts. Only the modules of encoders import torch."""
