"""Safetensors: a run as two files, config.json and model.safetensors, and the way back. No pickle anywhere."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from hatchel.core.errors import HatchelError
from hatchel.core.files import Damaged, check_digest
from hatchel.core.spec import updated
from hatchel.export.endpoints import DecoderEndpoint, EncoderEndpoint
from hatchel.export.folder import Exported, export_folder
from hatchel.training.checkpoint import Description
from hatchel.training.loop import choose_device
from hatchel.training.run import TrainedRun

WEIGHTS = "model.safetensors"


def write(run: TrainedRun, folder: Path, force: bool = False) -> Exported:
    """FOLDER/config.json and model.safetensors: all that `read` needs, and nothing that only training needs."""
    with export_folder(run, folder, force) as draft:
        worst = write_files(run, draft)
    return Exported((folder / "config.json", folder / WEIGHTS), worst)


def read(folder: str | Path, device: str = "cpu") -> TrainedRun:
    """The run that `write` (or the Hub export) put into a folder."""
    place = Path(folder)
    description = Description.read(place)
    path = place / WEIGHTS
    if not path.is_file():
        raise HatchelError(f"{place}: has no {WEIGHTS}; it is not an export. A run's own folder is read by Run.load")
    try:
        check_digest(path)
        with safe_open(str(path), "pt") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # it is no mapping
            steps = int((file.metadata() or {}).get("steps", 0))
    except Damaged as error:
        raise Damaged(f"{error}; export the run again") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise Damaged(f"{path}: is damaged ({error}); export the run again") from None
    model = description.spec.build(description.shape).model
    own = model.state_dict()
    strange = sorted(set(own) ^ set(weights)) or [k for k in own if own[k].shape != weights[k].shape]
    if strange:
        raise HatchelError(f"{path}: does not fit config.json (first difference: {strange[0]}); export the run again")
    model.load_state_dict(weights)
    model.to(device=choose_device(device), memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
    return TrainedRun(place, description, model, steps)


def write_files(run: TrainedRun, draft: Path) -> float:
    """Both files into a folder, read back and compared with the run."""
    weights = {k: v.detach().contiguous().cpu() for k, v in run.model.state_dict().items()}
    # "format" is what the Hub's own readers look for.
    save_file(weights, str(draft / WEIGHTS), {"format": "pt", "steps": str(run.steps)})
    (draft / WEIGHTS).chmod(0o644)  # safetensors makes it private
    public(run.description).write(draft)
    again = read(draft)
    worst = 0.0
    for level in range(run.levels):
        for kind in (EncoderEndpoint, DecoderEndpoint):
            worst = max(worst, kind(run, level).difference(kind(again, level).expected, f"{kind.noun} read back"))
    return worst


def public(description: Description) -> Description:
    """Without the folders that lead to one's own data: an export is made to be given away."""
    data: Any = description.spec.data
    path = getattr(data, "path", "")
    if not path:
        return description
    spec = updated(description.spec, {"data.path": Path(path).name})
    return dataclasses.replace(description, spec=spec)
