"""MPI3D: a robot arm that carries an object, photographed or simulated."""

from __future__ import annotations

from typing import ClassVar, Literal

from hatchel.core.errors import HatchelError
from hatchel.core.spec import local
from hatchel.data.array import pixels
from hatchel.data.containers import keys, opened
from hatchel.data.dataset import Dataset
from hatchel.data.factors import Factor, FactorSpace
from hatchel.data.files import RemoteFile, located
from hatchel.data.source import Source
from hatchel.data.store import ArrayStore

MIRROR = "https://storage.googleapis.com/disentanglement_dataset/Final_Dataset/"
VERSIONS = ("toy", "realistic", "real")
SIZES = {1_036_800: (6, 6), 460_800: (4, 4)}  # images to (colours, shapes): `toy` exists in both sizes


def space(colours: int, shapes: int) -> FactorSpace:
    """The seven factors of Gondal et al. 2019, with that many colours and shapes."""

    def numbered(name: str, n: int, continuous: bool = False) -> Factor:
        return Factor(name, tuple(float(v) for v in range(n)), "continuous" if continuous else "discrete")

    return FactorSpace(
        (
            numbered("object_colour", colours),
            numbered("object_shape", shapes),
            numbered("object_size", 2),
            numbered("camera_height", 3, continuous=True),
            numbered("background_colour", 3),
            numbered("horizontal_axis", 40, continuous=True),
            numbered("vertical_axis", 40, continuous=True),
        )
    )


class MPI3D(Source, kind="mpi3d"):
    """A robot arm at 64 px in colour, seven factors (Gondal et al. 2019); needs its file."""

    files: ClassVar[tuple[RemoteFile, ...]] = tuple(
        RemoteFile(
            f"mpi3d_{v}.npz", (f"{MIRROR}mpi3d_{v}.npz",), "https://github.com/rr-learning/disentanglement_dataset"
        )
        for v in VERSIONS
    )
    version: Literal["toy", "realistic", "real"] = "toy"
    "Simply rendered, realistically rendered, or photographed."
    cache: bool = local(default=True)
    "Keep a compressed file's images unpacked in the cache folder (up to 12.7 GB)."
    path: str = local(default="")
    "The npz file, or a folder with it; empty: the data folder."

    @property
    def known_shape(self) -> tuple[int, int, int]:
        """By the fields alone."""
        return (3, 64, 64)

    def load(self) -> Dataset:
        """All images; the number of colours and shapes follows from their number."""
        path = located(self.kind, self.path, self.files[VERSIONS.index(self.version)])
        held = opened(path, "images" if "images" in keys(path) else keys(path)[0])
        if held.shape[0] not in SIZES or held.shape[1:] != (64, 64, 3):
            raise HatchelError(f"{path} is not MPI3D: {held.key} has the shape {held.shape}; fetch it again")
        return Dataset(
            f"{self.kind}_{self.version}", ArrayStore(pixels(held, self.cache)), space(*SIZES[held.shape[0]])
        )
