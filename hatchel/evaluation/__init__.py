"""A run's codes (`codes`) and its scores with their intervals (`evaluation`).

Both are measured once, stored in the run's folder, and read by everything that shows them: the report, the explorer,
the model card of an export, the quickstart and the studies.
"""
