"""Room: presets."""
