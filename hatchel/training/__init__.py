"""Training: the run's spec, the loop, checkpoints and events."""
