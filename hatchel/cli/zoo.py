"""`hatchel zoo`: the trained models that come with Hatchel."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from hatchel.cli.options import AsJson

if TYPE_CHECKING:
    from hatchel.export.zoo import Card

app = typer.Typer(
    help="Trained models that come with Hatchel: hatchel explore zoo:shapes3d/rtc_vae opens one at once.",
    no_args_is_help=True,
)


@app.command(name="list")
def list_models(as_json: AsJson = False) -> None:
    """List the models, each the run of median MIG over its seeds.

    [bold]hatchel zoo list[/]   then   [bold]hatchel explore zoo:shapes3d/rtc_vae[/]
    """
    from hatchel.cli.printing import print_json, print_table
    from hatchel.export.zoo import PREFIX, card, names

    cards = [card(name) for name in names()]
    if as_json:
        print_json([dataclasses.asdict(found) for found in cards])
        return
    rows: list[list[str]] = []
    for found in cards:
        tried = found.seeds.values()
        over = f"{min(tried):.2f} to {max(tried):.2f} ({len(tried)})" if tried else ""
        what = found.about.partition(";")[0]
        rows.append([f"{PREFIX}{found.name}", what, found.interval("mig"), over, f"{found.size / 1e6:.1f}"])
    print_table(("name", "what", "MIG [95 %]", "of all seeds", "MB"), rows)
    if not cards:
        print("the zoo is empty")


@app.command()
def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A model, as `hatchel zoo list` names it; with or without zoo:.")
    ],
    as_json: AsJson = False,
) -> None:
    """Print a model's card: data, settings, every seed that was tried, scores with intervals.

    [bold]hatchel zoo show shapes3d/rtc_vae[/]
    """
    from hatchel.cli.printing import print_json
    from hatchel.export.zoo import PREFIX, card

    found = card(name.removeprefix(PREFIX))
    if as_json:
        print_json(dataclasses.asdict(found))
    else:
        print("\n".join(card_lines(found)))


def card_lines(found: Card) -> list[str]:
    """A card as one reads it."""
    from hatchel.export.zoo import PREFIX

    tried = sorted(found.seeds.items(), key=lambda pair: pair[1])
    seeds = ", ".join(f"{mig:.3f} (seed {seed}{', this one' * (seed == str(found.seed))})" for seed, mig in tried)
    return [
        f"{PREFIX}{found.name}: {found.about}",
        f"settings  {found.settings}",
        f"chosen    {found.rule}",
        f"MIGs      {seeds}",
        f"record    {found.agreement}",
        f"measured  {found.measured}",
        *(f"  {metric:18} {found.interval(metric)}" for metric in found.scores),
        f"file      {found.size / 1e6:.2f} MB, SHA-256 {found.digest}",
    ]
