"""Commands on a trained run: `hatchel evaluate`, `report`, `explore` and `export`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from hatchel.cli.options import AsJson, Plugin, Quiet, load_plugins
from hatchel.core.errors import HatchelError
from hatchel.core.progress import quietly


def run_folder(name: str) -> Path:
    """A run's folder, or the copy of a model of the zoo."""
    if not name.startswith("zoo:"):  # said here, since the zoo imports torch
        return Path(name)
    from hatchel.export.zoo import run_folder

    return run_folder(name)


RunFolder = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", help="A run's folder, or a model of the zoo: zoo:shapes3d/rtc_vae.", parser=run_folder
    ),
]
Data = Annotated[
    str | None,
    typer.Option("--data", help="Where the run's data are now, or other data of the same form; by default as trained."),
]
Items = Annotated[int, typer.Option("--items", "-n", min=10, help="Items of the data that are encoded.")]
Seed = Annotated[int, typer.Option(help="Random seed of the items drawn and of every classifier.")]
FOLDER = "FOLDER"


def evaluate(
    run: RunFolder,
    metrics: Annotated[str, typer.Option(help="Comma-separated, or all.")] = "all",
    items: Items = 15_000,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Replicates at most for 95 % intervals, which take most of the time; 0: none. By default as many "
            "as suit each metric.",
        ),
    ] = None,
    seed: Seed = 0,
    layers: Annotated[bool, typer.Option("--layers", help="Also score the encoder's inner layers.")] = False,
    data: Data = None,
    as_json: AsJson = False,
    plugin: Plugin = None,
    quiet: Quiet = False,
) -> None:
    """Measure a run: every metric on means and samples, with intervals; stored in RUN/evaluation.json.

    What is stored is read, here and by report, explore and export; only what is missing is measured.

    [bold]hatchel evaluate runs/mine[/]

    [bold]hatchel evaluate runs/mine --metrics mig,dci --layers[/]

    [bold]hatchel evaluate runs/mine --bootstrap 0[/]   scores without intervals, several times faster
    """
    load_plugins(plugin)
    from hatchel.evaluation.evaluation import evaluate as measure
    from hatchel.training.run import TrainedRun

    loaded = TrainedRun.load(run, "auto", data=data)
    with quietly(quiet):
        result = measure(loaded, metrics, items=items, bootstrap=bootstrap, seed=seed, layers=layers)
    if as_json:
        print(result.to_json())
    else:
        print(result.table())
    if not result.is_stored(run):
        raise typer.Exit(2)  # why not has been said
    if not as_json and not quiet:
        print(f"Stored in {run / 'evaluation.json'}")


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", help="Folders of runs, or zoo:NAME; several are compared.", parser=run_folder),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The file to write; by default RUN/report.html, or comparison.html for several runs."
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="A folder for all figures as PNG and SVG, and traversals as GIF and WebP."),
    ] = None,
    items: Items = 15_000,
    bootstrap: Annotated[
        int | None,
        typer.Option(min=0, help="Replicates at most for 95 % intervals; 0: none; by default those that are stored."),
    ] = None,
    data: Data = None,
    seed: Seed = 0,
    plugin: Plugin = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write one self-contained HTML page about a run, or one that compares several.

    [bold]hatchel report runs/mine[/]

    [bold]hatchel report runs/mine --figures figures --bootstrap 0[/]

    [bold]hatchel report runs/a runs/b runs/b-seed1 --out ab.html[/]   runs that differ only in their seed are averaged
    """
    load_plugins(plugin)
    from hatchel.cli.printing import print_json
    from hatchel.core.files import write_text
    from hatchel.report.figure_export import checked_folder, write_animations, write_figures
    from hatchel.report.findings import analyse
    from hatchel.report.page import checked_file, learned, page
    from hatchel.report.panels.panel import draw_panels
    from hatchel.study.comparison import compare, load_runs
    from hatchel.study.comparison_page import comparison_page, comparison_panels

    loaded = load_runs(runs, data)
    target = checked_file(out or (runs[0] / "report.html" if len(runs) == 1 else Path("comparison.html")))
    folder = checked_folder(figures) if figures else None
    with quietly(quiet):
        if len(loaded) == 1:
            found = analyse(loaded[0], items=items, seed=seed, bootstrap=bootstrap)
            animated, panels = {"": found}, draw_panels(found)
            text = page(found, panels=panels)
        else:
            log: Callable[[str], None] = (lambda line: None) if quiet or as_json else print
            comparison = compare(loaded, items=items, seed=seed, bootstrap=bootstrap, log=log)
            animated = {f"{g.label} seed {f.run.spec.seed}": f for g in comparison.groups for f in g.members}
            panels = comparison_panels(comparison)
            text = comparison_page(comparison, panels)
    write_text(target, text)
    written: list[Path] = []
    if folder:
        written = write_figures(folder, panels)
        written += [path for name, found in animated.items() for path in write_animations(folder, found, name)]
    if as_json:
        measured = [{"run": f.run.folder, "learned": learned(f), "scores": f.to_dict()} for f in animated.values()]
        print_json({"report": target, "figures": written, "runs": measured})
        return
    if folder:
        print(f"Figures: {len(written)} files in {folder}")
    print(f"Report: {target}")


def explore(
    run: RunFolder,
    other: Annotated[
        Path | None,
        typer.Argument(metavar="RUN", help="A second run, to compare on the same items.", parser=run_folder),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; the printed link holds the token that every request needs.")
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
        int | None,
        typer.Option(
            "--items",
            "-n",
            min=10,
            help="Items that are encoded; by default as many as were, or 15000.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    data: Data = None,
    browse: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    plugin: Plugin = None,
) -> None:
    """Explore a run in the browser: a slider for each latent, decoded while you drag; edit, swap and compare images.

    [bold]hatchel explore zoo:shapes3d/comb[/]   without training

    [bold]hatchel explore runs/mine runs/other[/]   side by side

    [bold]hatchel explore runs/mine --static page[/]   a folder that needs no server
    """
    load_plugins(plugin)
    if static is None and runtime is not None:
        raise HatchelError("--runtime: is only used together with --static FOLDER")
    from hatchel.core.plugins import extra
    from hatchel.evaluation.codes import ITEMS, items_stored
    from hatchel.explorer.session import Session
    from hatchel.training.run import TrainedRun

    runs = [TrainedRun.load(folder, data=data) for folder in (run, other) if folder is not None]
    items = items or items_stored(runs[0]) or ITEMS
    if static is not None:
        from hatchel.explorer.page import check_folder, write_static
        from hatchel.explorer.runtime import runtime as browser_runtime

        check_folder(static)
        found = browser_runtime(runtime)
        session = Session(runs, items=items, seed=seed)
        print(f"Explorer: {write_static(session, static, found) / 'index.html'}")
        return
    server = extra("hatchel.explorer.server", "web", "the explorer")
    session = Session(runs, items=items, seed=seed)
    opened = server.Listening.on(session, host=host, port=port)
    print(f"Explorer: {opened.address}   (Ctrl+C to stop)", flush=True)
    if browse:
        import webbrowser

        webbrowser.open(opened.address)
    opened.run()


def export(
    run: RunFolder,
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
    data: Data = None,
    level: Annotated[int, typer.Option(min=0, help="Level of a hierarchy of latents, for --onnx.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that holds other things.")] = False,
    plugin: Plugin = None,
    as_json: AsJson = False,
) -> None:
    """Write a run's networks for other programs, each checked by running it and comparing with the run.

    [bold]hatchel export runs/mine --onnx out[/]

    [bold]hatchel export runs/mine --hub card --push me/my-model[/]
    """
    if torchscript is not None:
        raise HatchelError(
            "--torchscript: the format is deprecated in PyTorch and no longer written; use --onnx FOLDER"
        )
    targets = [folder for folder in (onnx, safetensors, hub) if folder is not None]
    if not targets:
        raise HatchelError("export: name at least one of --onnx, --safetensors, --hub, with a folder")
    if push is not None and hub is None:
        raise HatchelError("--push: uploads a Hub export; name its folder with --hub")
    load_plugins(plugin)
    from hatchel.cli.printing import print_json
    from hatchel.export import hub as to_hub
    from hatchel.export import onnx as to_onnx
    from hatchel.export import safetensors as to_safetensors
    from hatchel.export.folder import Exported, check_target
    from hatchel.training.run import TrainedRun

    loaded = TrainedRun.load(run, data=data)
    # Before any work is done.
    if push is not None:
        to_hub.hub_library()
    for folder in targets:
        check_target(loaded, folder, force)

    made: list[dict[str, Any]] = []

    def print_result(noun: str, done: Exported) -> None:
        made.append({"format": noun.lower(), "files": done.files, "difference": done.difference})
        if not as_json:
            files = ", ".join(map(str, done.files))
            print(f"{noun}: {files} (outputs differ from the run's by at most {done.difference:.1e})")

    if onnx is not None:
        print_result("ONNX", to_onnx.write(loaded, onnx, level, force))
    if safetensors is not None:
        print_result("Safetensors", to_safetensors.write(loaded, safetensors, force))
    if hub is not None:
        print_result("Hub", to_hub.write(loaded, hub, force))
        if push is not None:
            made[-1]["pushed"] = to_hub.push(hub, push)
            if not as_json:
                print(f"Pushed: {made[-1]['pushed']}")
    if as_json:
        print_json(made)
