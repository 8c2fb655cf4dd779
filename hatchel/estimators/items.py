"""Items: generated items against the data's, for a critic that tells them apart."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Items:
    """What a discriminator compares: the joint's samples are the generated items, the product's the data's."""
