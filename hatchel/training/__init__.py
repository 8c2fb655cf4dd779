"""Training: the run's spec, model and loop, checkpoints and events, and the trained run with its folder."""
