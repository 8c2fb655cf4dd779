"""Studies: a grid of tasks, computed once each by any engine; their results as one frame, and what is made of it."""
