"""`hatchel export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FOLDER = "FOLDER"


def export(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    onnx: Annotated[Path | None, typer.Option(metavar=FOLDER, help="encoder.onnx and decoder.onnx.")] = None,
    torchscript: Annotated[Path | None, typer.Option(hidden=True)] = None,
    safetensors: Annotated[
        Path | None, typer.Option(metavar=FOLDER, help="Weights and config.json, which Hatchel reads again.")
    ] = None,
    hub: Annotated[
        Path | None, typer.Option(metavar=FOLDER, help="Hugging Face layout: the same and a model card.")
    ] = None,
    push: Annotated[
        str | None, typer.Option(metavar="NAME", help="Also upload the --hub folder, as ME/MODEL; private if new.")
    ] = None,
    level: Annotated[int, typer.Option(min=0, help="Level of a hierarchy of latents, for --onnx.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that holds other things.")] = False,
    plugin: Annotated[list[Path] | None, typer.Option("--plugin", help="Load a plug-in file.")] = None,
) -> None:
    """Write a run's networks for other programs, each checked by running it and comparing with the run.

    [bold]hatchel export runs/mine --onnx out[/]   [bold]hatchel export runs/mine --hub card --push me/my-model[/]
    """
    from hatchel.core.errors import HatchelError

    if torchscript is not None:
        raise HatchelError(
            "--torchscript: the format is deprecated in PyTorch and no longer written; use --onnx FOLDER"
        )
    targets = [folder for folder in (onnx, safetensors, hub) if folder is not None]
    if not targets:
        raise HatchelError("export: name at least one of --onnx, --safetensors, --hub, with a folder")
    if push is not None and hub is None:
        raise HatchelError("--push: uploads a Hub export; name its folder with --hub")
    from hatchel.cli.assignments import load_plugins

    load_plugins(plugin)
    from hatchel.export import hub as to_hub
    from hatchel.export import onnx as to_onnx
    from hatchel.export import safetensors as to_safetensors
    from hatchel.export.folder import Exported, check_target
    from hatchel.training.run import TrainedRun

    loaded = TrainedRun.load(run)
    # Before any work is done.
    if push is not None:
        to_hub.hub_library()
    for folder in targets:
        check_target(loaded, folder, force)

    def print_result(noun: str, done: Exported) -> None:
        files = ", ".join(map(str, done.files))
        print(f"{noun}: {files} (outputs differ from the run's by at most {done.difference:.1e})")

    if onnx is not None:
        print_result("ONNX", to_onnx.write(loaded, onnx, level, force))
    if safetensors is not None:
        print_result("Safetensors", to_safetensors.write(loaded, safetensors, force))
    if hub is not None:
        print_result("Hub", to_hub.write(loaded, hub, force))
        if push is not None:
            print(f"Pushed: {to_hub.push(hub, push)}")
