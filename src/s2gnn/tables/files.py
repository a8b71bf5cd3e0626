"""Read tables from CSV and TSV files, optionally gzipped, and NPZ files; write CSV and TSV files."""

import csv
import gzip
import itertools
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import BinaryIO, TextIO, cast

import numpy as np
import pandas as pd

from s2gnn.errors import InputError
from s2gnn.progress import progress_bar
from s2gnn.reading import Gunzipped, read_arrays, why_not
from s2gnn.tables.table import Column, Table, as_numbers, as_text

DELIMITERS = {".csv": ",", ".tsv": "\t"}
ROWS_AT_ONCE = 2_000
GZIP = ".gz"
LONGEST_LINE = 2**26  # characters; a small gzipped file may unpack to one line of any length
LARGE_FILE = 2**22  # bytes, which take about a second
# The first bytes of files that are often mistaken for tables: what they are, and what to do.
OTHER_FILES = {
    b"PK\x03\x04": ("an Excel workbook or a ZIP archive", "save it as CSV in UTF-8 from a spreadsheet, or unpack it"),
    b"\xd0\xcf\x11\xe0": ("an Excel workbook", "save it as CSV in UTF-8 from a spreadsheet"),
    b"%PDF": ("a PDF document", "copy its table into a spreadsheet and save that as CSV in UTF-8"),
}


def table_text(frame: pd.DataFrame, suffix: str = ".csv") -> str:
    """Format a data frame, without its index, as the text of a .csv or .tsv file; missing values are empty."""
    return str(frame.to_csv(sep=DELIMITERS[suffix.lower()], index=False, lineterminator="\n"))


def read_table(path: str | Path, *, progress: bool = False) -> Table:
    """Read the table in a .csv, .tsv or .npz file.

    A CSV or TSV file has a header line and may be gzipped; the delimiter of a CSV is detected. An NPZ file holds `X`
    (N, M), whose columns are called x0, x1, …, and optionally `y` (N,), which is missing where it is the integer -1.

    Reading takes about three times the size of the text in memory, and at least 16 bytes per value.

    Args:
        path: path of the file.
        progress: show a progress bar for a large file.
    """
    path = Path(path)
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else why_not(path, "file")
        raise InputError(f"{path} {problem}: give a .csv, .tsv or .npz table")
    return _read_npz(path) if path.suffix.lower() == ".npz" else _read_text(path, progress)


# Python's csv module, not pandas: pandas' C parser fills up torn rows without an error, its Python parser takes twice
# the time, and its columns of text take four times the memory.
def _read_text(path: Path, progress: bool) -> Table:
    try:
        size = path.stat().st_size
        bar = progress_bar("reading the table", shown=progress and size >= LARGE_FILE)
        with path.open("rb") as file, _unpacked(path, file) as stream, bar as show:
            _check_first_bytes(path, file)
            delimiter = _delimiter(path, stream)
            lines = csv.reader(_text_lines(path, stream), delimiter=delimiter)
            rows = (row for row in lines if row and not (len(row) == 1 and row[0].isspace()))  # skips blank lines only
            header = [name.strip() for name in next(rows, [])]
            columns = _columns(path, header, rows, lambda: show(file.tell() / size))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not a table in UTF-8: {_first_bad_byte(path)}: save it as UTF-8 (from a spreadsheet, as CSV in "
            "UTF-8)"
        ) from error
    except csv.Error as error:
        raise InputError(
            f"{path} is not a table: line {lines.line_num} cannot be read ({error}): is a quotation mark left open?"
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(
            f"{path} is not a gzipped table, or it is damaged ({error}): write or fetch it again"
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    return Table(str(path), columns, "," if delimiter == ";" else ".")


def _unpacked(path: Path, file: BinaryIO) -> TextIOWrapper:
    """Open the text of a file, decompressing it while it is read."""
    if path.suffix.lower() != GZIP:
        return TextIOWrapper(file, encoding="utf-8-sig", newline="")
    content = Gunzipped(file, path.stat().st_size, path)
    content.check()
    return TextIOWrapper(content, encoding="utf-8-sig", newline="")


def _check_first_bytes(path: Path, file: BufferedReader) -> None:
    start = file.peek(4)
    for first, (kind, remedy) in OTHER_FILES.items():
        if start.startswith(first):
            raise InputError(f"{path} is {kind}, not a table: {remedy}")


def _first_bad_byte(path: Path) -> str:
    """Describe the first byte that is not UTF-8; the error of a decoder counts from the block it was reading."""
    with path.open("rb") as file, _unpacked(path, file) as stream:
        content = cast(BufferedReader, stream.buffer)
        for number, line in enumerate(iter(lambda: content.readline(LONGEST_LINE), b""), start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return f"line {number:,} has the byte 0x{line[error.start]:02x}"
    return "it ends within a character"


def _columns(
    path: Path, header: Sequence[str], rows: Iterator[list[str]], on_rows: Callable[[], None]
) -> dict[str, Column]:
    """Read the columns by name; batches of rows become arrays at once, because Python strings take much memory."""
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
    counts = Counter(header)
    bad = next((name for name in header if counts[name] > 1), None if "" not in header[1:] else "")
    if bad is not None:
        raise InputError(f"{path} is not a table: its header names a column twice or not at all ({bad!r})")
    if all(as_numbers(as_text([name])) is not None for name in header):
        raise InputError(f"{path} has numbers in its first line, which must name the columns: add a header line")


def _text_lines(path: Path, stream: TextIO) -> Iterator[str]:
    """Yield the lines of a file; a zero byte, which is valid UTF-8, is an error."""
    for line in iter(lambda: stream.readline(LONGEST_LINE), ""):
        if "\0" in line:
            raise InputError(f"{path} is not a table: it is a binary file (from a spreadsheet, save as CSV)")
        if len(line) == LONGEST_LINE:
            raise InputError(f"{path} is not a table: it has a line of {LONGEST_LINE:,} characters or more")
        yield line


def _delimiter(path: Path, stream: TextIO) -> str:
    """Detect the delimiter; the stream is at its beginning before and after."""
    header = next((line for line in _text_lines(path, stream) if line.strip()), "")
    stream.seek(0)
    tabs = ".tsv" in [suffix.lower() for suffix in path.suffixes[-2:]]
    return DELIMITERS[".tsv"] if tabs else max(",;\t", key=header.count)


def _read_npz(path: Path) -> Table:
    try:
        arrays = read_arrays(path, ("X", "y").__contains__)
    except InputError as error:
        raise InputError(f"{path} is not a table: {error}") from error
    X, y = arrays.get("X"), arrays.get("y")
    if X is None or X.ndim != 2 or X.dtype.kind not in "fiub" or 0 in X.shape:
        raise InputError(f"{path} has no table of numbers called X of shape (N, M)")
    columns: dict[str, Column] = {f"x{position}": column.astype(np.float64) for position, column in enumerate(X.T)}
    if y is not None:
        if y.shape != X.shape[:1]:
            raise InputError(f"{path} has {len(X)} rows in X, but y has shape {y.shape}")
        try:
            text = as_text(y.astype(np.str_))
        except (UnicodeError, ValueError) as error:
            raise InputError(f"{path} is not a table: the text in y cannot be decoded ({error})") from error
        columns["y"] = np.where(y == -1, "", text) if y.dtype.kind == "i" else text
    return Table(str(path), columns)
