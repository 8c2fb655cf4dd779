"""`hatchel weight`: a weight of another image size or code base as the one that does the same here."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from hatchel.cli.options import AsJson
from hatchel.core.errors import HatchelError

LARGEST = 10**6
"""Of a side."""


def weight(
    value: Annotated[float, typer.Argument(metavar="WEIGHT", help="The weight where it was found.")],
    to: Annotated[str, typer.Option(help="HEIGHTxWIDTHxCHANNELS of the images it is for.")],
    of: Annotated[str, typer.Option(help="The same where it was found; `mean` if that takes a mean over pixels.")] = (
        "64x64x1"
    ),
    sigma: Annotated[float, typer.Option(help="Of the Gaussian likelihood where it was found, if it has one.")] = 1.0,
    to_sigma: Annotated[float, typer.Option(help="Of the Gaussian likelihood it is for.")] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Convert a weight between image sizes, and from code bases that take the mean over pixels.

    [bold]hatchel weight 4 --of 64x64x1 --to 32x32x3[/]

    [bold]hatchel weight 0.001 --of mean --to 64x64x3[/]
    """
    from hatchel.cli.printing import print_json
    from hatchel.objective.equivalent import equivalent_weight

    found = equivalent_weight(value, _shape(of, "--of"), _shape(to, "--to"), sigma, to_sigma)
    if as_json:
        print_json({"weight": found})
    else:
        print(f"{found:.6g}")


def _shape(text: str, option: str) -> tuple[int, ...]:
    if text == "mean":
        return (1,)
    sides = tuple(int(s) for s in text.split("x")) if re.fullmatch(r"\d{1,7}(x\d{1,7}){0,2}", text) else ()
    if not sides or not all(1 <= side <= LARGEST for side in sides):
        raise HatchelError(f"{option} {text!r}: a size is written 64x64x3, or mean; try {option} 64x64x3")
    return sides
