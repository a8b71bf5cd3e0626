"""The values of one column as they were written: which are missing, and which are numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# What spreadsheets, R, pandas and databases write for a value that is not there.
MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "?")

Column = NDArray[Any]
"""(N,) of float64, or of text as NumPy's StringDType, which keeps long and short values without padding."""


def as_text(values: Any) -> Column:
    """A column of text."""
    return np.array(values, dtype=np.dtypes.StringDType())


def is_text(column: Column) -> bool:
    """Whether a column holds text, which may spell numbers."""
    return column.dtype.kind != "f"


def stripped(column: Column) -> Column:
    """The texts without the blanks around them."""
    return np.strings.strip(column)


def missing(column: Column) -> NDArray[np.bool_]:
    """Where the column has no value: one of `MISSING`, or not a number in a column of numbers."""
    if not is_text(column):
        return np.isnan(column)
    text = stripped(column)
    absent = np.zeros(len(text), dtype=np.bool_)
    for marker in MISSING:
        absent |= text == marker
    return absent


def as_numbers(column: Column, decimal: str = ".") -> NDArray[np.float64] | None:
    """The column as numbers (N,), NaN where a value is missing; `None` if any other value is not a number.

    Args:
        column: the values.
        decimal: "," reads 2,5 as 2.5 in a column that would not be one of numbers otherwise.
    """
    if not is_text(column):
        return np.asarray(column, dtype=np.float64)
    if (np.strings.find(column, "_") >= 0).any():  # 10_2 is 102 for Python, and a code for everyone else
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
    """The position of the first value that is neither missing nor a number."""
    if as_numbers(column, decimal) is not None:
        return None
    low, high = 0, len(column)  # as_numbers(column[:high]) is None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if as_numbers(column[low:middle], decimal) is None else (middle, high)
    return low
