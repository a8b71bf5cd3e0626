"""Read a person's table: CSV, TSV or NPZ."""

import csv
import difflib
import itertools
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from s2gnn.data.values import Column, as_numbers, as_text, first_text, missing
from s2gnn.errors import InputError
from s2gnn.progress import progress_bar

ROWS_AT_ONCE = 2_000
LARGE_FILE = 2**22  # bytes, which take about a second
NAMES_SHOWN = 20
# The first column of files that R and pandas write with the names or numbers of their rows has no name.
ROW_NAMES = ""


@dataclass(frozen=True)
class Table:
    """Named columns of equal length.

    Attributes:
        source: where the table came from, for messages.
        columns: by name, in the order of the file; numbers, or text as it was written.
        decimal: what separates the digits of a fraction, "." or, in files with semicolons, perhaps ",".
    """

    source: str
    columns: dict[str, Column]
    decimal: str = "."
    _numbers: dict[str, NDArray[np.float64] | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())))

    def column(self, name: str) -> Column:
        """The column called `name`."""
        if name not in self.columns:
            close = difflib.get_close_matches(name.lower(), [known.lower() for known in self.columns], n=1)
            likeliest = next((known for known in self.columns if close and known.lower() == close[0]), None)
            names = list(self.columns)
            listed = ", ".join(names[:NAMES_SHOWN]) + (f", … ({len(names):,} in all)" if names[NAMES_SHOWN:] else "")
            meant = f"did you mean {likeliest!r}? Its" if likeliest else "its"
            raise InputError(f"{self.source} has no column {name!r}: {meant} columns are {listed}")
        return self.columns[name]

    def check_named(self, names: Sequence[str]) -> None:
        """Raise unless every name is that of a column; a column without a name cannot be asked for."""
        for name in names:
            self.column(name)
            if name == ROW_NAMES:
                raise InputError(f"an empty name is none of the columns of {self.source} to learn from: leave it out")

    def missing(self, name: str) -> NDArray[np.bool_]:
        """The rows (N,) in which a column has no value."""
        return missing(self.column(name))

    def is_numeric(self, name: str) -> bool:
        """Whether every value of a column is a number or missing."""
        return self._as_numbers(name) is not None

    def _as_numbers(self, name: str) -> NDArray[np.float64] | None:
        """A column as numbers, made once, because that takes longer than reading it."""
        if name not in self._numbers:
            self._numbers[name] = as_numbers(self.column(name), self.decimal)
        return self._numbers[name]

    def numbers(self, name: str, role: str, advice: str) -> NDArray[np.float64]:
        """A column as finite numbers (N,), NaN where a value is missing; other values are an error.

        Args:
            name: of the column.
            role: what its values are, such as "a feature", for the message.
            advice: what to do, for the message.
        """
        numbers = self._as_numbers(name)
        if numbers is None:
            column = self.column(name)
            row = first_text(column, self.decimal)
            assert row is not None
            raise InputError(
                f"column {name!r} of {self.source} is {str(column[row])!r} in row {row + 1}, but {role} is a number: "
                f"{advice}"
            )
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            row = int(infinite[0])
            raise InputError(
                f"column {name!r} of {self.source} is {numbers[row]} in row {row + 1}, not a finite number: {advice}"
            )
        return numbers

    def features(self, names: Sequence[str] | None = None, *, without: Sequence[str] = ()) -> NDArray[np.float64]:
        """Columns as a table of numbers (N, M): those named, or all but the row names and those in `without`."""
        self.check_named(names or [])
        chosen = list(names) if names else [name for name in self.columns if name not in (*without, ROW_NAMES)]
        if not chosen:
            raise InputError(f"{self.source} has no column left to take as a feature")
        return np.stack([self._complete_numbers(name) for name in chosen], axis=1)

    def _complete_numbers(self, name: str) -> NDArray[np.float64]:
        advice = "leave the column out (name the features to take, or mark it as the label)"
        numbers = self.numbers(name, "a feature", advice)
        if np.isnan(numbers).any():
            row = int(np.flatnonzero(np.isnan(numbers))[0])
            raise InputError(
                f"column {name!r} of {self.source} is empty in row {row + 1}, but a feature is a number: {advice}"
            )
        return numbers


def read_table(path: str | Path, *, progress: bool = False) -> Table:
    """The table in a .csv, .tsv or .npz file.

    A CSV or TSV file has a header line; the delimiter of a CSV is recognised. An NPZ file holds `X` (N, M), whose
    columns are called x0, x1, …, and perhaps `y` (N,), whose value is missing where it is the integer -1.

    Reading takes about three times as much memory as the file has bytes, and at least 16 bytes for each value.

    Args:
        path: of the file.
        progress: show a bar while a large file is read.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path} is {'a folder' if path.is_dir() else 'not a file'}: give a .csv, .tsv or .npz table")
    return _read_npz(path) if path.suffix.lower() == ".npz" else _read_text(path, progress)


def _read_text(path: Path, progress: bool) -> Table:
    try:
        size = path.stat().st_size
        bar = progress_bar("reading the table", shown=progress and size >= LARGE_FILE)
        with path.open("rb") as file, TextIOWrapper(file, encoding="utf-8-sig", newline="") as stream, bar as show:
            delimiter = _delimiter(path, stream)
            lines = csv.reader(_text_lines(path, stream), delimiter=delimiter)
            rows = (row for row in lines if any(value.strip() for value in row))
            header = [name.strip() for name in next(rows, [])]
            columns = _columns(path, header, rows, lambda: show(file.tell() / size))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not a table: it is not text in UTF-8 (from a spreadsheet, save as CSV in UTF-8)"
        ) from error
    except csv.Error as error:
        raise InputError(
            f"{path} is not a table: line {lines.line_num} cannot be read ({error}): is a quotation mark left open?"
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    return Table(str(path), columns, "," if delimiter == ";" else ".")


def _columns(
    path: Path, header: Sequence[str], rows: Iterator[list[str]], on_rows: Callable[[], None]
) -> dict[str, Column]:
    """The columns by name; so many rows at once become arrays that Python's own texts take little memory."""
    parts: list[list[Column]] = [[] for _ in header]
    first = 1
    while batch := list(itertools.islice(rows, ROWS_AT_ONCE)):
        if first == 1:
            _check_header(path, header)
        for number, row in enumerate(batch, start=first):
            if len(row) != len(header):
                raise InputError(f"{path} is not a table: row {number} has {len(row)} values, the header {len(header)}")
        for part, values in zip(parts, zip(*batch, strict=True), strict=True):
            part.append(as_text(values))
        first += len(batch)
        on_rows()
    if first == 1:
        raise InputError(f"{path} is not a table: it needs a header line and at least one row")
    columns = {}
    for name, part in zip(header, parts, strict=True):
        columns[name] = np.concatenate(part)
        part.clear()
    return columns


def _check_header(path: Path, header: Sequence[str]) -> None:
    if len(set(header)) < len(header) or "" in header[1:]:
        raise InputError(f"{path} is not a table: its header names a column twice or not at all ({', '.join(header)})")
    if all(as_numbers(as_text([name])) is not None for name in header):
        raise InputError(f"{path} has numbers in its first line, which must name the columns: add a header line")


def _text_lines(path: Path, stream: TextIO) -> Iterator[str]:
    """The lines of a file; a zero byte, which is also valid UTF-8, is an error."""
    for line in stream:
        if "\0" in line:
            raise InputError(f"{path} is not a table: it is a binary file (from a spreadsheet, save as CSV)")
        yield line


def _delimiter(path: Path, stream: TextIO) -> str:
    """What separates the values; the stream is at its beginning before and after."""
    header = next((line for line in stream if line.strip()), "")
    stream.seek(0)
    return "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=header.count)


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
    columns: dict[str, Column] = {f"x{position}": column.astype(np.float64) for position, column in enumerate(X.T)}
    if y is not None:
        if y.shape != X.shape[:1]:
            raise InputError(f"{path} has {len(X)} rows in X, but y has shape {y.shape}")
        text = as_text(y.astype(np.str_))
        columns["y"] = np.where(y == -1, "", text) if y.dtype.kind == "i" else text
    return Table(str(path), columns)
