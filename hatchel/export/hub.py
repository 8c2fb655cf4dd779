"""The layout of the Hugging Face Hub: config.json, model.safetensors and a model card filled from the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from hatchel.core import __version__
from hatchel.core.errors import HatchelError
from hatchel.core.files import SUMS, write_text
from hatchel.core.plugins import extra
from hatchel.evaluation.codes import weights_digest
from hatchel.evaluation.evaluation import FILE, Evaluation
from hatchel.export.folder import Exported, export_folder
from hatchel.export.safetensors import WEIGHTS, write_files
from hatchel.training.run import TrainedRun

CARD = "README.md"
FILES = ("config.json", WEIGHTS, CARD)


def write(run: TrainedRun, folder: Path, force: bool = False) -> Exported:
    """FOLDER/config.json, model.safetensors and README.md; `hatchel.export.safetensors.read` reads it."""
    with export_folder(run, folder, force) as draft:
        worst = write_files(run, draft)
        write_text(draft / CARD, card(run))
    return Exported(tuple(folder / name for name in FILES), worst)


def push(folder: Path, name: str, private: bool = True) -> str:
    """Upload an export's three files to the model NAME (`me/my-model`) of the Hub; its address.

    A model that is not there yet is made, private by default. Who uploads is whoever `hf auth login` says.
    """
    hub = hub_library()
    try:
        api = hub.HfApi()
        address = api.create_repo(name, private=private, exist_ok=True)
        api.upload_folder(repo_id=name, folder_path=str(folder), allow_patterns=[*FILES, SUMS])
    except (OSError, ValueError) as error:  # what the Hub's own errors derive from
        reason = str(error).strip().splitlines()[0]
        raise HatchelError(f"--push {name}: {reason}. The export is complete in {folder}") from None
    return str(address)


def hub_library() -> Any:
    """huggingface_hub, which is an extra."""
    return extra("huggingface_hub", "hub", "--push")


def card(run: TrainedRun) -> str:
    """The model card: what was trained, on what, how it was measured, how to load it. Only what was run is printed."""
    spec, data = run.spec, run.spec.data
    matter: dict[str, Any] = {
        "library_name": "hatchel",
        "license": "other",
        "tags": ["hatchel", "disentanglement", "representation-learning", "variational-autoencoder", spec.name],
    }
    parts = {"encoder": spec.encoder, "latent": spec.latent, "decoder": spec.decoder, "likelihood": spec.likelihood}
    kinds = ", ".join(f"{name} `{part.kind}`" for name, part in parts.items() if part is not None)
    own = getattr(data, "path", "")
    source = Path(own).name if own else data.kind
    facts = {
        "Objective, minimised": f"`{spec.formula()}`",
        "Parts": kinds,
        "Data": f"{source} (`{data.kind}`), {run.description.n_data} items of shape {'x'.join(map(str, run.shape))}",
        "Steps": f"{run.steps}, batches of {spec.batch_size}, Adam at {spec.optimizer.lr:g}, {spec.precision}",
        "Seed": str(spec.seed),
        "Digest": f"`{spec.digest()}`",
        "Written by": f"Hatchel {__version__}",
    }
    table = [f"| {name} | {_cell(value)} |" for name, value in facts.items()]
    front = yaml.safe_dump(matter, sort_keys=False, allow_unicode=True)
    return "\n".join(
        [
            f"---\n{front}---\n",
            f"# {spec.name} on {source}\n",
            f"A model whose latent code has {spec.latent.width} numbers. "
            "The license is for whoever publishes it to choose: set `license` above.\n",
            "## Training\n\n| | |\n|---|---|",
            *table,
            "",
            "## Scores\n",
            *_scores(run),
            "\n## Use\n",
            "```python",
            "from hatchel.export.safetensors import read\n",
            'run = read("FOLDER")  # the folder with config.json and model.safetensors',
            f"codes = run.encode({_argument(run)})  # (n, {spec.latent.width})",
            "again = run.decode(codes)",
            "```",
            "",
        ]
    )


def _argument(run: TrainedRun) -> str:
    return "images" if len(run.shape) == 3 else "rows"


def _scores(run: TrainedRun) -> list[str]:
    if not (run.folder / FILE).is_file():
        return ["Not measured."]
    found = Evaluation.load(run.folder)
    if found.settings["steps"] != run.steps or found.settings.get("weights", "") not in ("", weights_digest(run)):
        return ["Not measured in this state: the scores that are stored are of other weights."]
    lines = [
        f"Of the posterior means of {found.settings['items']} items, after {run.steps} steps, "
        f"seed {found.settings['seed']}, {found.items_in_words}.\n",
        "| Metric | Value | 95 % interval |",
        "|---|---|---|",
    ]
    scores = found["mean"]
    for name, score in scores.items():
        ends = score.interval
        spread = f"{ends.low:.4f} to {ends.high:.4f}" if ends else "not computed"
        lines.append(f"| {_cell(name)} | {score.value:.4f} | {spread} |")
    lines += [f"\nNot measured: {', '.join(names)}: {reason}." for reason, names in scores.reasons.items()]
    return [f"**{found.collapse}.**\n", *lines] if found.collapse else lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
