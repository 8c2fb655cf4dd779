"""Room: weights."""
