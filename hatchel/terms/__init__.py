"""Room: terms."""
