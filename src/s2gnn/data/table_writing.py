"""A table as the text of a CSV or TSV file."""

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from s2gnn.data.values import Column

DELIMITERS = {".csv": ",", ".tsv": "\t"}


def table_text(columns: Mapping[str, Column], delimiter: str = ",") -> str:
    """The header and the rows, with quotes around the values that need them; a number that is missing is empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*map(_written, columns.values()), strict=True))
    return stream.getvalue()


def delimiter_of(path: Path) -> str:
    """What separates the values in a file of this name."""
    return DELIMITERS.get(path.suffix.lower(), ",")


def _written(column: Column) -> list[Any]:
    values: list[Any] = column.tolist()
    return ["" if math.isnan(value) else repr(value) for value in values] if column.dtype.kind == "f" else values
