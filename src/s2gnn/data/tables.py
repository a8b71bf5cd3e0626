"""Read a person's table: CSV, TSV or NPZ."""

import csv
import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError


@dataclass(frozen=True)
class Table:
    """Named columns of equal length.

    Attributes:
        source: where the table came from, for messages.
        columns: by name, in the order of the file; numbers or text as they were written.
    """

    source: str
    columns: dict[str, NDArray[np.float64] | NDArray[np.str_]]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())))

    def column(self, name: str) -> NDArray[np.float64] | NDArray[np.str_]:
        """The column called `name`."""
        if name not in self.columns:
            raise InputError(f"{self.source} has no column {name!r}: its columns are {', '.join(self.columns)}")
        return self.columns[name]

    def features(self, names: Sequence[str] | None = None, *, without: Sequence[str] = ()) -> NDArray[np.float64]:
        """Columns as a table of numbers (N, M): those named, or all except `without`."""
        chosen = list(names) if names else [name for name in self.columns if name not in without]
        if not chosen:
            raise InputError(f"{self.source} has no column left to take as a feature")
        return np.stack([self._numbers(name) for name in chosen], axis=1)

    def _numbers(self, name: str) -> NDArray[np.float64]:
        column = self.column(name)
        advice = "leave the column out (name the features to take, or mark it as the label)"
        if column.dtype.kind != "f":
            for row, text in enumerate(column, start=1):
                if not _is_number(text):
                    value = repr(str(text)) if text.strip() else "empty"
                    raise InputError(
                        f"column {name!r} of {self.source} is {value} in row {row}, but a feature is a number: {advice}"
                    )
        numbers = column.astype(np.float64)
        if not np.isfinite(numbers).all():
            row = int(np.flatnonzero(~np.isfinite(numbers))[0])
            raise InputError(
                f"column {name!r} of {self.source} is {numbers[row]} in row {row + 1}, not a finite number: {advice}"
            )
        return numbers


def read_table(path: str | Path) -> Table:
    """The table in a .csv, .tsv or .npz file.

    A CSV or TSV file has a header line; the delimiter of a CSV is recognised. An NPZ file holds `X` (N, M), whose
    columns are called x0, x1, …, and perhaps `y` (N,).
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path} is not a file")
    return _read_npz(path) if path.suffix.lower() == ".npz" else _read_text(path)


def _read_text(path: Path) -> Table:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a table: it is not text in UTF-8") from error
    header_line = text.lstrip().split("\n", 1)[0]
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(path, header_line)))
    except csv.Error as error:
        raise InputError(f"{path} is not a table: {error}") from error
    rows = [row for row in rows if any(value.strip() for value in row)]
    if len(rows) < 2:
        raise InputError(f"{path} is not a table: it needs a header line and at least one row")
    header, body = [name.strip() for name in rows[0]], rows[1:]
    if len(set(header)) < len(header) or "" in header:
        raise InputError(f"{path} is not a table: its header names a column twice or not at all ({', '.join(header)})")
    if all(_is_number(name) for name in header):
        raise InputError(f"{path} has numbers in its first line, which must name the columns: add a header line")
    for number, row in enumerate(body, start=1):
        if len(row) != len(header):
            raise InputError(f"{path} is not a table: row {number} has {len(row)} values, the header {len(header)}")
    columns = {name: np.array(values) for name, values in zip(header, zip(*body, strict=True), strict=True)}
    return Table(str(path), columns)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _delimiter(path: Path, header: str) -> str:
    if path.suffix.lower() == ".tsv":
        return "\t"
    return max(",;\t", key=header.count)


def _read_npz(path: Path) -> Table:
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path} is not an .npz archive")
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files if name in ("X", "y")}
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is damaged, or X or y in it is not a plain array of numbers or text") from error
    X, y = arrays.get("X"), arrays.get("y")
    if X is None or X.ndim != 2 or X.dtype.kind not in "fiub" or 0 in X.shape:
        raise InputError(f"{path} has no table of numbers called X of shape (N, M)")
    columns: dict[str, NDArray[np.float64] | NDArray[np.str_]] = {
        f"x{position}": column.astype(np.float64) for position, column in enumerate(X.T)
    }
    if y is not None:
        if y.shape != X.shape[:1]:
            raise InputError(f"{path} has {len(X)} rows in X, but y has shape {y.shape}")
        columns["y"] = y.astype(np.str_)
    return Table(str(path), columns)
