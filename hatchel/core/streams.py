"""Random streams by name: every draw is a function of (seed, stream, step), never of what was drawn before.

So a resumed run, a run on two processes and a run on another device draw the same numbers without saving any state.
"""

from __future__ import annotations

import hashlib

import torch


class Stream(torch.Generator):
    """A generator that knows its stream's name."""

    name: str = ""


def generator(seed: int, stream: str, step: int = 0) -> Stream:
    """A fresh CPU generator for one stream at one step.

    >>> a, b = (torch.rand(2, generator=generator(0, "noise", 7)) for _ in range(2))
    >>> bool((a == b).all())
    True
    """
    text = f"{seed}/{stream}/{step}".encode()
    number = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
    source = Stream()
    source.name = stream
    source.manual_seed(number & (2**63 - 1))
    return source
