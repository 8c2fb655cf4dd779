"""Runs that the report's tests have trained already."""

from tests.report.conftest import found, run, several

__all__ = ["found", "run", "several"]
