"""What is minimised: a trace, terms of it, estimators of densities, weights, and their sum."""
