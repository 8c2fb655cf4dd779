"""Room: estimators."""
