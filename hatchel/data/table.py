"""Table: your own CSV or Parquet file or DataFrame, its columns encoded by what they hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.spec import Count, Spec, from_dict
from hatchel.data.dataset import Dataset
from hatchel.data.decode import LazyArray
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
        return self.dataset(self._frame(), Path(self.path).stem)

    def dataset(self, frame: Any, title: str) -> Dataset:
        """A DataFrame, encoded as these options say."""
        names = [str(name) for name in frame.columns]
        for name in (*self.factors, *self.leave_out, *self.categorical):
            if name not in names:
                raise unknown("column", name, names, where=self._where)
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise HatchelError(f"{self._where}: two columns are called {double!r}; rename one")
        frame = self._complete(frame.set_axis(names, axis=1).drop(columns=list(self.leave_out)))
        blocks: list[NDArray[np.float32]] = []
        columns: list[TableColumn] = []
        for name in frame.columns:
            if name not in self.factors:
                values, column = self._encoded(name, frame[name])
                blocks.append(values)
                columns.append(column)
        if not columns:
            raise HatchelError(f"{self._where} has no columns left to learn from")
        known = [column_factor(name, frame[name]) for name in self.factors]
        space = FactorSpace(tuple(f for f, _ in known), complete=False) if known else None
        codes = np.stack([c for _, c in known], axis=1) if known else None
        rows = np.concatenate(blocks, axis=1)
        return Dataset(title, rows, space, codes, tuple(columns))

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
        return frame

    @property
    def _where(self) -> str:
        return self.path or "data"

    def _option(self, name: str, value: str) -> str:
        """An option as one types it: on the command line, or in Python for a DataFrame."""
        if self.path:
            return f"data.{name}={value}"
        given = repr([value[1:-1]]) if value.startswith("[") else repr(value)
        return f"data=hatchel.data.from_frame(df, {name}={given})"

    def _complete(self, frame: Any) -> Any:
        """Without the rows that have empty cells, or an error that names them."""
        empty: NDArray[np.bool_] = frame.isna().to_numpy()
        if self.missing == "drop":
            frame = frame[np.logical_not(empty.any(axis=1))]
        elif empty.any():
            column = int(empty.any(axis=0).argmax())
            cells = empty[:, column]
            raise HatchelError(
                f"{self._where}: the column {frame.columns[column]!r} has {cells.sum()} empty cells (NaN), the first "
                f"in row {cells.argmax()}; fill them in, or use {self._option('missing', 'drop')}"
            )
        if len(frame) == 0:
            raise HatchelError(f"{self._where} has no rows")
        return frame

    def _encoded(self, name: str, series: Any) -> tuple[NDArray[np.float32], TableColumn]:
        from pandas.api import types

        if types.is_datetime64_any_dtype(series) or types.is_timedelta64_dtype(series):
            # As texts, each day would become a category of its own.
            raise HatchelError(
                f"{self._where}: the column {name!r} holds dates or times; turn it into a number, such as "
                f"{'the day of the year' if types.is_datetime64_any_dtype(series) else 'seconds'}, "
                f"or leave it out with {self._option('leave_out', f'[{name}]')}"
            )
        if types.is_bool_dtype(series):
            return series.to_numpy(np.float32)[:, None], TableColumn(name, "bernoulli", values=("False", "True"))
        if types.is_numeric_dtype(series) and name not in self.categorical:
            values = series.to_numpy(np.float64)
            if not np.isfinite(values).all():
                row = int((~np.isfinite(values)).argmax())
                raise HatchelError(f"{self._where}: the column {name!r} is infinite in row {row}")
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
                f"{self._where}: the column {name!r} has {len(known)} different texts, too many for a category; "
                f"leave it out with {self._option('leave_out', f'[{name}]')}"
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
                f"{self._where}: the column {name!r} is not numeric: row {row} is {series.iloc[row]!r}; correct it, "
                f"or use {self._option('categorical', f'[{name}]')}"
            )


def from_frame(frame: Any, **options: Any) -> Dataset:
    """A pandas DataFrame as a data set; options as for files: factors, leave_out, categorical, missing."""
    return from_dict(Table, {"path": "", **options}).dataset(frame, "table")


def rescaled(data: Dataset, columns: tuple[TableColumn, ...]) -> Dataset:
    """A table in the units of a run's columns, which must be the same but for mean and scale."""
    if data.columns == columns:
        return data
    plain = [[c.with_fields(mean=0.0, scale=1.0) for c in known] for known in (data.columns, columns)]
    if plain[0] != plain[1]:
        names = [[c.name for c in known] for known in plain]
        other = sorted(set(names[0]) ^ set(names[1])) or [a.name for a, b in zip(*plain, strict=True) if a != b]
        raise HatchelError(
            f"{data.name}: has other columns than the run was trained on (first difference: "
            f"{other[0] if other else 'their order'}); give a table with the same columns and values"
        )
    was, now = (
        np.array([[n for c in known for n in [getattr(c, name)] * c.width] for name in ("mean", "scale")])
        for known in (data.columns, columns)
    )

    def convert(rows: NDArray[Any]) -> NDArray[np.float32]:
        return ((rows * was[1] + was[0] - now[0]) / now[1]).astype(np.float32)

    lazy = isinstance(data.array, LazyArray)
    array = LazyArray(lambda i: convert(data.items(i)), data.array.shape) if lazy else convert(np.asarray(data.array))
    return dataclasses.replace(data, array=array, columns=columns)


def decoded_frame(rows: NDArray[Any], columns: Sequence[TableColumn]) -> Any:
    """Rows (n, F) in the data's units as a DataFrame: numbers, and the likelier value of each other column."""
    import pandas as pd

    found: dict[str, Any] = {}
    place = 0
    for column in columns:
        block, place = rows[:, place : place + column.width], place + column.width
        if column.kind_of == "gaussian":
            found[column.name] = block[:, 0]
        else:
            likelier = block.argmax(axis=1) if column.kind_of == "categorical" else (block[:, 0] > 0.5).astype(int)
            found[column.name] = np.array(column.values or ("0", "1"), dtype=object)[likelier]
    return pd.DataFrame(found)


def encoded_rows(frame: Any, columns: Sequence[TableColumn]) -> NDArray[np.float64]:
    """The way back: a DataFrame's rows (n, F) in the data's units, texts by the values that the columns know."""
    blocks: list[NDArray[np.float64]] = []
    for column in columns:
        if column.name not in frame.columns:
            raise HatchelError(f"data: there is no column {column.name!r}, which the run was trained on; add it")
        if column.kind_of == "gaussian":
            blocks.append(frame[column.name].to_numpy(np.float64)[:, None])
            continue
        texts = frame[column.name].astype(str).to_numpy(dtype=object)
        values = np.array(column.values or ("0", "1"), dtype=object)
        hot = texts[:, None] == values
        if column.kind_of == "bernoulli" and not hot.any(axis=1).all():  # 0.0 and 1.0 are 0 and 1
            hot = frame[column.name].to_numpy(np.float64)[:, None] == np.arange(2)
        if not hot.any(axis=1).all():
            stray = texts[~hot.any(axis=1)][0]
            raise HatchelError(f"data: the column {column.name!r} has {stray!r}, not one of {', '.join(values)}")
        blocks.append(hot[:, 1:].astype(np.float64) if column.kind_of == "bernoulli" else hot.astype(np.float64))
    return np.concatenate(blocks, axis=1)


def frame_factors(frame: Any, length: int) -> tuple[FactorSpace, NDArray[np.int64]]:
    """Factors (n, K) that a DataFrame holds, one in each column, by the columns' names."""
    if len(frame) != length:
        raise HatchelError(f"data: the factors have {len(frame)} rows, the data {length} items; give a row for each")
    for name in frame.columns:
        if frame[name].isna().any():
            raise HatchelError(f"data: the factor {str(name)!r} has empty cells (NaN); fill them in")
    known = [column_factor(str(name), frame[name]) for name in frame.columns]
    return FactorSpace(tuple(f for f, _ in known), complete=False), np.stack([c for _, c in known], axis=1)


def column_factor(name: str, series: Any) -> tuple[Factor, NDArray[np.int64]]:
    """The factor that a column holds, and the index of its value in every row."""
    from pandas.api import types

    numeric = types.is_numeric_dtype(series) and not types.is_bool_dtype(series)
    values, codes = np.unique(series.to_numpy() if numeric else series.astype(str).to_numpy(str), return_inverse=True)
    shown = tuple(float(v) if numeric else str(v) for v in values)
    return Factor(name, shown, "continuous" if numeric else "discrete"), codes.reshape(-1).astype(np.int64)
