"""ONNX: encoder and decoder as files that any ONNX runtime reads, a browser's too."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import torch

from hatchel.core.errors import HatchelError
from hatchel.core.files import Damaged, check_digest
from hatchel.core.plugins import extra
from hatchel.export.endpoints import DecoderEndpoint, EncoderEndpoint, Endpoint
from hatchel.export.folder import Exported, export_folder
from hatchel.training.run import TrainedRun


def write(run: TrainedRun, folder: Path, level: int = 0, force: bool = False) -> Exported:
    """FOLDER/encoder.onnx and decoder.onnx."""
    with export_folder(run, folder, force) as draft:
        worst = max(
            write_endpoint(kind(run, level), draft / f"{kind.noun}.onnx") for kind in (EncoderEndpoint, DecoderEndpoint)
        )
    return Exported((folder / "encoder.onnx", folder / "decoder.onnx"), worst)


def read(folder: str | Path) -> dict[str, Any]:
    """Sessions of ONNX Runtime for the files of an export, `encoder` and `decoder`, if they are what was written.

    ONNX Runtime itself reads a file with a flipped bit without a word.
    """
    _, runtime = _modules()
    place = Path(folder)
    files = sorted(place.glob("*.onnx"))
    if not files:
        raise HatchelError(
            f"{place}: has no .onnx files; it is not an export. Write one with `hatchel export RUN --onnx`"
        )
    try:
        for file in files:
            check_digest(file)
    except Damaged as error:
        raise Damaged(f"{error}; export the run again") from None
    return {f.stem: runtime.InferenceSession(str(f), providers=["CPUExecutionProvider"]) for f in files}


def write_decoder(run: TrainedRun, path: Path, level: int = 0) -> Path:
    """One file: `z` float32 (n, D) -> `image` (n, C, H, W), or `row` float64 (n, F) in the data's units; n is free."""
    write_endpoint(DecoderEndpoint(run, level), path)
    return path


def write_encoder(run: TrainedRun, path: Path, level: int = 0) -> Path:
    """One file: `image` float32 (n, C, H, W) in [0, 1], or `row` float64 (n, F) -> `mean` and `std`, (n, D)."""
    write_endpoint(EncoderEndpoint(run, level), path)
    return path


def write_endpoint(endpoint: Endpoint, path: Path) -> float:
    """Write one file and run it; how far its outputs are from the run's. Nothing is left where that is far."""
    onnx, runtime = _modules()
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(_graph(endpoint), str(draft))
        onnx.checker.check_model(str(draft), full_check=True)
        session = runtime.InferenceSession(str(draft), providers=["CPUExecutionProvider"])
        worst = endpoint.difference(lambda given: session.run(None, {endpoint.input: given}), path.name)
        draft.replace(path)
    except _Refused as reason:
        raise HatchelError(f"{path.name}: this run's {endpoint.noun} cannot be written as ONNX ({reason})") from reason
    except OSError as error:
        raise HatchelError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        draft.unlink(missing_ok=True)
    return worst


class _Refused(Exception):
    pass


def _graph(endpoint: Endpoint) -> Any:
    try:
        with _quiet():
            program: Any = torch.onnx.export(
                endpoint.eval(),
                (endpoint.example(3),),
                dynamo=True,
                dynamic_shapes=({0: torch.export.Dim("n")},),
                verbose=False,
            )
    except torch.onnx.OnnxExporterError as error:
        raise _Refused(str(error.__cause__ or error).strip().splitlines()[0]) from error
    model = program.model_proto
    for node in model.graph.node:  # torch notes there from which line of which file on this machine each came
        node.ClearField("metadata_props")
    if not model.graph.input[0].type.tensor_type.shape.dim[0].dim_param:
        raise _Refused("its code fixes the number of items: write x.shape[0] in place of len(x)")
    _rename(model.graph, endpoint)
    return model


def _rename(graph: Any, endpoint: Endpoint) -> None:
    """Name what goes in and out; torch would too, but not look whether an inner value already has that name."""
    ends = [value.name for value in (*graph.input, *graph.output)]
    names = dict(zip(ends, (endpoint.input, *endpoint.outputs), strict=True))

    def named(name: str) -> str:
        return names.get(name) or (f"{name}_inner" if name in names.values() else name)

    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        value.name = named(value.name)
    for node in graph.node:
        node.input[:] = map(named, node.input)
        node.output[:] = map(named, node.output)


@contextlib.contextmanager
def _quiet() -> Generator[None]:
    """Without what torch's exporter says about itself: its own deprecations, and that torchvision is not there."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _modules() -> tuple[Any, Any]:
    needed = ("onnx", "onnxruntime", "onnxscript")  # torch's exporter needs the last
    onnx, runtime, _ = (extra(name, "export", "writing ONNX") for name in needed)
    return onnx, runtime
