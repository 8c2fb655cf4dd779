"""Table: your own CSV or Parquet file, its columns encoded by what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.spec import Count, Spec
from hatchel.data.dataset import Dataset
from hatchel.data.factors import Factor, FactorSpace
from hatchel.data.source import Source

CATEGORIES = 100  # more different texts than this are a name or an identifier, not a category


class TableColumn(Spec):
    """One column of a table after encoding."""

    name: str
    "As in the table's header."
    kind_of: Literal["gaussian", "bernoulli", "categorical"]
    "gaussian: a scaled number; bernoulli: 0 or 1; categorical: one-hot."
    width: Count = 1
    "How many encoded values it takes in a row."
    mean: float = 0.0
    "What was subtracted from a gaussian column."
    scale: float = 1.0
    "What a gaussian column was divided by."
    values: tuple[str, ...] = ()
    "What the encoded values of a bernoulli or categorical column stand for."


class Table(Source):
    """Your own .csv, .tsv or .parquet file: numbers are scaled, 0/1 columns kept, texts one-hot.

    A number becomes (x - mean) / standard deviation over the table.
    """

    path: str
    "The file."
    factors: tuple[str, ...] = ()
    "Columns that are known causes: kept out of the input, and used by the metrics."
    leave_out: tuple[str, ...] = ()
    "Columns that are not used at all."
    categorical: tuple[str, ...] = ()
    "Columns of numbers that are codes of categories."
    missing: Literal["error", "drop"] = "error"
    "What to do about rows with empty cells: stop and name them, or leave them out."

    def load(self) -> Dataset:
        frame = self._frame()
        names = [str(name) for name in frame.columns]
        for name in (*self.factors, *self.leave_out, *self.categorical):
            if name not in names:
                raise unknown("column", name, names, where=self.path)
        frame.columns = names
        frame = frame.drop(columns=list(self.leave_out))
        blocks: list[NDArray[np.float32]] = []
        columns: list[TableColumn] = []
        for name in frame.columns:
            if name not in self.factors:
                values, column = self._encoded(name, frame[name])
                blocks.append(values)
                columns.append(column)
        if not columns:
            raise HatchelError(f"{self.path} has no columns left to learn from")
        known = [_factor(name, frame[name]) for name in self.factors]
        space = FactorSpace(tuple(f for f, _ in known), complete=False) if known else None
        codes = np.stack([c for _, c in known], axis=1) if known else None
        rows = np.concatenate(blocks, axis=1)
        return Dataset(Path(self.path).stem, rows, space, codes, tuple(columns))

    def _frame(self) -> Any:
        path = Path(self.path).expanduser()
        if not path.is_file():
            raise HatchelError(f"path: there is no file {self.path}")
        import pandas as pd

        suffix = path.suffix.lower()
        frame: Any
        try:
            if suffix == ".parquet":
                frame = pd.read_parquet(path)
            else:
                frame = pd.read_csv(path, sep="\t" if suffix == ".tsv" else ",")
        except ImportError:
            raise HatchelError('reading Parquet needs pyarrow: pip install "hatchel[data]"') from None
        except (ValueError, OSError) as error:  # pandas' and Arrow's own errors are ValueErrors
            raise HatchelError(f"{self.path} cannot be read as a table: {error}") from error
        used = [c for c in frame.columns if str(c) not in self.leave_out]
        empty: NDArray[np.bool_] = frame[used].isna().to_numpy()
        if self.missing == "drop":
            frame = frame[np.logical_not(empty.any(axis=1))]
        elif empty.any():
            column = int(empty.any(axis=0).argmax())
            cells = empty[:, column]
            raise HatchelError(
                f"{self.path}: the column {str(used[column])!r} has {cells.sum()} empty cells (NaN), the first in row "
                f"{cells.argmax()}; fill them in, or use data.missing=drop"
            )
        if len(frame) == 0:
            raise HatchelError(f"{self.path} has no rows")
        return frame

    def _encoded(self, name: str, series: Any) -> tuple[NDArray[np.float32], TableColumn]:
        from pandas.api import types

        if types.is_bool_dtype(series):
            return series.to_numpy(np.float32)[:, None], TableColumn(name, "bernoulli", values=("False", "True"))
        if types.is_numeric_dtype(series) and name not in self.categorical:
            values = series.to_numpy(np.float64)
            if not np.isfinite(values).all():
                row = int((~np.isfinite(values)).argmax())
                raise HatchelError(f"{self.path}: the column {name!r} is infinite in row {row}")
            if set(np.unique(values).tolist()) == {0.0, 1.0}:
                return values.astype(np.float32)[:, None], TableColumn(name, "bernoulli", values=("0", "1"))
            mean, scale = float(values.mean()), float(values.std()) or 1.0
            return ((values - mean) / scale).astype(np.float32)[:, None], TableColumn(name, "gaussian", 1, mean, scale)
        if name not in self.categorical:
            self._check_for_stray_texts(name, series)
        texts = series.astype(str).to_numpy(dtype=object)
        known = sorted(set(texts))
        if len(known) > CATEGORIES:
            raise HatchelError(
                f"{self.path}: the column {name!r} has {len(known)} different texts, too many for a category; "
                f"leave it out with data.leave_out=[{name}]"
            )
        codes = np.searchsorted(np.array(known, dtype=object), texts)
        encoded = (codes[:, None] == np.arange(len(known))).astype(np.float32)
        return encoded, TableColumn(name, "categorical", len(known), values=tuple(known))

    def _check_for_stray_texts(self, name: str, series: Any) -> None:
        """A column of numbers with a stray text would quietly become a category of its own for each number."""
        import pandas as pd

        numbers: Any = pd.to_numeric(series.astype(str), errors="coerce")
        strays: NDArray[np.bool_] = numbers.isna().to_numpy()
        if 0 < strays.sum() <= len(series) / 2:
            row = int(strays.argmax())
            raise HatchelError(
                f"{self.path}: the column {name!r} is not numeric: row {row} is {series.iloc[row]!r}; correct it, "
                f"or use data.categorical=[{name}]"
            )


def _factor(name: str, series: Any) -> tuple[Factor, NDArray[np.int64]]:
    from pandas.api import types

    numeric = types.is_numeric_dtype(series) and not types.is_bool_dtype(series)
    values, codes = np.unique(series.to_numpy() if numeric else series.astype(str).to_numpy(str), return_inverse=True)
    shown = tuple(float(v) if numeric else str(v) for v in values)
    return Factor(name, shown, "continuous" if numeric else "discrete"), codes.reshape(-1).astype(np.int64)
