"""A table: named columns of numbers or of text as it was written, and which of their values are missing or numbers."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from s2gnn.errors import InputError

# What spreadsheets, R, pandas and databases write for a missing value.
MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "?")
# The first column of files that R and pandas write with row names has an empty name.
ROW_NAMES = ""
NAMES_SHOWN = 20

Column = NDArray[Any]
"""(N,) of float64, or of text as NumPy's StringDType, which takes a quarter of the memory of Python strings."""


@dataclass(frozen=True)
class Table:
    """Named columns of equal length.

    Attributes:
        source: where the table came from, for messages.
        columns: by name, in the order of the file.
        decimal: the decimal separator, "."; "," in files with semicolons, where "." is understood as well.
        categorical: columns that are categories even if they spell numbers, such as those of a data frame.
    """

    source: str
    columns: dict[str, Column]
    decimal: str = "."
    categorical: frozenset[str] = frozenset()
    _numbers: dict[str, NDArray[np.float64] | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def from_frame(cls, frame: Any, source: str = "the table") -> Table:
        """Return the columns of a data frame of pandas or polars; its index is ignored."""
        frame = as_pandas(frame)
        names = [str(name) for name in frame.columns]
        check_storable(names, source)
        if len(set(names)) < len(names):
            raise InputError(f"{source} has two columns of the same name ({', '.join(names)}): rename one")
        if not names or not len(frame):
            raise InputError(f"{source} has shape {frame.shape}: it needs at least one column and one row")
        columns = {name: _column(frame.iloc[:, place]) for place, name in enumerate(names)}
        kinds = zip(names, frame.dtypes, strict=True)
        return cls(source, columns, categorical=frozenset(n for n, dtype in kinds if _is_categorical(dtype)))

    def to_frame(self) -> pd.DataFrame:
        """Return the columns as a data frame; text as it was written."""
        return pd.DataFrame({n: c.astype(object) if is_text(c) else c for n, c in self.columns.items()})

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())))

    def column(self, name: str) -> Column:
        """Return the column called `name`."""
        if name not in self.columns:
            close = difflib.get_close_matches(name.lower(), [known.lower() for known in self.columns], n=1)
            likeliest = next((known for known in self.columns if close and known.lower() == close[0]), None)
            names = list(self.columns)
            listed = ", ".join(names[:NAMES_SHOWN]) + (f", … ({len(names):,} in all)" if names[NAMES_SHOWN:] else "")
            meant = f"did you mean {likeliest!r}? Its" if likeliest else "its"
            raise InputError(f"{self.source} has no column {name!r}: {meant} columns are {listed}")
        return self.columns[name]

    def check_named(self, names: Sequence[str]) -> None:
        """Raise unless every name is that of a column; the column of row names has none."""
        for name in names:
            self.column(name)
            if name == ROW_NAMES:
                raise InputError(f"a feature of {self.source} has an empty name: remove it from the list of features")

    def with_categorical(self, names: Sequence[str]) -> Table:
        """Return the table with these columns as categories, even if they spell numbers."""
        for name in names:
            self.column(name)
        return replace(self, categorical=self.categorical | set(names))

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Return the rows (N,) in which a column has no value."""
        return missing(self.column(name))

    def is_numeric(self, name: str) -> bool:
        """Return whether every value of a column is a number or missing."""
        return self._as_numbers(name) is not None

    def _as_numbers(self, name: str) -> NDArray[np.float64] | None:
        """Return a column as numbers, converted once because that takes longer than reading it."""
        if name not in self._numbers:
            self._numbers[name] = as_numbers(self.column(name), self.decimal)
        return self._numbers[name]

    def numbers(self, name: str, role: str, advice: str) -> NDArray[np.float64]:
        """Return a column as finite numbers (N,), NaN where a value is missing.

        Args:
            name: of the column.
            role: what its values are, such as "a feature", for the error message.
            advice: what to do, for the error message.

        Raises:
            InputError: if a value is text or infinite.
        """
        numbers = self._as_numbers(name)
        if numbers is None:
            column = self.column(name)
            row = first_text(column, self.decimal)
            assert row is not None
            raise self.value_error(name, row, repr(str(column[row])), f"but {role} must be a number: {advice}")
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            row = int(infinite[0])
            raise self.value_error(name, row, str(numbers[row]), f"not a finite number: {advice}")
        return numbers

    def value_error(self, name: str, row: int, value: str, problem: str) -> InputError:
        """Return the error that the `value` of a column in a row, counted from 0, has a `problem`."""
        return InputError(f"column {name!r} of {self.source} is {value} in row {row + 1}, {problem}")

    def features(self, names: Sequence[str] | None = None, *, without: Sequence[str] = ()) -> NDArray[np.float64]:
        """Return columns as numbers (N, M): those named, or all except the row names and those in `without`."""
        self.check_named(names or [])
        chosen = list(names) if names else [name for name in self.columns if name not in (*without, ROW_NAMES)]
        if not chosen:
            raise InputError(f"{self.source} has no column left to use as a feature")
        advice = "exclude the column (name the features to use, or mark it as the label)"
        columns = []
        for name in chosen:
            numbers = self.numbers(name, "a feature", advice)
            if np.isnan(numbers).any():
                row = int(np.flatnonzero(np.isnan(numbers))[0])
                raise self.value_error(name, row, "empty", f"but a feature must be a number: {advice}")
            columns.append(numbers)
        return np.stack(columns, axis=1)


def as_pandas(frame: Any) -> Any:
    """Return a data frame of polars as one of pandas, without pyarrow; anything else as it is."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(frame, polars.DataFrame):
        return frame
    return pd.DataFrame({s.name: s.to_numpy() if s.dtype.is_numeric() else s.to_list() for s in frame.get_columns()})


def check_storable(names: Sequence[str], source: str) -> None:
    """Raise if a name of a column has a zero byte, which NumPy drops from the end of stored text."""
    wrong = next((name for name in names if "\0" in name), None)
    if wrong is not None:
        raise InputError(f"the name {wrong!r} of a column of {source} has a zero byte: rename the column")


def as_text(values: Any) -> Column:
    """Return a column of text."""
    return np.array(values, dtype=np.dtypes.StringDType())


def is_text(column: Column) -> bool:
    """Return whether a column holds text, which may spell numbers."""
    return column.dtype.kind != "f"


def stripped(column: Column) -> Column:
    """Return a column as text without surrounding blanks."""
    return np.strings.strip(column if is_text(column) else as_text(column))


def missing(column: Column) -> NDArray[np.bool_]:
    """Return where the column has no value: one of `MISSING`, or NaN in a column of numbers."""
    if not is_text(column):
        return np.isnan(column)
    text = stripped(column)
    absent = np.zeros(len(text), dtype=np.bool_)
    for marker in MISSING:
        absent |= text == marker
    return absent


def as_numbers(column: Column, decimal: str = ".") -> NDArray[np.float64] | None:
    """Return the column as numbers (N,), NaN where a value is missing; `None` if any other value is not a number.

    The decimal separator "," reads 2,5 as 2.5 in a column that is not numeric with ".".
    """
    if not is_text(column):
        return np.asarray(column, dtype=np.float64)
    if (np.strings.find(column, "_") >= 0).any():  # Python reads 10_2 as 102, but it is a code to everyone else
        return None
    numbers = _converted(column)
    if numbers is None:
        column = np.where(missing(column), "nan", column)
        numbers = _converted(column)
    if numbers is None and decimal != ".":
        numbers = _converted(np.strings.replace(column, decimal, "."))
    return numbers


def _converted(text: Column) -> NDArray[np.float64] | None:
    try:
        return text.astype(np.float64)
    except ValueError:
        return None


def first_text(column: Column, decimal: str = ".") -> int | None:
    """Return the position of the first value that is neither missing nor a number."""
    if as_numbers(column, decimal) is not None:
        return None
    low, high = 0, len(column)  # as_numbers(column[:high]) is None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if as_numbers(column[low:middle], decimal) is None else (middle, high)
    return low


def holds_numbers(dtype: Any) -> bool:
    """Return whether the columns of a data frame that have this dtype are numbers; booleans and categories are not."""
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def _is_categorical(dtype: Any) -> bool:
    return isinstance(dtype, pd.CategoricalDtype)


def _column(values: pd.Series[Any]) -> Column:
    """Return numbers as float64, anything else as text, "" where a value is missing."""
    dtype: Any = values.dtype
    if holds_numbers(dtype):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    if _is_categorical(dtype) and holds_numbers(dtype.categories.dtype):
        numbers = dtype.categories.to_numpy(dtype=np.float64)
        names = [f"{int(number)}" if number.is_integer() else f"{number}" for number in numbers.tolist()]
        return as_text([*names, ""])[values.cat.codes.to_numpy()]  # −1 for a missing value
    return as_text(["" if gone else str(value) for value, gone in zip(values, values.isna(), strict=True)])
