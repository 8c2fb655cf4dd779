"""What everything stands on: specs, errors, plug-ins, files, random streams, processes. Nothing about VAEs."""

__version__ = "0.2.0"
"""Of the package, which records and exports name."""
