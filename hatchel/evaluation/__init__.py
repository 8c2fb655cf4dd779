"""A run's codes, scores and intervals: measured once, stored, read by everything that shows them."""
