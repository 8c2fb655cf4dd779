"""Hatchel: disentangled representation learning."""

__version__ = "0.1.0"
