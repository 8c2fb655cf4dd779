"""`hatchel explore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def explore(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    other: Annotated[Path | None, typer.Argument(help="A second run, to compare on the same items.")] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; beyond this machine a token is required.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="By default 8765, or a free one if that is busy.", show_default=False),
    ] = None,
    static: Annotated[
        Path | None, typer.Option("--static", help="Write a folder that needs no server instead.")
    ] = None,
    runtime: Annotated[
        Path | None, typer.Option(help="With --static: a folder that has onnxruntime-web, instead of fetching it.")
    ] = None,
    items: Annotated[
        int, typer.Option("--items", "-n", min=10, help="Items encoded to order the sliders and set their ranges.")
    ] = 15_000,
    seed: Annotated[int, typer.Option(help="Random seed of the items drawn.")] = 0,
    browse: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    plugin: Annotated[list[Path] | None, typer.Option("--plugin", help="Load a plug-in file.")] = None,
) -> None:
    """Explore a run in the browser: a slider for each latent, decoded while you drag; edit, swap and compare images.

    [bold]hatchel explore runs/mine[/]   [bold]hatchel explore runs/mine runs/other[/]   [bold]… --static page/[/]
    """
    from hatchel.cli.assignments import load_plugins
    from hatchel.core.errors import HatchelError

    load_plugins(plugin)
    if static is None and runtime is not None:
        raise HatchelError("--runtime: is only used together with --static FOLDER")
    from hatchel.explorer.session import Session
    from hatchel.training.run import TrainedRun

    runs = [TrainedRun.load(folder) for folder in (run, other) if folder is not None]
    if static is not None:
        from hatchel.explorer.runtime import runtime as browser_runtime
        from hatchel.explorer.static import check_folder, write_static

        check_folder(static)
        found = browser_runtime(runtime)
        session = Session(runs, items=items, seed=seed)
        print(f"Explorer: {write_static(session, static, found) / 'index.html'}")
        return
    try:
        from hatchel.explorer.server import Listening
    except ImportError as error:
        raise HatchelError(f'the explorer needs {error.name}: pip install "hatchel[web]"') from None
    session = Session(runs, items=items, seed=seed)
    opened = Listening.on(session, host=host, port=port)
    print(f"Explorer: {opened.address}   (Ctrl+C to stop)", flush=True)
    if browse:
        import webbrowser

        webbrowser.open(opened.address)
    opened.run()
