"""Solvers of the metrics: only what is ten or more times faster than scikit-learn at equal results.

Boosted trees (DCI, downstream), support vector machines on one latent (SAP), neighbours on a line (InfoMEC). Each is
tested against scikit-learn, which the option `engine="sklearn"` of these metrics puts in its place.
"""

from typing import Literal

Engine = Literal["hatchel", "sklearn"]
