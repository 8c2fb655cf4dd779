"""Objectives: a weighted sum of terms, each a pure quantity of a trace, with estimators of the densities they compare.

Batch -> model -> `Trace` -> `Term` by an `Estimator` -> `Weight` -> `Objective`.
"""
