"""`make torture`: kills, damage, races and full disks for as long as asked; a table of what was tried and failed."""

from __future__ import annotations

import random
from collections.abc import Iterator


def damages(whole: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """So many ways to damage a file, each one another content: a flipped bit, a cut, a block of zeros."""
    draw = random.Random(seed)
    made = 0
    while made < count:
        place = draw.randrange(len(whole))
        match draw.choice(("flip", "cut", "zeros")):
            case "flip":
                what = f"bit flipped in byte {place} of {len(whole)}"
                content = whole[:place] + bytes([whole[place] ^ 1 << draw.randrange(8)]) + whole[place + 1 :]
            case "cut":
                what, content = f"cut to {place} of {len(whole)} bytes", whole[:place]
            case _:
                size = min(draw.choice((1, 16, 512, 4096)), len(whole) - place)
                what = f"{size} zeros from byte {place} of {len(whole)}"
                content = whole[:place] + bytes(size) + whole[place + size :]
        if content != whole:
            made += 1
            yield what, content
