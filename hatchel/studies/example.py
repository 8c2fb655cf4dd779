"""A study file to start from: `hatchel study show grid` prints it."""

from __future__ import annotations

from dataclasses import replace

from hatchel.study.file import study_of
from hatchel.study.study import register

EXAMPLE = """\
name: example
data: {kind: xy_squares, size: 32}
methods:                                  # a list as value makes one method of each; label is optional
  - vae
  - {method: beta_vae, beta: [4, 16], label: beta-VAE}
set: {steps: 500, latent.dim: 4}          # any parameter of the methods, any field of `hatchel show vae`
# product: {latent.dim: [4, 8]}           # every combination
# zip: {batch_size: [32, 64], optimizer.lr: [5.0e-4, 1.0e-3]}   # the first of each, the second of each
seeds: 2
metrics: [mig, reconstruction]
figures: [box, scatter, wins, agreement]  # violin; curves (needs snapshots: 5), lines (a product over numbers)
scales:
  smoke: {steps: 5}
  paper: {steps: 20000, seeds: 10}
"""
"""Runs in a minute."""

register(replace(study_of(EXAMPLE), name="grid"))
