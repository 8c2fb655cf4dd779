"""Methods: one file a paper."""
