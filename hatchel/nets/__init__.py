"""Room: nets."""
