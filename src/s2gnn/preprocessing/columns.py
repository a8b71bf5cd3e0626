"""Which columns of a table are features, and of what kind."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from s2gnn.data.tables import ROW_NAMES, Table
from s2gnn.data.values import Column, is_text, missing, stripped
from s2gnn.errors import InputError

# A text column with more different values names its rows rather than describing them, and so does one with more than
# half as many as there are rows, such as a date, if they are not but a few.
MOST_CATEGORIES = 100
FEW_CATEGORIES = 10
# More, even for a column that was asked for, would be more features than memory has room for.
MOST_CATEGORIES_ASKED_FOR = 2_000


@dataclass(frozen=True)
class Columns:
    """The columns to learn from.

    Attributes:
        numeric: names of the columns of numbers.
        categorical: names of the columns of categories.
        left_out: the reason for each other column but the label.
    """

    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    left_out: dict[str, str]


def choose_columns(
    table: Table, names: Sequence[str] | None = None, *, label: str, without: Sequence[str] = ()
) -> Columns:
    """The columns named, or all that can tell rows apart, but for the label and those in `without`.

    A column is numeric if every value is a number or missing, else categorical. Unless they are named, columns that
    number or name the rows are left out, as are, named or not, those that have one value only.

    Raises:
        InputError: if no column is left, or one that is named is missing, the label, or has too many categories.
    """
    _check_names(table, names, label, without)
    numeric: list[str] = []
    categorical: list[str] = []
    left_out = dict.fromkeys(without, "the identifier of the rows")
    for name in names or [name for name in table.columns if name not in (label, *without)]:
        is_numeric = table.is_numeric(name)
        reason = _reason_to_leave_out(table, name, is_numeric=is_numeric, asked_for=names is not None)
        if reason is not None:
            left_out[name] = reason
        else:
            (numeric if is_numeric else categorical).append(name)
    if names is not None:
        left_out |= {n: "not asked for" for n in table.columns if n not in (*names, label, *without)}
    if not numeric and not categorical:
        reasons = "; ".join(f"{name!r}: {reason}" for name, reason in list(left_out.items())[:5])
        raise InputError(
            f"{table.source} has no column to learn from beside {label!r} ({reasons or 'it is the only one'})"
        )
    return Columns(tuple(numeric), tuple(categorical), left_out)


def _check_names(table: Table, names: Sequence[str] | None, label: str, without: Sequence[str]) -> None:
    table.column(label)
    table.check_named(names or [])
    if label in without:
        raise InputError(f"the column {label!r} is both the label and the identifier of the rows: name another")
    for name in names or []:
        if name in without:
            raise InputError(f"the column {name!r} is both the identifier of the rows and a feature: leave one out")
    if label in (names or []):
        raise InputError(f"the column {label!r} is both the label and a feature: leave it out of the features")
    if names is not None and len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the column {twice!r} is named twice among the features: name it once")


def _reason_to_leave_out(table: Table, name: str, *, is_numeric: bool, asked_for: bool) -> str | None:
    column = table.column(name)
    if name == ROW_NAMES and not asked_for:
        return "the names of the rows"
    if is_numeric:
        numbers = table.numbers(name, "a feature", "mend the value or leave the column out")
        if np.isnan(numbers).all():
            return "empty"
        if np.nanmin(numbers) == np.nanmax(numbers):
            return "the same number in every row"
        if not asked_for and _counts_rows(numbers):
            return "the numbers of the rows"
        return None
    n_categories = len(categories(column))
    if n_categories == 1:
        return "the same text in every row"
    if asked_for and n_categories > MOST_CATEGORIES_ASKED_FOR:
        raise InputError(
            f"column {name!r} of {table.source} has {n_categories:,} different texts, too many for a feature: "
            "leave it out of the features"
        )
    scattered = n_categories > FEW_CATEGORIES and 2 * n_categories > table.n_rows
    if not asked_for and (scattered or n_categories > MOST_CATEGORIES):
        return f"{n_categories:,} different texts in {table.n_rows:,} rows"
    return None


def categories(column: Column) -> list[str]:
    """The different values of a column of text, sorted; "" for a missing one."""
    return sorted(set(as_categories(column).tolist()))


def as_categories(column: Column) -> Column:
    """A column as the names of categories (N,), without blanks around them; "" where the value is missing."""
    text = stripped(column) if is_text(column) else column.astype(np.dtypes.StringDType())
    absent: Column = np.where(missing(column), "", text)
    return absent


def _counts_rows(numbers: Column) -> bool:
    """Whether a column is 0, 1, 2, … or 1, 2, 3, …, as spreadsheets and data frames number their rows."""
    return len(numbers) > 2 and numbers[0] in (0, 1) and bool(np.all(np.diff(numbers) == 1))
