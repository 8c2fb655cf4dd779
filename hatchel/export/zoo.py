"""The zoo: trained models that come with Hatchel, in half precision, each with its card and its digest.

    hatchel/zoo/shapes3d/rtc_vae.safetensors          weights, and the codes of some held-out items (float16)
    hatchel/zoo/shapes3d/rtc_vae.safetensors.sha256   their digest
    hatchel/zoo/shapes3d/rtc_vae.json                 configuration, card and events; ends in its own digest

`zoo:shapes3d/rtc_vae` stands for a run wherever a run's folder does: a copy under runs/zoo, which is unpacked when it
is first named. The package itself is never written to.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from hatchel.core.errors import HatchelError, shortened
from hatchel.core.files import (
    Damaged,
    check_digest,
    disk_problem,
    read_json,
    whole_folder,
    write_json,
    write_summed,
    write_text,
)
from hatchel.core.spec import from_dict, to_dict
from hatchel.evaluation.codes import encodings
from hatchel.export.safetensors import public
from hatchel.training.checkpoint import Description, checkpoint_of, checkpoints, intact, migrated, save
from hatchel.training.events import read_events
from hatchel.training.run import TrainedRun
from hatchel.training.spec import RunSpec

PREFIX = "zoo:"
ZOO = Path(__file__).parents[1] / "zoo"
"""Where the models are in the package."""
COPIES = Path("runs") / "zoo"
"""Where their copies go, under the folder one works in."""
CARD = "card.json"
ITEMS = 1_500
"""Held-out items whose codes are packed, so that the explorer opens before any image is rendered."""
EVENTS = 40
"""Of the training's events that are kept, evenly spaced: enough for its curves."""
FORMAT = 1
"""Of the JSON file."""
AGAIN = "install Hatchel again, or in a clone of its repository: git checkout hatchel/zoo"
LARGEST = 12 * 10**6
"""Bytes of all models together."""


@dataclasses.dataclass(frozen=True)
class Card:
    """What one has to know of a model before one uses it."""

    name: str
    """DATA/METHOD, as in zoo:DATA/METHOD."""
    about: str
    """The method and its strength, the data, the budget."""
    seed: int
    """Of this run."""
    seeds: Mapping[str, float]
    """Every seed that was tried, with its MIG."""
    rule: str
    """Why this one."""
    agreement: str
    """How its MIG compares with that of the record it was chosen by."""
    scores: Mapping[str, Any]
    """{metric: {value, low, high}} of the run as it is packed, the intervals over items."""
    measured: str
    """On what, and with what."""
    settings: str = ""
    """What was set, as it is typed: `beta=4 latent=diagonal(dim=10)`."""
    digest: str = ""
    """SHA-256 of the file with the weights."""
    size: int = 0
    """Its bytes."""

    def interval(self, metric: str) -> str:
        """`0.342 [0.331, 0.350]`, or nothing where it was not measured."""
        found = self.scores.get(metric)
        if found is None:
            return ""
        ends = f" [{found['low']:.3f}, {found['high']:.3f}]" if found.get("low") is not None else ""
        return f"{found['value']:.3f}{ends}"


def names(zoo: Path | None = None) -> list[str]:
    """All models there are, as DATA/METHOD; `zoo`: of another folder than the package's."""
    place = zoo or ZOO
    return sorted(path.relative_to(place).with_suffix("").as_posix() for path in place.glob("*/*.json"))


def card(name: str, zoo: Path | None = None) -> Card:
    """The card of a model."""
    return Card(**_about(name, zoo or ZOO)["card"])


def is_zoo(name: str | Path) -> bool:
    """Whether this names a model of the zoo rather than a folder."""
    return str(name).startswith(PREFIX)


def run_folder(name: str | Path) -> Path:
    """The folder of a run, as it was named, or of the copy of a model of the zoo."""
    return unpacked(str(name).removeprefix(PREFIX)) if is_zoo(name) else Path(name)


def unpacked(name: str, zoo: Path | None = None, copies: Path = COPIES) -> Path:
    """The copy of a model as a run's folder, made when it is not there yet."""
    place = zoo or ZOO
    about, weights = _about(name, place), place / f"{name}.safetensors"
    target = copies / name
    if _is_copy(target, about, name):
        if not _damaged(target, about["steps"]):
            return target
        print(f"hatchel: {target}: is damaged; it is unpacked again", file=sys.stderr)
        shutil.rmtree(target)
    tensors = _tensors(weights, about["card"]["digest"])
    description = _description(about["config"])
    system = description.spec.build(description.shape)
    system.model.load_state_dict(_part(tensors, "model."))
    try:
        with whole_folder(target) as draft:
            description.write(draft)
            write_text(draft / "events.jsonl", "".join(json.dumps(event) + "\n" for event in about["events"]))
            write_json(draft / CARD, about["card"])
            save(draft, about["steps"], system, None)
            codes = {name: array.numpy() for name, array in _part(tensors, "codes.").items()}
            write_summed(draft / about["codes"], safetensors.numpy.save(codes))
    except OSError as error:
        if not _is_copy(target, about, name):  # else another process was faster
            reason = error.strerror or disk_problem(error) or str(error)
            raise HatchelError(
                f"{target}: the copy of {PREFIX}{name} cannot be written ({reason}); work in a folder of your own: "
                f"mkdir -p ~/hatchel && cd ~/hatchel"
            ) from None
    return target


def halved(run: TrainedRun, folder: Path) -> TrainedRun:
    """The run with its weights rounded to half precision, as it is packed; its codes and scores go to a folder."""
    model = run.spec.build(run.shape).model
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            value = run.model.state_dict()[name]
            tensor.copy_(_wide(_narrow(value.detach().cpu())))
            if not bool(tensor.isfinite().all()):
                raise HatchelError(f"{run.folder}: {name} does not fit into half precision; it cannot be packed")
    half = TrainedRun(folder, run.description, model, run.steps)
    half._data = run.data  # pyright: ignore[reportPrivateUsage]
    return half


def pack(run: TrainedRun, made: Card, zoo: Path | None = None) -> Path:
    """Write a run into the zoo: weights and codes in half precision, configuration, card and events; its path."""
    home = zoo or ZOO
    place = home / f"{made.name}.safetensors"
    with tempfile.TemporaryDirectory() as folder:
        half = halved(run, Path(folder))
        encodings(half, ITEMS, seed=0)
        (file,) = Path(folder).glob("codes-*.safetensors")
        codes, codes_name = safetensors.torch.load_file(str(file)), file.name
    # Without the critics, which only training reads.
    tensors = {f"model.{name}": _narrow(tensor.cpu()) for name, tensor in half.model.state_dict().items()}
    tensors |= {f"codes.{name}": _narrow(tensor) for name, tensor in codes.items()}
    content = safetensors.torch.save({name: tensor.contiguous() for name, tensor in sorted(tensors.items())})
    others = sum(path.stat().st_size for path in home.glob("*/*.safetensors") if path != place)
    if others + len(content) > LARGEST:
        raise HatchelError(
            f"{made.name}: {len(content) / 1e6:.1f} MB beside the {others / 1e6:.1f} MB of the others is more than the "
            f"zoo's {LARGEST / 1e6:.0f} MB; remove another first"
        )
    description = public(run.description)
    events = read_events(run.folder)
    place.parent.mkdir(parents=True, exist_ok=True)
    write_summed(place, content)
    found = dataclasses.replace(made, digest=hashlib.sha256(content).hexdigest(), size=len(content))
    write_json(
        place.with_suffix(".json"),
        {
            "format": FORMAT,
            "card": dataclasses.asdict(found),
            "steps": run.steps,
            "codes": codes_name,
            "config": {
                "spec": to_dict(description.spec.with_fields(threads=0, device="auto")),
                "shape": description.shape,
                "n_data": description.n_data,
                "data": description.fingerprint,
            },
            "events": [events[i] for i in sorted({*np.linspace(0, len(events) - 1, EVENTS).astype(int)})],
        },
    )
    return place


def _about(name: str, zoo: Path) -> dict[str, Any]:
    """What stands beside the weights, or the answer to a name nobody knows."""
    known = names(zoo)
    if name not in known:
        # Also by the method alone, which is what one remembers.
        near = difflib.get_close_matches(name, known, n=2, cutoff=0.6)
        last = name.rpartition("/")[2]
        bare = {k.rpartition("/")[2]: k for k in reversed(known)}
        near = near or [bare[k] for k in difflib.get_close_matches(last, bare, n=2, cutoff=0.6)]
        hint = f" Did you mean {' or '.join(PREFIX + n for n in near)}?" if near else ""
        raise HatchelError(f"the zoo has no model {shortened(name)}.{hint} All of them: hatchel zoo list")
    path = zoo / f"{name}.json"
    try:
        return cast(dict[str, Any], read_json(path))
    except Damaged as error:
        raise Damaged(f"{error}; {AGAIN}") from None


def _is_copy(target: Path, about: Mapping[str, Any], name: str) -> bool:
    """Whether this model has been unpacked there; False where nothing is."""
    if not target.exists():
        return False
    try:
        found = read_json(target / CARD)
    except HatchelError:
        found = None
    if found != about["card"] or not checkpoints(target):
        raise HatchelError(
            f"{target}: is not a copy of {PREFIX}{name}, or one of another version; move it away: "
            f"mv {target} {target}.old"
        )
    return True


def _damaged(target: Path, steps: int) -> bool:
    """Whether a copy is not what was unpacked; one that was trained on is its owner's affair."""
    own = checkpoint_of(target, steps)
    if checkpoints(target) != [own]:
        return False
    try:
        Description.read(target)
    except Damaged:
        return True
    return not intact(own)


def _tensors(path: Path, digest: str) -> dict[str, Tensor]:
    """Checked against both digests: the one beside it, and the one in its card."""
    try:
        check_digest(path)
        content = path.read_bytes()
        if (found := hashlib.sha256(content).hexdigest()) != digest:
            raise Damaged(f"{path}: is damaged (its SHA-256 is {found[:12]}..., its card says {digest[:12]}...)")
        return {name: _wide(tensor) for name, tensor in safetensors.torch.load(content).items()}
    except Damaged as error:
        raise Damaged(f"{error}; {AGAIN}") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise Damaged(f"{path}: is damaged ({error}); {AGAIN}") from None


def _description(config: Mapping[str, Any]) -> Description:
    spec = from_dict(RunSpec, migrated(config["spec"]))
    return Description(spec, tuple(config["shape"]), int(config["n_data"]), str(config["data"]))


def _part(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _narrow(tensor: Tensor) -> Tensor:
    """Half the bytes: what is packed."""
    return tensor.half() if tensor.dtype == torch.float32 else tensor.int() if tensor.dtype == torch.int64 else tensor


def _wide(tensor: Tensor) -> Tensor:
    """As a run's folder has it."""
    return tensor.float() if tensor.dtype == torch.float16 else tensor.long() if tensor.dtype == torch.int32 else tensor
