"""Cars3D: renderings of 183 car models from 24 sides and 4 heights."""

from __future__ import annotations

import io
import itertools
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.spec import local
from hatchel.data.array import pixels
from hatchel.data.cache import CachedArray
from hatchel.data.dataset import Dataset
from hatchel.data.decode import Pixels
from hatchel.data.factors import Factor, FactorSpace
from hatchel.data.files import RemoteFile, data_folder, how_to_get
from hatchel.data.formats import array_names, open_array, read_mat
from hatchel.data.images import resized
from hatchel.data.source import Source

MODELS, AZIMUTHS, ELEVATIONS = 183, 24, 4
SPACE = FactorSpace(
    (
        Factor("elevation", tuple(float(e) for e in range(ELEVATIONS)), "continuous"),
        Factor("azimuth", tuple(float(15 * a) for a in range(AZIMUTHS)), "cyclic"),
        Factor("model", tuple(float(m) for m in range(MODELS))),
    )
)
PER_MODEL = AZIMUTHS * ELEVATIONS


class Cars3D(Source, kind="cars3d"):
    """Car models at 64 px: elevation (4) x azimuth (24) x model (183) (Reed et al. 2015); needs its files."""

    files: ClassVar[tuple[RemoteFile, ...]] = (
        RemoteFile(
            "nips2015-analogy-data.tar.gz",
            ("http://www.scottreed.info/files/nips2015-analogy-data.tar.gz",),
            "http://www.scottreed.info",
        ),
    )
    path: str = local(default="")
    "The folder with the 183 .mat files, the tar.gz with them, or an .npz of the images; empty: the data folder."

    @property
    def known_shape(self) -> tuple[int, int, int]:
        return (3, 64, 64)

    def load(self) -> Dataset:
        given = data_folder(self.kind, self.path)
        archive = given / self.files[0].name
        place = archive if given.is_dir() and archive.is_file() else given
        images = _from_npz(place) if place.suffix == ".npz" else self._models(place)
        return Dataset(self.kind, images, SPACE)

    def _models(self, place: Path) -> Pixels:
        if not place.exists():
            raise HatchelError(f"cars3d is not in {place}. {how_to_get(self.kind, self.files[0], place)}")
        stream = _mat_files(place)

        def part(start: int, stop: int) -> Pixels:
            found = list(itertools.islice(stream, stop - start))
            if len(found) < stop - start:
                raise HatchelError(f"{place} has fewer than {MODELS} car models (car_*_mesh.mat); fetch it again")
            return np.stack([_model(name, file) for name, file in found])

        stat = place.stat()
        key = f"cars3d 1 {place.resolve()} {stat.st_size} {stat.st_mtime_ns}"
        shape = (MODELS, ELEVATIONS, AZIMUTHS, 64, 64, 3)
        models = CachedArray("cars3d", key, shape, "u1", part, per_part=1, in_order=True).load()
        # The models come one by one, but are the last factor of the grid.
        return models.transpose(1, 2, 0, 3, 4, 5).reshape(-1, 64, 64, 3)


def _mat_files(place: Path) -> Iterator[tuple[str, Any]]:
    """Name and content of each model's file, in the order of the names."""
    if place.is_dir():
        for path in sorted(place.rglob("car_*_mesh.mat"), key=lambda path: path.name):
            yield str(path), path
        return
    try:
        with tarfile.open(place) as archive:
            members = [m for m in archive.getmembers() if Path(m.name).match("car_*_mesh.mat")]
            for member in sorted(members, key=lambda member: member.name):
                content = archive.extractfile(member)
                if content is not None:
                    yield member.name, io.BytesIO(content.read())
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise HatchelError(f"{place} cannot be read ({error}); it may be truncated: fetch it again") from error


def _model(name: str, file: Any) -> NDArray[np.uint8]:
    """One model (elevation, azimuth, 64, 64, 3), in the file (128, 128, 3, azimuth, elevation)."""
    images = read_mat(file, name, "im")
    if images.shape[2:] != (3, AZIMUTHS, ELEVATIONS):
        raise HatchelError(f"{name}: `im` has the shape {images.shape}; (128, 128, 3, 24, 4) was expected")
    flat = images.transpose(4, 3, 0, 1, 2).reshape(PER_MODEL, *images.shape[:3])
    return resized(flat, 64).reshape(ELEVATIONS, AZIMUTHS, 64, 64, 3)


def _from_npz(path: Path) -> Pixels:
    names = array_names(path)
    name = next((k for k in ("images", "imgs") if k in names), names[0])
    images = pixels(open_array(path, name), cache=True)
    if len(images) != len(SPACE):
        raise HatchelError(f"{path} holds {len(images)} images; Cars3D has {len(SPACE)}")
    return images if images.shape[1] == 64 else resized(images, 64)
