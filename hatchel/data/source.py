"""Source: the configuration of a data set, and `load`, which reads any of them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.spec import Spec, from_dict
from hatchel.data.dataset import Dataset
from hatchel.data.files import RemoteFile
from hatchel.data.formats import ARRAYS, TABLES

OWN = ("images", "array", "table")
"""The kinds that a path alone can name."""
KIND_OF_FILE = dict.fromkeys(ARRAYS, "array") | dict.fromkeys(TABLES, "table")


class Source(Spec, ABC, family="dataset", home="hatchel.data"):
    """What to load: a built-in set by its kind, or your own by its path."""

    files: ClassVar[tuple[RemoteFile, ...]] = ()
    """What can be fetched for it."""
    shares: ClassVar[str] = ""
    """The kind whose files it is made from."""
    built_in: ClassVar[bool] = False
    """Whether it works without any file."""

    @abstractmethod
    def load(self) -> Dataset:
        """The data, ready to be read."""

    @property
    def known_shape(self) -> tuple[int, int, int] | None:
        """(C, H, W) of an image, where that is known without loading any, else None."""
        return None

    def absolute(self) -> Self:
        """The same with its path written out, so that it is found from any folder."""
        path = getattr(self, "path", "")
        return self.with_fields(path=str(Path(path).expanduser().absolute())) if path else self

    def moved(self, to: str | Path) -> Source:
        """The same data at another path, with the same options; or others, by name or path."""
        name = str(to)
        if name in Source.members() or "path" not in self.__dataclass_fields__:
            return from_dict(Source, name, "data")
        own = _own(name, Source) if self.kind in OWN else {"kind": self.kind}
        return self.with_fields(path=name) if own["kind"] == self.kind else from_dict(Source, own)

    @classmethod
    def coerce(cls, value: Any) -> Any:
        if not isinstance(value, str | Path):
            return value
        name = str(value)
        return from_dict(cls, {"kind": name} if name in cls.members() else _own(name, cls))


def load(name: str | Path, **options: Any) -> Dataset:
    """The data set of that name, or the folder, array or table at that path; options are the fields of its Source.

    >>> ds = load("xy_squares", size=16)
    >>> len(ds), ds.shape, ds.space.names
    (64, (1, 16, 16), ('x', 'y'))
    """
    return named(name, **options).load()


def named(name: str | Path, **options: Any) -> Source:
    """What `load` reads, not read yet.

    >>> named("xy_squares", size=16).known_shape
    (1, 16, 16)
    """
    text = str(name)
    body = {"kind": text} if text in Source.members() else _own(text, Source)
    return from_dict(Source, {**body, **options})


def _own(name: str, family: type[Source]) -> dict[str, Any]:
    path = Path(name).expanduser()
    try:
        folder, file = path.is_dir(), path.is_file()
    except (OSError, ValueError):  # far too long for a path
        raise HatchelError(f"data: {name[:40]!r}... is neither a known data set nor a path") from None
    if folder:
        return {"kind": "images", "path": name}
    if file:
        kind = KIND_OF_FILE.get(path.suffix.lower())
        if kind is None:
            known = ", ".join(sorted(KIND_OF_FILE))
            raise HatchelError(
                f"{name}: cannot read data from this kind of file; known are a folder of images, {known}"
            )
        return {"kind": kind, "path": name}
    if path.suffix or "/" in name or os.sep in name:  # what is written as a path was meant as one
        raise HatchelError(f"data: there is no file or folder {name} (seen from {Path.cwd()}); correct the path")
    raise HatchelError(f"{unknown('dataset', name, family.members())}; a path must exist")
