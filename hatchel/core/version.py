"""The version of the package, which records and exports name."""

__version__ = "0.2.0"
