"""Image and text vectors; only the adapters in here import torch."""
