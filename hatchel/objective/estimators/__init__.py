"""Estimators of log q(z) and of ratios of such densities."""
