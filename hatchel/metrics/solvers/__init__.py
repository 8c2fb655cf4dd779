"""Fast solvers of the metrics: only what is ten or more times faster than scikit-learn at equal results."""
