"""Adapters for image generators and chat models. No Django; openai, diffusers and torch are loaded on demand."""
