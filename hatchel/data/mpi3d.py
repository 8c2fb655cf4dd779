"""MPI3D: a robot arm that carries an object, photographed or simulated."""

from __future__ import annotations

from typing import ClassVar, Literal

from hatchel.core.errors import HatchelError
from hatchel.core.spec import local
from hatchel.data.array import pixels
from hatchel.data.dataset import Dataset
from hatchel.data.factors import Factor, FactorSpace
from hatchel.data.files import RemoteFile, find_file
from hatchel.data.formats import array_names, open_array
from hatchel.data.source import Source

PAGE = "https://huggingface.co/datasets/waleedgondal/mpi3d"
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
        RemoteFile(f"mpi3d_{v}.npz", (f"{PAGE}/resolve/main/mpi3d_{v}.npz",), PAGE) for v in VERSIONS
    )
    version: Literal["toy", "realistic", "real"] = "toy"
    "Simply rendered, realistically rendered, or photographed."
    cache: bool = local(default=True)
    "Keep a compressed file's images unpacked in the cache folder (up to 12.7 GB)."
    path: str = local(default="")
    "The npz file, or a folder with it; empty: the data folder."

    @property
    def known_shape(self) -> tuple[int, int, int]:
        return (3, 64, 64)

    def load(self) -> Dataset:
        path = find_file(self.kind, self.path, self.files[VERSIONS.index(self.version)])
        names = array_names(path)
        stored = open_array(path, "images" if "images" in names else names[0])
        if stored.shape[0] not in SIZES or stored.shape[1:] != (64, 64, 3):
            raise HatchelError(f"{path} is not MPI3D: {stored.key} has the shape {stored.shape}; fetch it again")
        # The number of colours and shapes follows from the number of images.
        return Dataset(f"{self.kind}_{self.version}", pixels(stored, self.cache), space(*SIZES[stored.shape[0]]))
