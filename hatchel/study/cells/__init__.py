"""What a study can compute: one kind of cell a file."""
