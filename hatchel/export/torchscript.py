"""TorchScript: encoder and decoder as files that torch reads without this library, from C++ too."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import torch
from torch.autograd import Function

from hatchel.core.errors import HatchelError
from hatchel.export.folder import Exported, export_folder
from hatchel.export.halves import DecoderHalf, EncoderHalf, Half
from hatchel.training.run import TrainedRun


def write(run: TrainedRun, folder: Path, level: int = 0, force: bool = False) -> Exported:
    """FOLDER/encoder.pt and decoder.pt: networks of arrays as `hatchel.export.halves` says, for any number of items."""
    with export_folder(run, folder, force) as draft:
        worst = max(_write_half(half(run, level), draft) for half in (EncoderHalf, DecoderHalf))
    return Exported((folder / "encoder.pt", folder / "decoder.pt"), worst)


def _write_half(half: Half, draft: Path) -> float:
    path = draft / f"{half.noun}.pt"
    # torch has deprecated TorchScript as a whole, and its tracer warns wherever Python sees a size; people ask for the
    # format for programs they already have, and the check below runs other sizes than the traced one.
    with warnings.catch_warnings(), torch.inference_mode(), _forward_alone():
        warnings.simplefilter("ignore")
        try:
            traced: Any = torch.jit.trace(half.eval(), (half.example(3),), check_trace=False)
            torch.jit.freeze(traced, optimize_numerics=False).save(str(path))  # leaves the other half's weights out
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[0]
            raise HatchelError(
                f"{path.name}: this run's {half.noun} cannot be written as TorchScript ({reason})"
            ) from error
        loaded: Any = torch.jit.load(str(path))

    def call(given: Any) -> list[Any]:
        with torch.inference_mode():
            found = loaded(torch.from_numpy(given))
        return [part.numpy() for part in (found if isinstance(found, tuple) else (found,))]

    return half.difference(call, f"TorchScript {half.noun}")


@contextlib.contextmanager
def _forward_alone() -> Generator[None]:
    """Functions with a gradient of their own are called without it: TorchScript has no operator for them."""
    usual: Any = Function.__dict__["apply"]

    def apply(cls: Any, *inputs: Any) -> Any:
        # Without a setup_context its forward wants the gradient's context too: left to torch.
        apart = cls.setup_context is not Function.setup_context
        return cls.forward(*inputs) if apart else usual.__get__(None, cls)(*inputs)

    Function.apply = classmethod(apply)  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        Function.apply = usual
