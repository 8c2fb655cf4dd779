"""Checkpoints: folders of safetensors and JSON, written whole or not at all, read without pickle.

Each has the digests of its files in SHA256SUMS, and a copy of the run's config.json.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from hatchel.core import __version__
from hatchel.core.errors import HatchelError
from hatchel.core.files import Damaged, check_digest, listed, read_json, whole_folder, write_json
from hatchel.core.spec import from_dict, to_dict
from hatchel.training.spec import RunSpec

FORMAT = 1
"""Of a run folder. A newer one is refused by name rather than misread."""
WINDOWS = "windows.safetensors"


@dataclass(frozen=True)
class Description:
    """RUN/config.json: what was asked for and on what."""

    spec: RunSpec
    shape: tuple[int, ...]
    n_data: int
    fingerprint: str
    """Of the data, so that a run is not continued on other data."""

    def write(self, folder: Path) -> None:
        write_json(
            folder / "config.json",
            {
                "format": FORMAT,
                "hatchel": __version__,
                "torch": torch.__version__,
                "digest": self.spec.digest(),
                "shape": self.shape,
                "n_data": self.n_data,
                "data": self.fingerprint,
                "spec": to_dict(self.spec),
            },
        )

    @staticmethod
    def read(folder: Path) -> Description:
        """From JSON, or why this is not a run."""
        path = folder / "config.json"
        if not path.is_file():
            raise HatchelError(f"{folder}: is not a run (it has no config.json); runs are made by `hatchel train`")
        try:
            data = read_json(path)
        except Damaged as error:
            copies = [p for place in checkpoints(folder) if (p := place / path.name).is_file()]
            way = f"; a copy of it is restored by: cp {copies[0]} {path}" if copies else ""
            raise Damaged(f"{error}{way}") from None
        needed = {"format": int, "spec": dict, "shape": list, "n_data": int, "data": str}
        if not isinstance(data, dict) or not all(isinstance(data.get(k), kind) for k, kind in needed.items()):
            raise HatchelError(f"{path}: was not written by Hatchel, or is damaged; runs are made by `hatchel train`")
        if data["format"] > FORMAT:
            raise HatchelError(
                f"{path}: written by a newer Hatchel ({data.get('hatchel')}, format {data['format']}); "
                f"this is {__version__}, format {FORMAT}: upgrade to read it"
            )
        try:
            spec = from_dict(RunSpec, migrated(data["spec"]))
        except HatchelError as error:
            raise HatchelError(f"{path}: {error}") from None
        return Description(spec, tuple(data["shape"]), int(data["n_data"]), str(data["data"]))


def checkpoints(folder: Path) -> list[Path]:
    """Complete checkpoints, newest first."""
    return sorted((p for p in (folder / "checkpoints").glob(f"step-{9 * '[0-9]'}*") if p.is_dir()), reverse=True)


def checkpoint_of(folder: Path, step: int) -> Path:
    """Where a run's checkpoint after so many steps is."""
    return folder / "checkpoints" / f"step-{step:09d}"


def save(
    folder: Path,
    step: int,
    system: nn.Module,
    optimizer: torch.optim.Optimizer | None,
    meter: Mapping[str, Any] | None = None,
    windows: Mapping[str, Tensor] | None = None,
    keep: int = 2,
    more: Mapping[str, Any] | None = None,
) -> Path:
    """Write RUN/checkpoints/step-N after N steps; older ones beyond the last few are removed.

    `meter` is what has been summed up since the last event, for the one that comes after a resume, and `windows` are
    the recent samples that its independent readings need; `more`: what else a resume needs, as JSON.
    """
    target = checkpoint_of(folder, step)
    if target.exists():
        return target
    moments = {} if optimizer is None else _flat(optimizer)
    for name, tensor in (*system.named_parameters(), *moments.items()):
        if not bool(tensor.isfinite().all()):
            raise HatchelError(
                f"training diverged by step {step}: {name} is not finite, so it is not saved; {_last(folder)}. "
                "Try a smaller optimizer.lr or a smaller weight"
            )
    try:
        with whole_folder(target, sums=True) as draft:
            weights = {k: v.detach().contiguous().cpu() for k, v in system.state_dict().items()}
            save_file(weights, str(draft / "model.safetensors"))
            if optimizer is not None:
                save_file(moments, str(draft / "training.safetensors"))
            if windows:
                save_file({k: v.contiguous().cpu() for k, v in windows.items()}, str(draft / WINDOWS))
            if (folder / "config.json").is_file():
                shutil.copyfile(folder / "config.json", draft / "config.json")
            write_json(draft / "state.json", {"format": FORMAT, "step": step, "meter": meter or {}, **(more or {})})
    except (OSError, SafetensorError) as error:
        raise HatchelError(
            f"{target}: cannot be written ({error}); {_last(folder)}. Free space, then `--resume`"
        ) from None
    for old in checkpoints(folder)[keep:]:
        shutil.rmtree(old, ignore_errors=True)
    return target


def _last(folder: Path) -> str:
    kept = checkpoints(folder)
    return f"the last checkpoint is {kept[0]}" if kept else "there is no checkpoint yet"


def stored_state(folder: Path, step: int) -> dict[str, Any]:
    """What the checkpoint of a step has beside tensors; those of 0.1 and 0.2 have less."""
    return cast(dict[str, Any], read_json(checkpoint_of(folder, step) / "state.json"))


def stored_windows(folder: Path, step: int) -> dict[str, Tensor]:
    """The recent samples of each critic that the checkpoint of a step has; nothing in those of 0.1."""
    path = checkpoint_of(folder, step) / WINDOWS
    return _guarded(path, lambda p: load_file(str(p))) if path.exists() else {}


def restore(
    folder: Path, system: nn.Module, optimizer: torch.optim.Optimizer | None = None, step: int | None = None
) -> int:
    """Fill the system (and optimiser) from the newest checkpoint that can be read; the number of steps done.

    `step`: from that after so many steps, and no other. Damaged ones are named. To train on (with an optimiser) it is
    0 where none can be read.
    """
    problems: list[str] = []
    again = f"to train what is lost again: hatchel train {folder} --resume"
    for place in checkpoints(folder) if step is None else [checkpoint_of(folder, step)]:
        try:
            done = _restore(place, system, optimizer)
        except Damaged as error:
            problems.append(str(error))
            continue
        if problems:
            then = "training goes on from there" if optimizer else again
            print(f"hatchel: {'; '.join(problems)}; {place.name} is read instead; {then}", file=sys.stderr)
        return done
    if problems and optimizer is None:
        raise Damaged(f"{problems[0]}; no other checkpoint can be read; {again}")
    if problems:
        print(f"hatchel: {'; '.join(problems)}; the training starts over", file=sys.stderr)
        return 0
    raise HatchelError(f"{folder}: has no checkpoint yet; train it with: hatchel train {folder} --resume")


def intact(place: Path) -> bool:
    """Whether all files of a checkpoint are there and as they were written."""
    try:
        for name in {"model.safetensors", "state.json", *listed(place)}:
            check_digest(place / name)
    except Damaged:
        return False
    return True


def remove_after(folder: Path, step: int) -> None:
    """Remove the checkpoints of later steps: those that `restore` could not read."""
    for place in checkpoints(folder):
        if place.name > f"step-{step:09d}":
            shutil.rmtree(place)


def _restore(place: Path, system: nn.Module, optimizer: torch.optim.Optimizer | None) -> int:
    windows = place / WINDOWS
    if optimizer is not None and (windows.is_file() or WINDOWS in listed(place)):
        check_digest(windows)
    step = int(_guarded(place / "state.json", read_json)["step"])
    weights: dict[str, Tensor] = _guarded(place / "model.safetensors", lambda p: load_file(str(p)))
    moments: dict[str, Tensor] = (
        {} if optimizer is None else _guarded(place / "training.safetensors", lambda p: load_file(str(p)))
    )
    own = system.state_dict()
    strange = sorted(set(own) ^ set(weights)) or [k for k in own if own[k].shape != weights[k].shape]
    if strange:
        raise HatchelError(f"{place}: does not fit the run's config.json (first difference: {strange[0]})")
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(weights[name])
    if optimizer is not None:
        _fill(optimizer, moments)
    return step


def _guarded(path: Path, read: Callable[[Path], Any]) -> Any:
    try:
        check_digest(path)
        return read(path)
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise Damaged(f"{path}: is damaged or missing ({error})") from None


def _flat(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = optimizer.state_dict()["state"]
    return {f"{i}.{k}": v.detach().contiguous().cpu() for i, entry in state.items() for k, v in entry.items()}


def _fill(optimizer: torch.optim.Optimizer, flat: dict[str, Tensor]) -> None:
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for key, value in flat.items():
        number, name = key.split(".", 1)
        parameter = parameters[int(number)]
        # The moments must lie in memory as their parameter does: the fused kernel walks both with one pointer.
        like = torch.empty_like(parameter) if value.shape == parameter.shape else torch.empty_like(value)
        optimizer.state[parameter][name] = like.copy_(value)


def migrated(spec: dict[str, Any]) -> dict[str, Any]:
    """A stored spec in the fields of this version, with what earlier ones left unsaid.

    0.1 had RecurD's encoder in the literal reading alone, its decoder with a linear layer to the 4x4 map, and pairs of
    features as they are, named m2, m3, ... for what encoders read, of which those inside a layer counted twice. The
    encoders of HFVAE had one last layer for means and log-variances.
    """
    spec = dict(spec)
    for name, kind, said in (
        ("encoder", "recursive", {"reading": "literal"}),
        ("decoder", "recurd0_decoder", {"first": "linear"}),
        *(("encoder", f"hfvae_{data}", {"branches": 1}) for data in ("mnist", "dsprites", "celeba")),
    ):
        if (spec.get(name) or {}).get("kind") == kind:
            spec[name] = {**said, **spec[name]}
    spec["objective"] = {name: _pairs(entry) for name, entry in spec.get("objective", {}).items()}
    return spec


def _pairs(entry: Any) -> Any:
    term, weight = (entry.get(name) or {} for name in ("term", "weight"))
    if term.get("kind") != "pairwise_information" or "standardised" in term:
        return entry
    modules = [name.replace("m", "routed", 1) for name in term.get("modules", ())]
    twice = term.get("over", "within") == "within" and weight.get("kind") == "constant"
    return {
        **entry,
        "term": {**term, "modules": modules, "standardised": False},
        "weight": {**weight, "value": 2 * weight["value"]} if twice else weight,
    }
