"""The panels of a report, one a file: a new one is a subclass of `Panel` and appears where it has something to show."""
