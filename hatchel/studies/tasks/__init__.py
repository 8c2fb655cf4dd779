"""What the papers' studies compute beside training and scoring a run: one kind of task a file."""
